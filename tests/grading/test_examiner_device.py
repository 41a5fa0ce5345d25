"""The examiner's checks see the device of their submission, and whatever runs later sees what was set before."""

import os

import pytest

from autograder.base.device import Device
from autograder.grading.examiner_device import VARIABLE, use_examiner_device


@pytest.mark.parametrize("before", [None, "cuda:1"])
def test_the_device_is_restored_after_an_error_too(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if before is not None:
        monkeypatch.setenv(VARIABLE, before)
    with pytest.raises(KeyError), use_examiner_device(Device.CPU):
        assert os.environ[VARIABLE] == "cpu"
        raise KeyError
    assert os.environ.get(VARIABLE) == before
