"""Text that a student process sent: equal to any other text, and never shown.

It could hold what a hidden check passed in. Whoever prints it, puts it in a message or asks for its repr gets its kind
and its length.
"""

from __future__ import annotations


class MaskedText(str):
    """A str in every comparison, as a key and as a value to pass on."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"a text of {len(self)} characters"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)


def unmask_text(text: str) -> str:
    """The plain text again."""
    return str.__str__(text)


# A check that names the type of a result, `type(got).__name__`, means the type that the student knows.
MaskedText.__name__ = MaskedText.__qualname__ = "str"
