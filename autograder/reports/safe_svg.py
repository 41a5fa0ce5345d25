"""Which SVG of a submission may stand in a page: shapes and words, not too many, that refer to nothing.

It is shown as an image, so nothing in it runs. What is kept out is what repeats itself, and fills a browser.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

MAX_CHARACTERS = 200_000
MAX_ELEMENTS = 10_000
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(
    SVG + name for name in "svg g title desc style rect circle ellipse line polyline polygon path text tspan".split()
)
REFERS = re.compile(r"url\s*\(|@import|@font-face|\\|expression", re.IGNORECASE)


def is_safe(svg: str, most_pixels: int) -> bool:
    """Whether this is SVG of known elements only, without entities, links and handlers, and of a bounded size."""
    if len(svg) > MAX_CHARACTERS or "<!" in svg or "<?" in svg:
        return False
    try:
        root = ElementTree.fromstring(svg)
        size = float(root.get("width", "")) * float(root.get("height", ""))
    except (ElementTree.ParseError, ValueError):
        return False
    elements = list(root.iter())
    if root.tag != SVG + "svg" or len(elements) > MAX_ELEMENTS or not 0 < size <= most_pixels:
        return False
    return all(element.tag in ELEMENTS and _is_plain(element) for element in elements)


def _is_plain(element: ElementTree.Element) -> bool:
    named = all("href" not in name and not name.lower().startswith("on") for name in element.attrib)
    texts = (*element.attrib.values(), element.text or "", element.tail or "")  # a style can go on after an element
    return named and not any(map(REFERS.search, texts))
