"""Files of every format that paofed reads, kept as they were written once: docs/formats.md."""
