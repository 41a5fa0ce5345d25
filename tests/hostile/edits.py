"""What the files in damaged/ use to turn the sound submission of a small lab into a damaged one.

Each of them defines damage(folder, notebook), which writes what stands in submitted/STUDENT/LAB; KEPT, the exercises that
keep their full marks (all of them where it says nothing); and NOTE, a text that must be in the notes ("": no notes).
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

LAB = "01_door"
DOUBLE, SHIFT, TOTAL = "exercise-double", "exercise-shift", "exercise-total"
CHECK = "check-double"
EXERCISES = {"double": 2.0, "shift": 1.0, "total": 1.0}
LAB_SOURCE = '''\
# Three small functions.

# %% given
import torch
from torch import Tensor

from labkit import assert_close, check

# %% [markdown]
# # Three small functions

# %% exercise: double
def double(x: Tensor) -> Tensor:
    """2 * x, elementwise."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION


# %% check: double points=2
with check("1 and 2 give 2 and 4"):
    assert_close(double(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 4.0]))
### BEGIN HIDDEN TESTS
with check("3.5 gives 7", required=True):
    assert_close(double(torch.tensor([3.5])), torch.tensor([7.0]))
### END HIDDEN TESTS

# %% given
STEP = 3.0

# %% [markdown]
# ## A constant added

# %% exercise: shift
def shift(x: Tensor) -> Tensor:
    """x + STEP."""
    ### BEGIN SOLUTION
    return x + STEP
    ### END SOLUTION


# %% check: shift points=1
with check("1 gives 4", required=True):
    assert_close(shift(torch.tensor([1.0])), torch.tensor([4.0]))

# %% exercise: total
def total(x: Tensor) -> Tensor:
    """The sum of all elements of x."""
    ### BEGIN SOLUTION
    return x.sum()
    ### END SOLUTION


# %% check: total points=1
with check("1, 2 and 3 give 6", required=True):
    assert_close(total(torch.tensor([1.0, 2.0, 3.0])), torch.tensor(6.0))
'''

Notebook = dict[str, Any]


def write(folder: Path, notebook: Notebook) -> None:
    (folder / f"{LAB}.ipynb").write_text(json.dumps(notebook, indent=1))


def write_bytes(folder: Path, data: bytes) -> None:
    (folder / f"{LAB}.ipynb").write_bytes(data)


def at(notebook: Notebook, identity: str) -> int:
    (place,) = [i for i, c in enumerate(notebook["cells"]) if c["id"] == identity]
    return place


def cell(notebook: Notebook, identity: str) -> dict[str, Any]:
    found: dict[str, Any] = notebook["cells"][at(notebook, identity)]
    return found


def pasted(notebook: Notebook, identity: str) -> dict[str, Any]:
    """A copy as JupyterLab pastes it: the same metadata, an id of its own."""
    return {**copy.deepcopy(cell(notebook, identity)), "id": f"pasted-{identity}"}


def code(source: str, **fields: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": "mine",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    } | fields


def drop(notebook: Notebook, *identities: str) -> None:
    notebook["cells"] = [c for c in notebook["cells"] if c["id"] not in identities]


def merge(notebook: Notebook, into: str, *others: str) -> None:
    """As JupyterLab merges selected cells: the texts with an empty line between, in the first one's cell."""
    texts = [cell(notebook, identity)["source"] for identity in (into, *others)]
    cell(notebook, into)["source"] = "\n\n".join(texts)
    drop(notebook, *others)


def split(notebook: Notebook, identity: str, at_line: int) -> None:
    """As JupyterLab splits a cell: the metadata goes to both halves, the id to the last."""
    place, whole = at(notebook, identity), cell(notebook, identity)
    lines = whole["source"].split("\n")
    first = {**copy.deepcopy(whole), "id": "first-half", "source": "\n".join(lines[:at_line]).strip("\n")}
    whole["source"] = "\n".join(lines[at_line:]).strip("\n")
    notebook["cells"].insert(place, first)
