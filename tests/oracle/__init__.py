"""Oracles: the paper's equations written out with explicit matrices, slow and plain."""
