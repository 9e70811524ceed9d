"""The same groups, told of another sensitive column: it takes the place of the target in pictures and sentences."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from anonymizer.drawing.shades import colours_of
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.target import majority_error

if TYPE_CHECKING:
    from anonymizer.groups.prune import Pruning
    from anonymizer.groups.risk import NodeRisk

Look = tuple[str, str]
"""A sensitive column, "" for the target, and a measure by which groups are coloured."""


def looks_of(pruning: "Pruning", risk: "NodeRisk", encoded: EncodedTable, target: str | None) -> list[Look]:
    """Return what groups can be coloured by: each sensitive column, the ``target`` first, then the other measures. The
    measures are keys of :data:`anonymizer.drawing.shades.COLOURS`."""
    numbers = () if encoded.numeric is None else encoded.numeric.names
    classes = [one.name for one in (encoded.target, *encoded.others) if one.n_classes > 1]
    columns = sorted([*classes, *numbers], key=lambda name: name != target)
    measures = [measure for measure in colours_of(pruning.tree, risk) if measure not in ("sure", "digression")]
    return [(name, "digression" if name in numbers else "sure") for name in columns] + [
        ("", measure) for measure in measures
    ]


def as_target(
    pruning: "Pruning", risk: "NodeRisk", encoded: EncodedTable, name: str
) -> tuple["Pruning", "NodeRisk", EncodedTable]:
    """Return a tree with its groups, its risk and its table as if a sensitive column were the target; what guided the
    tree stays as it is. The same three where it is the target, and where there is no such column."""
    names = [target.name for target in encoded.others]
    if name in names:
        tree, at = pruning.tree, names.index(name)
        persons = replace(tree.persons, sums=tree.persons.others[at])
        other = replace(tree, sums=tree.others[at], persons=persons)
        risk = replace(risk, error=majority_error(other.sums))
        return replace(pruning, tree=other), risk, replace(encoded, target=encoded.others[at])
    if encoded.numeric is not None and risk.numeric is not None and name in encoded.numeric.names[1:]:
        at = encoded.numeric.names.index(name)
        order = [at, *(place for place in range(encoded.numeric.n_responses) if place != at)]
        return pruning, _risk_of(risk, order), _numbers_of(encoded, order)
    return pruning, risk, encoded


def _risk_of(risk: "NodeRisk", order: Sequence[int]) -> "NodeRisk":
    """Return the risk with its numeric columns in another order."""
    assert (numeric := risk.numeric) is not None
    names, titles = ([texts[at] for at in order] for texts in (numeric.names, numeric.titles))
    mean, rsd, spread = (figures[:, order] for figures in (numeric.mean, numeric.rsd, numeric.spread))
    changed = replace(numeric, names=tuple(names), titles=tuple(titles), mean=mean, rsd=rsd, spread=spread)
    return replace(risk, numeric=changed)


def _numbers_of(encoded: EncodedTable, order: Sequence[int]) -> EncodedTable:
    """Return the table with its numeric sensitive columns in another order."""
    assert (numeric := encoded.numeric) is not None
    names, titles = ([texts[at] for at in order] for texts in (numeric.names, numeric.titles))
    ends = {name: getattr(numeric, name)[list(order)] for name in ("low", "width", "centre", "missing")}
    values = numeric.values[:, list(order)]
    return replace(encoded, numeric=replace(numeric, names=tuple(names), titles=tuple(titles), values=values, **ends))
