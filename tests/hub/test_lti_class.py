"""A class whose people come from a learning management system, on a real hub: links, groups, roster and scores."""

import html
import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa

from autograder.authoring.course_folder import read_course, read_labs
from autograder.demo.students import collect_reference, fill_notebook
from autograder.gradebook.nbgrader_course import open_course
from autograder.lms.people import list_people
from tests.hub.hub_process import HubUser, RunningHub, copy_course, release_lab, run_hub
from tests.hub.lti_platform import CONTEXT, LtiPlatform, Person, run_platform
from tests.waiting import wait_until

LAB, COURSE = "01_squares", "gradlab"
ANA, BEN, PROF = Person("ana"), Person("ben"), Person("prof", "Instructor")


@dataclass(frozen=True)
class LtiClass:
    platform: LtiPlatform
    hub: RunningHub

    @property
    def link(self) -> str:
        """The address of the lab's item in the LMS."""
        return f"{self.hub.url}/hub/user-redirect/gradlab/labs/{LAB}"

    def launch(self, person: Person, link: str = "", **changes: Any) -> tuple[HubUser, requests.Response]:
        """A person's browser, and what it shows after a click on a link."""
        session = requests.Session()
        session.trust_env = False
        answer = self.platform.launch(session, self.hub.url, person, link or f"{self.hub.url}/hub/", **changes)
        return HubUser(self.hub.url, person.name, session), answer


@pytest.fixture(scope="module")
def lti(built_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LtiClass]:
    place = tmp_path_factory.mktemp("lti")
    with (
        run_platform(ANA, BEN, PROF) as platform,
        run_hub(copy_course(built_course, place), place, platform.configure()) as hub,
    ):
        platform.tool_keys = f"{hub.url}/hub/lti13/jwks"
        lti = LtiClass(platform, hub)
        assert lti.launch(PROF)[1].ok  # a teacher's launch connects the course
        yield lti


@pytest.mark.slow
@pytest.mark.gate
def test_a_link_leads_a_student_to_the_lab_and_the_mark_back(lti: LtiClass) -> None:
    """Slow: a hub with services and a student's server start, and a watch imports torch."""
    release_lab(lti.hub.course, LAB)
    ana, answer = lti.launch(ANA, lti.link)
    page = f"{lti.hub.url}/user/ana/lab/tree/{COURSE}/{LAB}/{LAB}.ipynb"
    if answer.url != page:  # the server is still starting
        wait_until(lambda: ana.get(f"/hub/user-redirect/gradlab/labs/{LAB}").url == page, "the lab opens")
    home = lti.hub.folder / "homes" / "ana"
    notebook = home / COURSE / LAB / f"{LAB}.ipynb"
    assert notebook.read_bytes() == (lti.hub.course / "release" / LAB / f"{LAB}.ipynb").read_bytes()

    (lab,) = read_labs(read_course(lti.hub.course))
    notebook.write_text(json.dumps(fill_notebook(lab, collect_reference(lab))))
    assert ana.get(f"/user/ana/gradlab/labs/{LAB}").url == page
    assert notebook.read_text() == json.dumps(fill_notebook(lab, collect_reference(lab)))
    assert ana.post("/user/ana/gradlab/mark", {"path": f"{COURSE}/{LAB}/{LAB}.ipynb", "agreed": True}, "/user/ana/").ok
    wait_until(lambda: lti.platform.scores, "the LMS has the score")
    ((column, score),) = lti.platform.scores
    assert lti.platform.columns[column]["tag"] == LAB and lti.platform.columns[column]["scoreMaximum"] == 2
    assert (score["userId"], score["scoreGiven"], score["scoreMaximum"]) == (ANA.subject, 2, 2)
    assert (score["gradingProgress"], score["activityProgress"]) == ("FullyGraded", "Completed")


@pytest.mark.slow
@pytest.mark.gate
def test_a_lab_that_is_not_released_is_reported(lti: LtiClass) -> None:
    """Slow: a student's server starts."""
    ben, _ = lti.launch(BEN, lti.link.replace(LAB, "99_later"))
    ben.open_server()
    answer = ben.get("/user/ben/gradlab/labs/99_later")
    text = html.unescape(answer.text)
    assert answer.status_code == 404 and "99_later isn't released yet" in text, text[text.find("<body") :][:1500]
    for lab in ("..%2f..", "%2e%2e", ".ssh"):
        assert ben.get(f"/user/ben/gradlab/labs/{lab}").status_code == 404


