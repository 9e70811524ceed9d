"""Hierarchies to take away: the groups that public cuts or a pruned tree make of a column's values, in ARX's form.

A hierarchy lists every value that a column may have, so only a column whose domain is public has one: what occurs in a
table is its people's.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from anonymizer.cells import Cell
from anonymizer.errors import SchemaError
from anonymizer.groups.prune import Pruning
from anonymizer.growing.encode import Encoding
from anonymizer.growing.tree import goes_left
from anonymizer.hierarchy import LONGEST_WORD, MOST_VALUES, Hierarchy, rows_from
from anonymizer.schema import Column, Kind
from anonymizer.values import value_text


def public_hierarchy(column: Column) -> Hierarchy:
    """Return the hierarchy of a column's public cuts or groups: the one that was brought, its bands, what it is rounded
    to with top and bottom code, or its declared groups of levels.

    Raises :class:`SchemaError` where it has none of these, or its values are not public.
    """
    cuts = column.cuts
    if cuts.hierarchy is not None:
        return cuts.hierarchy
    if not cuts and column.groups is None:
        what = f"{column.name!r} has neither public cuts nor public groups, so it has no hierarchy."
        raise SchemaError(what, column=column.name, remedy="Declare some, or give a hierarchy.")
    values = public_values(column)
    if column.groups is not None and not cuts:
        group_of = {level: group for group in column.groups for level in group}
        keys = [group_of.get(value, (value,)) for value in values]
        return grouped(values, keys, named_sets(values, keys))
    numbers = np.array([float(value) for value in values])
    if cuts.bands:
        if numbers[0] < cuts.bands[0]:
            what = f"The domain of {column.name!r} begins below its first public band."
            raise SchemaError(what, column=column.name, remedy="Let the first band begin lower.")
        parts = np.searchsorted(np.array(cuts.bands), numbers, side="right")
        return grouped(values, parts.tolist(), texts_of_runs(values, parts, last_open=True))
    parts = cuts.rounded(cuts.clip(numbers))
    words = [value_text(part) for part in parts]
    words = [f"≥ {word}" if part == cuts.top else f"≤ {word}" if part == cuts.bottom else word
             for word, part in zip(words, parts.tolist(), strict=True)]  # fmt: skip
    return grouped(values, parts.tolist(), words)


def cut_hierarchy(column: Column, pruning: Pruning, encodings: Sequence[Encoding]) -> Hierarchy:
    """Return the hierarchy of the groups that the pruned tree makes of a column's public values: values that no split
    tells apart are one group. Raises :class:`SchemaError` where they are not public."""
    values = public_values(column)
    j = next(j for j, encoding in enumerate(encodings) if encoding.name == column.name)
    tree, encoding = pruning.tree, encodings[j]
    group = pruning.group_of_node()
    inner = np.flatnonzero((tree.feature == j) & (np.asarray(group) < 0))
    if encoding.is_interval:
        line = np.unique(tree.threshold[inner])
        parts = np.searchsorted(line[np.isfinite(line)], np.array([float(value) for value in values]))
        return grouped(values, parts.tolist(), texts_of_runs(values, parts))
    sides = np.array([goes_left(tree, encoding, int(node)) for node in inner]).reshape(len(inner), encoding.n_codes)
    place = {str(label): code for code, label in enumerate(encoding.labels)}
    keys: list[Hashable] = [sides[:, place[value]].tobytes() for value in values]
    return grouped(values, keys, named_sets(values, keys))


def public_values(column: Column) -> tuple[str, ...]:
    """Return the values that a column may have, as text, from its declared domain. Raises :class:`SchemaError` where
    none is declared, or it is not one of levels or whole numbers."""
    if column.domain is None or not column.declared:
        what = f"The values of {column.name!r} are those of the table, so they cannot be listed."
        raise SchemaError(what, column=column.name, remedy="Declare its public domain first.")
    if column.kind is Kind.CATEGORICAL:
        return tuple(map(str, column.domain))
    low, high = (float(end) for end in column.domain) if column.kind is Kind.NUMERIC else (0.5, 0.5)
    if low % 1 or high % 1 or high - low >= MOST_VALUES:
        what = f"The domain of {column.name!r} is not one of at most {MOST_VALUES:,} whole numbers."
        raise SchemaError(what, column=column.name, remedy="Declare whole numbers as its lowest and highest value.")
    return tuple(value_text(number) for number in np.arange(low, high + 1))


def grouped(values: Sequence[str], keys: Sequence[Hashable], words: Sequence[str]) -> Hierarchy:
    """Return the hierarchy of values (b,) that are together where their ``keys`` (b,) are equal; ``words`` (b,): the
    word of each value's group, where it holds several."""
    groups: dict[Hashable, list[str]] = {}
    word: dict[Hashable, str] = {}
    for value, key, text in zip(values, keys, words, strict=True):
        groups.setdefault(key, []).append(value)
        word.setdefault(key, text)
    named = [group[0] if len(group) == 1 else word[key] for key, group in groups.items()]
    inside = {value for group in groups.values() if len(group) > 1 for value in group}
    named = [f"about {name}" if name in inside else name for name in named]
    return rows_from(groups.values(), named)


def named_sets(values: Sequence[str], keys: Sequence[Hashable]) -> list[str]:
    """Return for each of some levels what a cell calls those with an equal key, or the number of their group where that
    is long."""
    members: dict[Hashable, list[str]] = {}
    for key, value in zip(keys, values, strict=True):
        members.setdefault(key, []).append(value)
    names = {key: Cell.of_levels(levels).text() or "" for key, levels in members.items()}
    long = {key: f"group {number}" for number, key in enumerate(names, 1) if len(names[key]) > LONGEST_WORD}
    return [(names | long)[key] for key in keys]


def texts_of_runs(values: Sequence[str], parts: NDArray[np.int64], last_open: bool = False) -> list[str]:
    """Return for each of some numbers, ascending, from where to where its part reaches, in brackets."""
    firsts, where = np.unique(parts, return_index=True)
    ends = np.append(where[1:], len(values)) - 1
    texts = {
        part: f"[{values[start]}, {values[end]}]" for part, start, end in zip(firsts.tolist(), where, ends, strict=True)
    }
    if last_open:
        texts[int(firsts[-1])] = f"≥ {values[where[-1]]}"
    return [texts[part] for part in parts.tolist()]
