"""Feedback pages, reports and exports."""
