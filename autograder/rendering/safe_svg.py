"""Decides which SVG of a submission a page may show: a bounded number of shapes and words that refer to nothing.

It's shown as an image, so nothing in it runs. What repeats itself is kept out, since it can fill a browser's memory.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

MAX_CHARACTERS = 200_000
MAX_ELEMENTS = 10_000
MAX_DEPTH = 20
# Pixels, if each element, letter and line segment covered the whole picture: a transform can enlarge any of them.
MAX_PAINTED = 4_000_000_000
THEME = "@media(prefers-color-scheme:dark)"  # in labkit's pictures
# A browser takes seconds for a few others, and the list of harmless ones is shorter.
PROPERTIES = frozenset(
    """background fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin
    stroke-miterlimit opacity color font font-family font-size font-style font-weight
    font-variant text-anchor text-decoration dominant-baseline alignment-baseline letter-spacing word-spacing
    white-space display visibility shape-rendering text-rendering vector-effect paint-order""".split()
)
ATTRIBUTES = PROPERTIES | frozenset(
    """id class style x y x1 x2 y1 y2 cx cy r rx ry dx dy width height points d transform viewbox version role title
    lang preserveaspectratio type rotate textlength lengthadjust tabindex focusable""".split()
)
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = frozenset(
    SVG + name for name in "svg g title desc style rect circle ellipse line polyline polygon path text tspan".split()
)
LETTERED = SVG + "text", SVG + "tspan"
# A browser draws each dash, so only lines from point to point may have them, as labkit's do.
DASHED = re.compile(r"M-?\d{1,4}(\.\d+)? -?\d{1,4}(\.\d+)?L-?\d{1,4}(\.\d+)? -?\d{1,4}(\.\d+)?")
DASHES = re.compile(r"([2-9]|[1-9]\d)( ([2-9]|[1-9]\d))*")
DASH, MAX_DASHED = "stroke-dasharray", 200
NUMBER = re.compile(r"\d*\.\d+|\d+")
REFERS = re.compile(r"url\s*\(|@import|@font-face|\\|expression", re.IGNORECASE)


def count_safe_pixels(svg: str, max_pixels: int) -> int | None:
    """Return width times height of an SVG that is safe to show; None for any other.

    A safe one is bounded in size and has only known elements, without entities, links and handlers.
    """
    if len(svg) > MAX_CHARACTERS or "<!" in svg or "<?" in svg:
        return None
    try:
        root = ElementTree.fromstring(svg)
        size = float(root.get("width", "")) * float(root.get("height", ""))
    except (ElementTree.ParseError, ValueError):
        return None
    elements = list(root.iter())
    if root.tag != SVG + "svg" or len(elements) > MAX_ELEMENTS or not 0 < size <= max_pixels:
        return None
    if sum(map(_count_painted, elements)) * size > MAX_PAINTED or _measure_depth(root) > MAX_DEPTH:
        return None
    if sum(DASH in element.attrib for element in elements) > MAX_DASHED:
        return None
    return int(size) if all(element.tag in ELEMENTS and _is_plain(element) for element in elements) else None


def _count_painted(element: ElementTree.Element) -> int:
    """Count what a browser paints for it: the element, its letters and the segments of its line."""
    text = (element.text or "") * (element.tag in LETTERED) + (element.tail or "")
    lines = element.get("d", "") + " " + element.get("points", "")
    return 1 + sum(map(len, text.split())) + len(NUMBER.findall(lines)) // 2


def _is_plain(element: ElementTree.Element) -> bool:
    """Return whether it has only known attributes and properties, and refers to nothing."""
    known = all(_is_known(name.rpartition("}")[2].lower()) for name in element.attrib if name != DASH)
    if DASH in element.attrib:
        known &= element.tag == SVG + "path" and DASHED.fullmatch(element.get("d", "")) is not None
        known &= DASHES.fullmatch(element.attrib[DASH]) is not None
    texts = (*element.attrib.values(), element.text or "", element.tail or "")  # a style can continue in the tail
    styles = [element.get("style", ""), *([element.text or ""] if element.tag == SVG + "style" else [])]
    return known and not any(map(REFERS.search, texts)) and all(map(_is_plain_style, styles))


def _is_known(name: str) -> bool:
    return name in ATTRIBUTES or name.startswith(("data-", "aria-")) or name == "space"


def _is_plain_style(text: str) -> bool:
    """Return whether a style sets only known properties.

    Args:
        text: Declarations, with or without selectors around them.
    """
    text = text.replace(THEME, "")
    if "@" in text:
        return False
    declarations = re.split(r"[;{}]", text)
    names = [part.partition(":")[0].strip().lower() for part in declarations if ":" in part]
    return all(name in PROPERTIES for name in names)


def _measure_depth(root: ElementTree.Element) -> int:
    depth, level = 0, [root]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [child for element in level for child in element]
    return depth
