"""Proves a lab's checks: every right answer gets full marks, and every wrong one fails for its own reason."""
