"""The mathematics: pure functions on NumPy arrays; no I/O, no clock, no hidden random state."""
