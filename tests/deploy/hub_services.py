"""What the code says about the hub of a folder of deploy/, so that no test repeats a name, a port or a path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograder.hub.course_part import PREPARE, build_parser
from autograder.hub.service_names import CULLER
from autograder.hub.services import build_services
from autograder.hub.settings import Hub, read_settings
from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"
SETTINGS = Path("/srv/hub/hub.toml")  # in every container
PARSER = build_parser()


def read_hub(folder: Path) -> Hub:
    """Read hub.toml of a folder, with a roster next to it if it needs one."""
    (folder / "roster.csv").write_text("id\nana\n")
    (folder / "hub.toml").write_text((DEPLOY / folder.name / "hub.toml").read_text())
    return read_settings(folder / "hub.toml")


def list_part_names(hub: Hub, with_address: bool = False) -> set[str]:
    """The services that containers run; with_address: only those that listen."""
    services = [each for each in build_services(hub) if each["name"] != CULLER]  # a process next to the hub
    return {each["name"] for each in services if "url" in each or not with_address}


def read_part(command: Sequence[str]) -> tuple[str, int]:
    """(service, port) of a container's command line."""
    assert list(command[:3]) == ["python", "-m", "autograder.hub.course_part"]
    parsed = PARSER.parse_args(list(command[3:]))
    assert parsed.settings == SETTINGS
    return parsed.service, parsed.port


def is_course_user(service: str) -> bool:
    """Whether the service works in the course's folder. The exchange's user can't read it."""
    return service == PREPARE or not service.startswith("exchange")
