"""Processes that grade: a pool on this machine, or the workers of a cluster."""
