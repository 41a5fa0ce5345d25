# Asks for root, capabilities, a user name space and setuid programs.

# %% before
import ctypes
import os
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
for act in (
    lambda: os.setuid(0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: os.chroot("/"),
    lambda: os.mkfifo(f"{DROP}/{LEFT}"),
    lambda: os.mknod("device", 0o600 | 0o060000, 0),
):
    try:
        act()
        print(BREACH)
    except OSError:
        pass
if libc.unshare(0x10000000) == 0 or libc.mount(b"none", b"/tmp", b"tmpfs", 0, 0) == 0:
    print(BREACH)
print(subprocess.run(["sh", "-c", "su -c id; sudo -n id"], capture_output=True, text=True).stdout)
if os.geteuid() == 0 and open("/proc/self/uid_map").read().split()[1] == "0":
    print(BREACH, "is root")
