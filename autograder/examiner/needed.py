"""Which given cells a lab's checks depend on. The others, examples to be looked at, need not run beside the checks."""

from __future__ import annotations

import ast
import functools

from autograder.examiner.effects import look_at, root_of

# What a cell may leave in the process that no name shows.
SETTINGS = ("seed", "filterwarnings", "simplefilter", "set_", "register", "use_", "rcParams")


@functools.lru_cache(maxsize=64)
def needed(given: tuple[str, ...], checks: tuple[str, ...]) -> frozenset[str]:
    """The sources of given cells that bind what a check reads, that write into it, or that change a setting.

    Taken without order, and further than need be: a cell counts for all that it could do to a name that is read.
    """
    cells = {source: look_at(source) for source in given}
    values = frozenset(name for cell in cells.values() for name in cell.binds)
    found = {source for source in given if _changes_a_setting(source) or not cells[source].writes <= values}
    wanted: frozenset[str] = frozenset()
    for source in [*checks, *found]:
        wanted |= look_at(source).reads
    while True:
        more = {
            source
            for source, cell in cells.items()
            if source not in found and ((cell.binds | cell.defines) & wanted or cell.reads & wanted & values)
        }
        if not more:
            return frozenset(found)
        found |= more
        for source in more:
            wanted |= cells[source].reads


def _changes_a_setting(source: str) -> bool:
    """By the names it uses; of attributes, those of modules and classes, and so not a generator's manual_seed()."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return True
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    names += [node.attr for node in nodes if isinstance(node, ast.Attribute) and root_of(node)]
    star = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in nodes)
    return star or any(setting in name for name in names for setting in SETTINGS)
