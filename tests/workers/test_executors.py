"""Graders on this machine."""

import pytest

from autograder.grading.task import GradingSettings
from autograder.sandbox import Isolation, find_layers, find_strongest_level
from autograder.workers import executors
from autograder.workers.executors import LocalExecutor


def test_the_layers_of_the_sandbox_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    level = find_strongest_level(find_layers())
    tried: list[Isolation] = []
    select = executors.select_required_layers
    monkeypatch.setattr(executors, "select_required_layers", lambda level: tried.append(level) or select(level))
    executor, settings = LocalExecutor(), GradingSettings(level)
    first = executor.list_layer_names(settings, [])
    assert first and executor.list_layer_names(settings, []) == first
    assert tried == [level]
