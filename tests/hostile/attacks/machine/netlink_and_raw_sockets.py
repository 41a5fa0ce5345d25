# Opens netlink, packet and raw sockets.

# %% before
import socket

for family, kind, protocol in ((17, 3, 3), (socket.AF_INET, socket.SOCK_RAW, 1), (40, 1, 0), (38, 5, 0)):
    attempt(lambda: socket.socket(family, kind, protocol))
if [name for _, name in socket.if_nameindex() if name != "lo"]:
    print(BREACH)
