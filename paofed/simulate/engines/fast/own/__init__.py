"""Methods of one's own, compiled: the general form beside the family's.

compiled_rules  compiles a rule with every function that it reaches, and tells rules apart
overloads       functions of paofed.core that rules may call, for numba
kernels         what all compiled methods have in common
writing         writes the kernel of one method around the method's own rules
compiler        compiles a method and keeps it on disk, or says why it cannot be compiled
samples         where samples come from: drawn, or a list
method_run      one method over one run: its states and the messages on their way
simulation      several methods over one run of a world or a trace
"""
