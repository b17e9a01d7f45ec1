"""What runs over a table of readings have beside the algorithms: baselines, newcomers."""
