"""The study of the paper: what is run, claims, figures, its page."""
