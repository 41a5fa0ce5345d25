# Looks up names, which carry data to whoever answers for them.

# %% before
import socket

socket.setdefaulttimeout(1)
attempt(lambda: socket.gethostbyname("secret.example.com"))
