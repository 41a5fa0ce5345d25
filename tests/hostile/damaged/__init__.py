"""One file for each way in which a submission arrives damaged; edits.py says what such a file defines."""
