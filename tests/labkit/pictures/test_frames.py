"""A picture is one drawing with frames: the same bytes for the same input, words for each frame, and no kernel."""

import html
import json
import re
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import torch

from labkit.pictures import explore_strides, show_curves, show_memory, show_over
from labkit.pictures.palette import COLORS, DARK_SHADES, FAINT, MUTED, ON, STRONG, TINT, build_dark_rules
from labkit.pictures.picture import ALL, Drawing, Group, Picture
from labkit.pictures.svg import draw_rect, draw_text, emphasize_parts, show_only

LIGHT, DARK = (1.0, 1.0, 1.0), (0x11 / 255,) * 3  # the backgrounds of JupyterLab's themes
LIGHT_INK, DARK_INK = (0x22 / 255,) * 3, (0xDD / 255,) * 3


def make_two_frames() -> Picture:
    parts = [
        draw_text(0, 10, "both"),
        show_only([0], draw_text(0, 20, "one & <two>")),
        show_only([1], draw_text(0, 20, "other")),
        emphasize_parts([1], draw_rect(0, 0, 1, 1)),
    ]
    drawing = Drawing(
        "a title", 100, 30, parts, [Group("part", ["first", "second"])], ["words 'of' one", "words of the other"]
    )
    return Picture("all words", lambda: drawing)


def parse_image(page: str) -> dict[str, str]:
    """The attributes of the one image."""
    images: list[dict[str, str]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            if tag == "img":
                images.append({name: value or "" for name, value in attributes})

        def handle_data(self, data: str) -> None:
            raise AssertionError(f"{data!r} would be shown as text where a sanitiser takes the image away")

    Reader().feed(page)
    (image,) = images
    return image


def test_the_first_frame_is_visible_without_scripts() -> None:
    bundle = make_two_frames()._repr_mimebundle_()
    image = parse_image(bundle["text/html"])
    assert image["alt"] == bundle["text/plain"] == "all words"
    svg = urllib.parse.unquote(image["src"].removeprefix("data:image/svg+xml,"))
    hidden = [part for part in ET.fromstring(svg).iter() if part.get("display") == "none"]
    assert [one.text for part in hidden for one in part] == ["other"]
    assert "other" not in bundle["image/svg+xml"] and "one &amp; &lt;two&gt;" in bundle["image/svg+xml"]


def test_title_and_words_are_in_the_drawing_and_those_of_all_frames_next_to_it() -> None:
    root = ET.fromstring(make_two_frames().first_frame)
    names = {part.tag.split("}")[1]: part.text for part in root}
    assert (names["title"], names["desc"]) == ("a title", "words 'of' one")
    assert (root.get("role"), root.get("aria-label")) == ("img", "a title: words 'of' one")
    data = json.loads(parse_image(make_two_frames().html)["data-picture"])
    assert data["words"] == ["words 'of' one", "words of the other"]
    assert data["groups"] == [{"name": "part", "labels": ["first", "second"], "steps": False}]


def test_nothing_is_fetched_from_elsewhere_and_nothing_needs_an_id() -> None:
    text = html.unescape(urllib.parse.unquote(make_two_frames().html)).replace("http://www.w3.org/2000/svg", "")
    assert "http" not in text
    assert "@import" not in text
    assert not re.search(r"\bid=", text)


def test_the_same_input_gives_the_same_bytes() -> None:
    table = torch.arange(12).reshape(3, 4)
    assert explore_strides({"a": table}).html == explore_strides({"a": table.clone()}).html


def test_a_picture_is_drawn_only_when_shown_and_reports_its_failure() -> None:
    def fails() -> Drawing:
        raise ValueError("no")

    picture = Picture("words", fails)
    assert repr(picture) == "words"
    assert picture._repr_mimebundle_() == {"text/plain": "words\n(no picture: no)"}


def test_labkit_imports_nothing_that_draws() -> None:
    ask = "import sys, labkit; print([m for m in ('matplotlib', 'ipywidgets', 'networkx', 'torchviz') if m in sys.modules])"
    process = subprocess.run(
        [sys.executable, "-c", f"import torch; old = set(__import__('sys').modules); {ask}"],
        capture_output=True,
        text=True,
    )
    assert "matplotlib" not in process.stdout and "ipywidgets" not in process.stdout, process.stdout + process.stderr


def test_words_in_a_color_are_readable_on_light_and_dark_backgrounds() -> None:
    for light in (*COLORS, MUTED):
        assert compute_contrast(parse_color(light), LIGHT) >= 4.5, light
        assert compute_contrast(parse_color(DARK_SHADES[light]), DARK) >= 4.5, light


def test_words_on_a_filled_box_and_on_a_tinted_one_are_readable() -> None:
    for light in (*COLORS, MUTED):
        for color, on, ink, paper in (
            (light, ON, LIGHT_INK, LIGHT),
            (DARK_SHADES[light], DARK_SHADES[ON], DARK_INK, DARK),
        ):
            fill = parse_color(color)
            assert compute_contrast(parse_color(on), fill) >= 4.5, color
            for tint in (FAINT, TINT, STRONG):
                box = tuple(tint * a + (1 - tint) * b for a, b in zip(fill, paper, strict=True))
                assert compute_contrast(ink, box) >= 4.5, (color, tint)


def test_each_light_shade_that_a_drawing_uses_has_a_dark_one() -> None:
    rules = build_dark_rules()
    for light, dark in DARK_SHADES.items():
        assert f"[fill='{light}']{{fill:{dark}}}" in rules and f"[stroke='{light}']{{stroke:{dark}}}" in rules
    assert {*COLORS, MUTED} <= DARK_SHADES.keys()
    assert rules in make_two_frames().first_frame


def test_a_caption_is_below_the_drawing_until_a_script_takes_it_out() -> None:
    drawing = Drawing("a title", 100, 30, [draw_text(0, 10, "one")], words=["word " * 40], caption=True)
    root = ET.fromstring(Picture("all", lambda: drawing).first_frame)
    (caption,) = [part for part in root.iter() if "data-caption" in part.attrib]
    lines = [part for part in caption if part.text]
    assert " ".join(str(part.text) for part in lines) == ("word " * 40).strip() and len(lines) > 1
    assert caption.get("data-caption") == "30"
    assert all(30 < float(part.get("y", "")) < float(root.get("height", "")) for part in lines)


def test_the_image_is_as_wide_as_the_text() -> None:
    style = parse_image(make_two_frames().html)["style"]
    assert "width:100%" in style and "height:auto" in style


def parse_color(text: str) -> tuple[float, ...]:
    return tuple(int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))


