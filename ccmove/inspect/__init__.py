"""What is wrong, and where lost projects went: list, doctor, verify."""
