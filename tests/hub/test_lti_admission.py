"""Whom a launch admits, under which name and to which course, and what a hub.toml with [lti] configures."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from autograder.base.errors import GradlabError
from autograder.hub import configure
from autograder.hub.lti_admission import admit_launch, list_groups, refuse_system_account
from autograder.hub.lti_launch import LaunchRefused, find_role, parse_launch
from autograder.hub.lti_records import LaunchRecords, Role, read_records, write_records
from autograder.hub.lti_roster import build_person
from autograder.hub.settings import Hub, read_settings
from tests.hub.lti_platform import LtiPlatform, Person

ANA, PROF = Person("ana"), Person("prof", "Instructor")
LTI = LtiPlatform("https://lms.example", tool_keys="{}")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for course in ("physics", "chemistry"):
        (tmp_path / course).mkdir()
        (tmp_path / course / "nbgrader_config.py").write_text(
            f"c = get_config()\nc.CourseDirectory.course_id = '{course}'\n"
        )
    (tmp_path / "hub").mkdir()
    return tmp_path


def write_settings(place: Path, *courses: str, lti: str = "", demo: str = "true") -> Path:
    tables = "".join(f'[courses.{name}]\nfolder = "../{name}"\n' for name in courses)
    path = place / "hub" / "hub.toml"
    path.write_text(f"demo = {demo}\n{tables}{LTI.configure()}{lti}")
    return path


def admit(hub: Hub, records: LaunchRecords, person: Person, **changes: Any) -> tuple[list[str], LaunchRecords]:
    """The groups after a launch, and the records."""
    launch = parse_launch(LTI.build_claims(person, **changes))
    name, records = admit_launch(launch, person.name, records, hub)
    return list_groups(name, records, hub), records


def test_the_only_course_belongs_to_the_first_context_in_which_a_teacher_opens_a_link(place: Path) -> None:
    hub, records = read_settings(write_settings(place, "physics")), LaunchRecords()
    with pytest.raises(LaunchRefused, match="Your teacher has to open this link once"):
        admit(hub, records, ANA)
    groups, records = admit(hub, records, PROF)
    assert groups == ["formgrade-physics"]
    groups, records = admit(hub, records, ANA)
    assert groups == ["nbgrader-physics"]
    with pytest.raises(LaunchRefused, match=r"'another' to \[lti.contexts\]"):
        admit(hub, records, Person("eve", "Instructor"), context={"id": "another"})


def test_the_settings_connect_contexts_with_courses(place: Path) -> None:
    lti = 'contexts = { one = "physics", two = "chemistry", three = "physics" }\n'
    hub, records = read_settings(write_settings(place, "physics", "chemistry", lti=lti)), LaunchRecords()
    groups, records = admit(hub, records, ANA, context={"id": "one"})
    assert groups == ["nbgrader-physics"]
    groups, records = admit(hub, records, ANA, context={"id": "two"})
    assert groups == ["nbgrader-chemistry", "nbgrader-physics"]
    groups, records = admit(hub, records, PROF, context={"id": "three"})
    assert groups == ["formgrade-physics"]
    for course in ("physics", "chemistry", "history"):  # which a teacher elsewhere in the LMS may write
        with pytest.raises(LaunchRefused, match="isn't connected"):
            admit(hub, records, PROF, context={"id": "four"}, custom={"course": course})


def test_a_custom_parameter_names_the_course_that_belongs_to_no_context_yet(place: Path) -> None:
    hub, records = read_settings(write_settings(place, "physics", "chemistry")), LaunchRecords()
    with pytest.raises(LaunchRefused, match="isn't connected"):
        admit(hub, records, PROF, context={"id": "one"})
    groups, records = admit(hub, records, PROF, context={"id": "one"}, custom={"course": "chemistry"})
    assert groups == ["formgrade-chemistry"]
    with pytest.raises(LaunchRefused, match="isn't connected"):
        admit(hub, records, Person("eve", "Instructor"), context={"id": "two"}, custom={"course": "chemistry"})


def test_a_context_that_the_settings_connect_elsewhere_gives_no_access_any_more(place: Path) -> None:
    hub = read_settings(write_settings(place, "physics"))
    _, records = admit(hub, LaunchRecords(), PROF)
    hub = read_settings(write_settings(place, "physics", lti='contexts = { new = "physics" }\n'))
    assert list_groups("prof", records, hub) == []
    with pytest.raises(LaunchRefused, match="isn't connected"):
        admit(hub, records, PROF)


def test_people_keep_the_name_of_their_first_launch(place: Path) -> None:
    hub = read_settings(write_settings(place, "physics"))
    _, records = admit(hub, LaunchRecords(), PROF)
    _, records = admit(hub, records, ANA)
    _, renamed = admit(hub, records, Person("prof", number=ANA.subject))
    assert renamed.find_user(ANA.subject) == "ana"
    with pytest.raises(LaunchRefused, match="another person's name"):
        admit(hub, records, Person("prof", number="eve's"))
    for name in ("", "../eve", "Eve", "e ve", "eve+x"):
        with pytest.raises(LaunchRefused):
            admit(hub, records, Person(name, number="eve's"))


def test_no_one_becomes_a_system_user_or_the_courses_owner(place: Path) -> None:
    hub = read_settings(write_settings(place, "physics", demo="false"))
    for name in ("root", "daemon"):
        with pytest.raises(LaunchRefused, match="account of the hub's machine"):
            refuse_system_account(name, hub)
    with pytest.raises(LaunchRefused, match="no account 'no-such-account'"):
        refuse_system_account("no-such-account", hub)
    path = write_settings(place, "physics", demo="false\ncreate_accounts = true")
    refuse_system_account("no-such-account", read_settings(path))


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"], Role.STUDENT),
        (["Learner"], Role.STUDENT),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"], Role.TEACHER),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"], Role.ASSISTANT),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#Grader", "Learner"], Role.ASSISTANT),
        (
            [
                "http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor",
                "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant",
            ],
            Role.ASSISTANT,
        ),
        (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"], None),
        (["http://purl.imsglobal.org/vocab/lis/v2/system/person#Administrator"], None),
        (["http://evil.example/membership#Instructor"], None),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#ContentDeveloper"], None),
        ([], None),
    ],
)
def test_only_roles_in_the_platforms_course_count(roles: list[str], role: Role | None) -> None:
    assert find_role(roles) is role


@pytest.mark.parametrize(
    ("changes", "lab"),
    [
        ({"target_link_uri": "https://hub.example/hub/user-redirect/gradlab/labs/01_squares"}, "01_squares"),
        ({"target_link_uri": "https://hub.example/hub/", "custom": {"lab": "02_means"}}, "02_means"),
        ({"target_link_uri": "https://hub.example/hub/"}, ""),
    ],
)
def test_a_link_names_its_lab_in_its_address_or_in_a_custom_parameter(changes: dict[str, Any], lab: str) -> None:
    assert parse_launch(LTI.build_claims(ANA, **changes)).lab == lab


@pytest.mark.parametrize("lab", ["..", "a/b", ".hidden", "a\nb"])
def test_a_link_with_a_strange_lab_is_refused(lab: str) -> None:
    with pytest.raises(LaunchRefused, match="names no lab"):
        parse_launch(LTI.build_claims(ANA, custom={"lab": lab}))


def test_a_links_own_column_is_kept_with_its_lab(place: Path) -> None:
    hub = read_settings(write_settings(place, "physics"))
    claims = LTI.build_claims(PROF, custom={"lab": "01_squares"})
    claims["https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"]["lineitem"] = "https://lms.example/columns/3"
    _, records = admit_launch(parse_launch(claims), "prof", LaunchRecords(), hub)
    _, records = admit(hub, records, PROF)
    (context,) = records.contexts.values()
    assert context.labs == {"01_squares": "https://lms.example/columns/3"}
    assert context.line_items == "https://lms.example/Columns?course=7"


def test_records_are_closed_to_others_and_damage_is_reported(place: Path) -> None:
    hub = read_settings(write_settings(place, "physics"))
    _, records = admit(hub, LaunchRecords(), PROF)
    before = os.umask(0)
    write_records(hub.lti_folder, records)
    os.umask(before)
    path = hub.lti_folder / "launches.json"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (hub.lti_folder, path)] == [0o700, 0o600]
    assert read_records(hub.lti_folder) == records
    path.write_text("{")
    with pytest.raises(GradlabError, match="is damaged"):
        read_records(hub.lti_folder)


def test_a_member_is_named_as_their_launch_would_name_them(place: Path) -> None:
    _, records = admit(read_settings(write_settings(place, "physics")), LaunchRecords(), PROF)
    member = {"user_id": "5", "roles": ["Learner"], "email": "Ana@Example.org", "name": "Ana Maria Smith"}
    person = build_person(member, records, "email")
    assert person and (person.id, person.first_name, person.last_name) == ("ana@example.org", "Ana Maria", "Smith")
    assert build_person(member, records, "custom_login") is None  # the list has no custom parameters
    assert build_person(member | {"status": "Inactive"}, records, "email") is None
    assert build_person(member | {"roles": ["Instructor"]}, records, "email") is None
    assert build_person(member | {"email": "prof"}, records, "email") is None


def test_the_platform_decides_about_login_and_groups(place: Path) -> None:
    config = Config()
    configure(config, str(write_settings(place, "physics", "chemistry")))
    assert config.JupyterHub.authenticator_class == "autograder.hub.lti_login.LtiLogin"
    assert config.Authenticator.manage_groups and "load_groups" not in config.JupyterHub
    assert config.LtiLogin.issuer == LTI.url
    services = {service["name"]: service for service in config.JupyterHub.services}
    assert {"grades-physics", "grades-chemistry"} < services.keys()
    folder = place / "hub" / "lti"
    key = (folder / "key.pem").read_text()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder / "key.pem")] == [0o700, 0o600]
    configure(Config(), str(place / "hub" / "hub.toml"))
    assert (folder / "key.pem").read_text() == key


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (LTI.configure(issuer="http://lms.example"), r"lti.issuer: write an address that begins with https://"),
        (LTI.configure(username_key="custom name"), r"lti.username_key: write email, sub"),
        (LTI.configure(password="x"), r"lti.password: there is no such key"),
        (LTI.configure() + 'contexts = { one = "history" }\n', r"lti.contexts: there is no course 'history'"),
        ("", r"courses.physics.teachers: there are none"),
    ],
)
def test_a_mistake_in_the_table_is_reported(place: Path, text: str, problem: str) -> None:
    path = place / "hub" / "hub.toml"
    path.write_text(f'[courses.physics]\nfolder = "../physics"\n{text}')
    with pytest.raises(GradlabError, match=problem):
        read_settings(path)
