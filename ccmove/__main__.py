from ccmove.cli.start import program

program()
