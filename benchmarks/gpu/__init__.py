"""What runs where a GPU is: `make gpu` does every part, `python -m benchmarks.gpu PART...` some; each reports."""
