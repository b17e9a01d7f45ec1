"""From Results to what people look at."""
