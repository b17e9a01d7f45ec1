"""What verbs that measure have in common, and engines side by side, on the machine at hand."""
