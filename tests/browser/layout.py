"""Measures in the browser how a page's layout breaks its text."""

from playwright.sync_api import Page

BROKEN = """(where) => {
  const found = [];
  for (const element of document.querySelectorAll(where)) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      const vertical = getComputedStyle(node.parentElement).writingMode !== "horizontal-tb";
      for (const piece of node.data.matchAll(/[^\\s_.@-]+/g)) {
        const range = document.createRange();
        range.setStart(node, piece.index);
        range.setEnd(node, piece.index + piece[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(vertical ? box.left : box.top)));
        if (lines.size > 1) found.push(piece[0]);
      }
    }
  }
  return found;
}"""


def find_broken_words(page: Page, selector: str) -> list[str]:
    """The pieces of names and words within these elements that take more than one line."""
    words: list[str] = page.evaluate(BROKEN, selector)
    return words


def is_fitting(page: Page) -> bool:
    """Whether the page is at most as wide as its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
