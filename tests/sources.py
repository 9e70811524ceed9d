"""Sources as trees, read once in a process of tests: many rules look at each."""

import ast
import functools

parsed = functools.lru_cache(maxsize=None)(ast.parse)
"""The tree of a source."""


@functools.cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """All nodes of a source, those above others first."""
    return tuple(ast.walk(parsed(source)))
