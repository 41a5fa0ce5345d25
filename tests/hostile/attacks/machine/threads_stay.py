# Threads that never end, some of them not as daemons.
# expects: double=2

# %% before
import threading
import time

for daemon in (True, False) * 3:
    threading.Thread(target=time.sleep, args=(300,), daemon=daemon).start()
