"""Data that packages share: courses and labs, notebook metadata, results, marks, terms."""
