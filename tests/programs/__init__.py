"""Programs from many fields, as anyone writes them for NumPy.

Each is a function of the module that it calls `np`, NumPy or pgaspy, and of a generator of NumPy's, for its data.
"""
