"""Assignments made for stock nbgrader: repairs, runs and scores them by its rules, and verifies tests if possible."""
