"""The GPU engine: the paper's family on a CUDA card, whole runs at once or one large fleet."""
