"""Login by LTI 1.3: people open a link in their learning management system, and are in the hub.

ltiauthenticator checks the platform's message. Here, its roles become groups, and the link's lab the first page.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jupyterhub.auth import Authenticator, LocalAuthenticator
from jupyterhub.handlers import BaseHandler
from jupyterhub.utils import url_path_join
from ltiauthenticator.lti13.auth import LTI13Authenticator
from ltiauthenticator.lti13.error import ValidationError
from ltiauthenticator.lti13.handlers import LTI13CallbackHandler, LTI13LoginInitHandler
from tornado.web import HTTPError
from traitlets import Unicode

from autograder.hub.lti_admission import admit_launch, list_groups
from autograder.hub.lti_key import read_public_keys
from autograder.hub.lti_launch import Launch, LaunchRefused, get_user_name, parse_launch
from autograder.hub.lti_records import Role, read_records, write_records
from autograder.hub.service_names import get_desk_service, get_teaching_service
from autograder.hub.settings import Hub, read_settings

OPEN_A_LINK = "Open a lab in your course in the learning management system. This address doesn't say who you are."
SCOPES = (
    "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem",
    "https://purl.imsglobal.org/spec/lti-ags/scope/score",
    "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly",
)


class LtiLoginHandler(LTI13LoginInitHandler):  # type: ignore[misc]
    """The platform announces a launch. The browser is sent back to it, with a state and a nonce to return."""

    def post(self) -> None:
        if not self.get_argument("iss", ""):
            raise HTTPError(403, OPEN_A_LINK, reason="Forbidden")
        super().post()

    get = post

    def _get_optional_arg(self, args: dict[str, str], arg: str) -> str | None:
        """Return the argument. A platform need not send the client ID, which the settings have."""
        (client,) = self.authenticator.client_id
        return client if arg == "client_id" else args.get(arg) or None

    def _set_oauth_cookie(self, key: str, value: str) -> None:
        """Set the cookie so the browser sends it with the launch, which is a request from another site."""
        is_secure = self.authenticator.get_uri_scheme(self.request) == "https"
        options = {"samesite": "None", "secure": True} if is_secure else {}
        self._set_cookie(key, value, expires_days=1, httponly=True, encrypted=True, **options)


class LtiLaunchHandler(LTI13CallbackHandler):  # type: ignore[misc]
    """The launch itself: the platform's signed message, which the browser posts."""

    first_page = ""
    """Set by the authenticator."""

    async def post(self) -> None:
        try:
            # In a thread: it fetches the platform's keys.
            claims = await asyncio.to_thread(self.decode_and_validate_launch_request)
            user = await self.login_user(claims)
        except ValidationError as error:
            raise HTTPError(400, "%s", error, reason="Bad Request") from None
        except LaunchRefused as error:
            raise HTTPError(403, "%s", error, reason="Forbidden") from None
        if user is None:
            raise HTTPError(403)
        self.redirect(self.first_page)


class KeysHandler(BaseHandler):  # type: ignore[misc]
    """GET: the hub's public key, with which the platform checks requests for scores and rosters."""

    def get(self) -> None:
        self.set_header("Content-Type", "application/json")
        self.finish(read_public_keys(self.authenticator.hub.lti_folder))


class RegistrationHandler(BaseHandler):  # type: ignore[misc]
    """GET: the registration that Canvas reads from an address."""

    def get(self) -> None:
        authenticator = self.authenticator
        address = f"{authenticator.get_uri_scheme(self.request)}://{self.request.host}{self.hub.base_url}"
        registration = {
            "title": "Gradlab",
            "description": "Labs that grade themselves",
            "oidc_initiation_url": authenticator.login_url(address),
            "target_link_uri": address,
            "redirect_uris": [authenticator.callback_url(address)],
            "public_jwk_url": authenticator.get_keys_url(address),
            "scopes": SCOPES,
            "custom_fields": {"login": "$Canvas.user.loginId"},
            "extensions": [
                {
                    "platform": "canvas.instructure.com",
                    "privacy_level": "public",
                    "settings": {
                        "platform": "canvas.instructure.com",
                        "placements": [
                            {
                                "placement": "course_navigation",
                                "message_type": "LtiResourceLinkRequest",
                                "target_link_uri": address,
                                "windowTarget": "_blank",
                            }
                        ],
                    },
                }
            ],
        }
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(registration))


class LtiLogin(LTI13Authenticator, LocalAuthenticator):  # type: ignore[misc]
    """Admits people by launches. A user's groups are the courses in which they have opened a link."""

    login_handler, callback_handler, config_handler = LtiLoginHandler, LtiLaunchHandler, RegistrationHandler
    hub_file = Unicode(config=True, help="The path of hub.toml.")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.hub: Hub = read_settings(Path(self.hub_file))

    async def add_user(self, user: Any) -> None:
        """Create the system account of a new user, if the settings say so. A demo has none."""
        if self.hub.is_demo:
            Authenticator.add_user(self, user)
        else:
            await LocalAuthenticator.add_user(self, user)

    def get_keys_url(self, base_url: str) -> str:
        return str(url_path_join(base_url, "lti13", "jwks"))

    def get_handlers(self, app: Any) -> list[tuple[str, type[BaseHandler]]]:
        return [*super().get_handlers(app), (self.get_keys_url(""), KeysHandler)]

    async def authenticate(self, handler: Any, data: dict[str, Any] | None = None) -> dict[str, Any]:
        """Admit the person with these claims, and set the handler's `first_page`. Raises LaunchRefused."""
        hub, claims = self.hub, data or {}
        assert hub.lti is not None
        launch = parse_launch(claims)
        # No other launch comes between reading and writing, since nothing here awaits.
        claimed = get_user_name(claims, hub.lti.username_key)
        name, records = admit_launch(launch, claimed, read_records(hub.lti_folder), hub)
        write_records(hub.lti_folder, records)
        handler.first_page = _choose_page(handler, launch, records.contexts[launch.context].course)
        return {"name": name, "groups": list_groups(name, records, hub)}


def _choose_page(handler: Any, launch: Launch, course: str) -> str:
    """Return where the person lands: a student on the link's lab, a teacher or assistant at the course's desk."""
    if launch.role is Role.ASSISTANT:
        return str(url_path_join(handler.base_url, "services", get_desk_service(course), "gradlab/desk/"))
    if launch.role is Role.TEACHER:
        page = "gradlab/desk/" if launch.lab else "lab"
        return str(url_path_join(handler.base_url, "services", get_teaching_service(course), page))
    server = url_path_join(handler.hub.base_url, "user-redirect/")
    if not launch.lab:
        return str(server)
    return f"{url_path_join(server, 'gradlab/labs', quote(launch.lab))}?{urlencode({'course': course})}"
