"""One submission: a task in, a result out."""
