"""What a device does: published equations, and examples worked out by hand."""
