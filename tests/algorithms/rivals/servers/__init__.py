"""Asynchronous servers: their equations, examples worked out by hand, and the contract."""
