from hypothesis import settings

# Machines are noisy: an example that took long is no failure.
settings.register_profile("paofed", deadline=None)
settings.load_profile("paofed")
