"""What students hand in through nbgrader's exchange."""
