# Points are a million, checks are unlocked, and tags skip their execution.
# expects: shift=any total=any

# %% folder
for each in notebook["cells"]:
    each["metadata"]["tags"] = ["skip-execution", "nbgrader-ignore"]
    flags = each["metadata"].setdefault("nbgrader", {})
    flags.update(points=1_000_000, locked=False, grade=True, solution=True)
notebook["metadata"] = {"kernelspec": {"name": "forged", "language": "bash", "display_name": "x"}}
