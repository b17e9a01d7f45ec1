"""A whole fleet on this machine: it learns while its parts are killed, and is held to account."""
