"""One run as people look at it: its page, its figures, its tables, its words and its advice."""
