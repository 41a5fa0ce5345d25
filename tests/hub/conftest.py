"""Fixtures of a class on a hub."""

from collections.abc import Iterator

import pytest

from tests.hub.exchange_process import ExchangeProcess, run_exchange


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExchangeProcess]:
    """The service, for all tests of a module: it starts in some seconds."""
    with run_exchange(tmp_path_factory.mktemp("exchange")) as running:
        yield running
