"""A learning management system with LTI 1.3: launches, tokens, columns and scores, members. It keeps what it receives."""

from __future__ import annotations

import contextlib
import html
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, CONTEXT, DEPLOYMENT = "gradlab-client", "context-7", "deployment-1"
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
SCOPE = "https://purl.imsglobal.org/spec/lti-ags/scope/"
PAGE_SIZE = 2  # members on a page


@dataclass(frozen=True)
class Person:
    """A person in the LMS, who has a number there."""

    name: str
    role: str = "Learner"
    number: str = ""

    @property
    def subject(self) -> str:
        return self.number or f"number-{self.name}"


@dataclass
class LtiPlatform:
    """The LMS, and what it has received."""

    url: str
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    people: list[Person] = field(default_factory=list)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    scores: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """(column, score), in order."""
    tokens: dict[str, str] = field(default_factory=dict)
    """The scope of each token."""
    tool_keys: str = ""
    """The address of the hub's public key, or the key set itself."""
    is_down: bool = False
    refused: int = 0
    """Requests during which it was down."""

    def configure(self, **keys: str) -> str:
        """The table [lti] of hub.toml."""
        table = {
            "issuer": self.url,
            "client_id": CLIENT,
            "authorize_url": f"{self.url}/authorize",
            "jwks_endpoint": f"{self.url}/jwks",
            "token_url": f"{self.url}/token",
            "username_key": "custom_login",
        }
        return "[lti]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in (table | keys).items())

    def build_claims(self, person: Person, link: str = "", **changes: Any) -> dict[str, Any]:
        """The claims of a launch. changes: of claims by name; LTI's without their prefix."""
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": person.subject,
            "iat": now,
            "exp": now + 300,
            "nonce": "",
            f"{CLAIM}message_type": "LtiResourceLinkRequest",
            f"{CLAIM}version": "1.3.0",
            f"{CLAIM}deployment_id": DEPLOYMENT,
            f"{CLAIM}target_link_uri": link,
            f"{CLAIM}resource_link": {"id": "link-1"},
            f"{CLAIM}roles": [ROLE + person.role],
            f"{CLAIM}context": {"id": CONTEXT, "label": "PHY1", "title": "Physics"},
            f"{CLAIM}custom": {"login": person.name},
            "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint": {
                "scope": [f"{SCOPE}lineitem", f"{SCOPE}score"],
                "lineitems": f"{self.url}/Columns?course=7",
            },
            "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice": {
                "context_memberships_url": f"{self.url}/Members"
            },
        }
        standard = {"iss", "aud", "sub", "iat", "exp", "nonce", "email"}
        return claims | {name if name in standard else CLAIM + name: value for name, value in changes.items()}

    def sign(self, claims: dict[str, Any], key: rsa.RSAPrivateKey | None = None) -> str:
        return jwt.encode(claims, key or self.key, "RS256", {"kid": "platform"})

    def announce(self, hub: str, link: str, person: Person) -> str:
        """The address to which the LMS sends the browser of someone who clicks a link."""
        hint = {
            "login_hint": person.name,
            "iss": self.url,
            "target_link_uri": link,
            "client_id": CLIENT,
            "lti_message_hint": link,
        }
        return f"{hub}/hub/lti13/oauth_login?{urlencode(hint)}"

    def launch(
        self,
        session: requests.Session,
        hub: str,
        person: Person,
        link: str = "",
        key: rsa.RSAPrivateKey | None = None,
        **changes: Any,
    ) -> requests.Response:
        """What a browser does after a click on a link: both steps of a launch. changes: see build_claims()."""
        answer = session.get(self.announce(hub, link, person), allow_redirects=False)
        assert answer.status_code == 302, answer.text
        query = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["Location"]).query).items()}
        assert answer.headers["Location"].startswith(f"{self.url}/authorize?")
        assert (query["response_mode"], query["client_id"], query["lti_message_hint"]) == ("form_post", CLIENT, link)
        claims = self.build_claims(person, link, **({"nonce": query["nonce"]} | changes))
        form = {"id_token": self.sign(claims, key), "state": query["state"]}
        return session.post(query["redirect_uri"], data=form)

    def answer(self, method: str, address: str, headers: Any, body: bytes) -> tuple[int, Any, dict[str, str]]:
        """(status, document, headers) of a request."""
        parts = urlsplit(address)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/jwks":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
            return 200, {"keys": [public | {"kid": "platform", "alg": "RS256", "use": "sig"}]}, {}
        if parts.path == "/authorize":
            return 200, self._build_form(query), {}
        if self.is_down:
            self.refused += 1
            return 503, {"error": "closed for maintenance"}, {}
        if parts.path == "/token":
            return self._give_token(parse_qs(body.decode()))
        scope = self.tokens.get(headers.get("Authorization", "").removeprefix("Bearer "), "")
        if not scope:
            return 401, {"error": "no token"}, {}
        if parts.path == "/Members" and scope.endswith("contextmembership.readonly"):
            return self._list_members(int(query.get("from", 0)))
        if parts.path == "/Columns" and scope == f"{SCOPE}lineitem" and query.get("course") == "7":
            return self._answer_columns(method, body)
        column = re.fullmatch(r"/Columns/(\d+)/scores", parts.path)
        if column and column[1] in self.columns and scope == f"{SCOPE}score" and method == "POST":
            self.scores.append((column[1], json.loads(body)))
            return 200, {}, {}
        return 404, {"error": "not found"}, {}

    def _build_form(self, query: dict[str, str]) -> str:
        """A page that posts the launch, as a browser gets it."""
        person = next(person for person in self.people if person.name == query["login_hint"])
        claims = self.build_claims(person, query.get("lti_message_hint", ""), nonce=query["nonce"])
        fields = {"id_token": self.sign(claims), "state": query["state"]}
        inputs = "".join(f'<input name="{name}" value="{html.escape(value)}">' for name, value in fields.items())
        action = html.escape(query["redirect_uri"])
        return f'<form method="post" action="{action}">{inputs}</form><script>document.forms[0].submit()</script>'

    def _give_token(self, form: dict[str, list[str]]) -> tuple[int, Any, dict[str, str]]:
        keys = json.loads(self.tool_keys) if self.tool_keys[0] == "{" else requests.get(self.tool_keys).json()
        assertion = form["client_assertion"][0]
        (entry,) = [key for key in keys["keys"] if key["kid"] == jwt.get_unverified_header(assertion)["kid"]]
        claims = jwt.decode(
            assertion, jwt.PyJWK(entry).key, ["RS256"], audience=f"{self.url}/token", issuer=CLIENT, subject=CLIENT
        )
        token = claims["jti"]
        self.tokens[token] = form["scope"][0]
        return 200, {"access_token": token, "token_type": "bearer", "expires_in": 3600}, {}

    def _list_members(self, first: int) -> tuple[int, Any, dict[str, str]]:
        shown = self.people[first : first + PAGE_SIZE]
        members = [
            {
                "user_id": person.subject,
                "status": "Active",
                "roles": [ROLE + person.role],
                "given_name": person.name.title(),
                "family_name": "Smith",
                "email": f"{person.name}@example.org",
            }
            for person in shown
        ]
        more = first + PAGE_SIZE < len(self.people)
        link = {"Link": f'<{self.url}/Members?from={first + PAGE_SIZE}>; rel="next"'} if more else {}
        return 200, {"id": f"{self.url}/Members", "context": {"id": CONTEXT}, "members": members}, link

    def _answer_columns(self, method: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        if method == "GET":
            return 200, list(self.columns.values()), {}
        number = str(len(self.columns) + 1)
        self.columns[number] = json.loads(body) | {"id": f"{self.url}/Columns/{number}?course=7"}
        return 201, self.columns[number], {}


@contextlib.contextmanager
def run_platform(*people: Person) -> Iterator[LtiPlatform]:
    """Run an LMS with these people."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status, document, headers = platform.answer(self.command, self.path, self.headers, body)
            text = document if isinstance(document, str) else json.dumps(document)
            self.send_response(status)
            headers["Content-Type"] = "text/html" if isinstance(document, str) else "application/json"
            for name, value in (headers | {"Content-Length": str(len(text.encode()))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_POST = do_GET  # noqa: N815 - the base class's name

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    platform = LtiPlatform(f"http://127.0.0.1:{server.server_port}", people=list(people))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield platform
    finally:
        server.shutdown()
        server.server_close()
