"""A plain page that shows pictures, in a browser with any options."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from conftest import PATIENCE
from playwright.sync_api import Browser, Locator, Page, expect

from labkit.pictures.picture import Picture

COLORS = {"light": ("#ffffff", "#222222"), "dark": ("#111111", "#e0e0e0")}


@contextmanager
def open_picture_page(
    browser: Browser, pictures: Mapping[str, Picture], *names: str, paper: str = "light", **options: Any
) -> Iterator[Page]:
    """Open a page with the pictures of these names, or with all.

    paper: The page's background. options: Those of the browser's context.
    """
    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    shown = "".join(f"<section>{pictures[name].html}</section>" for name in names or pictures)
    background, ink = COLORS[paper]
    page.set_content(f"<body style='background:{background};color:{ink};margin:8px'>{shown}")
    yield page
    context.close()


def find_pictures(page: Page, count: int = 1) -> Locator:
    """The pictures, once their scripts have run."""
    expect(page.locator(".gradlab-picture svg")).to_have_count(count)
    return page.locator(".gradlab-picture")
