# The check cells are replaced by numbers, and another check's grade_id is given to a cell that says 2.0.

# %% folder
for each in notebook["cells"]:
    if each["id"].startswith("check-"):
        each["source"] = "2.0"
notebook["cells"].append(
    {
        "cell_type": "code",
        "id": "x",
        "source": "2.0",
        "outputs": [],
        "execution_count": 1,
        "metadata": {
            "nbgrader": {
                "grade": True,
                "grade_id": "check-double",
                "points": 2,
                "locked": True,
                "solution": False,
                "schema_version": 3,
                "task": False,
            }
        },
    }
)
