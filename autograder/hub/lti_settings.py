"""The table `[lti]` of hub.toml: the learning management system from which people log in."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from autograder.model.strict_model import StrictModel

LOOPBACK = ("127.0.0.1", "localhost", "::1")
USERNAME_KEY = re.compile(r"[A-Za-z0-9_]+")


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError("write an address that begins with https://")
    return url


def _check_username_key(key: str) -> str:
    if not USERNAME_KEY.fullmatch(key):
        raise ValueError("write email, sub, or custom_ and the name of a custom parameter")
    return key


Url = Annotated[str, AfterValidator(_check_url)]


class LtiSettings(StrictModel):
    """What the LMS shows after an administrator has registered the hub as a tool."""

    issuer: Url
    """The platform's ID."""
    client_id: str = Field(min_length=1)
    """The tool's ID, which the platform assigned."""
    authorize_url: Url
    """The platform's authentication request URL."""
    jwks_endpoint: Url
    """The platform's public keyset URL, against which launches are checked."""
    token_url: Url
    """The platform's access token URL, for scores and rosters."""
    token_audience: str = ""
    """The audience of requests for a token, if it isn't `token_url`."""
    username_key: Annotated[str, AfterValidator(_check_username_key)] = "email"
    """The claim that becomes the user's name; `custom_NAME` for a custom parameter."""
    contexts: dict[str, str] = Field(default_factory=dict)
    """The course of each of the platform's courses, by its context ID."""
