"""Devices that share sums over their samples."""
