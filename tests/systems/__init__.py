"""Other systems: homes as they are there, and how the suite runs on them."""
