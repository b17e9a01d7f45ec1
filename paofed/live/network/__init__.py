"""A connection that comes back, names and topics at the broker, and credentials."""
