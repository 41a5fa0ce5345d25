"""JupyterHub's configuration for login by LTI, and for the services that send scores."""

from __future__ import annotations

from typing import Any

from autograder.hub.lti_key import create_key
from autograder.hub.service_names import get_grades_service
from autograder.hub.services import PYTHON, connect_process
from autograder.hub.settings import HUB_FILE, Hub


def configure_lti_login(c: Any, hub: Hub) -> None:
    """Replace the hub's login and groups: both are the platform's."""
    assert hub.lti is not None
    create_key(hub.lti_folder)
    c.JupyterHub.authenticator_class = "autograder.hub.lti_login.LtiLogin"
    c.LtiLogin.hub_file = str(hub.folder / HUB_FILE)
    c.LtiLogin.issuer, c.LtiLogin.client_id = hub.lti.issuer, {hub.lti.client_id}
    c.LtiLogin.authorize_url, c.LtiLogin.jwks_endpoint = hub.lti.authorize_url, hub.lti.jwks_endpoint
    c.LtiLogin.auto_login = True  # the hub's own page would only offer a button that leads nowhere
    c.Authenticator.manage_groups = True
    del c.JupyterHub.load_groups  # JupyterHub refuses both
    c.Authenticator.allowed_users = set()
    c.Authenticator.allow_all = True  # LtiLogin refuses launches that no one may make


def build_grades_services(hub: Hub) -> list[dict[str, Any]]:
    """Build a service for each course that sends scores and reads the roster.

    It runs as the hub's own user, since the course's must not read the key, and starts a process as the course's
    owner that reads marks.
    """
    services = [
        {
            "name": get_grades_service(course.name),
            "command": [*PYTHON, "-m", "autograder.hub.lti_service", str(hub.folder / HUB_FILE), course.name],
        }
        for course in hub.courses
    ]
    return [connect_process(hub, service) for service in services]
