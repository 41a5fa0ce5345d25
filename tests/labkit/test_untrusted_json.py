"""Files that may be damaged, or incomplete for a moment."""

import json
from pathlib import Path

from jupyter_server.services.contents.fileio import atomic_writing

from labkit.untrusted_json import read_notebook


def test_a_notebook_that_jupyter_is_saving_has_its_former_content(tmp_path: Path) -> None:
    path = tmp_path / "01_squares.ipynb"
    path.write_text('{"cells": []}')
    new = json.dumps({"cells": ["new"]})
    with atomic_writing(str(path)) as file:
        file.write(new[:10])
        file.flush()
        assert path.read_text() == new[:10]
        assert read_notebook(path) == {"cells": []}
        file.write(new[10:])
    assert read_notebook(path) == {"cells": ["new"]}


def test_a_damaged_notebook_is_empty(tmp_path: Path) -> None:
    (tmp_path / "01_squares.ipynb").write_text("{")
    assert read_notebook(tmp_path / "01_squares.ipynb") == {}
