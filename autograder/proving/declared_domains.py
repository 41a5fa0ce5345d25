"""The domains that a check cell declares."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils._pytree import tree_leaves

from autograder.authoring.checks import is_check
from autograder.proving.answer_run import make_check_file
from autograder.proving.call_recorder import digest_value
from labkit.domain import EDGE_CASES, Domain
from labkit.draw import DrawnInput, draw_inputs


def read_domains(exercise: str, source: str, given: Mapping[str, Any]) -> list[Domain]:
    """Return the domains of a check cell, with their cases drawn. Forks of this process share them.

    Args:
        given: The examiner's names.
    """
    tree = ast.parse(source)
    if not any(isinstance(node, ast.ImportFrom) and node.module == "labkit.domain" for node in tree.body):
        return []
    tree.body = [node for node in tree.body if not is_check(node)]
    namespace = dict(given)
    exec(compile(tree, make_check_file(exercise), "exec"), namespace)
    domains = [v for name, v in namespace.items() if isinstance(v, Domain) and v is not given.get(name)]
    for domain in domains:
        for edge in ("", *domain.edges):
            domain.list_cases(edge)
    return domains


def find_ineffective_edges(domain: Domain) -> list[str]:
    """Return the edges without an effect: with the same seed, they draw what no edge does, in the same context."""
    plain = _digest_inputs(domain, "")
    return [edge for edge in domain.edges if edge not in domain.contexts and _digest_inputs(domain, edge) == plain]


def _digest_inputs(domain: Domain, edge: str) -> list[str]:
    inputs = draw_inputs(domain.draw_arguments, edge, EDGE_CASES, domain.reference.seed)
    return [
        digest_value([_list_leaf_parts(leaf, first) for leaf in leaves]) for leaves, first in map(_list_leaves, inputs)
    ]


def _list_leaves(drawn: DrawnInput) -> tuple[list[Any], dict[int, int]]:
    """Return the leaves of the arguments, and by the address of a storage, the number of the first leaf in it."""
    leaves = tree_leaves(drawn.make_arguments())
    tensors = [(n, leaf) for n, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    return leaves, {leaf.untyped_storage().data_ptr(): n for n, leaf in reversed(tensors)}


def _list_leaf_parts(leaf: Any, first: Mapping[int, int]) -> list[Any]:
    """Return the leaf with what a digest of it doesn't have."""
    if isinstance(leaf, np.ndarray):
        return [leaf, leaf.flags.writeable]
    if not isinstance(leaf, Tensor):
        return [leaf]
    place = [leaf.storage_offset(), first[leaf.untyped_storage().data_ptr()]]
    return [leaf, *place, leaf.is_leaf, leaf.grad if leaf.is_leaf else None]
