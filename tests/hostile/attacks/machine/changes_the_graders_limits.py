# Sets the grader's limits, priority and processors.

# %% before
import os
import resource

for pid in (GRADER, os.getppid()):
    for act in (
        lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda: os.sched_setaffinity(pid, {0}),
    ):
        try:
            act()
            print(BREACH if pid == GRADER else "own")
        except OSError:
            pass
