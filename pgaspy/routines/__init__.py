"""NumPy's functions that are composed of the public functions and methods of arrays alone: a file for each idea."""
