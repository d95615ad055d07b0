from ccmove.start import program

program()
