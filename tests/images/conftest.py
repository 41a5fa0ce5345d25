"""The images, built once from the checkout as it is. Only `make image-test` does it: it takes minutes."""

import os
from pathlib import Path

import pytest

from tests.images import engine


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.environ.get("GRADLAB_IMAGES") != "1":
        pytest.skip("builds images for minutes: make image-test")
    engine.require_tools()
    folder = tmp_path_factory.mktemp("images")
    engine.import_base_image(folder)
    return folder


def build(target: str, scratch: Path) -> str:
    return engine.build(target, scratch, f"--target={target}", f"--build-arg=BASE={engine.BASE}")


@pytest.fixture(scope="session")
def packages(scratch: Path) -> str:
    """The base of students' images, with nothing of the course in it."""
    return build("packages", scratch)


@pytest.fixture(scope="session")
def alone(scratch: Path) -> str:
    return build("alone", scratch)


@pytest.fixture(scope="session")
def student(scratch: Path) -> str:
    return build("student", scratch)


@pytest.fixture(scope="session")
def hub(scratch: Path) -> str:
    return build("hub", scratch)


@pytest.fixture(scope="session")
def grader(scratch: Path) -> str:
    return build("grader", scratch)
