# Writes into every place where anybody may write.

# %% before
import os

for place in [DROP, *"/tmp /var/tmp /dev/shm / /root /etc /usr/local/bin /run /dev/mqueue /var/lock".split()]:
    try:
        with open(f"{place}/{LEFT}", "w") as file:
            file.write("x")
    except OSError:
        pass
