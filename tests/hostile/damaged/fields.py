"""The parts of a notebook other than its cells' text: ids, metadata, types, outputs, the format."""

from pathlib import Path

import nbformat

from tests.hostile.damaged import edit_case, write_case
from tests.hostile.edits import CHECK, DOUBLE, SHIFT, TOTAL, Notebook, find_cell, get_flags, write


@edit_case(
    "The grade_id and the id of an exercise are others: an extension renamed them.",
    note="found again by the names they define: shift",
)
def changed_grade_id(notebook: Notebook) -> None:
    get_flags(notebook, SHIFT)["grade_id"] = "cell-4f1"
    find_cell(notebook, SHIFT)["id"] = "renamed"


@edit_case("All cells have the same id, and no metadata: a script wrote the notebook.", note="found again")
def equal_ids(notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each |= {"id": DOUBLE, "metadata": {}}


@edit_case("All ids and all metadata are gone: a converter to text and back lost them.", note="found again")
def no_ids_no_metadata(notebook: Notebook) -> None:
    for each in notebook["cells"]:
        del each["id"]
        each["metadata"] = {}


@edit_case("Cells have no metadata at all: a minimal converter wrote them.")
def metadata_missing(notebook: Notebook) -> None:
    for each in notebook["cells"]:
        del each["metadata"]


@edit_case("nbgrader's metadata are a list and the cell's a text: an extension rewrote them.")
def metadata_of_another_shape(notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["metadata"] = {"nbgrader": [1]}
    find_cell(notebook, SHIFT)["metadata"] = "locked"


@edit_case("The points of a check are a thousand.", note="do not count: the check of double")
def edited_points(notebook: Notebook) -> None:
    get_flags(notebook, CHECK)["points"] = 1000


@edit_case("The points of a check are NaN and those of another a text.", note="do not count: the check of double")
def points_that_are_no_number(notebook: Notebook) -> None:
    get_flags(notebook, CHECK)["points"] = float("nan")
    get_flags(notebook, "check-shift")["points"] = "ten"


@edit_case(
    "Cells are tagged remove-cell and raises-exception: copied from a book's notebooks.",
    note="do not count: the check of double",
)
def tags_of_converters(notebook: Notebook) -> None:
    find_cell(notebook, CHECK)["metadata"]["tags"] = ["raises-exception", "remove-cell"]


@edit_case(
    "Cells are tagged skip-execution: to run the notebook faster, or for full marks without a test.",
    note="do not count",
    intact=["double", "shift"],
)
def tags_that_skip(notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each["metadata"]["tags"] = ["skip-execution"]
    find_cell(notebook, TOTAL)["source"] = "def total(x):\n    return x"


@edit_case("It is the notebook of another lab: the wrong file was chosen.", note="another lab", intact=[])
def another_lab(notebook: Notebook) -> None:
    others = {"double": "norm", "shift": "mean", "total": "median"}
    for each in notebook["cells"]:
        if metadata := each["metadata"].get("nbgrader"):
            kind, _, name = metadata["grade_id"].partition("-")
            metadata["grade_id"] = f"{kind}-{others.get(name, name)}"
        each["id"] = "x" + each["id"]
        each["source"] = "# another lab\n" + each["source"].replace("def ", "def other_")


@edit_case("The list of cells became an object: a script numbered them.", note="no list of cells", intact=[])
def cells_are_no_list(notebook: Notebook) -> None:
    notebook["cells"] = dict(enumerate(notebook["cells"]))


@edit_case("A cell's source is null: a script cleared it so.", note="left out", intact=["shift", "total"])
def source_null(notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["source"] = None


@edit_case("A cell's source is a number: a script wrote a result there.", note="left out", intact=["double", "total"])
def source_number(notebook: Notebook) -> None:
    find_cell(notebook, SHIFT)["source"] = 3.0


@edit_case("The sources are lists of lines, as nbformat writes them on disk.")
def sources_as_lists(notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each["source"] = each["source"].splitlines(keepends=True)


@edit_case("NaN is in an output's data, which isn't JSON: a library wrote it so.")
def nan_in_json(notebook: Notebook) -> None:
    data = {"application/json": float("nan")}
    find_cell(notebook, DOUBLE)["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]


@edit_case("Fifty megabytes of output: a loop printed all of its tensors.")
def fifty_megabytes_of_output(notebook: Notebook) -> None:
    text = "tensor([0.1234, 0.5678])\n" * 2_000_000
    find_cell(notebook, DOUBLE)["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]


@edit_case("The metadata hold megabytes of the state of widgets.")
def widgets_state(notebook: Notebook) -> None:
    notebook["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": "0" * 5_000_000}}


@edit_case("The notebook was saved with a kernel for R.", note="kernel for r")
def kernel_of_another_language(notebook: Notebook) -> None:
    kernel = {"name": "ir", "display_name": "R", "language": "R"}
    notebook["metadata"] = {"kernelspec": kernel, "language_info": {"name": "R"}}


@write_case(
    "The notebook is of format 2: a converter of 2012 wrote it, without ids and metadata of cells.", note="found again"
)
def format_2(folder: Path, notebook: Notebook) -> None:
    cells = [
        {"cell_type": "code", "input": c["source"], "language": "python", "outputs": [], "collapsed": False}
        if c["cell_type"] == "code"
        else {"cell_type": "markdown", "source": c["source"]}
        for c in notebook["cells"]
    ]
    write(folder, {"nbformat": 2, "metadata": {"name": ""}, "worksheets": [{"cells": cells}]})


@edit_case("The notebook is of format 4.0, without ids: an old server saved it.")
def format_4_0(notebook: Notebook) -> None:
    notebook["nbformat_minor"] = 0
    for each in notebook["cells"]:
        del each["id"]


@edit_case("The notebook says that it is of format 5: a version to come saved it.", note="format 2, 3 or 4", intact=[])
def format_5(notebook: Notebook) -> None:
    notebook["nbformat"] = 5


unlocked = edit_case(
    "A check is unlocked and no longer graded: to be able to edit it.", note="do not count: the check of double"
)(lambda notebook: get_flags(notebook, CHECK).update(locked=False, grade=False, solution=True))
unknown_cell_type = edit_case("A cell is a heading, a type that format 4 no longer has.", note="left out")(
    lambda notebook: notebook["cells"].append({"cell_type": "heading", "level": 1, "metadata": {}, "source": "Notes"})
)
outputs_of_another_shape = edit_case("Outputs and counts are of shapes that no notebook has.")(
    lambda notebook: find_cell(notebook, DOUBLE).update(outputs={"a": [None]}, execution_count="many")
)
format_3 = write_case("The notebook is of format 3: an old server saved it.")(
    lambda folder, notebook: write(folder, nbformat.convert(nbformat.from_dict(notebook), 3))
)
