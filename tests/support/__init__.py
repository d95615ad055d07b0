"""What the tests share. Nothing here imports ccmove, so the two check each other."""
