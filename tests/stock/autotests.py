"""A stock notebook whose tests nbgrader generates."""

from __future__ import annotations

from tests.stock.stock_course import (
    make_notebook,
    make_solution,
    make_test,
)

MADE = make_notebook(
    make_solution("made", "### BEGIN SOLUTION\nn = 5\n### END SOLUTION"), make_test("made_is", "### HASHED AUTOTEST n")
)

AUTOTESTS = """python3:
    setup: "from hashlib import sha1"
    hash: 'sha1({{snippet}}.encode("utf-8") + b"{{salt}}").hexdigest()'
    dispatch: "type({{snippet}})"
    normalize: "str({{snippet}})"
    check: 'assert {{snippet}} == "{{value}}", "{{message}}"'
    success: "print('Success!')"
    templates:
        default:
            - test: "str(type({{snippet}}))"
              fail: "another type"
        int:
            - test: "str({{snippet}})"
              fail: "another value"
"""
