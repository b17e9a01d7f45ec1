"""Where everything stands in the one vector that is followed, and the modes it may be in.

The vector s holds 1, the server's model, the model of every client, the values of every message
that may be on its way (by age and sender), and one entry that is always 0, which stands for the
values of a message before it is sent. Which messages are on their way is the mode: a number with
one bit for each age and sender.

Overwriting, sending and ageing move entries. Each is a list that says for every entry of s from
which place it is taken.
"""

from typing import NamedTuple

import numpy as np

from paofed.core.arrays import FloatArray, IntArray
from paofed.errors import InputError
from paofed.memory import require_memory
from paofed.theory.exact import krylov

_MOST_BITS = 12  # 4096 modes


class StateVector(NamedTuple):
    """The places in s for K clients with D features, messages of m values and ages up to L."""

    clients: int
    features: int
    width: int
    oldest: int

    def require_room(self) -> None:
        """Refuse a fleet that is not small enough for the recursion."""
        bits = self.clients * (self.oldest + 1)
        if bits > _MOST_BITS:
            raise InputError(
                f"{self.clients} clients whose messages count up to the age {self.oldest} have "
                f"2^{bits} combinations of messages on their way: the exact recursion goes up to "
                f"2^{_MOST_BITS}; take fewer clients, or a lower max_age"
            )
        arrays = 4 * 2**bits + (krylov.SIZE + 4) * self.modes
        require_memory(
            8.0 * arrays * self.size**2,
            f"the exact recursion of {self.clients} clients with {self.features} features",
            "take fewer features or clients, or a lower max_age",
        )

    @property
    def modes(self) -> int:
        """The number of modes between two ticks, when no message is of age 0."""
        return 1 << self.clients * self.oldest

    @property
    def size(self) -> int:
        """The number of entries of s."""
        return 2 + self.features * (1 + self.clients) + self._slots * self.width

    @property
    def server(self) -> slice:
        """The place of the server's model."""
        return slice(1, 1 + self.features)

    def client(self, k: int) -> slice:
        """Return the place of a client's model."""
        begin = 1 + self.features * (1 + k)
        return slice(begin, begin + self.features)

    def sample(self, k: int) -> IntArray:
        """Return the entries that a sample (y, z) of a client meets: 1, and the client's model."""
        model = self.client(k)
        return np.array([0, *range(model.start, model.stop)])

    def message(self, age: int, k: int) -> slice:
        """Return the place of the values of a client's message of some age."""
        begin = 1 + self.features * (1 + self.clients) + self.width * (age * self.clients + k)
        return slice(begin, begin + self.width)

    def bit(self, age: int, k: int) -> int:
        """Return the mode in which this message alone is on its way."""
        return 1 << age * self.clients + k

    def everything(self) -> IntArray:
        """Return the list of places that leaves every entry where it is."""
        return np.arange(self.size)

    def overwritten(self, k: int, window: IntArray) -> IntArray:
        """Return the list of places that overwrites a client's window with the server's."""
        places = self.everything()
        places[self.client(k).start + window] = self.server.start + window
        return places

    def sent(self, k: int, window: IntArray) -> IntArray:
        """Return the list of places that puts a client's window on its way."""
        places = self.everything()
        places[self.message(0, k)] = self.client(k).start + window
        return places

    def aged(self) -> IntArray:
        """Return the list of places that makes all messages a tick older.

        Messages that have arrived get older too, but are never read again.
        """
        places = self.everything()
        for k in range(self.clients):
            for age in range(self.oldest):
                younger = self.message(age, k)
                places[self.message(age + 1, k)] = np.arange(younger.start, younger.stop)
            places[self.message(0, k)] = self._nothing
        return places

    def messages_of(self, mode: int) -> list[tuple[int, int]]:
        """Return age and sender of the messages of a mode, newest first, then by sender."""
        return [divmod(i, self.clients) for i in range(self._slots) if mode >> i & 1]

    @property
    def _slots(self) -> int:
        return self.clients * (self.oldest + 1)

    @property
    def _nothing(self) -> int:
        return self.size - 1


def taken(moments: FloatArray, places: IntArray) -> FloatArray:
    """Return the moments (..., N, N) of a vector whose entries are taken from these places."""
    return moments[..., places[:, None], places]
