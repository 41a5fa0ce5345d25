"""The data that rooms hand to each other: courses and labs, a notebook's metadata, results, marks, terms."""
