# Cells that wait, and calls that end the process: each time, the earlier cells run once more.
# night: every call that ends its process runs the waiting cells again
# expects: shift=any total=any

# %% exercise
import os
import signal


def double(x):
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)


# %% folder
for number in range(5):
    cell = {"cell_type": "code", "id": f"wait-{number}", "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(1, cell | {"source": "import time\n\ntime.sleep(1.5)"})
