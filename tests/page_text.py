"""The text of a page as a reader sees it: without tags, such as those that color code."""

from bs4 import BeautifulSoup


def read_page_text(page: str) -> str:
    return BeautifulSoup(page, "html.parser").get_text()
