"""What axe-core finds wrong with the course's own parts of a page. JupyterLab's parts are its own matter."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

OWN_PARTS = "[class*=gradlab-]:not(.jp-Cell, .jp-Notebook)"  # some notebooks and cells have a class of ours, but they're JupyterLab's
SERIOUS = ("serious", "critical")
ALL = ("minor", "moderate", *SERIOUS)


def find_faults(page: Page, within: str = OWN_PARTS, impacts: tuple[str, ...] = ALL) -> list[str]:
    """The rules that are broken within the elements of this selector, each with the first element that breaks it."""
    violations: list[dict[str, Any]] = Axe().run(page, context=within).response["violations"]
    return [f"{fault['id']}: {fault['nodes'][0]['html']}" for fault in violations if fault["impact"] in impacts]
