"""What a lab imports: checks, comparisons, hints, pictures, probes, and the device to work on.

labkit imports nothing from `autograder`: a student needs only this package. Each name is imported when it is first
used: torch takes seconds, and a page that only draws doesn't need it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from labkit import pictures

MODULES = {  # the module that each name is in
    "Seen": "recorded_calls",
    "assert_answered": "choices",
    "assert_close": "compare",
    "assert_letters": "choices",
    "assert_some_right": "choices",
    "check": "check",
    "device": "device",
    "explain": "compare",
    "hint": "hint",
    "progress": "progress",
    "unchanged": "argument_changes",
    "use_device": "device",
}
__all__ = ["memory", "probes", *MODULES, *pictures.MODULES]


def __getattr__(name: str) -> Any:
    """The object of this name, which is imported now."""
    if name in pictures.MODULES:
        found = getattr(pictures, name)
    elif name in MODULES:
        found = getattr(import_module(f"labkit.{MODULES[name]}"), name)
    elif name in ("memory", "probes"):
        found = import_module(f"labkit.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


class _Package(ModuleType):
    """labkit.check is the class, although a module has this name, too: Python sets that where it imports the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        is_module = name in MODULES and isinstance(value, ModuleType)
        super().__setattr__(name, getattr(value, name) if is_module else value)


sys.modules[__name__].__class__ = _Package
