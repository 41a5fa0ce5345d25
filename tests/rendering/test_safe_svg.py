"""Drawings with ordinary text properties are shown."""

import pytest

from autograder.rendering.safe_svg import PROPERTIES, count_safe_pixels


@pytest.mark.parametrize("property", sorted(PROPERTIES))
def test_each_property_has_the_name_of_one(property: str) -> None:
    assert property.strip("-") == property and property not in ("weight", "spacing")


@pytest.mark.parametrize("style", ["font-weight: bold", "word-spacing: 2px"])
def test_a_text_may_have_a_weight_and_spacing(style: str) -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text style="{style}">a</text></svg>'
    assert count_safe_pixels(svg, 1000) == 81
