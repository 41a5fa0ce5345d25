# Writes marks, and a trigger that raises them, into the gradebook.

# %% before
import os
import sqlite3

try:
    book = sqlite3.connect(f"{COURSE}/gradebook.db")
    book.execute("update grade set manual_score = 2")
    book.execute("create trigger t after update on grade begin update grade set manual_score = max_score; end")
    book.commit()
    print(BREACH)
except sqlite3.Error as error:
    print(error)
spoil(f"{COURSE}/gradebook.db")
spoil(f"{COURSE}/gradebook.db-journal")
