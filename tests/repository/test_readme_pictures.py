"""The README's pictures show what cards and feedback pages say now."""

import pytest

from scripts.readme_pictures import TEXT, build_pages, read_text


@pytest.mark.nightly
def test_the_pictures_show_the_pages_of_today() -> None:
    assert read_text(build_pages()) == TEXT.read_text(encoding="utf-8"), "make pictures draws them"
