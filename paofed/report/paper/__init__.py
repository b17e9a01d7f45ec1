"""The study of the paper: its figures and its page, and what theory foretells."""
