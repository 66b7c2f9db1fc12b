"""Files: formats, and how all processes read and write one together."""
