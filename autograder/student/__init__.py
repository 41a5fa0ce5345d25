"""Runs in the student process, untrusted: a submission's cells, and calls of what they define."""
