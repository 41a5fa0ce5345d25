"""The fork server from which student processes are forked, and its supervision."""
