"""Moves through a page by keyboard alone, and watches where the focus is."""

from playwright.sync_api import Locator, Page, expect

OWN = "node => Boolean(node.closest('[class*=gradlab-]:not(.jp-Cell, .jp-Notebook)')) && node.tabIndex >= 0"
FOCUSED = "node => node === node.ownerDocument.activeElement"
# Null for a control that the page has just replaced: then its successor counts.
STILL_FOCUSED = "node => node.isConnected ? node === node.ownerDocument.activeElement : null"
NAMED = "node => /\\S/.test(node.ariaLabel || node.labels?.[0]?.textContent || node.textContent)"
RING = """node => {
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(node);
  return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none';
}"""
MOST = 60  # keys to a control; more than a page of the small course has


class Keyboard:
    """Presses keys. After each, something has the focus, and a control of the course shows it and has a name."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.expect_focus()

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def reach(self, control: Locator, key: str = "Tab") -> None:
        """Press a key until this control has the focus."""
        expect(control).to_be_visible()
        for _ in range(MOST):
            self.press(key)
            while (is_focused := control.evaluate(STILL_FOCUSED)) is None:
                pass
            if is_focused:
                return
        raise AssertionError(f"{MOST} times {key} didn't reach {control}")

    def expect_focus(self) -> None:
        assert self.page.evaluate("document.activeElement !== document.body"), "the focus is lost"
        # The focus may move on at any time, or its control be replaced. One element is judged all the same.
        focused = self.page.evaluate_handle("document.activeElement").as_element()
        if focused and focused.evaluate(OWN):
            faults = [
                fault for fault, is_fine in (("name", NAMED), ("focus ring", RING)) if not focused.evaluate(is_fine)
            ]
            assert not faults or not focused.evaluate(FOCUSED), (
                f"no {faults}: {focused.evaluate('node => node.outerHTML')}"
            )
