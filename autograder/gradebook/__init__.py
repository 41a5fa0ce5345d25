"""Result documents and nbgrader's gradebook: written by one process, and read."""
