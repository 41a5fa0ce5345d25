"""Probes: small observations of a student's object, made in the process where it lives.

A probe holds no expected value. What it returns is data that a check compares with what it computes itself. Those of
counts.py, saved.py, bytes_alive.py and two_devices.py return what nobody can compute again: a check that rests on one
is `observed`.
"""

from labkit.probes.bytes_alive import live_bytes
from labkit.probes.capture import captured
from labkit.probes.counts import compilations, forwards, graph_breaks, operations
from labkit.probes.dispatch import PROBES, ProbeError, probe
from labkit.probes.functional import functional_call, grad, jacrev, jvp, transformed, vjp, vmap
from labkit.probes.hooks import hooked
from labkit.probes.ranks import ranks
from labkit.probes.replay import Graph, GraphError, replay
from labkit.probes.saved_tensors import saved, saved_bytes
from labkit.probes.training import fitted, gradients_of, state_of, stepped, trained
from labkit.probes.two_devices import TwoDevices, on_second_device

__all__ = [
    "PROBES",
    "Graph",
    "GraphError",
    "ProbeError",
    "TwoDevices",
    "captured",
    "compilations",
    "fitted",
    "forwards",
    "functional_call",
    "grad",
    "gradients_of",
    "graph_breaks",
    "hooked",
    "jacrev",
    "jvp",
    "live_bytes",
    "on_second_device",
    "operations",
    "probe",
    "ranks",
    "replay",
    "saved",
    "saved_bytes",
    "state_of",
    "stepped",
    "trained",
    "transformed",
    "vjp",
    "vmap",
]
