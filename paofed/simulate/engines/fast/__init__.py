"""The compiled engine: algorithms that are numbers, and rules that numba can compile."""
