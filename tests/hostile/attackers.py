"""Reads the files in attacks/: each is a submission that tries something, written as cells in the percent format.

The first line says what it tries. Options follow as comments, and then the cells, with their places:
  first     the top of the notebook          before, after   around the exercise `double`
  exercise  instead of `double`              end             after the last check
  file: X   next to the notebook             folder          run by the test, with `folder` and `notebook`, to spoil these
Without an `exercise`, the answer of `double` is wrong, or right if `# expects: double=2` says so. `# expects: shift=any`
allows the attacker's other marks to be lost; without it they are kept. `# night: WHY` leaves a slow one to `make nightly`. `# message: TEXT | TEXT` says that one of these
texts must be in the result that the student reads: which limit is hit first can depend on the machine.
Attacks find COURSE, NEIGHBOR, DROP, GRADER and others in their namespace, and HELPERS. They print what they catch: BREACH,
or a canary.
"""

import functools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import NIGHTLY
from tests.hostile.edits import DOUBLE, LAB, Notebook, find_cell, find_index, make_code_cell, write

ATTACKS = Path(__file__).parent / "attacks"
HEADER = re.compile(r"^# %% (?P<where>.+)$", re.MULTILINE)
HELPERS = """
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


def attempt(act):
    try:
        act()
        print(BREACH)
    except (OSError, AttributeError, OverflowError) as error:
        print(error)


def spoil(path, data=b"spoiled"):
    for mode in ("wb", "ab", "r+b"):
        try:
            with open(path, mode) as file:
                file.write(data)
            print(BREACH, path)
        except OSError:
            pass
"""
WRONG, RIGHT = "def double(x):\n    return 0 * x\n", "def double(x):\n    return 2 * x\n"


@dataclass(frozen=True)
class Attack:
    """expects: exercise -> points, None if any number will do."""

    name: str
    tries: str
    cells: dict[str, str]
    expects: dict[str, float | None] = field(default_factory=dict)
    message: str = ""


@functools.cache
def list_attack_names() -> tuple[str, ...]:
    """Attacks by kind, in the order in which they are graded: by night all."""
    return tuple(path.stem for path in sorted(ATTACKS.glob("*/*.py")) if NIGHTLY or path.stem not in list_slow_names())


@functools.cache
def list_slow_names() -> frozenset[str]:
    """Attacks that take so long that only `make nightly` tries them."""
    return frozenset(path.stem for path in ATTACKS.glob("*/*.py") if "\n# night: " in path.read_text())


def read_attack(name: str) -> Attack:
    (path,) = ATTACKS.glob(f"*/{name}.py")
    head, *parts = HEADER.split(path.read_text())
    options = dict(re.findall(r"^# (\w+): (.+)$", head, re.MULTILINE))
    expects: dict[str, float | None] = {"double": 0.0, "shift": 1.0, "total": 1.0}
    for pair in options.get("expects", "").split():
        exercise, points = pair.split("=")
        expects[exercise] = None if points == "any" else float(points)
    cells = {place: source.strip("\n") for place, source in zip(parts[::2], parts[1::2], strict=True)}
    return Attack(name, head.splitlines()[0].removeprefix("# "), cells, expects, options.get("message", ""))


def hand_in(attack: Attack, folder: Path, notebook: Notebook, values: dict[str, Any]) -> None:
    """Write the attack into a submission's folder. values: the names that the attacker's cells find."""
    find_cell(notebook, DOUBLE)["source"] = attack.cells.get(
        "exercise", RIGHT if attack.expects["double"] == 2 else WRONG
    )
    preamble = "\n".join(f"{name} = {value!r}" for name, value in values.items()) + HELPERS
    for position, place in (
        ("after", find_index(notebook, DOUBLE) + 1),
        ("before", find_index(notebook, DOUBLE)),
        ("first", 0),
    ):
        if position in attack.cells:
            notebook["cells"].insert(place, make_code_cell(attack.cells[position], id=f"attack-{position}"))
    notebook["cells"].insert(0, make_code_cell(preamble, id="attack-known"))
    if "end" in attack.cells:
        notebook["cells"].append(make_code_cell(attack.cells["end"], id="attack-end"))
    for position, source in attack.cells.items():
        if position.startswith("file: "):
            (folder / position.removeprefix("file: ")).write_text(source)
    if "folder" in attack.cells:
        exec(attack.cells["folder"], {"folder": folder, "notebook": notebook, **values})
    write(folder, notebook)
    assert (folder / f"{LAB}.ipynb").exists()
