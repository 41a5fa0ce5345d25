"""What a submission earned: the result's schema, the gradebook it comes from, and the pages that people read."""
