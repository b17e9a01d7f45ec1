"""A connection that comes back, names and topics at the broker, and what proves who one is."""
