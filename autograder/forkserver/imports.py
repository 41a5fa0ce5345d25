"""What a fork server imports in advance for student processes to share, and which of it a course's labs name.

A start takes 1.9 s of CPU; what torch.compile needs takes 1.8 s more, scikit-learn 1.1 s, and matplotlib 0.4 s. A
submission imports in its own process what its lab doesn't name.
"""

from __future__ import annotations

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
# An optimizer imports the compiler at its first step, and so does much of what else is named here.
WORDS = {
    COMPILER: r"compile|optim|func\b|functorch|functional_call|vmap|jvp|vjp|jac|hessian|checkpoint|export|dynamo"
    r"|inductor|fx\b|jit|distributed|flex_attention|gradcheck|profiler|autograd\.functional",
    FIGURES: r"matplotlib|pyplot|seaborn|pandas|\.plot\(",
    LABKIT: r"labkit",
    SKLEARN: r"sklearn",
}


def find_course_groups(course: Path, labs: Iterable[str] = ("*",)) -> frozenset[str]:
    """What the course's notebooks of these labs, or of all labs, name; everything if there is no notebook."""
    found = [path for lab in labs for path in (course / "source").glob(f"{lab}/*.ipynb") if path.is_file()]
    return find_groups(path.read_bytes() for path in found) if found else EVERYTHING


def find_groups(notebooks: Iterable[bytes]) -> frozenset[str]:
    """What these notebooks of the course name."""
    texts = [notebook.decode(errors="replace") for notebook in notebooks]
    return frozenset(group for group, words in WORDS.items() if any(re.search(words, text) for text in texts))
