"""A device for applications, what it keeps through a power cut, and what taking part costs."""
