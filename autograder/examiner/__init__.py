"""Runs check cells and says what each check saw."""
