"""What travels between the devices and their server, as every engine counts it."""

from typing import Any, NamedTuple, Self

BYTES_PER_COORDINATE = 4  # a coordinate travels as a float32


class Traffic(NamedTuple):
    """What every engine counts since the first tick: numbers, or arrays of any common shape.

    In arrays of a result, one axis holds the seven counts in this order.
    """

    coordinates_up: Any
    coordinates_down: Any
    messages_up: Any
    messages_down: Any
    payload_up: Any  # bytes that `encode` made, without those that a transport adds
    payload_down: Any
    contacts: Any  # contacts in which at least one message was sent, in either direction

    @classmethod
    def of_floats(cls, contacts: Any, up: Any, down: Any) -> Self:
        """Count so many contacts with a message each way, of `up` and `down` float32 values.

        >>> Traffic.of_floats(10, 4, 200).payload_down
        8000
        """
        return cls(
            coordinates_up=contacts * up,
            coordinates_down=contacts * down,
            messages_up=contacts,
            messages_down=contacts,
            payload_up=BYTES_PER_COORDINATE * contacts * up,
            payload_down=BYTES_PER_COORDINATE * contacts * down,
            contacts=contacts,
        )
