"""What an author and an instructor run: build labs, prove their checks, grade submissions, write feedback."""
