# Looks up names, which carry data to their name server.

# %% before
import socket

socket.setdefaulttimeout(1)
attempt(lambda: socket.gethostbyname("secret.example.com"))
