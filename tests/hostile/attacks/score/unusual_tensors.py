# The results are sparse, nested, quantized, complex and of no device.

# %% exercise
import torch

MAKE = [
    lambda x: x.to_sparse(),
    lambda x: torch.nested.nested_tensor([x, x]),
    lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    lambda x: x.to(torch.complex32),
    lambda x: x.to("meta"),
    lambda x: torch.empty(0).as_strided((3, 3), (0, 0)),
]
CALLS = []


def double(x):
    CALLS.append(x)
    return MAKE[(len(CALLS) + x.numel()) % len(MAKE)](x)
