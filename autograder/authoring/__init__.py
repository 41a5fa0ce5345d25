"""Turns the annotated source of a lab into its notebooks."""
