"""How points are shown to people: the same in notebooks, on pages and in a terminal."""

from decimal import ROUND_HALF_UP, Decimal


def format_points(number: float) -> str:
    """Format points with at most two decimals, rounding half up."""
    return f"{Decimal(repr(float(number))).quantize(Decimal('0.01'), ROUND_HALF_UP):f}".rstrip("0").rstrip(".")
