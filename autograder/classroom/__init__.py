"""A class: who submitted what, its marks, and the instructor's decisions."""
