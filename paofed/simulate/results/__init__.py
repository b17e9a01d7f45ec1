"""What a simulation leaves behind: curves, traffic, models, files."""
