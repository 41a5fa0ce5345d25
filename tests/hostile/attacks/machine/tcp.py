# Connects to a server on this machine and to one outside, by TCP.

# %% before
import socket

attempt(lambda: socket.create_connection(("127.0.0.1", TCP), 1).send(b"the answers"))
attempt(lambda: socket.create_connection(("::1", TCP), 1))
attempt(lambda: socket.create_connection(("1.1.1.1", 53), 1))
