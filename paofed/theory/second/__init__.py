"""The learning curve of large fleets: second moments with groups of clients for single clients.

`paofed.theory.exact` enumerates what can happen and is exact for a few clients. In this package the
means are those of `paofed.theory.mean`, client by client, and only the covariances around those
means are approximated. docs/theory.md says how far off the result is, tests/theory/second what each
approximation costs.
"""
