"""Calculators, no simulation: which step sizes are safe, where the mean goes, what it costs."""
