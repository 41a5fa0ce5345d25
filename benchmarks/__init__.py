"""Measurements. Seconds of two machines say nothing to each other: compare the ratios of one run."""
