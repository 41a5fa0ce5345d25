# Sends the answers by UDP.
# ruff: noqa

# %% before
import socket


def attempt(act):
    try:
        act()
        print(BREACH)
    except (OSError, AttributeError, OverflowError) as error:
        print(error)


one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.sendto(b"the answers", ("127.0.0.1", UDP))
one.sendto(b"the answers", ("8.8.8.8", 53))
