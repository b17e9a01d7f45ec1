"""The server's memory: one SQLite file, what can be taken out of it, and the order of commit."""
