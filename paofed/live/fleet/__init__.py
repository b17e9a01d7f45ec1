"""A fleet's folder: its settings, its authority, its broker's files."""
