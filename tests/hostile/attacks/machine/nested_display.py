# Outputs hold display data of JSON that is nested too deep to be written down by recursion, and data that holds itself.
# %% before
deep = {}
for _ in range(600):
    deep = {"a": deep}
display({"application/json": deep, "text/plain": "deep"}, raw=True)
# %% after
round_and_round = []
round_and_round.append(round_and_round)
display({"application/json": round_and_round, "text/plain": "round"}, raw=True)
