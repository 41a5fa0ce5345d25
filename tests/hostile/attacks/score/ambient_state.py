# The call changes the default dtype, autocast, inference mode and determinism.
# night: tests of the examiner change PyTorch's settings by day

# %% exercise
import torch


def double(x):
    torch.set_default_dtype(torch.bfloat16)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    return 0 * x
