"""A roster that changes while the hub of a class of system users runs.

Slow: a hub starts.
"""

import pwd
from pathlib import Path

import pytest

from labext.exchange_client import ExchangeClient
from tests.hub.system_class import make_accounts, run_system_class
from tests.waiting import wait_until


@pytest.mark.slow
@pytest.mark.gate
@pytest.mark.nightly
def test_a_new_student_is_admitted_once_they_have_a_private_account(built_course: Path) -> None:
    with run_system_class(built_course) as online:
        place = online.hub.folder.parent
        log, gradebook = place / "hub.log", online.hub.course / "gradebook.db"
        wait_until(gradebook.exists, "the gradebook has the roster")
        assert gradebook.owner() == online.grader
        rows = f"id\n{online.ana}\n{online.ben}\n"

        (place / "roster.csv").write_text(f"{rows}{online.grader}\n")
        wait_until(lambda: "who is a student" in log.read_text(), "the course's owner is refused as a student")
        (place / "roster.csv").write_text(f"id\n{online.ana}\n{online.ben}typo\n")
        wait_until(lambda: f"no system user for {online.ben}typo" in log.read_text(), "a misspelt name is refused")
        assert f"removed {online.ben}" not in log.read_text(), "no one is removed while a check fails"
        assert ExchangeClient(online.hub.exchange, online.log_in(online.ben).draw_token()).list_courses() == ["gradlab"]
        with make_accounts("cleo") as names:
            name = names["cleo"]
            home = Path(pwd.getpwnam(name).pw_dir)
            home.chmod(0o755)
            (place / "roster.csv").write_text(f"{rows}{name}\n")
            wait_until(lambda: f"others can enter {home}" in log.read_text(), "an open home is refused")
            assert f"added {name}" not in log.read_text()
            home.chmod(0o700)
            wait_until(lambda: f"added {name}" in log.read_text(), "the student is admitted")
            client = ExchangeClient(online.hub.exchange, online.log_in(name).draw_token())
            assert client.list_courses() == ["gradlab"]
