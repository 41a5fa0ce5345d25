"""The modules that are imported in advance for student processes to share, if a course's labs mention them.

A start takes 1.9 s of CPU; the imports of torch.compile take 1.8 s more, scikit-learn 1.1 s, and matplotlib 0.4 s.
A submission imports modules that its lab doesn't mention in its own process.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from pathlib import Path

COMPILER, FIGURES, LABKIT, SKLEARN = "compiler", "figures", "labkit", "sklearn"
ALWAYS = ("ipywidgets", "torch.distributed")
FIRST_USED = {
    COMPILER: (
        "functorch.compile",
        "torch._dynamo.backends.debugging",
        "torch.distributed.tensor.experimental",
        "torch.export",
        "torch.fx.experimental.proxy_tensor",
        "torch.fx.experimental.symbolic_shapes",
        "torch.nn.attention.flex_attention",
        "torch.utils.checkpoint",
    ),
    FIGURES: ("matplotlib.pyplot",),
    LABKIT: ("labkit",),
    SKLEARN: ("sklearn.datasets",),
}
EVERYTHING = frozenset(FIRST_USED)
# An optimizer imports the compiler at its first step, and so do most of the others.
WORDS = {
    COMPILER: r"compile|optim|func\b|functorch|functional_call|vmap|jvp|vjp|jac|hessian|checkpoint|export|dynamo"
    r"|inductor|fx\b|jit|distributed|flex_attention|gradcheck|profiler|autograd\.functional",
    FIGURES: r"matplotlib|pyplot|seaborn|pandas|\.plot\(",
    LABKIT: r"labkit",
    SKLEARN: r"sklearn",
}


def find_course_import_groups(course: Path, assignments: Iterable[str] = ("*",)) -> frozenset[str]:
    """Return the groups that the course's notebooks of these assignments mention; all if there's no notebook."""
    paths = [path for name in assignments for path in (course / "source").glob(f"{name}/*.ipynb") if path.is_file()]
    return find_import_groups(path.read_bytes() for path in paths) if paths else EVERYTHING


def find_import_groups(notebooks: Iterable[bytes]) -> frozenset[str]:
    """Return the groups that these notebooks of the course mention."""
    texts = [notebook.decode(errors="replace") for notebook in notebooks]
    return frozenset(group for group, words in WORDS.items() if any(re.search(words, text) for text in texts))


def import_groups(groups: Iterable[str]) -> None:
    """Import the modules of these groups, and those of every lab."""
    for name in (*ALWAYS, *(name for group in groups for name in FIRST_USED[group])):
        importlib.import_module(name)
