"""What each command does, whoever asks: the command line and the Python API."""
