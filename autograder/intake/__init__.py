"""The intake for what students hand in: read as data, repaired, and matched to the course's own cells."""
