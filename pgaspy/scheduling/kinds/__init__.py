"""The kinds of operations: a file each, which says what is fixed about one, what it sends, and its nodes."""
