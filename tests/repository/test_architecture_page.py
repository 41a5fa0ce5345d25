"""docs/architecture.md names existing packages and files, and docs/decisions lists every record."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DECISIONS = ROOT / "docs" / "decisions"
RECORDS = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")


def find_links(text: str) -> set[str]:
    return {link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link}


def test_the_table_has_every_package_of_autograder_once() -> None:
    packages = re.findall(r"^\| `(\w+(?:\.py)?)` \|", PAGE.split("The rest is in `autograder`")[1], re.MULTILINE)
    modules = (path for path in (ROOT / "autograder").iterdir() if path.suffix in ("", ".py"))
    assert sorted(packages) == sorted(path.name for path in modules if not path.name.startswith("_"))


def test_the_files_that_the_page_names_are_there() -> None:
    names = set(re.findall(r"`([\w/]+\.(?:py|toml))`", PAGE))
    assert len(names) > 20
    assert not [name for name in names if not any((root / name).exists() for root in (ROOT, ROOT / "autograder"))]


@pytest.mark.parametrize(
    "path", [*RECORDS, DECISIONS / "README.md", ROOT / "docs" / "architecture.md"], ids=lambda p: p.stem
)
def test_the_links_of_a_page_lead_to_files(path: Path) -> None:
    links = find_links(path.read_text(encoding="utf-8")) - {""}
    assert not [link for link in links if not (path.parent / link).exists()]


def test_every_decision_is_listed_and_numbered_by_date() -> None:
    links = find_links((DECISIONS / "README.md").read_text(encoding="utf-8"))
    assert links == {path.name for path in RECORDS}
    texts = [path.read_text(encoding="utf-8") for path in RECORDS]
    assert [int(path.name[:4]) for path in RECORDS] == [*range(1, len(RECORDS) + 1)]
    dates = [re.findall(r"^Date: (\d{4}-\d\d-\d\d)$", text, re.MULTILINE) for text in texts]
    assert all(len(matches) == 1 for matches in dates) and dates == sorted(dates)
    statuses = [re.findall(r"^Status: (accepted|superseded by \[\d{4}\])", text, re.MULTILINE) for text in texts]
    assert all(len(matches) == 1 for matches in statuses)
    assert all(part in text for text in texts for part in ("## Context", "## Decision", "## Consequences"))
