"""Assignments made for stock nbgrader: repaired, run and scored by its rules, and checked if possible."""
