"""Used by every package: errors, text, digests, atomic files, progress bars, time, entry points."""
