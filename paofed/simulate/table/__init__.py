"""What runs over a table of readings have beside the algorithms: baselines, newcomers."""

COLD_STARTS = 12  # how many times devices join late by default
