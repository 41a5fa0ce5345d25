"""The users and groups of a running hub, which follow hub.toml: through the hub's API, with a service's token."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

SECONDS = 600.0  # for an answer: the hub may have to stop a server first
MISSING = 404


@dataclass(frozen=True)
class HubMembers:
    """The hub's users and groups. Every method raises OSError if the hub refuses something or can't be reached."""

    url: str
    """Of the hub's API."""
    token: str

    def remove_others(self, wanted: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Remove from these groups who isn't wanted there. Users who are in none of them any more lose their server.

        Args:
            wanted: The members, by group.

        Returns:
            Who was removed, by group; groups without a change aren't there.
        """
        named = {name for names in wanted.values() for name in names}
        removed: dict[str, list[str]] = {}
        for group, names in wanted.items():
            gone = self._list_members(group) - set(names)
            if gone:
                removed[group] = sorted(gone)
            for name in sorted(gone - named):
                if not self._ask("GET", f"users/{quote(name)}")["admin"]:
                    self._ask("DELETE", f"users/{quote(name)}")  # with their server and tokens
                    gone.remove(name)
            if gone:
                self._ask("DELETE", f"groups/{quote(group)}/users", {"users": sorted(gone)})
        return removed

    def add_missing(self, wanted: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Add to these groups who is missing, as a user of the hub first.

        Args:
            wanted: The members, by group.

        Returns:
            Who was added, by group; groups without a change aren't there.
        """
        added: dict[str, list[str]] = {}
        for group, names in wanted.items():
            new = sorted(set(names) - self._list_members(group))
            for name in new:
                if not self._has_user(name):
                    self._ask("POST", f"users/{quote(name)}")
            if new:
                self._ask("POST", f"groups/{quote(group)}/users", {"users": new})
                added[group] = new
        return added

    def _list_members(self, group: str) -> set[str]:
        return set(self._ask("GET", f"groups/{quote(group)}")["users"])

    def _has_user(self, name: str) -> bool:
        try:
            self._ask("GET", f"users/{quote(name)}")
        except HTTPError as error:
            if error.code != MISSING:
                raise
            return False
        return True

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.url}/{path}", data, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=SECONDS) as answer:
            return json.loads(answer.read() or b"null")


def connect_members() -> HubMembers:
    """Connect as the service that this process is."""
    return HubMembers(os.environ["JUPYTERHUB_API_URL"], os.environ["JUPYTERHUB_API_TOKEN"])
