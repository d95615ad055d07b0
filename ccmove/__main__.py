from ccmove.cli import main

main()
