"""Pictures in a saved notebook that is opened again: live without a kernel, static if the notebook isn't trusted."""

import re
from collections.abc import Iterator

import pytest
from every_picture import save_notebook
from lab_pages import SavedNotebook, describe_frame
from playwright.sync_api import Locator, Page, expect

import labkit
from labkit import show_broadcasting
from labkit.pictures.formats import store_number
from labkit.pictures.picture import Picture
from labkit.pictures.playground import RATE, START, compute_pass
from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.gate, pytest.mark.browser, pytest.mark.slow]

THEMES = ("JupyterLab Light", "JupyterLab Dark")


@pytest.fixture(scope="module", params=[THEMES[0], pytest.param(THEMES[1], marks=pytest.mark.nightly)])
def server(
    request: pytest.FixtureRequest, pictures: dict[str, Picture], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")
    save_notebook(pictures, folder / "trusted.ipynb", home / "data")
    save_notebook(dict(reversed(pictures.items())), folder / "untrusted.ipynb", None)
    with run_lab_server(folder, home, request.param) as started:
        yield started


def test_every_picture_has_an_example(pictures: dict[str, Picture]) -> None:
    named = [name for name in labkit.__all__ if name.startswith(("show_", "explore_", "play_", "try_"))]
    assert sorted(pictures) == sorted(named)
    assert not [name for name, picture in pictures.items() if not picture.first_frame]
    assert {name: len(picture.html) for name, picture in pictures.items() if len(picture.html) > 60_000} == {}


def test_pictures_are_seen_without_a_kernel(server: LabServer, page: Page, pictures: dict[str, Picture]) -> None:
    """Slow: starts JupyterLab, by night also in a dark theme."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    locators = SavedNotebook(page, server, "trusted.ipynb").pictures
    expect(locators.locator("svg[aria-label]")).to_have_count(len(pictures))
    paper = read_color(page.locator(".jp-Notebook"), "background-color")
    for name, one in zip(pictures, locators.all(), strict=True):
        svg = one.locator("svg")
        box = svg.bounding_box()
        assert box is not None, name
        assert box["width"] > 50, name
        assert box["height"] > 30, name
        assert svg.get_attribute("aria-label"), name
        assert svg.locator("desc").text_content(), name
        assert read_color(svg) != paper, name
    expect(page.get_by_text("Error displaying widget")).to_have_count(0)
    assert errors == []


def test_pictures_work_without_a_kernel(server: LabServer, page: Page, pictures: dict[str, Picture]) -> None:
    """Slow: starts JupyterLab, and every button is pressed."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    locators = SavedNotebook(page, server, "trusted.ipynb").pictures
    expect(locators.locator("svg[aria-label]")).to_have_count(len(pictures))
    for name, one in zip(pictures, locators.all(), strict=True):
        frames = {describe_frame(one)}
        for button in one.locator("button[aria-pressed]").all():
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")
            frames.add(describe_frame(one))
        for step in one.get_by_role("button", name="next step").all():
            step.click()
            frames.add(describe_frame(one))
        drawing = pictures[name].drawing
        assert drawing is not None and (len(frames) > 1 or not drawing.groups), f"{name}: no choice changes it"
    expect(page.get_by_text("Error displaying widget")).to_have_count(0)
    assert errors == []


@pytest.mark.nightly
@pytest.mark.parametrize("server", THEMES[:1], indirect=True)
@pytest.mark.nightly
def test_keys_in_a_control_stay_there_and_a_sequence_plays(server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    locators = SavedNotebook(page, server, "trusted.ipynb").pictures
    cells = page.locator(".jp-Notebook .jp-CodeCell")
    before = cells.count()
    ring = locators.filter(has=page.locator("svg[aria-label^='A ring']"))
    steps = ring.get_by_role("slider")
    steps.focus()
    for key in ("ArrowRight", "ArrowRight", "d", "d", "b"):
        page.keyboard.press(key)
    expect(steps).to_have_attribute("aria-valuetext", "step 2")
    expect(ring.locator("[aria-live]")).to_contain_text("step 2")
    assert cells.count() == before
    ring.get_by_role("button", name="play").click()
    expect(steps).to_have_attribute("aria-valuetext", "step 4")
    ring.get_by_role("button", name="pause").click()


@pytest.mark.parametrize("server", THEMES[:1], indirect=True)
def test_the_browser_and_python_compute_the_same_values(
    server: LabServer, page: Page, pictures: dict[str, Picture]
) -> None:
    """Slow: starts JupyterLab."""
    locators = dict(zip(pictures, SavedNotebook(page, server, "trusted.ipynb").pictures.all(), strict=True))

    formats = locators["explore_formats"]
    for number in ("65504", "65520", "1e-7", "-2.75", "1e-10", "3.4e38", "-0.1", "0", "4e-41", "2049"):
        formats.get_by_role("textbox").fill(number)
        formats.get_by_role("textbox").press("Enter")
        for name in ("float32", "float16", "bfloat16"):
            s = store_number(float(number), name)
            description = f"{s.value:.9g} ({s.kind}), between {s.below:.9g} and {s.above:.9g}"
            expect(formats.locator(f"[data-value={name}]")).to_have_text(description)
            assert "".join(formats.locator(f"[data-format={name}] text").all_text_contents()) == "".join(s.bits)

    shapes = locators["explore_broadcasting"]
    for a, b in (("4, 1", "3"), ("2, 3", "2"), ("", "0, 1"), ("(5, 1, 4)", "3 1")):
        shapes.get_by_role("textbox").first.fill(a)
        shapes.get_by_role("textbox").last.fill(b)
        sizes = [[int(n) for n in re.findall(r"\d+", text)] for text in (a, b)]
        line = next(line for line in show_broadcasting(*sizes).words.splitlines() if line.startswith("result"))
        result = shapes.locator("[data-cell^=result]:visible text").all_text_contents()
        assert result == line.replace("X", "error").split()[1:]
    shapes.get_by_role("textbox").first.fill("three")
    expect(shapes.get_by_role("alert").first).to_contain_text("such as 4, 1")

    network = locators["play_network"]
    weights = dict(START)
    for _ in range(5):
        network.get_by_role("button", name="step", exact=True).click()
        gradients = compute_pass((1.0, -0.5), 1.0, weights).gradients
        weights = {name: weights[name] - RATE * gradients[name] for name in START}
    p = compute_pass((1.0, -0.5), 1.0, weights)
    expect(network.locator("[data-loss]")).to_have_text(f"target 1.00, loss {p.loss:.4f}, after 5 steps")
    expect(network.locator("[data-label=v2]")).to_have_text(
        f"v2 {weights['v2']:.2f} {'↓' if p.gradients['v2'] > 0 else '↑'}"
    )
    expect(network.locator("[data-grad=x1]")).to_have_text(f"({p.gradients['x1']:.2f})")


@pytest.mark.nightly
def test_an_untrusted_notebook_shows_each_first_frame_with_its_words(
    server: LabServer, page: Page, pictures: dict[str, Picture]
) -> None:
    """Slow: starts JupyterLab."""
    SavedNotebook(page, server, "untrusted.ipynb")
    images = page.locator(".jp-OutputArea-output img")
    expect(images).to_have_count(len(pictures))
    assert images.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 50)")
    assert images.evaluate_all("all => all.map(one => one.alt)") == [p.words for p in reversed(pictures.values())]


def read_color(element: Locator, of: str = "color") -> str:
    return str(element.evaluate(f"one => getComputedStyle(one)['{of}']"))
