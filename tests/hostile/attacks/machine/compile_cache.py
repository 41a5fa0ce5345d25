# Plants a kernel in the cache of torch.compile, where the next submission would load it.
# expects: double=2

# %% before
import os
import tempfile

import torch

for place in (
    tempfile.gettempdir(),
    os.environ.get("TORCHINDUCTOR_CACHE_DIR", "/tmp/torchinductor_root"),
    "/tmp/torchinductor_root",
    "/tmp/torchinductor_student",
):
    try:
        os.makedirs(f"{place}/fxgraph/{LEFT}", exist_ok=True)
        open(f"{place}/{LEFT}.py", "w").write("raise SystemExit")
    except OSError:
        pass
