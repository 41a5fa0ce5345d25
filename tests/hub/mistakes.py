"""Mistakes of an administrator, each planted in a hub that was in order, and the words by which a check names it."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from autograder.hub.exchange_access import list_exchange_folders, prepare_exchange
from autograder.hub.settings import read_settings
from tests.hub.department import Department


def plant_readable_course(place: Department) -> None:
    place.course.chmod(0o755)


def plant_readable_home(place: Department) -> None:
    Path("/home", place.names["ana"]).chmod(0o755)


def plant_readable_database(place: Department) -> None:
    (place.hub / "jupyterhub.sqlite").touch()
    (place.hub / "jupyterhub.sqlite").chmod(0o644)


def plant_writable_hub(place: Department) -> None:
    place.hub.chmod(0o777)


def plant_open_exchange(place: Department) -> None:
    make_exchange_folder(place, "inbound")
    (place.hub / "exchange" / "gradlab").chmod(0o755)


def plant_shared_group(place: Department) -> None:
    subprocess.run(["usermod", "--gid", place.names["grader"], place.names["ana"]], check=True)


def plant_listed_member(place: Department) -> None:
    subprocess.run(["usermod", "-aG", place.names["grader"], place.names["ana"]], check=True)


def plant_locked_password(place: Department) -> None:
    subprocess.run(["usermod", "--lock", place.names["ana"]], check=True)


def plant_expired_account(place: Department) -> None:
    subprocess.run(["usermod", "--expiredate", "1", place.names["ana"]], check=True)


def plant_closed_shell(place: Department) -> None:
    subprocess.run(["usermod", "--shell", "/usr/sbin/nologin", place.names["ana"]], check=True)


def plant_missing_home(place: Department) -> None:
    shutil.rmtree(Path("/home", place.names["prof"]))


def plant_missing_account(place: Department) -> None:
    subprocess.run(["userdel", "--remove", place.names["prof"]], check=True, capture_output=True)


def plant_missing_exchange_user(place: Department) -> None:
    subprocess.run(["userdel", "--remove", place.names["exchange"]], check=True, capture_output=True)


def plant_readable_roster(place: Department) -> None:
    (place.hub / "roster.csv").write_text(f"id,email\n{place.names['ana']},ana@example.edu\n")
    (place.hub / "roster.csv").chmod(0o644)
    path = place.hub / "hub.toml"
    path.write_text(path.read_text().replace(f'students = ["{place.names["ana"]}"]', 'students = "roster.csv"'))


def plant_home_of_another(place: Department) -> None:
    shutil.chown(Path("/home", place.names["ana"]), place.names["prof"])


def plant_files_of_root(place: Department) -> None:
    (place.course / "gradebook.db").touch(mode=0o600)
    (place.course / "results" / "01_squares" / "history").mkdir(parents=True)
    for path in (place.course / "results", place.course / "results" / "01_squares"):
        place.own(path)


def plant_closed_lab(place: Department) -> None:
    outbound = make_exchange_folder(place, "outbound")
    (outbound / "01_squares").mkdir(mode=0o700)
    place.own(outbound / "01_squares")


def plant_inbox_of_root(place: Department) -> None:
    shutil.chown(make_exchange_folder(place, "inbound"), "root", "root")


def make_exchange_folder(place: Department, name: str) -> Path:
    """Make a folder of the course's exchange, and those around it, in order unless they exist."""
    hub = read_settings(place.hub / "hub.toml")
    hub.exchange.mkdir(exist_ok=True)
    folder = hub.courses[0].exchange_folder / name
    if not folder.exists():
        prepare_exchange(list_exchange_folders(hub, hub.courses[0]))
    return folder


def plant_readable_key(place: Department) -> None:
    make_certificate(place.hub / "tls.pem", place.hub / "tls.key")
    (place.hub / "tls.key").chmod(0o644)
    path = place.hub / "hub.toml"
    text = path.read_text().replace('"http:', '"https:')
    path.write_text(text + '[tls]\ncertificate = "tls.pem"\nkey = "tls.key"\n')


def make_certificate(certificate: Path, key: Path) -> None:
    """Write a certificate for today, and its key."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-subj", "/CN=127.0.0.1", "-days", "1", "-out", str(certificate), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)


def plant_hub_of_another(place: Department) -> None:
    shutil.chown(place.hub, place.names["prof"])


def plant_closed_way(place: Department) -> None:
    (place.hub / "exchange").mkdir(parents=True, exist_ok=True)
    place.hub.chmod(0o700)


# Together, since each check tries the sandbox as the course's user; but not accounts with the files that they own.
MISTAKES: dict[str, dict[Callable[[Department], None], str]] = {
    "files": {
        plant_readable_course: "everyone on this machine can read",
        plant_readable_home: "others can enter",
        plant_readable_database: "jupyterhub.sqlite",
        plant_writable_hub: "others can write to",
        plant_open_exchange: "exchange/gradlab has mode 755 and owner ",
        plant_closed_lab: "outbound/01_squares, so students don't get all labs of gradlab",
        plant_readable_roster: "with the students' names and addresses",
        plant_files_of_root: "gradebook.db (root), results/01_squares/history (root)",
        plant_readable_key: "tls.key",
        plant_listed_member: "can read the submissions of gradlab",
        plant_missing_home: "doesn't exist",
        plant_hub_of_another: "who could replace the files with which the hub starts",
        plant_missing_exchange_user: "there is no system user",
    },
    "accounts": {
        plant_home_of_another: "belongs to",
        plant_missing_account: "there is no system user for",
        plant_shared_group: "can read the submissions of gradlab",
        plant_locked_password: "with a locked password",
        plant_expired_account: "expired, so they can't log in",
        plant_closed_shell: "whose shell allows no login",
        plant_closed_way: "so no one can submit",
    },
    "exchange": {
        plant_inbox_of_root: "inbound has mode 1775 and owner root:root",
    },
}
