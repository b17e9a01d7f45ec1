"""A run put to use: predictions of rows to come, and a fleet that does what was run."""
