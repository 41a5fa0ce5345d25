"""The untrusted side, in the student process: runs a submission's cells, and serves calls of what they define."""
