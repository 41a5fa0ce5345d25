"""A class: who handed in what, its marks, and what an instructor decides."""
