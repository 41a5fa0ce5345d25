# Four hundred cells each print as much as one may.
# expects: double=2


# %% folder
for number in range(400):
    notebook["cells"].insert(
        1,
        {
            "cell_type": "code",
            "id": f"loud-{number}",
            "metadata": {},
            "source": "print('x' * 200_000)",
            "outputs": [],
            "execution_count": None,
        },
    )
