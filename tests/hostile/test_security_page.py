"""docs/sandbox.md and docs/trust.md agree with the code: the tests exist, the limits are the ones in force."""

import contextlib
import functools
import importlib
import re

from autograder.examiner.output_filter import MAX_OF_SUBMISSION
from autograder.examiner.time_budget import Timeouts
from autograder.intake import notebook_reading
from autograder.model.course import Lab
from autograder.rpc.frames import MAX_FRAME, MAX_ITEMS
from autograder.sandbox import Limits
from autograder.sandbox.doctor import LEVELS
from autograder.student_process import outputs
from scripts.liar_table import format_liar_table
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "sandbox.md").read_text()
TRUST = (ROOT / "docs" / "trust.md").read_text()


def test_every_test_that_the_table_of_attacks_names_is_there() -> None:
    table = (ROOT / "docs" / "attacks.md").read_text()
    attacks = {path.stem for path in (ROOT / "tests" / "hostile" / "attacks").glob("*/*.py")}
    for row in [line.split("|") for line in table.splitlines() if line.startswith("| ")][1:]:
        for name in re.findall(r"`([^`]+)`", row[3]):
            if "/" in name:
                place = name if name.startswith("tests/") else f"tests/hostile/{name}"
                assert (ROOT / place).exists(), name
            else:
                assert any(re.fullmatch(name.replace("*", ".*"), attack) for attack in attacks), name


def test_every_test_that_the_table_of_layers_names_exists() -> None:
    names = {
        name for row in re.findall(r"^\|.*\|$", PAGE, re.MULTILINE) for name in re.findall(r"`(test_\w+\.py)`", row)
    }
    assert len(names) > 5
    assert not [name for name in names if not (ROOT / "tests" / "sandbox" / name).exists()]


def test_names_that_attacks_replace_exist() -> None:
    """An attack on a name that was renamed would fail for that reason only."""
    texts = [path.read_text() for path in (ROOT / "tests" / "hostile" / "attacks").glob("*/*.py")]
    names = {name for text in texts for name in re.findall(r"\b(?:autograder|labkit)(?:\.\w+)+", text)}
    for text in texts:
        for module, alias in re.findall(r"^\s*import ((?:autograder|labkit)[\w.]+) as (\w+)$", text, re.MULTILINE):
            names |= {f"{module}.{attribute}" for attribute in re.findall(rf"\b{alias}\.(\w+(?:\.\w+)*)", text)}
    assert len(names) > 15
    assert not [name for name in names - {"labkit.py", "autograder.py"} if not _exists(name)]


def _exists(name: str) -> bool:
    """Whether this is a module, or leads from one to an attribute."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        with contextlib.suppress(ModuleNotFoundError, AttributeError):
            functools.reduce(getattr, parts[count:], importlib.import_module(".".join(parts[:count])))
            return True
    return False


def test_the_limits_are_those_of_the_code() -> None:
    limits, timeouts = Limits(), Timeouts()
    for text in (
        f"| a cell | {timeouts.cell:g} s |",
        f"| a check | {timeouts.check:g} s ",
        f"| a submission | {timeouts.submission:g} s by the clock, two thirds of it for its cells;",
        f"| {limits.memory >> 30} GiB |",
        f"| processes and threads | {limits.processes} |",
        f"| open files | {limits.descriptors} |",
        f"| size of a file | {limits.file_size >> 20} MiB |",
        f"| all files together | {limits.disk >> 30} GiB, {limits.files:,} files |",
        f"{outputs.MAX_TEXT:,} characters, {outputs.MAX_LINES:,} lines, {outputs.MAX_ITEMS} pieces, {outputs.MAX_DATA // 10**6} MB",
        f"{MAX_OF_SUBMISSION // 10**6} million characters",
        f"| {notebook_reading.MAX_BYTES // 10**6} MB, {notebook_reading.MAX_CELLS:,} cells, {notebook_reading.MAX_SOURCE:,} characters a cell and {notebook_reading.MAX_SOURCES:,} in all |",
    ):
        assert text in PAGE, text
    assert f"{MAX_FRAME >> 20} MiB a message, 2^{MAX_ITEMS.bit_length() - 1} items" in TRUST


def test_every_level_of_isolation_is_explained() -> None:
    for level in LEVELS:
        assert f"\n| `{level}`" in PAGE


def test_the_table_of_liars_is_made_from_the_proofs(labs: list[Lab]) -> None:
    assert format_liar_table(labs) in TRUST, "python -m scripts.liar_table writes it"
