"""What nature does to a fleet: data, presence, delay, loss."""
