"""Static analysis of cells: which names they bind and write into, and what running one can change."""
