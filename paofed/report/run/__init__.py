"""The page of one run, over a scenario or over a table."""
