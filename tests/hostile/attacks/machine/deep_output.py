# Outputs hold lists in lists, nearly as deep as JSON can be read.
# expects: double=2

# %% before
from IPython.display import display

for depth in (100, 300, 500, 700, 900, 950, 980, 100_000):
    nested = []
    for _ in range(depth):
        nested = [nested]
    display({"application/json": nested, "text/plain": "x"}, raw=True)
