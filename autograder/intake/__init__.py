"""The intake of submissions: reads them as data, matches their cells with the course's, and repairs them."""
