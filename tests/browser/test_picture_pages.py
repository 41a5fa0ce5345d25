"""Pictures in a plain page: with and without scripts, in a narrow window, in both themes, and with little motion."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from picture_page import COLORS, find_pictures
from playwright.sync_api import Locator, expect

from labkit.pictures.picture import Picture

pytestmark = [pytest.mark.browser, pytest.mark.gate]


def step_on(picture: Locator) -> None:
    picture.get_by_role("button", name="next step").click()


def count_animations(picture: Locator) -> int:
    moving = "one => one.getAnimations({subtree: true}).filter(a => a.effect.target.dataset.route).length"
    return int(picture.evaluate(moving))


def test_every_picture_has_a_name_that_says_what_it_shows(open_page: Any, pictures: Mapping[str, Picture]) -> None:
    page = open_page()
    for (name, picture), one in zip(pictures.items(), find_pictures(page, len(pictures)).all(), strict=True):
        drawing = picture.drawing
        assert drawing is not None
        label = one.locator("svg").get_attribute("aria-label") or ""
        words = " ".join((drawing.words[0] if drawing.words else picture.words).split())
        if name != "play_network":  # its script writes the words
            assert " ".join(label.split()) == f"{drawing.title}: {words}", name
        assert label.startswith(f"{drawing.title}: ") and re.search(r"\d|x", words), name
        assert one.locator("svg").get_attribute("role") in ("img", "group"), name


@pytest.mark.parametrize("paper", ["light", "dark"])
def test_axe_finds_no_fault(open_page: Any, pictures: Mapping[str, Picture], paper: str) -> None:
    page = open_page(paper=paper, viewport={"width": 320, "height": 800})
    find_pictures(page, len(pictures))
    for summary in page.locator("summary").all():
        summary.click()
    found = Axe().run(page, context=".gradlab-picture").response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []


def test_every_picture_is_as_wide_as_a_wide_column_and_no_page_scrolls_sideways(
    open_page: Any, pictures: Mapping[str, Picture]
) -> None:
    page = open_page(viewport={"width": 1116, "height": 800})
    for name, one in zip(pictures, find_pictures(page, len(pictures)).all(), strict=True):
        assert one.locator("svg").bounding_box()["width"] == 1100, name  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1116


@pytest.mark.parametrize("width", [853, 570, 320])
def test_a_picture_fits_its_page_and_offers_to_enlarge_small_words(
    open_page: Any, pictures: Mapping[str, Picture], width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 800})
    for name, one in zip(pictures, find_pictures(page, len(pictures)).all(), strict=True):
        assert one.locator(".scroll").first.evaluate("host => host.scrollWidth <= host.clientWidth"), name
        drawing = pictures[name].drawing
        assert drawing is not None
        is_small = 0.7 * drawing.width > width - 16
        expect(one.get_by_role("button", name="Enlarge")).to_have_count(1 if is_small else 0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_enlarged_picture_scrolls_inside_the_page_and_says_so(
    open_page: Any, pictures: Mapping[str, Picture]
) -> None:
    page = open_page(viewport={"width": 320, "height": 800})
    for name, one in zip(pictures, find_pictures(page, len(pictures)).all(), strict=True):
        one.get_by_role("button", name="Enlarge").click()
        host = one.locator(".scroll").first
        expect(host).to_have_attribute("tabindex", "0")
        assert (host.get_attribute("aria-label") or "").endswith("scrolls sideways"), name
        expect(one.get_by_text("Scroll sideways")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 1000, "height": 800})
    expect(page.get_by_text("Scroll sideways").filter(visible=True)).to_have_count(0)
    expect(page.locator(".gradlab-picture > .scroll[tabindex]")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_the_first_state_is_complete(
    open_page: Any, pictures: Mapping[str, Picture], scheme: str
) -> None:
    page = open_page(java_script_enabled=False, color_scheme=scheme, viewport={"width": 1000, "height": 800})
    images = page.locator(".gradlab-picture img")
    expect(images).to_have_count(len(pictures))
    expect(page.locator("button, input, svg")).to_have_count(0)
    for (name, picture), image in zip(pictures.items(), images.all(), strict=True):
        assert image.get_attribute("alt") == picture.words
        box = image.bounding_box()
        assert box is not None and box["width"] == 984 and box["height"] > 30, name


@pytest.mark.parametrize("paper", ["light", "dark"])
def test_colors_follow_the_page_and_not_only_the_system(open_page: Any, paper: str) -> None:
    picture = find_pictures(open_page("show_backward", paper=paper, color_scheme="light"))
    step_on(picture)
    received = picture.locator("text", has_text="gradient 1").first
    want = {"light": "rgb(184, 64, 42)", "dark": "rgb(240, 138, 114)"}
    expect(received).to_have_css("fill", want[paper])
    # A theme that changes later is noticed.
    other = "dark" if paper == "light" else "light"
    picture.page.evaluate("ink => { document.body.style.color = ink; }", COLORS[other][1])
    expect(received).to_have_css("fill", want[other])


@pytest.mark.parametrize("name", ["show_backward", "show_vjp", "explore_ring"])
def test_gradients_and_chunks_travel_and_rest_at_their_end(open_page: Any, name: str) -> None:
    picture = find_pictures(open_page(name))
    step_on(picture)
    assert count_animations(picture) > 0
    picture.evaluate("one => one.getAnimations({subtree: true}).forEach(a => a.finish())")
    assert count_animations(picture) == 0
    resting = picture.locator("[data-route]").filter(visible=True)
    assert resting.count() > 0 and (resting.first.get_attribute("transform") or "").startswith("translate(")
    picture.get_by_role("button", name="previous step").click()
    assert count_animations(picture) == 0


def test_nothing_moves_if_the_reader_prefers_reduced_motion(open_page: Any, pictures: Mapping[str, Picture]) -> None:
    page = open_page(reduced_motion="reduce")
    for one in find_pictures(page, len(pictures)).all():
        for button in one.get_by_role("button", name="next step").all():
            button.click()
        for button in one.locator("button[aria-pressed]").all():
            button.click()
    assert page.evaluate("document.getAnimations().length") == 0
    expect(page.get_by_role("button", name="play")).to_have_count(0)
