"""What gradlab hub check finds by running Python of a course's owner, or an administrator's jupyterhub_config.py."""

from pathlib import Path

import pytest

from autograder.hub.checks import check_hub
from autograder.hub.finding import Finding
from autograder.hub.hub_folder import prepare_folder
from autograder.hub.settings import read_settings
from tests.hub.hub_file import end_demo, list_problems

pytestmark = pytest.mark.usefixtures("equipped")
TERM = """[labs."01_force"]
practice = true
[[extension]]
lab = "01_forces"
student = "ana"
until = 2027-02-03T18:00:00Z
[[team]]
name = "blue"
members = ["ana", "ben"]
labs = ["02_fields"]
"""


def find(folder: Path) -> list[Finding]:
    return check_hub(read_settings(folder / "hub.toml"))


def test_names_in_term_toml_that_the_course_lacks_are_warnings(folder: Path) -> None:
    path = folder.parent / "physics" / "term.toml"
    path.write_text(TERM)
    lab, team = find(folder)
    assert lab.problem == f"{path}: [labs] names '01_force', which isn't a lab of this course"
    assert "did you mean 01_forces" in lab.cure
    assert "team 'blue' names '02_fields', which isn't a lab of this course" in team.problem
    assert not lab.blocks and not team.blocks
    assert not (folder.parent / "physics" / "gradebook.db").exists(), "a check makes no file"


def test_a_gradebook_that_is_damaged_is_found(folder: Path) -> None:
    course = folder.parent / "physics"
    (course / "results").mkdir()
    (course / "gradebook.db").write_text("this is no database" * 100)
    (found,) = find(folder)
    assert found.problem == f"{course / 'gradebook.db'} can't be read, since it's damaged: file is not a database"
    assert found.cure.startswith("install -o ") and found.blocks


def test_a_configuration_as_gradlab_writes_it_has_no_problem(folder: Path) -> None:
    prepare_folder(read_settings(folder / "hub.toml"))
    path = folder / "jupyterhub_config.py"
    path.write_text(f"{path.read_text()}print('loaded')\nc.JupyterHub.services += [{{'name': 'own'}}]\n")
    assert list_problems(folder) == ""


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("c.JupyterHub.concurrent_spawn_limit = (\n", "{path}:9: SyntaxError: '(' was never closed"),
        ("c.JupyterHub.concurrent_spawn_limit = LIMIT\n", "{path}:9: NameError: name 'LIMIT' is not defined"),
        ("raise SystemExit('no')\n", "{path} can't be read: no"),
        ("c.JupyterHub.services = []\n", "after {path}, c.JupyterHub.services lacks what the hub needs: exchange, roster,"),
        ("c.JupyterHub.load_groups = {}\n", "after {path}, c.JupyterHub.load_groups lacks what the hub needs: "),
    ],
)  # fmt: skip
def test_a_configuration_with_which_no_class_works_is_found(folder: Path, lines: str, problem: str) -> None:
    prepare_folder(read_settings(folder / "hub.toml"))
    path = folder / "jupyterhub_config.py"
    path.write_text(f"{path.read_text()}{lines}")
    (found,) = find(folder)
    assert found.problem.startswith(problem.format(path=path)), found.problem
    assert found.cure and found.blocks


def test_a_configuration_that_does_not_name_the_hub_is_found(folder: Path) -> None:
    prepare_folder(read_settings(folder / "hub.toml"))
    (folder / "jupyterhub_config.py").write_text("c.JupyterHub.services.append({'name': 'own'})\n")
    assert list_problems(folder).count(f'FIX call configure(c, "{folder}/hub.toml") there') == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("c.JupyterHub.authenticator_class = 'dummy'", "'dummy', so anyone can log in as any user, without a password"),
        ("c.JupyterHub.authenticator_class = 'shared-password'", "so all users log in with the same password"),
        ("c.JupyterHub.spawner_class = 'simple'", "so all students' servers run as the hub's own user, root"),
        ("c.Authenticator.admin_users.add('ana')", "administrators of the hub, so they can join the teachers: ana"),
        ("c.Authenticator.username_map = {'ben': 'prof'}", "lets ben log in as prof, by c.Authenticator.username_map"),
        ("c.JupyterHub.ip = '0.0.0.0'", "sets c.JupyterHub.ip, so the hub doesn't listen where hub.toml says"),
        (
            "c.JupyterHub.load_roles.append({'name': 'own', 'users': ['ana'], 'scopes': ['admin:users', 'self']})",
            "gives students rights over others (admin:users): ana",
        ),
        ("c.JupyterHub.authenticator_class = 'nonsense'", "c.JupyterHub.authenticator_class can't be imported: "),
    ],
)
def test_a_configuration_that_lets_people_be_others_is_found(folder: Path, line: str, problem: str) -> None:
    prepare_folder(read_settings(folder / "hub.toml"))
    end_demo(folder)
    path = folder / "jupyterhub_config.py"
    path.write_text(f"{path.read_text()}{line}\n")
    (found,) = [each for each in find(folder) if str(path) in each.problem]
    assert problem in found.problem and found.blocks
