"""The folder of a hub: makes it, with the settings and the configuration that JupyterHub reads."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

import tomlkit

from autograder.base.atomic_files import write_atomically
from autograder.base.errors import GradlabError
from autograder.hub.course_connection import connect_course, read_course_name
from autograder.hub.exchange_access import list_exchange_folders, prepare_exchange
from autograder.hub.logs import prepare_logs
from autograder.hub.settings import HUB_FILE, Hub, read_settings

CONFIG_FILE = "jupyterhub_config.py"
CONFIG = '''\
"""JupyterHub's configuration. Edit hub.toml instead, or add settings of JupyterHub's own below."""

from pathlib import Path

from autograder.hub import configure

c = get_config()  # noqa: F821 - given by JupyterHub
configure(c, str(Path(__file__).with_name("hub.toml")))
'''
HEAD = "The classes of this hub. docs/hub.md lists the keys, and says which changes need a restart."
DEMO_STUDENTS, DEMO_TEACHERS = ("ana", "ben"), ("prof",)


def create_settings(folder: Path, course: Path, students: str, teachers: Sequence[str], demo: bool, port: int) -> None:
    """Write hub.toml.

    Args:
        folder: The hub's, which may not exist yet.
        course: The course's folder.
        students: The path of a roster; empty for made-up students.
        teachers: Their names; empty for a made-up one.
        demo: Whether everyone shares one system user.
        port: Where browsers reach the hub, on this machine.
    """
    if folder.resolve().is_relative_to(course.resolve()):
        raise GradlabError(
            f"{folder} is inside the course, and students' files would be, too", fix="choose another --folder"
        )
    name, roster = read_course_name(course), Path(students).resolve() if students else None
    document = tomlkit.document()
    document.add(tomlkit.comment(HEAD))
    document.add("address", tomlkit.item(f"http://127.0.0.1:{port}"))
    document.add("internal_port", tomlkit.item(port + 1))
    document.add("demo", tomlkit.item(demo))
    table = {
        "folder": os.path.relpath(course.resolve(), folder.resolve()),
        "students": os.path.relpath(roster, folder.resolve()) if roster else list(DEMO_STUDENTS),
        "teachers": list(teachers or DEMO_TEACHERS),
    }
    document.add("courses", tomlkit.item({name: table}))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder / HUB_FILE, tomlkit.dumps(document))
    try:
        read_settings(folder / HUB_FILE)
    except GradlabError:
        (folder / HUB_FILE).unlink()
        raise


def prepare_folder(hub: Hub) -> list[str]:
    """Write JupyterHub's configuration, make the exchange's folders, and connect the courses.

    Returns:
        A line for each course that was connected.
    """
    if not (hub.folder / CONFIG_FILE).exists():
        write_atomically(hub.folder / CONFIG_FILE, CONFIG)
    for name in (CONFIG_FILE, HUB_FILE):
        (hub.folder / name).chmod(0o600)  # a login that an administrator configures may have a secret
    if hub.is_demo:
        for folder in (hub.exchange, hub.folder / "homes"):
            folder.mkdir(mode=0o700, exist_ok=True)
    else:
        for folder in (hub.folder, hub.exchange):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o711)  # services reach their own folders, and no one lists what else is here
    if hub.is_demo or hub.exchange_user in {user.pw_name for user in pwd.getpwall()}:  # else, a check says so
        prepare_logs(hub)
        for course in hub.courses:
            prepare_exchange(list_exchange_folders(hub, course))
    return [
        f"added the hub's exchange to {course.folder / 'nbgrader_config.py'}"
        for course in hub.courses
        if connect_course(course.folder, course.exchange)
    ]
