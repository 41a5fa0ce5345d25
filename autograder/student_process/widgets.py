"""Widgets of ipywidgets without a front end. As with nbclient, they appear as a reference, and Output widgets work."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import comm
from comm.base_comm import BaseComm

from autograder.student_process.outputs import Outputs, Pane


class Widgets:
    """The widgets of a kernel. Output widgets keep the outputs that were sent to them."""

    def __init__(self) -> None:
        self.outputs = Outputs()  # of the running cell
        self._panes: dict[str, Pane] = {}
        self._numbers = itertools.count(1)
        comm.create_comm = self._create_comm

    def _create_comm(self, *args: Any, comm_id: str | None = None, **kwargs: Any) -> _Comm:
        # Numbered, so the same cells give the same outputs.
        return _Comm(self, *args, comm_id=comm_id or f"{next(self._numbers):032x}", **kwargs)

    def begin_cell(self, outputs: Outputs) -> None:
        """Send what Output widgets capture to the outputs of this cell."""
        self.outputs = outputs

    def receive(self, comm_id: str, kind: str, state: dict[str, Any]) -> None:
        """Take a widget's message: create an Output widget, or start or stop sending outputs to it.

        Args:
            kind: The type of the message, "comm_open" or "comm_msg".
            state: The widget's properties. A `msg_id` that isn't empty starts sending.
        """
        if kind == "comm_open" and state.get("_model_name") == "OutputModel":
            self._panes[comm_id] = Pane()
        elif kind == "comm_msg" and comm_id in self._panes and "msg_id" in state:
            if state["msg_id"]:
                self.outputs.panes.append(self._panes[comm_id])
            elif self.outputs.panes[-1] is self._panes[comm_id]:
                self.outputs.panes.pop()

    def send_outputs(self) -> None:
        """After a cell, send the Output widgets their outputs."""
        for comm_id, pane in self._panes.items():
            widget = comm.get_comm_manager().comms.get(comm_id)
            state = {"outputs": pane.items}
            if pane.items and isinstance(widget, _Comm):
                with contextlib.suppress(Exception):
                    widget.handle_msg({"content": {"data": {"method": "update", "state": state}}})


class _Comm(BaseComm):
    def __init__(self, widgets: Widgets, *args: Any, **kwargs: Any) -> None:
        self._widgets = widgets
        super().__init__(*args, **kwargs)

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        state = (data or {}).get("state")
        if isinstance(state, dict):
            self._widgets.receive(self.comm_id, msg_type, state)
