"""The data that packages share: courses and labs, a notebook's metadata, results, marks, terms."""
