"""Runs check cells and reports what each check saw."""
