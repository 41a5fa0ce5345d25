"""What a lab imports: checks, comparisons, hints, pictures, probes, and the device to work on.

labkit imports nothing from `autograder`: a student needs only this package.
"""

from labkit import probes
from labkit.check import check
from labkit.choices import letters
from labkit.compare import assert_close, explain
from labkit.device import device
from labkit.hint import hint
from labkit.pictures import show_graph, show_strides

__all__ = ["assert_close", "check", "device", "explain", "hint", "letters", "probes", "show_graph", "show_strides"]
