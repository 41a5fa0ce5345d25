"""What differs between two tensors as a card shows it: their form, and their values as numbers or as shades."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = "0123456789abcdef"
NOT_FINITE, DIFFERS, SAME = "!", "x", "."


@dataclass(frozen=True)
class Difference:
    """What differs between two tensors.

    Values are in rows, and a vector is one row. Few values are numbers; those of larger matrices are shades: a string
    for each row, with a character for each value, which is one of LEVELS, or NOT_FINITE.
    """

    yours: str
    """Shape, dtype and device of the result, with strides if only the order of the values differs."""
    expected: str
    """The same for the expected tensor."""
    note: str = ""
    """What they have in common."""
    your_numbers: tuple[tuple[str, ...], ...] = ()
    expected_numbers: tuple[tuple[str, ...], ...] = ()
    your_shades: tuple[str, ...] = ()
    expected_shades: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    """DIFFERS or SAME for each value, a string for each row; empty if no values were compared."""
    least: float = 0.0
    """The value of the first of LEVELS."""
    most: float = 0.0
    """The value of the last of LEVELS."""
