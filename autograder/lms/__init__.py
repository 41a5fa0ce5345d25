"""What goes to a learning management system and comes from it: the roster, submissions, grades, feedback."""
