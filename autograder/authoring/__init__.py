"""Builds a lab's notebooks from its annotated source."""
