"""A sweep as people look at it: its page, its figures, and the best of each method in words."""
