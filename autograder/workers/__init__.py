"""Processes that grade: a pool on this machine, or a cluster."""