def compute_contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """Contrast as the Web Content Accessibility Guidelines define it."""
    light, dark = sorted((compute_luminance(a), compute_luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def compute_luminance(rgb: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_strides_of_several_views_are_described_in_words() -> None:
    table = torch.arange(12).reshape(3, 4)
    picture = explore_strides({"rows": table, "one row": table[:1].expand(3, 4)})
    assert picture.drawing is not None and list(picture.drawing.groups[0].labels) == ["rows", "one row"]
    assert "strides (0, 1)" in picture.words
    assert "no picture" in explore_strides({"too many dimensions": torch.zeros(2, 2, 2)}).words


def test_curves_name_their_first_and_last_values_and_their_axis() -> None:
    picture = show_curves({"slow": [2.0, 1.5], "wild": [2.0, float("inf"), 7.0], "none": []}, x="epoch")
    assert picture.words.splitlines() == ["slow  first 2, last 1.5", "wild  first 2, last 7"]
    assert "epoch" in picture.first_frame and "stroke-dasharray" in picture.first_frame
    assert picture.drawing is not None and list(picture.drawing.groups[0].labels) == [ALL, "slow", "wild", "none"]
    table = picture.drawing.table
    assert table is not None and table.rows == [
        ["epoch", "slow", "wild", "none"],
        ["0", "2", "2", ""],
        ["1", "1.5", "inf", ""],
        ["2", "", "7", ""],
    ]


def test_pictures_of_an_exercise_that_is_not_written_yet_say_what_to_do() -> None:
    for picture in (show_curves({}), show_curves({"none": []}), show_memory({}), show_over(torch.ones(2), {})):
        assert picture.words == "There's nothing to draw yet. Write the function first, then run this cell again."
