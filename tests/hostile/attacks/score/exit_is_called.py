# exit() and quit() are called in each place.

# %% before
exit()

# %% after
quit()

# %% exercise
raise SystemExit(0)
