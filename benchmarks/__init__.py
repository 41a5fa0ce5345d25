"""Measurements of Gradlab. Compare ratios within one run: seconds measured on two machines aren't comparable."""
