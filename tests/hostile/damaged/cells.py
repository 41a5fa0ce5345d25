"""Edits of cells: deleted, moved, pasted, split, merged, added, written into."""

import json
from pathlib import Path

from tests.hostile.damaged import edit_case, write_case
from tests.hostile.edits import (
    CHECK,
    DOUBLE,
    SHIFT,
    TOTAL,
    Notebook,
    add,
    build_untouched,
    copy_cell,
    drop,
    find_cell,
    find_constant,
    find_index,
    make_code_cell,
    merge,
    split,
    write_bytes,
)


@edit_case(
    "A check cell is edited: the student printed something in it.",
    note="course cells were restored: the check of double",
)
def edited_check(notebook: Notebook) -> None:
    find_cell(notebook, CHECK)["source"] = "print(double(torch.ones(1)))"


@edit_case("A given cell is edited: another constant was tried and left there.", note="course cells were restored")
def edited_given(notebook: Notebook) -> None:
    find_constant(notebook)["source"] = "STEP = 5.0"


@edit_case("All exercises are as they were handed out: the student never saved.", note="Was your work saved", intact=[])
def not_saved(notebook: Notebook) -> None:
    for identity in (DOUBLE, SHIFT, TOTAL):
        find_cell(notebook, identity)["source"] = build_untouched(notebook, identity)


@edit_case("Marks of a merge conflict are in one exercise's cell.", intact=["double", "total"])
def merge_conflict_in_a_cell(notebook: Notebook) -> None:
    find_cell(notebook, SHIFT)["source"] = "<<<<<<< HEAD\ndef shift(x):\n    return x\n=======\n>>>>>>> theirs"


