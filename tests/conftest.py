from hypothesis import settings

from tests.effort import effort

# Machines are noisy: an example that took long is no failure.
settings.register_profile("paofed", deadline=None, max_examples=effort(everyday=30, thorough=60))
settings.load_profile("paofed")
