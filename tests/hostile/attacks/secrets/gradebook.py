# Reads the gradebook with sqlite.

# %% before
import sqlite3

try:
    with sqlite3.connect(f"file:{COURSE}/gradebook.db?mode=ro", uri=True) as book:
        show(book.execute("select * from student").fetchall())
        print(BREACH)
except sqlite3.Error as error:
    print(error)
show(open(f"{COURSE}/gradebook.db", "rb").read())
