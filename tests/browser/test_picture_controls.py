"""The controls of pictures in a plain page: steps, play, links and tables, by pointer and by keyboard."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from picture_page import find_pictures
from playwright.sync_api import expect

from labkit.pictures.picture import Picture

pytestmark = [pytest.mark.browser, pytest.mark.gate]


def test_play_stops_at_the_end_and_starts_again_from_there(open_page: Any) -> None:
    picture = find_pictures(open_page("show_vjp"))
    play = picture.get_by_role("button", name="play", exact=True)
    play.press("Enter")
    expect(picture.get_by_role("button", name="pause")).to_be_focused()
    expect(picture.get_by_role("slider")).to_have_attribute("aria-valuetext", "entry 2")
    expect(play).to_be_focused()
    expect(picture.get_by_role("button", name="next step")).to_have_attribute("aria-disabled", "true")
    play.press("Enter")
    expect(picture.get_by_role("slider")).to_have_attribute("aria-valuetext", "start")


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
