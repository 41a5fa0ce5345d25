# Shows a hundred thousand outputs, and pictures of megabytes.
# night: output_flood reaches the same bound by day
# expects: double=2

# %% before
from IPython.display import HTML, display

for number in range(20_000):
    display(number)
for _ in range(20):
    display(HTML("<b>" + "x" * 5_000_000 + "</b>"))
display({"application/x+json": [[[]] * 100_000] * 50, "text/plain": "x"}, raw=True)
