"""What a company's operators need around a fleet: monitoring, and services of the system."""
