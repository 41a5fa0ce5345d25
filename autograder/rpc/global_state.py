"""The state around a call that torch keeps for the whole process: it travels with every call, both ways."""

from __future__ import annotations

from typing import Any

from autograder.rpc.flags import Flags, pack_flags, read_flags, set_flags, unpack_flags
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.random_states import RANDOM


class GlobalState:
    """One end's view of the state. Flags and a random state go out only where they are not what the ends last told.

    The two ends of a connection have one GlobalState each: one to a new process starts with a new one. Between reading
    and applying, an end runs nothing that draws random numbers.
    """

    def __init__(self) -> None:
        self.flags: Flags | None = None
        self._told: list[Any] = [None] * len(RANDOM)

    def read(self) -> WireValue:
        """[flags, random states], each of them None where the other end knows it."""
        flags, states = read_flags(), [get() for get, _, _ in RANDOM]
        drawn: list[bytes | None] = [None] * len(RANDOM)
        if states != self._told:
            changed = [n for n, state in enumerate(states) if state != self._told[n]]
            drawn = [bytes(RANDOM[n][1](state)) if n in changed else None for n, state in enumerate(states)]
        told = None if flags == self.flags else pack_flags(flags)
        self.flags, self._told = flags, states
        return [told, drawn]

    def take(self, state: WireValue) -> Flags:
        """The flags of the other end. Raises ProtocolError."""
        try:
            flags, _ = state
        except (TypeError, ValueError):
            raise ProtocolError("malformed global state") from None
        if flags is not None:
            self.flags = unpack_flags(flags)
        if self.flags is None:
            raise ProtocolError("flags that were never told")
        return self.flags

    def apply(self, state: WireValue) -> None:
        """Make this process' state the given one, but for inference mode."""
        flags = self.take(state)
        set_flags(flags, read_flags())
        try:
            for n, packed in enumerate(state[1]):
                if packed is not None:
                    get, _, put = RANDOM[n]
                    put(packed)
                    self._told[n] = get()
        except ProtocolError:
            raise
        except Exception as error:
            raise ProtocolError(f"malformed global state: {type(error).__name__}") from None
        if None in self._told:
            raise ProtocolError("a random state that was never told")
