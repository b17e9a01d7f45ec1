"""One run for people: its tables, its page, and the fleet that does what was run."""
