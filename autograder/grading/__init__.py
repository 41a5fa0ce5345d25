"""Grading of one submission: a task in, a result out."""
