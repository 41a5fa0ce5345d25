"""What every room uses: errors, text, digests, files written whole, progress and time."""
