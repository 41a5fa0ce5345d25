# Connects to sockets in the file system and in the abstract name space.

# %% before
import socket

for name in (UNIX, "\0" + ABSTRACT, "/run/docker.sock", "/var/run/dbus/system_bus_socket"):
    attempt(lambda: socket.socket(socket.AF_UNIX).connect(name))
