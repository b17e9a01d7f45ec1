"""The server's memory: one SQLite file, what can be exported, and the order of commit."""
