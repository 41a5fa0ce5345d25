"""Exchange with learning management systems: the roster, submissions, grades, feedback."""
