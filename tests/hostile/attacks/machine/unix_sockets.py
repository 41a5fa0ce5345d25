# Connects to sockets in the file system and in the abstract name space.
# ruff: noqa

# %% before
import socket


def attempt(act):
    try:
        act()
        print(BREACH)
    except (OSError, AttributeError, OverflowError) as error:
        print(error)


for name in (UNIX, "\0" + ABSTRACT, "/run/docker.sock", "/var/run/dbus/system_bus_socket"):
    attempt(lambda: socket.socket(socket.AF_UNIX).connect(name))
