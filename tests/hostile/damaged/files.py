"""Contents of the file: cut off, in another encoding, or no notebook at all."""

import json
import zipfile
from pathlib import Path

from tests.hostile.damaged import write_case
from tests.hostile.edits import DOUBLE, FILE, Notebook, find_cell, find_course_notebook, write_bytes


@write_case("The file ends in the middle: the disk was full, or the upload broke off.", note="cut off", intact=[])
def truncated_json(folder: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook)
    write_bytes(folder, text[: len(text) // 2].encode())


@write_case(
    "Marks of a merge conflict are in the file: git pull, and no one looked.",
    note="merge conflict markers",
    intact=[],
)
def merge_conflict(folder: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook, indent=1)
    half = text.index("\n", len(text) // 2)
    marks = "\n<<<<<<< HEAD\n=======\n>>>>>>> theirs"
    write_bytes(folder, (text[:half] + marks + text[half:]).encode())


@write_case("A key is in a cell twice: a merge by hand kept both lines.")
def duplicated_keys(folder: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook)
    write_bytes(folder, text.replace('"cell_type": "code"', '"cell_type": "raw", "cell_type": "code"').encode())


@write_case("The file is Latin-1 and has a comment with an umlaut: an old editor saved it.", note="not stored as UTF-8")
def latin_1(folder: Path, notebook: Notebook) -> None:
    find_cell(notebook, DOUBLE)["source"] += "\n# für später"
    write_bytes(folder, json.dumps(notebook, ensure_ascii=False).encode("latin-1"))


@write_case("Every line ends in CR LF, in the file and in the cells: git's autocrlf, or Windows' Notepad.")
def crlf(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each["source"] = each["source"].replace("\n", "\r\n")
    write_bytes(folder, json.dumps(notebook, indent=1).replace("\n", "\r\n").encode())


@write_case("The notebook is a zip archive with its name changed.", note="zip archive", intact=[])
def zip_archive(folder: Path, notebook: Notebook) -> None:
    with zipfile.ZipFile(folder / FILE, "w") as archive:
        archive.writestr("notebook", str(notebook))


@write_case("More than a hundred megabytes: videos were shown in cells.", note="over 100 MB", intact=[])
def over_a_hundred_megabytes(folder: Path, notebook: Notebook) -> None:
    with (folder / FILE).open("wb") as file:
        file.truncate(100_000_001)


empty_file = write_case("The file is empty: the disk was full.", note="No notebook named 01_door.ipynb", intact=[])(
    lambda folder, notebook: write_bytes(folder, b"")
)
deeply_nested_json = write_case("The JSON is nested a hundred thousand times.", note="not JSON", intact=[])(
    lambda folder, notebook: write_bytes(folder, b'{"nbformat": 4, "cells": ' + b"[" * 100_000)
)
byte_order_mark = write_case(
    "The file begins with a byte order mark: an editor on Windows saved it.", note="UTF-8-SIG"
)(lambda folder, notebook: write_bytes(folder, json.dumps(notebook).encode("utf-8-sig")))
utf_16 = write_case("The file is UTF-16: PowerShell's redirection wrote it.", note="UTF-16")(
    lambda folder, notebook: write_bytes(folder, json.dumps(notebook).encode("utf-16"))
)
instructors_version = write_case(
    "It is the instructor's notebook, with solutions and hidden tests: it leaked.", note="instructor's version"
)(lambda folder, notebook: write_bytes(folder, find_course_notebook(folder).read_bytes()))
only_numbers = write_case(
    "The file holds a list of numbers: the wrong JSON was submitted.", note="not a notebook of format", intact=[]
)(lambda folder, notebook: write_bytes(folder, b"[1, 2, 3]"))
python_export = write_case(
    "The notebook is a Python file with its name changed: exported as a script.", note="Python file", intact=[]
)(lambda folder, notebook: write_bytes(folder, "\n\n".join(c["source"] for c in notebook["cells"]).encode()))
web_page = write_case(
    "The notebook is the page of a login: downloaded after the session had ended.", note="web page", intact=[]
)(lambda folder, notebook: write_bytes(folder, b"<!DOCTYPE html>\n<html><title>Log in</title></html>"))
