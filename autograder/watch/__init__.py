"""Grades submissions as they arrive."""
