"""Pictures in a plain page: with and without scripts, in a narrow window, with little motion, and by keyboard."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import PATIENCE
from every_picture import draw_every_picture
from playwright.sync_api import Browser, Locator, Page, expect

from labkit.pictures.picture import Picture

pytestmark = [pytest.mark.browser, pytest.mark.gate]

COLORS = {"light": ("#ffffff", "#222222"), "dark": ("#111111", "#e0e0e0")}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return draw_every_picture()


@pytest.fixture
def open_page(browser: Browser, pictures: Mapping[str, Picture]) -> Iterator[Any]:
    """A function that opens a page with all pictures, or those named, in a browser with these options."""
    contexts = []

    def open_with(*names: str, paper: str = "light", **options: Any) -> Page:
        expect.set_options(timeout=PATIENCE)
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        shown = "".join(f"<section>{pictures[name].html}</section>" for name in names or pictures)
        background, ink = COLORS[paper]
        page.set_content(f"<body style='background:{background};color:{ink};margin:8px'>{shown}")
        return page

    yield open_with
    for context in contexts:
        context.close()


def find_pictures(page: Page, count: int = 1) -> Locator:
    """The pictures, once their scripts have run."""
    expect(page.locator(".gradlab-picture svg")).to_have_count(count)
    return page.locator(".gradlab-picture")


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


def test_a_narrow_page_scrolls_inside_the_picture_which_says_so(
    open_page: Any, pictures: Mapping[str, Picture]
) -> None:
    page = open_page(viewport={"width": 320, "height": 800})
    for name, one in zip(pictures, find_pictures(page, len(pictures)).all(), strict=True):
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


def test_play_stops_at_the_end_and_starts_again_from_there(open_page: Any) -> None:
    picture = find_pictures(open_page("show_vjp"))
    play = picture.get_by_role("button", name="play", exact=True)
    play.press("Enter")
    expect(picture.get_by_role("button", name="pause")).to_be_focused()
    expect(picture.get_by_role("slider")).to_have_attribute("aria-valuetext", "entry 2")
    expect(play).to_be_focused()
    expect(picture.get_by_role("button", name="next step")).to_have_attribute("aria-disabled", "true")
    play.press("Enter")
    expect(picture.get_by_role("slider")).to_have_attribute("aria-valuetext", "all")


def test_steps_follow_the_keyboard_and_the_caption_says_each(open_page: Any, pictures: Mapping[str, Picture]) -> None:
    picture = find_pictures(open_page("show_backward"))
    drawing = pictures["show_backward"].drawing
    assert drawing is not None
    caption = picture.locator(".caption")
    expect(caption).to_have_text(drawing.words[0])
    following = picture.get_by_role("button", name="next step")
    following.focus()
    for frame in (1, 2):
        picture.page.keyboard.press("Enter")
        expect(caption).to_have_text(drawing.words[frame])
    picture.page.keyboard.press("Shift+Tab")
    picture.page.keyboard.press("Home")
    expect(caption).to_have_text(drawing.words[0])
    expect(caption).to_have_attribute("aria-live", "polite")


@pytest.mark.parametrize(
    ("power", "rate", "loss"),
    [("-0.5", "0.32", r"loss \d\.\de-(0[7-9]|\d\d),"), ("0.5", "3.2", r"loss \d{7,}\.\d{4},")],
)
def test_playing_the_network_ends_when_the_loss_is_small_or_without_bounds(
    open_page: Any, power: str, rate: str, loss: str
) -> None:
    picture = find_pictures(open_page("play_network"))
    picture.page.clock.install()
    picture.get_by_role("slider", name="learning rate").fill(power)
    expect(picture.locator("label", has_text="learning rate").locator(".number")).to_have_text(rate)
    picture.get_by_role("button", name="play").click()
    expect(picture.get_by_role("button", name="pause")).to_be_visible()
    picture.page.clock.run_for(40_000)
    expect(picture.get_by_role("button", name="play")).to_be_visible()
    text = picture.locator("[data-loss]").text_content() or ""
    assert re.search(loss, text), text
    picture.page.clock.run_for(10_000)
    expect(picture.locator("[data-loss]")).to_have_text(text)


def test_an_element_and_its_slot_are_linked_by_pointer_and_by_keyboard(open_page: Any) -> None:
    picture = find_pictures(open_page("explore_strides"))
    linked = picture.locator(".linked")
    caption = picture.locator(".caption")
    at_rest = caption.text_content() or ""
    element = picture.get_by_role("button", name=re.compile(r"^element \(2\)"))
    slot = picture.get_by_role("button", name=re.compile(r"^slot 6:"))
    for one in (element, slot):
        one.hover()
        expect(linked).to_have_count(2)
        expect(caption).to_have_text(one.get_attribute("aria-label") or "")
        assert {other.get_attribute("data-slot") for other in linked.all()} == {"6"}
    picture.get_by_role("button", name="column").hover()
    expect(linked).to_have_count(0)
    expect(caption).to_have_text(at_rest)

    picture.get_by_role("button", name="column").focus()
    keyboard = picture.page.keyboard
    keyboard.press("Tab")
    for key in ("ArrowRight", "ArrowRight"):
        keyboard.press(key)
    expect(element).to_be_focused()
    assert {other.get_attribute("data-slot") for other in linked.all()} == {"6"}
    picture.get_by_role("button", name="row").hover()
    slot.hover()
    picture.get_by_role("button", name="row").hover()
    expect(linked).to_have_count(2)  # what has the focus stays linked
    keyboard.press("ArrowDown")
    expect(picture.get_by_role("button", name=re.compile(r"^slot 2:"))).to_be_focused()
    expect(linked).to_have_count(1)  # no element reads it
    for _ in range(4):
        keyboard.press("ArrowRight")
    expect(slot).to_be_focused()
    expect(linked).to_have_count(2)
    keyboard.press("Enter")
    expect(slot).to_have_attribute("aria-pressed", "true")
    keyboard.press("Shift+Tab")
    expect(linked).to_have_count(2)  # until it's pressed again


def test_a_table_has_the_numbers_of_a_chart(open_page: Any) -> None:
    picture = find_pictures(open_page("show_curves"))
    expect(picture.get_by_role("table")).to_have_count(0)
    picture.get_by_text("Values as a table").click()
    rows = picture.get_by_role("row")
    assert [row.locator("th, td").all_text_contents() for row in rows.all()] == [
        ["epoch", "a", "b"],
        ["0", "3", "3"],
        ["1", "2", "2"],
        ["2", "1", "1"],
    ]
