"""Requests to the learning management system: access tokens, columns of its gradebook, scores and members.

Platforms differ in what they refuse. What can pass is PlatformUnavailable, what needs a person PlatformRefusal.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

import jwt
import requests

from autograder.hub.lti_settings import LtiSettings

TIMEOUT = (10.0, 60.0)  # seconds to connect, and without a byte
TOKEN_SECONDS = 60  # for which a request for a token is valid, and before whose end a token isn't used any more
MAX_PAGES = 1000
NEXT_PAGE = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?', re.IGNORECASE)
GRADES = "https://purl.imsglobal.org/spec/lti-ags/scope/"
LINE_ITEM, SCORE = f"{GRADES}lineitem", f"{GRADES}score"
MEMBERS = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
COLUMN, COLUMNS = "application/vnd.ims.lis.v2.lineitem+json", "application/vnd.ims.lis.v2.lineitemcontainer+json"
MEMBER_PAGE = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
SCORE_TYPE = "application/vnd.ims.lis.v1.score+json"
TEMPORARY = frozenset({408, 423, 425, 429, *range(500, 600)})


class PlatformUnavailable(Exception):
    """The platform can't be reached or answers with an error that can pass."""


class PlatformRefusal(Exception):
    """The platform refuses a request, and will do so again."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Platform:
    """The platform as this hub may use it."""

    settings: LtiSettings
    key: str
    """The hub's private key."""
    key_name: str
    _tokens: dict[str, tuple[str, float]] = field(default_factory=dict)
    """A token for each scope, and when it ends."""
    _session: requests.Session = field(default_factory=requests.Session)

    def find_column(self, columns: str, tag: str) -> str:
        """Find the column with this tag, and return its address; empty if there is none.

        Args:
            columns: The address of a course's columns.
            tag: What the hub called it.
        """
        address = f"{columns}{'&' if urlsplit(columns).query else '?'}{urlencode({'tag': tag})}"
        for page in self._iter_pages(address, LINE_ITEM, COLUMNS):
            for column in page:
                if column.get("tag") == tag:  # a platform may ignore the query
                    return _read_field(column, "id")
        return ""

    def create_column(self, columns: str, tag: str, label: str, worth: float) -> str:
        """Create a column, and return its address."""
        body = {"tag": tag, "label": label, "scoreMaximum": worth}
        return _read_field(_read_json(self._ask("POST", columns, LINE_ITEM, body, COLUMN, COLUMN)), "id")

    def put_score(self, column: str, score: Mapping[str, object]) -> None:
        """Put a score into a column."""
        parts = urlsplit(column)
        address = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/scores"))
        self._ask("POST", address, SCORE, score, SCORE_TYPE)

    def list_members(self, address: str) -> list[dict[str, Any]]:
        """List the people in a course of the platform."""
        pages = self._iter_pages(address, MEMBERS, MEMBER_PAGE)
        return [member for page in pages for member in page.get("members", [])]

    def _iter_pages(self, address: str, scope: str, kind: str) -> Iterator[Any]:
        """Yield each page's document. The next page must be at the same host, since it gets the token, too."""
        host, next_address = urlsplit(address).netloc, address
        for _ in range(MAX_PAGES):
            answer = self._ask("GET", next_address, scope, accept=kind)
            yield _read_json(answer)
            match = NEXT_PAGE.search(answer.headers.get("Link", ""))
            if match is None:
                return
            next_address = urljoin(next_address, match[1])
            if urlsplit(next_address).netloc != host:
                raise PlatformRefusal(f"{address} continues at another host, {next_address}")
        raise PlatformRefusal(f"{address} has more than {MAX_PAGES} pages")

    def _ask(
        self, method: str, address: str, scope: str, body: object = None, kind: str = "", accept: str = "*/*"
    ) -> requests.Response:
        """Send a request. A token that the platform no longer accepts is replaced."""
        while True:
            is_new = scope not in self._tokens
            headers = {"Authorization": f"Bearer {self._get_token(scope)}", "Accept": accept, "Content-Type": kind}
            data = None if body is None else json.dumps(body)
            answer = self._send(method, address, data, {name: value for name, value in headers.items() if value})
            if answer.status_code != 401 or is_new:
                return _refuse_error(answer)
            del self._tokens[scope]

    def _get_token(self, scope: str) -> str:
        """Return an access token for this scope."""
        token, end = self._tokens.get(scope, ("", 0.0))
        now = time.time()
        if end > now:
            return token
        settings = self.settings
        claims = {
            "iss": settings.client_id,
            "sub": settings.client_id,
            "aud": settings.token_audience or settings.token_url,
            "iat": int(now) - 5,
            "exp": int(now) + TOKEN_SECONDS,
            "jti": uuid.uuid4().hex,
        }
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": jwt.encode(claims, self.key, "RS256", {"kid": self.key_name}),
            "scope": scope,
        }
        answer = _read_json(_refuse_error(self._send("POST", settings.token_url, form, {"Accept": "application/json"})))
        token = _read_field(answer, "access_token")
        self._tokens[scope] = (token, now + float(answer.get("expires_in", 3600)) - TOKEN_SECONDS)
        return token

    def _send(self, method: str, address: str, data: Any, headers: dict[str, str]) -> requests.Response:
        try:
            return self._session.request(
                method, address, data=data, headers=headers, timeout=TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise PlatformUnavailable(f"{address}: {error}") from None


def _refuse_error(answer: requests.Response) -> requests.Response:
    if answer.status_code < 300:
        return answer
    message = f"{answer.request.method} {answer.url}: {answer.status_code} {answer.reason}: {answer.text[:300]}"
    if answer.status_code in TEMPORARY:
        raise PlatformUnavailable(message)
    raise PlatformRefusal(message, answer.status_code)


def _read_json(answer: requests.Response) -> Any:
    try:
        return answer.json()
    except requests.JSONDecodeError:
        raise PlatformRefusal(f"{answer.url} answered no JSON: {answer.text[:300]}") from None


def _read_field(document: Any, name: str) -> str:
    value = document.get(name) if isinstance(document, dict) else None
    if not value:
        raise PlatformRefusal(f"the platform's answer has no {name}: {document!r:.300}")
    return str(value)
