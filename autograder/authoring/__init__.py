"""From the annotated source of a lab to its notebooks."""
