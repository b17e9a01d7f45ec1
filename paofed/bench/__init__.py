"""What the README's speed figures come from: side by side, on the machine at hand."""
