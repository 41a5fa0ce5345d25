"""Tests of PyTorch's behavior run at night; those of the page docs/claims.md run by day too."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "claim(number, ...): the rows of docs/claims.md that the test runs")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.name != "test_page.py":
        item.add_marker("nightly")
