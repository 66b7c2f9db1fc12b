"""Scheduling: recorded operations become a graph of nodes, made once and found again."""
