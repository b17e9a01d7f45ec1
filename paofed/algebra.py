"""Linear algebra that shares a machine with other work."""

from contextlib import AbstractContextManager


def one_thread_algebra() -> AbstractContextManager[object]:
    """Let linear algebra, and whatever else has threads of its own, use one thread while inside.

    Its own threads wait for each other by spinning: on a machine with other work to do, a second
    becomes twenty. Ours share the work by worlds and devices instead.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
