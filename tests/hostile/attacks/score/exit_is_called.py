# exit() and quit() are called in each place.
# ruff: noqa

# %% before
exit()

# %% after
quit()

# %% exercise
raise SystemExit(0)
