"""A gateway: telemetry that others publish becomes samples, and every source a device."""
