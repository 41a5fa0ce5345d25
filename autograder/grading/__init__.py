"""Grades submissions: one, a class, on a cluster."""
