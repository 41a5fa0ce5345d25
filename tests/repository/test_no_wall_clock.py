"""No test's outcome depends on how busy the machine is."""

import pytest

from tests.conftest import ROOT
from tests.repository.wall_clocks import find_wall_clocks

TESTS = ROOT / "tests"
OF_STUDENTS = TESTS / "hostile" / "attacks"
FAULTS = {
    "a limit on what was measured": "import time\ndef test():\n    start = time.monotonic()\n    assert time.monotonic() - start < 5\n",
    "by another name": "def test():\n    start = perf_counter()\n    took = perf_counter() - start\n    assert took < 5\n",
    "a deadline": "import time\ndef test():\n    end = time.time() + 5\n    while time.time() < end: pass\n",
    "a short wait": "def test(process):\n    process.communicate(timeout=60)\n",
    "a short wait without a name": "def test(process):\n    process.wait(10)\n",
    "a short test": "@pytest.mark.timeout(60)\ndef test(): pass\n",
}
SOUND = """
@pytest.mark.timeout(1800)
def test(process, monkeypatch):
    start = time.process_time()
    assert time.process_time() - start < 5
    process.wait()
    time.sleep(0.1)
    place = f"worker-{time.monotonic_ns()}"
    "".join(place)
"""


@pytest.mark.parametrize("name", FAULTS)
def test_a_limit_by_the_clock_is_found(name: str) -> None:
    assert len(list(find_wall_clocks(FAULTS[name]))) == 1


def test_waiting_for_an_event_or_counting_its_own_time_is_accepted() -> None:
    assert list(find_wall_clocks(SOUND)) == []


def test_no_test_has_one() -> None:
    """Wait for an event, and count calls, bytes or processor time instead. pytest-timeout ends what hangs."""
    limits = [
        f"{path.relative_to(ROOT)}:{line} {words}"
        for path in sorted(TESTS.rglob("*.py"))
        if OF_STUDENTS not in path.parents
        for line, words in find_wall_clocks(path.read_text(encoding="utf-8"))
    ]
    assert limits == []
