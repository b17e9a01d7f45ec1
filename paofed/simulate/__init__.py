"""Run algorithms over worlds."""
