"""Benchmarks: each against the limit of the machine and against what a user would pick instead, in one run."""
