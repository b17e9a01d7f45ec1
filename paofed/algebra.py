"""Linear algebra that shares a machine with other work."""

from contextlib import AbstractContextManager


def one_thread_algebra() -> AbstractContextManager[object]:
    """Let linear algebra, and every other library with threads of its own, use one thread inside.

    The threads of a linear algebra library wait for each other by spinning: on a machine with other
    work to do, a second becomes twenty. paofed shares its work over worlds and devices instead.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
