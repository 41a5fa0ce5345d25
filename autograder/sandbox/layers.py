"""All layers, in the order in which `gradlab doctor` lists them. Each is defined in the file that implements it."""

from __future__ import annotations

from collections.abc import Iterable

from autograder.sandbox.descriptors import DESCRIPTORS
from autograder.sandbox.home import HOME
from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.landlock import LANDLOCK
from autograder.sandbox.mounts import MOUNTS, PROC
from autograder.sandbox.namespaces import IPC, NETWORK, PID
from autograder.sandbox.plan import Layer
from autograder.sandbox.privileges import PRIVILEGES
from autograder.sandbox.rlimits import LIMITS
from autograder.sandbox.seccomp import SECCOMP
from autograder.sandbox.uid import UID

# A process takes them stage by stage, and those of one stage in this order.
LAYERS = (
    UID,
    NETWORK,
    IPC,
    MOUNTS,
    PID,
    PROC,
    LANDLOCK,
    SECCOMP,
    LIMITS,
    DESCRIPTORS,
    PRIVILEGES,
    HOME,
    KEEPER,
)
NAMESPACES = frozenset(layer for layer in LAYERS if layer.namespace)
ALWAYS = frozenset(layer for layer in LAYERS if layer.always)


def sort_layers(layers: Iterable[Layer]) -> list[Layer]:
    """Sort layers in the order in which a process takes them."""
    chosen = {*layers}
    return [layer for layer in sorted(LAYERS, key=lambda layer: layer.stage) if layer in chosen]


def list_layer_names(layers: Iterable[Layer]) -> list[str]:
    """Return the sorted names, as results and their keys contain them."""
    return sorted(map(str, layers))
