"""What the speed figures of docs/speed.md come from: side by side, on the machine at hand."""
