"""A browser, and the files that are kept in artifacts/ when a test fails."""

import contextlib
import os
import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect, sync_playwright

from tests.lab_server import LabServer

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / "artifacts"
PATIENCE = 600_000  # milliseconds, of which an idle machine needs a few thousand
QUIET = "--disable-background-networking --disable-component-update --disable-sync --disable-quic --no-first-run"


# Not for the session: while Playwright is open, its event loop runs, and nothing else in this process can run one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium. Without it CI fails, and other machines skip the test."""
    chromium = shutil.which("chromium")
    if chromium is None:
        reason = "no chromium on PATH: bash scripts/system_packages.sh installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", *QUIET.split()]
        yield playwright.chromium.launch(executable_path=chromium, args=arguments)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty tab of a new profile, which reaches this machine's servers and nothing else."""
    expect.set_options(timeout=PATIENCE)
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(PATIENCE)
    context.route(re.compile(r"^https?://(?!127\.0\.0\.1[:/])"), _refuse)
    yield context.new_page()
    context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """When a test fails, keep what the browser showed and what the server printed."""
    report = yield
    if report.failed:
        folder = ARTIFACTS / re.sub(r"\W+", "_", item.name)
        shutil.rmtree(folder, ignore_errors=True)
        for name, value in getattr(item, "funcargs", {}).items():
            _keep(value, folder, name)
    return report


def _keep(value: object, folder: Path, name: str) -> None:
    if isinstance(value, LabServer):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(value.log, folder / f"{name}.log")
    if isinstance(value, Page):
        folder.mkdir(parents=True, exist_ok=True)
        # A browser that died shows nothing; the test's own error must not be lost for it.
        with contextlib.suppress(Error):
            value.screenshot(path=folder / f"{name}.png")
            for number, frame in enumerate(value.frames):
                (folder / f"{name}_{number}.html").write_text(frame.content(), encoding="utf-8")


def _refuse(route: Route) -> None:
    route.abort()
