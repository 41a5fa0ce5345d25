# Writes into every folder that all users may write to.

# %% before
import os

for place in [DROP, *"/tmp /var/tmp /dev/shm / /root /etc /usr/local/bin /run /dev/mqueue /var/lock".split()]:
    try:
        with open(f"{place}/{LEFT}", "w") as file:
            file.write("x")
    except OSError:
        pass
