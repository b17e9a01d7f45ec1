"""The server at work: its loop, its clock, and what people want to know of it."""