@pytest.mark.slow
@pytest.mark.gate
def test_a_teachers_link_leads_to_the_desk_and_students_do_not_reach_it(lti: LtiClass) -> None:
    """Slow: see above."""
    prof, answer = lti.launch(PROF, lti.link)
    desk = f"{lti.hub.url}/services/teach-{COURSE}/gradlab/desk/"
    assert (answer.status_code, answer.url) == (200, desk)
    ana, _ = lti.launch(ANA)
    assert ana.get(f"/services/teach-{COURSE}/gradlab/desk/").status_code == 403
    assert prof.get(f"/services/teach-{COURSE}/formgrader").status_code == 200


@pytest.mark.slow
@pytest.mark.gate
def test_the_roster_is_in_the_gradebook(lti: LtiClass) -> None:
    """Slow: see above."""

    def read_people() -> list[tuple[str, str, str]]:
        with open_course(lti.hub.course).open_gradebook() as gradebook:
            return [(person.id, person.full_name, person.lms_id) for person in list_people(gradebook)]

    lti.launch(ANA)
    wait_until(lambda: ("ana", "Ana Smith", ANA.subject) in read_people(), "the roster has been read")
    assert not [person for person in read_people() if person[0] == "prof"]


@pytest.mark.slow
@pytest.mark.gate
@pytest.mark.parametrize(
    ("changes", "status", "words"),
    [
        ({"key": rsa.generate_private_key(65537, 2048)}, 400, "Signature verification failed"),
        ({"iss": "https://elsewhere.example"}, 400, "Invalid issuer"),
        ({"aud": "another-tool"}, 400, "Audience"),
        ({"nonce": "of another launch"}, 400, "nonce mismatch"),
        ({"exp": 1_000_000_000}, 400, "expired"),
        ({"iat": 1_000_000_000}, 400, "too long ago"),
        ({"version": "1.1"}, 400, "version"),
        ({"message_type": "LtiDeepLinkingRequest"}, 400, ""),
        ({"sub": ""}, 403, "logged in"),
        ({"context": {"id": "context-8", "label": "X"}}, 403, "isn't connected with the labs"),
        ({"roles": ["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"]}, 403, "Your role"),
        ({"custom": {}}, 403, "doesn't say who you are"),
        ({"custom": {"login": "../eve"}}, 403, "can't be a user's name"),
        ({"custom": {"login": "prof"}}, 403, "another person's name"),
    ],
)
def test_a_launch_that_is_not_the_platforms_or_admits_no_one_is_refused(
    lti: LtiClass, changes: dict[str, Any], status: int, words: str
) -> None:
    """Slow: see above."""
    eve, answer = lti.launch(Person("eve"), **changes)
    assert answer.status_code == status and words in html.unescape(answer.text)
    assert eve.get("/hub/api/user").status_code == 403


@pytest.mark.slow
@pytest.mark.gate
def test_a_launch_counts_in_the_browser_that_began_it_and_once(lti: LtiClass) -> None:
    """Slow: see above."""
    victim, other = requests.Session(), requests.Session()
    link = f"{lti.hub.url}/hub/"
    announced = other.get(lti.platform.announce(lti.hub.url, link, BEN), allow_redirects=False)
    query = dict(pair.split("=", 1) for pair in announced.headers["Location"].partition("?")[2].split("&"))
    form = {
        "id_token": lti.platform.sign(lti.platform.build_claims(BEN, link, nonce=query["nonce"])),
        "state": requests.utils.unquote(query["state"]),
    }
    callback = f"{lti.hub.url}/hub/lti13/oauth_callback"
    assert victim.post(callback, data=form).status_code == 400
    assert other.post(callback, data=form, allow_redirects=False).status_code == 302
    assert other.post(callback, data=form).status_code == 400


@pytest.mark.slow
@pytest.mark.gate
def test_without_a_launch_the_hub_says_how_to_begin(lti: LtiClass) -> None:
    """Slow: see above."""
    answer = requests.get(f"{lti.hub.url}/hub/user-redirect/gradlab/labs/{LAB}")
    assert answer.status_code == 403 and answer.text.count("Open a lab in your course") == 1
    registration = requests.get(f"{lti.hub.url}/hub/lti13/config").json()
    assert registration["oidc_initiation_url"] == f"{lti.hub.url}/hub/lti13/oauth_login"
    assert registration["public_jwk_url"] == lti.platform.tool_keys


@pytest.mark.slow
@pytest.mark.gate
def test_records_of_launches_are_closed_to_others(lti: LtiClass) -> None:
    """Slow: see above."""
    folder = lti.hub.folder / "lti"
    wait_until((folder / f"{COURSE}.sqlite").is_file, "the service has started")
    for path in (folder, *folder.iterdir()):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    kept = json.loads((folder / "launches.json").read_text())
    assert kept["contexts"][CONTEXT]["course"] == COURSE
    assert kept["users"]["prof"] == {"subject": PROF.subject, "roles": {CONTEXT: "teacher"}}
