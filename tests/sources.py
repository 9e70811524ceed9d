"""Sources as trees, read once in a process of tests: many rules look at each."""

import ast
import functools

parsed = functools.lru_cache(maxsize=None)(ast.parse)
"""The tree of a source."""


@functools.cache
def kinds_of(source: str) -> dict[type[ast.AST], list[ast.AST]]:
    """All nodes of a source by their kind, those above others first."""
    kinds: dict[type[ast.AST], list[ast.AST]] = {}
    nodes: list[ast.AST] = [parsed(source)]
    for node in nodes:  # which grows
        kinds.setdefault(type(node), []).append(node)
        for part in vars(node).values():
            if isinstance(part, ast.AST):
                nodes.append(part)
            elif isinstance(part, list):
                nodes += [one for one in part if isinstance(one, ast.AST)]
    return kinds


def nodes_of(source: str, *kinds: type[ast.AST]) -> list[ast.AST]:
    """All nodes of some kinds in a source, a kind after the other; of all kinds where none is named."""
    there = kinds_of(source)
    return [node for kind in kinds or there for node in there.get(kind, [])]
