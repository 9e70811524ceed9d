"""The groups of a cut: as a table, and the worst of them by each figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.drawing.rules import regions, rule_text
from anonymizer.drawing.words import class_name, mean_text, visible_text
from anonymizer.groups.limits import margins
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.growing.target import class_shares
from anonymizer.growing.tree import Tree
from anonymizer.settings import Limits
from anonymizer.values import number_text

if TYPE_CHECKING:
    from anonymizer.groups.risk import NodeRisk


@dataclass(frozen=True)
class WorstGroup:
    """The group of a cut that is the worst by one figure; ``what`` names the figure, its column and its number."""

    figure: str
    column: str
    node: int
    what: str


def worst_groups(
    tree: Tree, risk: "NodeRisk", encoded: EncodedTable, cut: NDArray[np.integer]
) -> tuple[WorstGroup, ...]:
    """Return the worst group of a cut by every figure that fits the sensitive columns; ties: first column, then group.

    Lowest TIDI (Y19); lowest number of different values (l) of a categorical sensitive column; largest digression
    (L09), and lowest RSD and spread of a numeric one.
    """
    cut = np.asarray(cut)
    node = int(cut[np.argmin(risk.tidi[cut])])
    worst = {"TIDI": WorstGroup("TIDI", "", node, f"lowest TIDI: {risk.tidi[node]:.2f} bits")}
    if risk.numeric is not None:
        node = int(cut[np.argmax(risk.numeric.digression[cut])])
        what = f"largest digression: {number_text(risk.numeric.digression[node])}"
        worst["digression"] = WorstGroup("digression", "", node, what)
    lowest: dict[str, float] = {}
    for margin in margins(tree, risk, encoded, Limits(k=1, l=1, rsd_min=0, spread_min=0))[1:]:
        name = "l" if margin.limit == "l-diversity" else margin.limit
        node = int(cut[np.argmin(margin.achieved[cut])])
        value = float(margin.achieved[node])
        if value < lowest.get(name, np.inf):
            lowest[name] = value
            what = f"lowest {name}: {number_text(value)} ({visible_text(margin.title)})"
            worst[name] = WorstGroup(name, margin.column, node, what)
    return tuple(worst.values())


def group_table(
    tree: Tree,
    risk: "NodeRisk",
    encodings: tuple[Encoding, ...],
    labels: tuple[str | None, ...],
    cut: NDArray[np.integer],
) -> pd.DataFrame:
    """Return one row for each node of a cut, or of a part of one, in its order.

    Columns: node, rule, records, persons where these are not the same, largest class, its share, BIG, ICR and TIDI in
    bits, E in records; with numeric sensitive columns also digression, SSE, p-value, and of each column its mean, RSD
    and spread.
    """
    cut = np.asarray(cut)
    sums = tree.sums[cut]
    largest = sums.argmax(axis=1)
    region_of = regions(tree, encodings, map(int, cut))
    table: dict[str, Any] = {
        "node": cut,
        "rule": [rule_text(tree, encodings, int(node), conditions=region_of[int(node)]) for node in cut],
        "records": tree.n[cut],
        **({} if tree.unit == "row" else {"persons": tree.persons.n[cut]}),
        "largest class": [class_name(labels[code]) for code in largest],
        "its share": class_shares(sums)[np.arange(len(cut)), largest],
        "BIG": risk.big[cut],
        "ICR": risk.icr[cut],
        "TIDI": risk.tidi[cut],
        "E": risk.error[cut],
    }
    if risk.numeric is not None:
        numeric = risk.numeric
        table |= {"digression": numeric.digression[cut], "SSE": numeric.sse[cut], "p-value": numeric.p_value[cut]}
        for position, name in enumerate(numeric.titles):
            table[f"mean of {name}"] = [mean_text(numeric, int(node), position) for node in cut]
            table[f"RSD of {name}"] = numeric.rsd[cut, position]
            table[f"spread of {name}"] = numeric.spread[cut, position]
    return pd.DataFrame(table)


def shared_cells(released: pd.DataFrame, names: Sequence[str], rows: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the combinations of released cells in some rows, and the rows that share each, the most first.

    ``names``: the columns; ``rows`` (n,): True for the rows that are looked at.
    """
    counts = released.loc[rows].groupby(list(names), dropna=False, observed=True).size()
    counts = counts.sort_values(ascending=False, kind="stable")
    return pd.DataFrame({"rows": counts.to_numpy(), **counts.index.to_frame(index=False)})
