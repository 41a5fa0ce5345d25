# Sends the answers by UDP.

# %% before
import socket

one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.sendto(b"the answers", ("127.0.0.1", UDP))
one.sendto(b"the answers", ("8.8.8.8", 53))
