"""Functions of paofed.core that rules of one's own may call, as numba can compile them.

A property test compares each function here with the function that it stands for.
"""

from inspect import Parameter, Signature
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_constant
from numba.core.typing.templates import (
    AttributeTemplate,
    bound_function,
    infer_getattr,
    signature,
)
from numba.core.typing.typeof import typeof_impl
from numba.extending import models, overload, overload_method, register_model

from paofed.core import parts, selection
from paofed.core.selection import Windows
from paofed.simulate.engines.fast.kernels import philox
from paofed.simulate.engines.fast.own.kernels import window_at

_WORD = np.uint64(0xFFFFFFFF)  # makes the client SERVER, -1, an unsigned word


@overload(parts.draws)
def _draws(stamp: Any, count: Any) -> Any:  # noqa: ARG001 (the interface of an overload)
    def draws(stamp: Any, count: Any) -> Any:
        numbers, key = np.empty(count), (np.uint64(stamp.key.low), np.uint64(stamp.key.high))
        client = np.uint64(stamp.client) & _WORD
        for block in range((count + 3) // 4):
            words = philox(key, block, client, stamp.tick, 0)
            for i in range(4):
                if 4 * block + i < count:
                    numbers[4 * block + i] = np.float64(words[i]) * 2.0**-32
        return numbers

    return draws


@overload(parts.placed)
def _placed(w: Any, part: Any) -> Any:  # noqa: ARG001 (likewise)
    def placed(w: Any, part: Any) -> Any:
        new = w.copy()
        for i in range(part.coordinates.size):
            new[part.coordinates[i]] = part.values[i]
        return new

    return placed


@overload(parts.silence)
def _silence() -> Any:
    return parts.silence


@overload(selection.window)
def _window(start: Any, width: Any, features: Any) -> Any:  # noqa: ARG001 (likewise)
    def window(start: Any, width: Any, features: Any) -> Any:
        coordinates = np.empty(width, dtype=np.int64)
        for i in range(width):
            coordinates[i] = (start + i) % features
        return coordinates

    return window


_REPLACE = "NamedTuple._replace"  # the name under which numba finds `_with_fields`


@infer_getattr
class _Replacing(AttributeTemplate):
    """Lets numba type `state._replace(w=...)`, in which the fields of a NamedTuple are keywords."""

    key = types.BaseNamedTuple

    @bound_function(_REPLACE)
    def resolve__replace(self, record: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call: every field of the record, given or left as it is."""
        if args or set(kws) - set(record.fields):
            return None  # numba then says that there is no such call
        kinds = [kws.get(field, kind) for field, kind in zip(record.fields, record, strict=True)]
        made = types.BaseTuple.from_types(kinds, record.instance_class)
        given = [kws.get(field, types.Omitted(None)) for field in record.fields]
        named = [Parameter(f, Parameter.POSITIONAL_OR_KEYWORD, default=None) for f in record.fields]
        return signature(made, *given, recvr=record).replace(pysig=Signature(named))


@lower_builtin(_REPLACE, types.BaseNamedTuple, types.VarArg(types.Any))
def _with_fields(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Build the record anew of the fields given and of those that it has."""
    fields = [
        kept if isinstance(kind, types.Omitted) else given
        for kept, given, kind in zip(
            cgutils.unpack_tuple(builder, args[0]), args[1:], sig.args[1:], strict=True
        )
    ]
    made = context.make_tuple(builder, sig.return_type, fields)
    return impl_ret_borrowed(context, builder, sig.return_type, made)


class _WindowsType(types.Type):
    """The type of a Windows object that a rule refers to as a constant."""

    def __init__(self, windows: Windows) -> None:
        self.windows = windows
        super().__init__(repr(windows))


register_model(_WindowsType)(models.OpaqueModel)


@typeof_impl.register(Windows)
def _type_of_windows(windows: Windows, _: Any) -> _WindowsType:
    return _WindowsType(windows)


@lower_constant(_WindowsType)
def _constant_windows(context: Any, *_: Any) -> Any:
    return context.get_dummy_value()


@overload_method(_WindowsType, "at")
def _windows_at(windows: Any, stamp: Any) -> Any:  # noqa: ARG001 (likewise)
    whole = windows.windows.width is None
    width, ahead = windows.windows.width or 0, windows.windows.ahead
    turns = 0 if windows.windows.coordinated else 1

    def at(windows: Any, stamp: Any) -> Any:  # noqa: ARG001 (likewise)
        return window_at((stamp.features if whole else width, turns, ahead), stamp)

    return at
