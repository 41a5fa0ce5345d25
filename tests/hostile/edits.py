"""A small lab, and edits that turn its sound submission into a damaged or a hostile one."""

import copy
import json
from pathlib import Path
from typing import Any

LAB = "01_door"
FILE = f"{LAB}.ipynb"
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

# %% exercise: double points=2
# ---- exercises/double.py
# %% exercise
def double(x: Tensor) -> Tensor:
    """2 * x, elementwise."""
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% promises
# 2 * x -> example, another

# %% domain
# The inputs are picked by hand.

# %% checks
with check("example", "1 and 2 give 2 and 4"):
    assert_close(double(torch.tensor([1.0, 2.0])), torch.tensor([2.0, 4.0]))

# %% hidden checks
with check("another", "3.5 gives 7", required=True):
    assert_close(double(torch.tensor([3.5])), torch.tensor([7.0]))
# ---- lab.py
# %% given
STEP = 3.0

# %% [markdown]
# ## A constant added

# %% exercise: shift points=1
# ---- exercises/shift.py
# %% exercise
def shift(x: Tensor) -> Tensor:
    """x + STEP."""
    ### BEGIN SOLUTION
    return x + STEP
    ### END SOLUTION

# %% promises
# x + STEP -> example

# %% domain
# The inputs are picked by hand.

# %% checks
with check("example", "1 gives 4", required=True):
    assert_close(shift(torch.tensor([1.0])), torch.tensor([4.0]))
# ---- lab.py

# %% exercise: total points=1
# ---- exercises/total.py
# %% exercise
def total(x: Tensor) -> Tensor:
    """The sum of all elements of x."""
    ### BEGIN SOLUTION
    return x.sum()
    ### END SOLUTION

# %% promises
# The sum of all -> example

# %% domain
# The inputs are picked by hand.

# %% checks
with check("example", "1, 2 and 3 give 6", required=True):
    assert_close(total(torch.tensor([1.0, 2.0, 3.0])), torch.tensor(6.0))
'''

Notebook = dict[str, Any]


def write(folder: Path, notebook: Notebook, name: str = FILE) -> None:
    (folder / name).write_text(json.dumps(notebook, indent=1))


def write_bytes(folder: Path, data: bytes) -> None:
    (folder / FILE).write_bytes(data)


def find_course_notebook(folder: Path) -> Path:
    """The source of the lab, with solutions, in the course that a submission's folder is in."""
    source = folder.parent.parent.parent / "source" / LAB / FILE
    assert source.exists()
    return source


def find_index(notebook: Notebook, identity: str) -> int:
    (place,) = [i for i, c in enumerate(notebook["cells"]) if c["id"] == identity]
    return place


def find_cell(notebook: Notebook, identity: str) -> dict[str, Any]:
    cell: dict[str, Any] = notebook["cells"][find_index(notebook, identity)]
    return cell


def find_constant(notebook: Notebook) -> dict[str, Any]:
    """The given cell that sets STEP."""
    return next(c for c in notebook["cells"] if c["source"].startswith("STEP"))


def get_flags(notebook: Notebook, identity: str) -> dict[str, Any]:
    """nbgrader's metadata of a cell."""
    flags: dict[str, Any] = find_cell(notebook, identity)["metadata"]["nbgrader"]
    return flags


def build_untouched(notebook: Notebook, identity: str) -> str:
    """An exercise as released."""
    head = find_cell(notebook, identity)["source"].split("\n")[:2]
    return "\n".join([*head, "    # YOUR CODE HERE", "    raise NotImplementedError()"])


def copy_cell(notebook: Notebook, identity: str) -> dict[str, Any]:
    """A copy as JupyterLab pastes it: the same metadata, a new id."""
    return {**copy.deepcopy(find_cell(notebook, identity)), "id": f"pasted-{identity}"}


def make_code_cell(source: str, **fields: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": "mine",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    } | fields


def add(notebook: Notebook, source: str, **fields: Any) -> None:
    notebook["cells"].insert(1, make_code_cell(source, **fields))


def drop(notebook: Notebook, *identities: str) -> None:
    notebook["cells"] = [c for c in notebook["cells"] if c["id"] not in identities]


def merge(notebook: Notebook, into: str, *others: str) -> None:
    """As JupyterLab merges selected cells: the texts with an empty line between, in the first one's cell."""
    texts = [find_cell(notebook, identity)["source"] for identity in (into, *others)]
    find_cell(notebook, into)["source"] = "\n\n".join(texts)
    drop(notebook, *others)


def split(notebook: Notebook, identity: str, at_line: int) -> None:
    """As JupyterLab splits a cell: the metadata goes to both halves, the id to the last."""
    place, original = find_index(notebook, identity), find_cell(notebook, identity)
    lines = original["source"].split("\n")
    first = {**copy.deepcopy(original), "id": "first-half", "source": "\n".join(lines[:at_line]).strip("\n")}
    original["source"] = "\n".join(lines[at_line:]).strip("\n")
    notebook["cells"].insert(place, first)
