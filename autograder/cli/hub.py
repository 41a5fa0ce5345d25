"""The command that puts a class online."""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from autograder.base.errors import GradlabError
from autograder.cli.app import app, err, format_count, out

if TYPE_CHECKING:
    from autograder.hub.finding import Finding
    from autograder.hub.settings import Hub

START, CHECK, FOLDER = "start", "check", "--folder"
AS_ROOT = "run the same command as root, such as with sudo"
FolderPath = Annotated[Path, typer.Option(help="The hub's folder, with hub.toml; it must not be in the course's.")]


class _HubGroup(TyperGroup):
    """`gradlab hub check`, and `gradlab hub` for all else: most people only start a hub."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = [
            place for place, word in enumerate(args) if word in (START, CHECK) and args[place - 1 : place] != [FOLDER]
        ]
        name = args.pop(words[0]) if words else START  # an option may precede it
        return super().parse_args(ctx, [name, *args])


hub = typer.Typer(cls=_HubGroup)
app.add_typer(
    hub, name="hub", help="Start a JupyterHub with a course, or check one.", rich_help_panel="Put a class online"
)


@hub.command(START)
def start(
    course: Annotated[str, typer.Argument(help="The course's folder; empty to start again.")] = "",
    students: Annotated[
        str, typer.Option(metavar="ROSTER", help="A CSV file with the students, as for gradlab roster.")
    ] = "",
    teachers: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Users who teach the course: prof,assistant.")
    ] = None,
    folder: FolderPath = Path("hub"),
    demo: Annotated[
        bool, typer.Option("--demo", help="Try it on this machine: one system user and one password for everyone.")
    ] = False,
    port: Annotated[int, typer.Option(min=1024, max=65000, help="The hub's port; it uses the next ones, too.")] = 8000,
) -> None:
    """Start a JupyterHub with a course: servers for everyone, the exchange, the watch and the teachers' place.

    You can leave out the word start. The first start writes hub.toml, which you can edit. Ctrl-C ends everything.
    To look for what isn't safe about a hub, run gradlab hub check.
    """
    from autograder.hub.hub_folder import CONFIG_FILE, create_settings, prepare_folder
    from autograder.hub.hub_lock import lock_folder
    from autograder.hub.settings import HUB_FILE

    if importlib.util.find_spec("jupyterhub") is None:
        raise GradlabError("JupyterHub isn't installed", fix="pip install 'gradlab[hub]'")
    if not (folder / HUB_FILE).exists():
        _refuse_missing(course, students, teachers, demo)
        names = [name.strip() for value in teachers or () for name in value.split(",")]
        create_settings(folder, Path(course), students, names, demo, port)
        out.print(f"wrote {folder / HUB_FILE}")
    elif course or students or teachers:
        raise GradlabError(
            f"{folder / HUB_FILE} has the hub's courses, students and teachers already",
            fix=f"edit it, then run gradlab hub --folder {folder}",
        )
    settings = _read_settings(folder)
    if not settings.is_demo and os.geteuid() != 0:
        raise GradlabError(
            "a hub starts students' servers as their system users, which only root can",
            fix="run it as root, or try it on this machine with --demo and another --folder",
        )
    for line in prepare_folder(settings):
        out.print(line)
    _refuse_unsafe(folder)
    if not lock_folder(folder):
        raise GradlabError(
            f"the hub in {folder} is running already", fix="stop it first, if you want to start it again"
        )
    variables = dict(os.environ)
    if settings.is_demo:
        _print_banner(variables, has_password=settings.lti is None)
    out.print(f"Starting. In about a minute, open {settings.address}. Stop with Ctrl-C.")
    sys.stdout.flush()
    command = [sys.executable, "-m", "jupyterhub", "-f", str((folder / CONFIG_FILE).resolve())]
    os.execve(sys.executable, command, variables)  # signals reach JupyterHub itself


@hub.command(CHECK)
def check(folder: FolderPath = Path("hub")) -> None:
    """Print what isn't safe about a hub, or keeps it from working, each with the command that fixes it.

    It changes nothing. Run it as root, unless the hub is a demo. The status is 1 if something was found.
    """
    from autograder.hub.checks import check_hub

    settings = _read_settings(folder)
    if not settings.is_demo and os.geteuid() != 0:
        raise GradlabError("a hub whose users have accounts can be checked by root only", fix=AS_ROOT)
    findings = check_hub(settings)
    for finding in findings:
        out.print(finding.format(), markup=False)
    if findings:
        raise GradlabError(_describe_findings(findings), fix="make each change above, and check again")
    out.print("No problem found. docs/hub.md lists what is checked, and what isn't.")


def _describe_findings(findings: Sequence[Finding]) -> str:
    found, blocking = format_count(len(findings), "problem"), sum(finding.blocks for finding in findings)
    if not blocking:
        return f"{found} found. The hub starts anyway"
    which = "that's" if len(findings) == 1 else "they're" if blocking == len(findings) else f"{blocking} of them are"
    return f"{found} found. The hub won't start until {which} fixed"


def _read_settings(folder: Path) -> Hub:
    """Read hub.toml. Raises GradlabError if this command doesn't start such a hub."""
    from autograder.hub.settings import HUB_FILE, read_settings

    try:
        settings = read_settings(folder / HUB_FILE)
    except PermissionError as error:
        raise GradlabError(f"{error.filename} can't be read by this user", fix=AS_ROOT) from None
    if settings.containers:
        raise GradlabError("the parts of this hub run in containers", fix="start them as docs/containers.md says")
    return settings


def _refuse_missing(course: str, students: str, teachers: list[str] | None, demo: bool) -> None:
    """Raise GradlabError if the first start lacks an argument."""
    if not course:
        raise GradlabError("there is no hub yet", fix="gradlab hub COURSE --students ROSTER --teachers NAME")
    if not (Path(course) / "nbgrader_config.py").is_file():
        raise GradlabError(f"{course} has no nbgrader_config.py", fix="give the course's folder")
    if not demo and not (students and teachers):
        raise GradlabError(
            "a hub needs its students and teachers",
            fix="add --students ROSTER --teachers NAME, or --demo for made-up ones",
        )


def _print_banner(variables: dict[str, str], has_password: bool) -> None:
    """Say what a demo is for, and draw its password.

    Args:
        variables: The hub's environment.
        has_password: Whether users don't log in by LTI.
    """
    from autograder.hub.configuration import PASSWORD

    out.print(
        "A demo: all users share one system user, so nothing isolates them from each other, and every student can read "
        "the solutions. Only this machine can reach it."
    )
    if os.geteuid() == 0:
        out.print("You're root, so each of their servers has root's rights: let in no one but yourself.")
    if has_password:
        variables[PASSWORD] = secrets.token_urlsafe(9)
        out.print(f"Log in as any user in hub.toml with the password {variables[PASSWORD]}")


def _refuse_unsafe(folder: Path) -> None:
    """Print what a check found. Raises GradlabError if the hub must not start with it."""
    from autograder.hub.checks import check_hub
    from autograder.hub.settings import HUB_FILE, read_settings

    findings, start = check_hub(read_settings(folder / HUB_FILE)), f"gradlab hub --folder {folder}"
    for finding in findings:
        err.print(finding.format(), markup=False)
    if any(finding.blocks for finding in findings):
        raise GradlabError("the hub doesn't start like this", fix=f"fix the problems above, then run {start}")
