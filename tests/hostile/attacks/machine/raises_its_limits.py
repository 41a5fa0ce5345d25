# Raises its own limits.

# %% before
import resource

for name in ("NPROC", "FSIZE", "AS", "CPU", "NOFILE"):
    try:
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(BREACH, name)
    except (OSError, ValueError):
        pass
