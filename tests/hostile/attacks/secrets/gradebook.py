# Reads the gradebook with sqlite.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import sqlite3

try:
    with sqlite3.connect(f"file:{COURSE}/gradebook.db?mode=ro", uri=True) as book:
        show(book.execute("select * from student").fetchall())
        print(BREACH)
except sqlite3.Error as error:
    print(error)
show(open(f"{COURSE}/gradebook.db", "rb").read())
