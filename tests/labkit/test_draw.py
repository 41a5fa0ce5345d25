"""Drawn inputs are the same in every process."""

import importlib
from pathlib import Path

import pytest
from hypothesis import strategies as st

from labkit.draw import draw_inputs


def draw_number(draw, edge):
    return (draw(st.integers(0, 10**6)),)


def test_imported_modules_dont_change_what_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = set(range(3, 10**6, 4321))
    (tmp_path / "planted_constants.py").write_text(f"NUMBERS = {planted}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("planted_constants")
    drawn = {one.make_arguments()[0] for one in draw_inputs(draw_number, "", 400, 1)}
    assert len(drawn & planted) <= 1  # by chance: 232 of a million numbers are planted


def test_a_seed_always_draws_the_same_inputs() -> None:
    first, again = ([one.choices for one in draw_inputs(draw_number, "", 20, 7)] for _ in range(2))
    assert first == again
