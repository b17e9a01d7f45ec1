"""What all pages and figures have in common."""
