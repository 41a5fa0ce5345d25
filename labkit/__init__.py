"""The package that labs import: checks, comparisons, hints, pictures, probes, and the device to work on.

A student needs only this package, so it imports nothing from `autograder`. Each name is imported on first use: torch
takes seconds to import, and a page that only draws doesn't need it.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from labkit import failed_cells, missing_names, pictures
from labkit.panel_notice import show_panel_notice

MODULES = {  # the module that defines each name
    "Seen": "recorded_calls",
    "assert_answered": "choices",
    "assert_close": "comparison",
    "assert_letters": "choices",
    "check": "check",
    "device": "device",
    "explain": "comparison",
    "hint": "hint",
    "progress": "progress",
    "unchanged": "argument_changes",
    "use_device": "device",
}
__all__ = ["memory", "probes", *MODULES, *pictures.MODULES]


def __getattr__(name: str) -> Any:
    """Import and return the object with this name."""
    if name in pictures.MODULES:
        value = getattr(pictures, name)
    elif name in MODULES:
        value = getattr(import_module(f"labkit.{MODULES[name]}"), name)
    elif name in ("memory", "probes"):
        value = import_module(f"labkit.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


class _Package(ModuleType):
    """This package's module type, which keeps a name such as `labkit.check` bound to its object.

    Otherwise importing the submodule `labkit.check` would rebind the name to that module.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        is_module = name in MODULES and isinstance(value, ModuleType)
        super().__setattr__(name, getattr(value, name) if is_module else value)


sys.modules[__name__].__class__ = _Package
missing_names.register_advice()
failed_cells.register_failures()
show_panel_notice()
