# Processes leave their session and their parent, ignore signals, and wait for the next submission.

# %% before
import os
import signal
import subprocess
import sys
import time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(300)
        os._exit(0)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", LEFT], start_new_session=True)
subprocess.Popen(f'nohup sh -c "sleep 300; : {LEFT}" &', shell=True)
