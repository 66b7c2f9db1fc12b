"""Programs in jobs of any size on machines that are not there: planned, and played as events."""
