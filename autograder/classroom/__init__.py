"""A class: who handed in what, its marks, and the instructor's decisions."""
