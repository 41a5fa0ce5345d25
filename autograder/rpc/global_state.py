"""The process-wide state of torch and of random numbers, sent with every call in both directions."""

from __future__ import annotations

from typing import Any

from autograder.rpc.fields import check_bytes, check_length, check_list
from autograder.rpc.flags import Flags, pack_flags, read_torch_flags, set_flags, unpack_flags
from autograder.rpc.frames import ProtocolError, WireValue
from autograder.rpc.random_states import SOURCES


class GlobalState:
    """One end's view of the state. Flags and random states are sent only if they changed since the last message.

    Each end of a connection has its own, new for each connection. Between reading and applying, an end runs nothing
    that draws random numbers.
    """

    def __init__(self) -> None:
        self.flags: Flags | None = None
        self._states: list[Any] = [None] * len(SOURCES)  # as last sent or received

    def read(self) -> WireValue:
        """Return [flags, random states], each None if the other end has it."""
        flags, states = read_torch_flags(), [source.read() for source in SOURCES]
        packed_states: list[bytes | None] = [None] * len(SOURCES)
        if states != self._states:
            packed_states = [
                None if state == before else bytes(source.pack(state))
                for source, state, before in zip(SOURCES, states, self._states, strict=True)
            ]
        packed_flags = None if flags == self.flags else pack_flags(flags)
        self.flags, self._states = flags, states
        return [packed_flags, packed_states]

    def take(self, state: WireValue) -> Flags:
        """Return the flags of the other end. Raises ProtocolError."""
        flags, _ = check_length(state, 2)
        if flags is not None:
            self.flags = unpack_flags(flags)
        if self.flags is None:
            raise ProtocolError("flags that were never sent")
        return self.flags

    def apply(self, state: WireValue) -> None:
        """Set the state of this process, except for inference mode."""
        set_flags(self.take(state), read_torch_flags())
        _, states = check_length(state, 2)
        try:
            for n, packed in enumerate(check_list(states)):
                if packed is not None:
                    SOURCES[n].set(check_bytes(packed))
                    self._states[n] = SOURCES[n].read()
        except ProtocolError:
            raise
        except Exception as error:
            raise ProtocolError(f"malformed global state: {type(error).__name__}") from None
        if None in self._states:
            raise ProtocolError("a random state that was never sent")
