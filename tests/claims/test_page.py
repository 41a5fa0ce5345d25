"""docs/claims.md has a row for each claim, says where it is shown, and ticks exactly those that a test here runs.

Its last table has a row for each section of the sources, with places that exist.
"""

import re
from pathlib import Path

from autograder.authoring.notebooks import build_release_notebook
from autograder.model.course import Cell, Kind, Lab

HERE = Path(__file__).parent
TESTED = {
    int(number)
    for path in HERE.glob("test_*.py")
    for numbers in re.findall(r"^def test_((?:\d{3}_)+)", path.read_text(), re.MULTILINE)
    for number in numbers.strip("_").split("_")
}
NOT_RUN = "; not run: "
SOURCES = 232  # the claims of the sources; later rows are the course's own statements, corrected
LATER_LABS = 301  # the first of those of labs 7 to 12
SECTIONS = {"S0": 8, "S1": 7, "S2": 6, "S3": 4, "S4": 15}  # of each source
PLACE = re.compile(r"(?P<lab>\d\d[a-z]?) (?P<name>.+?): (?P<phrases>`[^`]+`(?:, `[^`]+`)*)(?:; |$)")


def table_lines() -> list[list[str]]:
    """The cells of each line of the page's tables."""
    page = (HERE.parent.parent / "docs" / "claims.md").read_text()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]


def rows() -> dict[int, list[str]]:
    """number -> [said, verdict, what PyTorch does, tick, where]."""
    return {int(number): rest for number, *rest in table_lines() if number.isdigit()}


def outline() -> dict[tuple[str, int], list[str]]:
    """(source, section) -> [what it sets out to teach, where]."""
    return {(source, int(number)): rest for source, number, *rest in table_lines() if source in SECTIONS}


def places(where: str) -> list[tuple[str, str, list[str]]]:
    """(lab, section or exercise, phrases) of each place that a row names."""
    return [(m["lab"], m["name"], re.findall("`([^`]+)`", m["phrases"])) for m in PLACE.finditer(where)]


def student_sees(lab: Lab) -> list[tuple[Cell, str]]:
    """Each cell with what the release has of it: no solution, no hidden test."""
    return [(c, shown.source) for c, shown in zip(lab.cells, build_release_notebook(lab).cells, strict=True)]


def exercise(cells: list[tuple[Cell, str]], name: str) -> list[str]:
    """The docstring's cell and the visible checks."""
    return [text for cell, text in cells if cell.name == name and cell.kind in (Kind.EXERCISE, Kind.CHECK)]


def sections(cells: list[tuple[Cell, str]], heading: str) -> list[str]:
    """Every section of this heading, each up to the next heading of the same or a higher level."""
    found: list[str] = []
    level = 0
    for cell, text in cells:
        for line in text.splitlines():
            title = re.match(r"(##+) (.+)", line) if cell.kind is Kind.PROSE else None
            if title and title[2] == heading:
                level = len(title[1])
                found.append("")
            elif title and len(title[1]) <= level:
                level = 0
            if level:
                found[-1] += line + "\n"
    return found


def flat(text: str) -> str:
    return " ".join(text.split())


def missing(cells: list[tuple[Cell, str]], name: str, phrases: list[str]) -> list[str]:
    """What is wrong with a place: that there is not one of it, or a phrase that does not stand there."""
    here = exercise(cells, name)
    texts = [" ".join(here)] if here else sections(cells, name)
    if len(texts) != 1:
        return [f"{len(texts)} of {name!r}, and not one"]
    return [f"no {phrase!r} in {name!r}" for phrase in phrases if flat(phrase) not in flat(texts[0])]


def test_every_claim_has_a_row_with_a_verdict_and_a_place() -> None:
    found = rows()
    early = [number for number in found if number < LATER_LABS]
    late = range(LATER_LABS, LATER_LABS + len(found) - len(early))
    assert sorted(found) == [*range(1, len(early) + 1), *late] and len(early) > SOURCES
    for number, (said, verdict, does, _, where) in found.items():
        assert said and verdict in ("T", "F", "O", "M", "N") and does and where, number


def test_a_row_is_ticked_where_a_test_runs_it_and_says_why_where_none_does() -> None:
    for number, (_, _, _, tick, where) in rows().items():
        assert (tick == "✓") == (number in TESTED), number
        assert (tick == "✓") != bool(re.search("not run: |left out: ", where)) or where.startswith("left out"), number


def test_a_row_names_sections_or_exercises_with_a_phrase_each_or_why_it_is_left_out() -> None:
    for number, (*_, where) in rows().items():
        rest = PLACE.sub("", where.split(NOT_RUN)[0])
        assert re.match("left out: .", where) or (places(where) and not rest), f"{number}: {rest}"


def test_what_a_row_names_stands_there(labs: list[Lab]) -> None:
    cells = {lab.name.partition("_")[0]: student_sees(lab) for lab in labs}
    wrong = [
        f"{number}: lab {lab} has {fault}"
        for number, (*_, where) in rows().items()
        for lab, name, phrases in places(where.split(NOT_RUN)[0])
        for fault in missing(cells[lab], name, phrases)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_section_of_the_sources_stands_in_a_section_or_an_exercise(labs: list[Lab]) -> None:
    cells = {lab.name.partition("_")[0]: student_sees(lab) for lab in labs}
    assert list(outline()) == [(source, n) for source, count in SECTIONS.items() for n in range(1, count + 1)]
    wrong = [
        f"{source}, {number}: lab {lab} has {fault}"
        for (source, number), (_, where) in outline().items()
        for lab, _, name in (place.partition(" ") for place in where.split("; "))
        for fault in missing(cells[lab], name, [])
    ]
    assert not wrong, "\n".join(wrong)


def test_a_word_of_a_solution_a_hidden_check_or_another_section_is_missing(labs: list[Lab]) -> None:
    cells = student_sees(labs[0])
    assert not missing(cells, "grid_points", ["stop may lie below start", "five points from 0 to 1"])
    assert missing(cells, "grid_points", ["torch.linspace(start, stop, n + 1)[:-1]"])
    assert missing(cells, "grid_points", ["for i in range(20001)"])
    assert missing(cells, "Making tensors", ["integers wrap around"])
    assert missing(cells, "Your turn", ["Write"]) and missing(cells, "No such heading", [])


def test_059_no_check_of_the_course_asks_for_a_node_by_its_name(labs: list[Lab]) -> None:
    checks = [cell.source for lab in labs for cell in lab.cells if cell.kind is Kind.CHECK]
    assert not [source for source in checks if "Backward0" in source]
