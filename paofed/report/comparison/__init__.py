"""A comparison of methods at equal bytes, as others made it: read, drawn and told in short."""
