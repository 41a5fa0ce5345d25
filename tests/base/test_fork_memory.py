"""Making forks cheap changes no memory of the process or its forks."""

import gc
import os

from autograder.base.fork_memory import gather_huge_pages, make_forks_cheap


def test_gathering_pages_is_harmless_wherever_it_runs() -> None:
    pages = bytearray(b"x") * (8 << 20)
    assert gather_huge_pages() >= 0
    assert set(pages) == {ord("x")}


def test_the_collector_ignores_existing_objects_and_still_frees_later_ones() -> None:
    gc.disable()
    before = [object()]
    make_forks_cheap()
    assert gc.isenabled() and not any(each is before for each in gc.get_objects())
    later = [before]
    assert any(each is later for each in gc.get_objects())
    pid = os.fork()
    if pid == 0:
        os._exit(gc.get_freeze_count() == 0)
    assert os.waitpid(pid, 0)[1] == 0
