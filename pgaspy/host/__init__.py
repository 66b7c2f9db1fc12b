"""The machine and the interpreter: variables, launchers, MPI libraries, files, lines of the program."""
