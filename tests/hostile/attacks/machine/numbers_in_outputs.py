# Outputs hold numbers that JSON does not know, keys that are no text, and objects.
# expects: double=2

# %% before
from IPython.display import display

display(
    {"application/json": {"a": float("nan"), "b": float("inf"), 1: 10**5000, "c": object()}, "text/plain": "x"},
    raw=True,
)
display({"text/plain": 3, "image/png": b"\xff", 5: "x", None: None}, raw=True)
