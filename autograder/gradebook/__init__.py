"""Result documents and nbgrader's gradebook: one process writes them, and any can read them."""
