"""What a version of PyTorch answers is asked at night; that docs/claims.md is in order, by day too."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.name != "test_page.py":
        item.add_marker("nightly")
