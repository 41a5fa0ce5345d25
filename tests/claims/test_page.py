"""docs/claims.md has a row for each claim with its places, and ticks exactly those that a test here is marked with.

Its last table has a row for each section of the sources, with places that exist.
"""

import re
from pathlib import Path

import pytest

from autograder.authoring.notebooks import build_release_notebook
from autograder.model.course import Cell, CellKind, Lab

HERE = Path(__file__).parent
TESTED = {
    int(number)
    for path in HERE.glob("test_*.py")
    for numbers in re.findall(r"^@pytest\.mark\.claim\(([\d, ]+)\)$", path.read_text(), re.MULTILINE)
    for number in numbers.split(", ")
}
NOT_RUN = "; not run: "
SOURCES = 232  # the claims of the sources; later rows are the course's own statements, corrected
LATER_LABS = 301  # the first of those of labs 7 to 12
SECTIONS = {"S0": 8, "S1": 7, "S2": 6, "S3": 4, "S4": 15}  # of each source
PLACE = re.compile(r"(?P<lab>\d\d[a-z]?) (?P<name>.+?): (?P<phrases>`[^`]+`(?:, `[^`]+`)*)(?:; |$)")


def read_table_lines() -> list[list[str]]:
    """The cells of each line of the page's tables."""
    page = (HERE.parent.parent / "docs" / "claims.md").read_text()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]


def read_rows() -> dict[int, list[str]]:
    """number -> [statement, verdict, what PyTorch does, tick, places]."""
    return {int(number): columns for number, *columns in read_table_lines() if number.isdigit()}


def read_outline() -> dict[tuple[str, int], list[str]]:
    """(source, section) -> [what it sets out to teach, places]."""
    return {(source, int(number)): columns for source, number, *columns in read_table_lines() if source in SECTIONS}


def parse_places(text: str) -> list[tuple[str, str, list[str]]]:
    """(lab, section or exercise, phrases) of each place that a row names."""
    return [(m["lab"], m["name"], re.findall("`([^`]+)`", m["phrases"])) for m in PLACE.finditer(text)]


def list_released_cells(lab: Lab) -> list[tuple[Cell, str]]:
    """Each cell with its released text: no solution, no hidden test."""
    return [
        (c, released_cell.source) for c, released_cell in zip(lab.cells, build_release_notebook(lab).cells, strict=True)
    ]


def find_exercise(cells: list[tuple[Cell, str]], name: str) -> list[str]:
    """The docstring's cell and the visible checks."""
    return [text for cell, text in cells if cell.name == name and cell.kind in (CellKind.EXERCISE, CellKind.CHECK)]


def find_sections(cells: list[tuple[Cell, str]], heading: str) -> list[str]:
    """Every section of this heading, each up to the next heading of the same or a higher level."""
    texts: list[str] = []
    level = 0
    for cell, text in cells:
        for line in text.splitlines():
            title = re.match(r"(##+) (.+)", line) if cell.kind is CellKind.PROSE else None
            if title and title[2] == heading:
                level = len(title[1])
                texts.append("")
            elif title and len(title[1]) <= level:
                level = 0
            if level:
                texts[-1] += line + "\n"
    return texts


def join_words(text: str) -> str:
    return " ".join(text.split())


def find_faults(cells: list[tuple[Cell, str]], name: str, phrases: list[str]) -> list[str]:
    """What is wrong with a place: it is missing or there are several, or a phrase is not in it."""
    exercise_cells = find_exercise(cells, name)
    texts = [" ".join(exercise_cells)] if exercise_cells else find_sections(cells, name)
    if len(texts) != 1:
        return [f"{len(texts)} of {name!r}, and not one"]
    return [f"no {phrase!r} in {name!r}" for phrase in phrases if join_words(phrase) not in join_words(texts[0])]


def test_every_claim_has_a_row_with_a_verdict_and_a_place() -> None:
    rows = read_rows()
    early = [number for number in rows if number < LATER_LABS]
    late = range(LATER_LABS, LATER_LABS + len(rows) - len(early))
    assert sorted(rows) == [*range(1, len(early) + 1), *late] and len(early) > SOURCES
    for number, (statement, verdict, behavior, _, places) in rows.items():
        assert statement, number
        assert verdict in ("T", "F", "O", "M", "N"), number
        assert behavior, number
        assert places, number


def test_a_row_is_ticked_if_a_test_runs_it_and_says_why_if_none_does() -> None:
    for number, (_, _, _, tick, places) in read_rows().items():
        assert (tick == "✓") == (number in TESTED), number
        assert (tick == "✓") != bool(re.search("not run: |left out: ", places)) or places.startswith("left out"), number


def test_a_row_names_sections_or_exercises_with_a_phrase_each_or_why_it_is_left_out() -> None:
    for number, (*_, places) in read_rows().items():
        remainder = PLACE.sub("", places.split(NOT_RUN)[0])
        assert re.match("left out: .", places) or (parse_places(places) and not remainder), f"{number}: {remainder}"


def test_the_places_that_a_row_names_contain_its_phrases(labs: list[Lab]) -> None:
    cells = {lab.name.partition("_")[0]: list_released_cells(lab) for lab in labs}
    wrong = [
        f"{number}: lab {lab} has {fault}"
        for number, (*_, places) in read_rows().items()
        for lab, name, phrases in parse_places(places.split(NOT_RUN)[0])
        for fault in find_faults(cells[lab], name, phrases)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_section_of_the_sources_is_in_a_section_or_an_exercise(labs: list[Lab]) -> None:
    cells = {lab.name.partition("_")[0]: list_released_cells(lab) for lab in labs}
    assert list(read_outline()) == [(source, n) for source, count in SECTIONS.items() for n in range(1, count + 1)]
    wrong = [
        f"{source}, {number}: lab {lab} has {fault}"
        for (source, number), (_, places) in read_outline().items()
        for lab, _, name in (place.partition(" ") for place in places.split("; "))
        for fault in find_faults(cells[lab], name, [])
    ]
    assert not wrong, "\n".join(wrong)


def test_a_word_of_a_solution_a_hidden_check_or_another_section_is_missing(labs: list[Lab]) -> None:
    cells = list_released_cells(labs[0])
    assert not find_faults(cells, "grid_points", ["stop may be below start", "five points from 0 to 1"])
    assert find_faults(cells, "grid_points", ["torch.linspace(start, stop, n + 1)[:-1]"])
    assert find_faults(cells, "grid_points", ["for i in range(20001)"])
    assert find_faults(cells, "Making tensors", ["integers wrap around"])
    assert find_faults(cells, "Your turn", ["Write"]) and find_faults(cells, "No such heading", [])


@pytest.mark.claim(59)
def test_no_check_of_the_course_asks_for_a_node_by_its_name(labs: list[Lab]) -> None:
    checks = [cell.source for lab in labs for cell in lab.cells if cell.kind is CellKind.CHECK]
    assert not [source for source in checks if "Backward0" in source]
