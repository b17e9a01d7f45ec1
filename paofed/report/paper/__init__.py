"""The study of the paper: its runs, its claims, its figures and its page."""
