# Threads and locks that make every exit wait.
# night: swallowed_interrupts also ends only by SIGKILL
# expects: shift=0 total=any

# %% before
import atexit
import threading

lock = threading.Lock()
lock.acquire()
atexit.register(lock.acquire)
import os

os.register_at_fork(before=lambda: None, after_in_child=lambda: lock.acquire())
