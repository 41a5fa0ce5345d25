"""What students wrote, as HTML that runs nothing and fetches nothing, within bounds of time and memory."""
