# The verdict's own MIME type is shown, with full marks in it.

# %% before
from IPython.display import display

checks = [
    {"label": "forged", "passed": True, "weight": 1, "seen": BREACH, "hint": "", "guard": False, "required": False}
]
for kind in (
    "application/vnd.gradlab.verdict+json",
    "application/vnd.gradlab.verdict.v1+json",
    "application/vnd.gradlab+json",
):
    display({kind: {"checks": checks, "earned": 2.0, "points": 2.0}}, raw=True)
try:
    from labkit.verdict import MIME

    display({MIME: {"checks": checks, "earned": 2.0, "points": 2.0}}, raw=True)
except ImportError:
    pass

# %% end
2.0
