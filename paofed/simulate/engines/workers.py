"""Processes that do the same work again and again: plain Python on several cores.

Each worker is a new interpreter, not a fork: that is safe beside threads and the same on every
system. The work comes by cloudpickle, so functions of anyone's script, lambdas and closures may be
part of the work, and the script is not imported again: it needs no `if __name__ == "__main__"`.
Requests and answers are pickles on the worker's standard input and output. So a worker that is
killed leaves nothing behind, and a worker whose parent has gone ends after the work at hand.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

import cloudpickle

from paofed.errors import PaofedError

_BEGIN = (
    "import sys; sys.path[:] = {path!r}; from paofed.simulate.engines.workers import main; main()"
)
# Workers share the cores among them: threads of their linear algebra would get in the way.
_ONE_THREAD = dict.fromkeys(
    (
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)


class Worker:
    """One worker process, seen from the parent; used by one thread at a time."""

    def __init__(self, work: bytes) -> None:
        """Start a process for work, a function pickled by cloudpickle."""
        self._first = work
        with undisturbed():
            self._process = subprocess.Popen(  # noqa: S603 (our own program)
                [sys.executable, "-c", _BEGIN.format(path=list(map(str, sys.path)))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **_ONE_THREAD},
            )
        self._requests = cast(IO[bytes], self._process.stdin)
        self._answers = cast(IO[bytes], self._process.stdout)

    def do(self, **arguments: object) -> Any:
        """Do the work once with these arguments, and return or raise what comes of it."""
        try:
            if self._first:
                pickle.dump(self._first, self._requests)
                self._first = b""
            pickle.dump(arguments, self._requests)
            self._requests.flush()
            done, found = pickle.load(self._answers)  # noqa: S301 (our own process's)
        # The process has ended, or has written something that is no answer.
        except Exception as error:
            self._process.kill()
            code = self._process.wait()
            advice = "if memory was short, ask for fewer workers" if code < 0 else "see above"
            raise PaofedError(
                f"a worker process ended with exit code {code} before its work was done: {advice}"
            ) from error
        if not done:
            raise found
        return found

    def kill(self) -> None:
        """End the process; a thread that waits for it gets an error."""
        self._process.kill()

    def close(self) -> None:
        """Close all pipes, once the process is killed and no thread waits for it."""
        with suppress(OSError):  # closing may try to send the rest of a request
            self._requests.close()
        self._answers.close()
        self._process.wait()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Block interrupts while a process is started, which then has them blocked for good.

    Ctrl-C goes to all processes of a terminal. The parent alone handles it, and ends its workers.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def main() -> None:
    """Be a worker, until the parent closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on systems where signals cannot be blocked
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the work prints must not be taken for an answer
    with suppress(EOFError, BrokenPipeError):
        serve(sys.stdin.buffer, answers)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Read the work, then the arguments of each request; ends with an EOFError."""
    pickled, work = pickle.load(requests), None  # noqa: S301 (our parent's)
    while True:
        arguments = pickle.load(requests)  # noqa: S301 (our parent's)
        try:
            work = work or pickle.loads(pickled)  # noqa: S301 (our parent's)
            answer = True, work(**arguments)
        except Exception as error:  # noqa: BLE001 (raised in the parent)
            answer = False, portable(error)
        cloudpickle.dump(answer, answers)
        answers.flush()


def portable(error: Exception) -> Exception:
    """Return an error that another process can unpickle, and that says where it happened."""
    error.add_note(f"In a worker process:\n{traceback.format_exc()}")
    try:
        pickle.loads(cloudpickle.dumps(error))  # noqa: S301 (our own)
    except Exception:  # noqa: BLE001 (one's own exception may not be made to be copied)
        return RuntimeError("".join(traceback.format_exception_only(error)))
    return error
