# A hundred cells each show a picture of megabytes.
# night: many_loud_cells reaches the same bound by day
# expects: double=2


# %% folder
source = "from IPython.display import display\ndisplay({'image/png': 'A' * 1_900_000}, raw=True)"
for number in range(100):
    notebook["cells"].insert(
        1,
        {
            "cell_type": "code",
            "id": f"loud-{number}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        },
    )
