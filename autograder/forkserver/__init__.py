"""The fork server, which forks student processes and supervises them."""
