"""The levels of isolation. doctor.py says which layers each of them needs."""

from __future__ import annotations

from enum import StrEnum

from autograder.base.errors import GradlabError


class Isolation(StrEnum):
    """How far a submission is cut off from the machine that grades it, strongest first."""

    FULL = "full"
    NO_NAMESPACES = "no-namespaces"
    SAME_USER = "same-user"
    NONE = "none"


def parse_isolation(name: str) -> Isolation:
    """Return the level of this name. Raises GradlabError if there's none."""
    try:
        return Isolation(name)
    except ValueError:
        raise GradlabError(
            f"there's no level --isolation={name}", fix=f"choose one of {', '.join(Isolation)}"
        ) from None
