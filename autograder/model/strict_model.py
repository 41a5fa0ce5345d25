"""The base of models that are read from files."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Immutable data; a wrong field name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
