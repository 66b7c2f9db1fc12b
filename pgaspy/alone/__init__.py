"""Small arrays of a job of one process: they are NumPy's, which computes with them at once. See docs/design.md."""