@edit_case("Half of an emoji is in a comment: cut by an editor that counts 16-bit units.", note="question marks")
def lone_surrogates(notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["source"] += "\n# done \ud83d"


@edit_case("A NUL is in a comment, and another in an added cell: a crash of the editor.", note="question marks")
def nul_bytes(notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["source"] += "\n# \0"
    notebook["cells"].append(make_code_cell("x = 1\0"))


@edit_case("An exercise is below its check: moved by an arrow.", note="course's order: double")
def exercise_after_its_check(notebook: Notebook) -> None:
    place = find_index(notebook, DOUBLE)
    notebook["cells"].insert(place + 1, notebook["cells"].pop(place))


@edit_case(
    "Two exercises have each other's grade_id: the answers were written into the wrong cells.", note="found again"
)
def swapped_grade_ids(notebook: Notebook) -> None:
    a, b = find_cell(notebook, DOUBLE), find_cell(notebook, TOTAL)
    a["source"], b["source"] = b["source"], a["source"]


@edit_case(
    "An exercise's cell became Markdown: the M key in command mode.",
    note="another type were changed back to their type in the course: double",
)
def exercise_as_markdown(notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["cell_type"] = "markdown"


@edit_case(
    "An exercise's cell became raw: the R key in command mode.",
    note="another type were changed back to their type in the course: double",
)
def exercise_as_raw(notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["cell_type"] = "raw"


@edit_case("A copy is pasted below the wrong answer and corrected there.", note="last version counts: double")
def second_version_after(notebook: Notebook) -> None:
    notebook["cells"].insert(find_index(notebook, DOUBLE) + 1, copy_cell(notebook, DOUBLE))
    find_cell(notebook, DOUBLE)["source"] = "def double(x):\n    return x"


@edit_case("The untouched cell is pasted back below the answer: to see what was asked.", note="untouched versions")
def untouched_copy_after(notebook: Notebook) -> None:
    copy = copy_cell(notebook, DOUBLE) | {"source": build_untouched(notebook, DOUBLE)}
    notebook["cells"].insert(find_index(notebook, DOUBLE) + 1, copy)


@edit_case(
    "The answer is in a new cell above the untouched one: the student wrote there and ran that.", note="found again"
)
def answer_in_a_cell_of_its_own(notebook: Notebook) -> None:
    notebook["cells"].insert(find_index(notebook, DOUBLE), make_code_cell(find_cell(notebook, DOUBLE)["source"]))
    find_cell(notebook, DOUBLE)["source"] = build_untouched(notebook, DOUBLE)


@edit_case(
    "The exercise's cell is split between a helper and the function that uses it.",
    note="split were joined again: total",
)
def split_between_definitions(notebook: Notebook) -> None:
    find_cell(notebook, TOTAL)["source"] = "def helper(x):\n    return x.sum()\n\ndef total(x):\n    return helper(x)"
    split(notebook, TOTAL, 2)


@edit_case(
    "The second half of a split cell has lost its metadata and has a new id.",
    note="split were joined again: double",
)
def split_with_a_new_id(notebook: Notebook) -> None:
    split(notebook, DOUBLE, 2)
    find_cell(notebook, DOUBLE).update(id="second-half", metadata={})


@edit_case("All code is in one cell: exported as a script and pasted back.", note="found again")
def everything_in_one_cell(notebook: Notebook) -> None:
    notebook["cells"] = [
        make_code_cell("\n\n".join(c["source"] for c in notebook["cells"] if c["cell_type"] == "code"))
    ]


@edit_case("The notebook is the one that came back with notes of the grader.")
def notes_of_an_earlier_grading(notebook: Notebook) -> None:
    note = {"cell_type": "markdown", "id": "grader-notes", "metadata": {}, "source": "- Full marks, says the grader."}
    notebook["cells"].insert(0, note)


@edit_case("An added cell asks for input, and so does the answer's own cell.")
def waits_for_input(notebook: Notebook) -> None:
    add(notebook, "name = input('Your name? ')")
    find_cell(notebook, SHIFT)["source"] += "\ninput()"


@edit_case("Added cells run a shell, install a package, time a line and change a folder.")
def magics(notebook: Notebook) -> None:
    add(notebook, "%%bash\necho hello", id="magic-0")
    add(notebook, "!pip install nothing-of-this-name", id="magic-1")
    add(notebook, "%timeit -n 1 -r 1 1 + 1", id="magic-2")
    add(notebook, "%cd ..", id="magic-3")
    add(notebook, "%run ../other.py", id="magic-4")


@write_case("A hundred thousand empty cells: a key was held down.", note="more than 2,000 cells", intact=[])
def a_hundred_thousand_cells(folder: Path, notebook: Notebook) -> None:
    notebook["cells"] += [make_code_cell("")] * 100_000
    write_bytes(folder, json.dumps(notebook).encode())


deleted_check = edit_case(
    "A check cell is deleted: it looked like clutter.", note="were put back: the check of double"
)(lambda notebook: drop(notebook, CHECK))
deleted_exercise = edit_case(
    "An exercise's cell is deleted: cut instead of copied.",
    note="put back, empty: shift",
    intact=["double", "total"],
)(lambda notebook: drop(notebook, SHIFT))
deleted_given = edit_case(
    "The cell with the imports is deleted: cut instead of copied.", note="missing were put back: "
)(lambda notebook: drop(notebook, notebook["cells"][0]["id"]))
cells_reversed = edit_case(
    "The cells are in reverse order: dragged by a touchpad, all of them selected.", note="course's order"
)(lambda notebook: notebook["cells"].reverse())
pasted_copy_after = edit_case("A copy of the answer is pasted at the end.", note="Copies of cells")(
    lambda notebook: notebook["cells"].append(copy_cell(notebook, DOUBLE))
)
pasted_copy_before = edit_case("A copy of the answer is pasted at the top: to keep it safe.", note="Copies of cells")(
    lambda notebook: notebook["cells"].insert(0, copy_cell(notebook, DOUBLE))
)
split_inside_the_function = edit_case(
    "The exercise's cell is split in the middle of the function: Ctrl-Shift-Minus by accident.",
    note="split were joined again: double",
)(lambda notebook: split(notebook, DOUBLE, 2))
merged_exercises = edit_case(
    "Two exercises are merged into one cell, and the cells between them are gone.",
    note="were separated again: shift",
)(lambda notebook: merge(notebook, DOUBLE, SHIFT))
merged_into_check = edit_case(
    "An exercise is merged into the check of the one before.",
    note="found again by the names they define: total",
)(lambda notebook: merge(notebook, "check-shift", TOTAL))
merged_into_given = edit_case(
    "An exercise is merged into the given cell above it.",
    note="found again by the names they define: shift",
)(lambda notebook: merge(notebook, find_constant(notebook)["id"], SHIFT))
merged_with_all_between = edit_case(
    "An exercise, its check and the next exercise are merged into one cell.",
    note="were separated again: the check of shift, total",
)(lambda notebook: merge(notebook, SHIFT, "check-shift", TOTAL))
syntax_error_in_an_added_cell = edit_case("An added cell is no Python: notes typed into a code cell.")(
    lambda notebook: add(notebook, "remember: to ask about this!")
)
deeply_nested_code = edit_case("An added cell holds ten thousand brackets in each other.")(
    lambda notebook: add(notebook, "(" * 10_000 + ")" * 10_000)
)
ten_megabytes_in_one_line = edit_case(
    "An added cell holds ten megabytes in one line: a data set pasted as text.", note="too long"
)(lambda notebook: add(notebook, "data = '" + "0" * 10_000_000 + "'"))
