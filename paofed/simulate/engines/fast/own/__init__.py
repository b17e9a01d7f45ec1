"""Methods of one's own, compiled: the general form beside the family's.

rules       a rule and every function that it reaches, for numba, and what tells rules apart
overloads   functions of paofed.core that rules may call, for numba
kernels     what all compiled methods have in common
source      the kernel of one method, written out around its own rules
compiler    a method compiled, or the reason why it cannot be; kept on disk
samples     where samples come from: drawn, or a list
method_run  one method over one run: its states and what is on its way
simulation  several methods over one run of a world or a trace
"""
