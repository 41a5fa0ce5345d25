"""Submissions in nbgrader's exchange: the inbox, attempts, collecting."""
