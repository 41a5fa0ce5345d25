"""Probes: small observations of a student's object, made in the process where it lives.

A probe holds no expected value. It returns data, which a check compares with what it computes itself. The results of
counts.py, saved_tensors.py, bytes_alive.py and two_devices.py can't be recomputed, so a check that relies on one is
`observed`.
"""

from labkit.probes.bytes_alive import live_bytes
from labkit.probes.capture import captured
from labkit.probes.counts import derivatives, operations
from labkit.probes.graph_operations import GraphError
from labkit.probes.probe_definition import PROBES, ProbeError, probe
from labkit.probes.ranks import ranks
from labkit.probes.replay import Graph, replay
from labkit.probes.saved_tensors import saved, saved_bytes
from labkit.probes.training import gradients_of, state_of, trained
from labkit.probes.trials import call_each
from labkit.probes.two_devices import TwoDevices, on_second_device

__all__ = [
    "PROBES",
    "Graph",
    "GraphError",
    "ProbeError",
    "TwoDevices",
    "call_each",
    "captured",
    "derivatives",
    "gradients_of",
    "live_bytes",
    "on_second_device",
    "operations",
    "probe",
    "ranks",
    "replay",
    "saved",
    "saved_bytes",
    "state_of",
    "trained",
]
