"""For people: what a statement sends, pictures, printing, notebooks."""
