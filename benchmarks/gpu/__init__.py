"""What to run on a machine with a GPU. `make gpu` runs every part, `python -m benchmarks.gpu PART...` only some."""
