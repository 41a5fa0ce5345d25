"""Starts ipykernel as `python -m ipykernel_launcher` does, but is found by its path and not in the notebook's folder.

It is run as a program: Python then looks for modules beside it, which is undone at once.
"""

import sys

if __name__ == "__main__":
    del sys.path[0]
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()
