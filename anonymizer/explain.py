"""A tree in words: the rule of a node, the groups of a cut as a table, and why records were merged.

Names and levels come from outside. Here they become text that shows what it holds (see :func:`visible_text`);
escaping for DOT, HTML or Markdown is left to whoever draws it.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.encode import EncodedTable, Encoding, value_text
from anonymizer.limits import Limits, Margin, margins
from anonymizer.schema import Kind
from anonymizer.target import class_shares
from anonymizer.tree import Condition, Tree, goes_left, region

if TYPE_CHECKING:
    from anonymizer.digression import NumericRisk
    from anonymizer.prune import Pruning
    from anonymizer.risk import NodeRisk

BRIEF_SET = 30
"""Most characters of a set of levels in brief text, brackets and names not counted."""

_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def visible_text(text: object, limit: int = 0) -> str:
    """Text from outside, safe to set into a line of ours; shortened to ``limit`` characters unless 0.

    Control characters are shown as pictures, those that would reorder or break the line as U+FFFD, and text that
    runs from right to left is isolated so that it cannot turn our own words around.
    """
    shown = str(text)
    plain = shown.isascii() and shown.isprintable()
    if not plain:
        shown = "".join(map(_visible_character, shown))
    if limit and len(shown) > limit:
        shown = shown[: limit - 1].rstrip("\u200d ") + "…"
    if plain:
        return shown
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in shown):
        return f"{_ISOLATE}{shown}{_END_ISOLATE}"
    return shown


def _visible_character(character: str) -> str:
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)
    if code == 127:
        return "␡"
    breaks = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or code & 0xFFFE == 0xFFFE
    return "\ufffd" if breaks or character in _BIDI_CONTROLS or 0xFDD0 <= code <= 0xFDEF else character


def class_name(label: str | None, limit: int = 0) -> str:
    """A class label as text; "missing" for ``None``."""
    return "missing" if label is None else visible_text(label, limit)


def plural(number: int, one: str) -> str:
    """``1 record``, ``1,200 records``."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


Conditions = tuple[Condition, ...]


def regions(tree: Tree, encodings: tuple[Encoding, ...], nodes: Iterable[int]) -> dict[int, Conditions]:
    """:func:`anonymizer.tree.region` of many nodes and all nodes above them: each from its parent's."""
    found: dict[int, Conditions] = {0: ()}
    for wanted in nodes:
        missing = []
        while wanted not in found:
            missing.append(int(wanted))
            wanted = int(tree.parent[wanted])
        for node in reversed(missing):
            found[node] = _narrowed(tree, encodings, node, found[int(tree.parent[node])])
    return found


def _narrowed(tree: Tree, encodings: tuple[Encoding, ...], node: int, above: Conditions) -> Conditions:
    """The conditions of a node from those of its parent."""
    parent = int(tree.parent[node])
    column, left = int(tree.feature[parent]), node == parent + 1
    encoding, known = encodings[column], {condition.column: condition for condition in above}
    codes = None if encoding.is_interval else tuple(range(len(encoding.labels)))
    old = known.get(column, Condition(column, -np.inf, np.inf, codes, encoding.missing))
    if old.codes is None:
        threshold = float(tree.threshold[parent])
        low, high = (old.above, min(old.upto, threshold)) if left else (max(old.above, threshold), old.upto)
        known[column] = Condition(column, low, high, None, old.missing and not left)
    else:
        here = goes_left(tree, encoding, parent) == left
        kept = tuple(code for code in old.codes if here[code])
        known[column] = Condition(column, -np.inf, np.inf, kept, old.missing and bool(here[-1]))
    return tuple(known.values())


def rule_text(
    tree: Tree,
    encodings: tuple[Encoding, ...],
    node: int,
    *,
    brief: bool = False,
    conditions: Conditions | None = None,
) -> str:
    """The region of a node in words: one condition for each column on its path; "all records" for the root.

    ``conditions``: the node's own, when :func:`regions` has found them already.
    """
    found = region(tree, encodings, node) if conditions is None else conditions
    return " and ".join(condition_text(c, encodings[c.column], brief=brief) for c in found) or "all records"


def step_text(
    tree: Tree,
    encodings: tuple[Encoding, ...],
    node: int,
    *,
    brief: bool = False,
    conditions: Conditions | None = None,
) -> str:
    """What the last split on the way to a node asks of its records; "all records" for the root."""
    parent = int(tree.parent[node])
    if parent < 0:
        return "all records"
    column = int(tree.feature[parent])
    found = region(tree, encodings, node) if conditions is None else conditions
    here = next(condition for condition in found if condition.column == column)
    if here.codes is None:
        threshold, left = float(tree.threshold[parent]), node == parent + 1
        here = Condition(column, -np.inf if left else threshold, threshold if left else np.inf, None, here.missing)
    return condition_text(here, encodings[column], brief=brief)


def condition_text(condition: Condition, encoding: Encoding, *, brief: bool = False) -> str:
    """One condition in words: ``38.5 < age ≤ 61``, ``job in {A, B}``; ``brief`` shortens names and long sets."""
    name = visible_text(encoding.name, 26 if brief else 0)
    if condition.codes is None:
        return _interval_text(name, condition, encoding)
    levels = [visible_text(encoding.text(code), 22 if brief else 0) for code in condition.codes]
    every = len(encoding.labels)
    if not levels:
        return f"{name} missing"
    if len(levels) == every:
        return f"{name} missing or not" if condition.missing or not encoding.missing else f"{name} present"
    or_missing = " or missing" if condition.missing else ""
    if len(levels) == 1:
        return f"{name} = {levels[0]}{or_missing}"
    if encoding.by_order:
        low, high = condition.codes[0], condition.codes[-1]
        if low == 0:
            return f"{name} up to {levels[-1]}{or_missing}"
        return f"{name} from {levels[0]}{'' if high == every - 1 else f' to {levels[-1]}'}{or_missing}"
    if len(levels) == every - 1 and not encoding.missing:
        (other,) = set(range(every)) - set(condition.codes)
        return f"{name} ≠ {visible_text(encoding.text(other), 22 if brief else 0)}"
    return f"{name} in {_set_text(levels, every, brief)}{or_missing}"


def _set_text(levels: list[str], every: int, brief: bool) -> str:
    if not brief or len(", ".join(levels)) <= BRIEF_SET:
        return "{" + ", ".join(levels) + "}"
    shown = levels[:1]
    while len(", ".join([*shown, levels[len(shown)]])) <= BRIEF_SET - 10:
        shown.append(levels[len(shown)])
    return "{" + ", ".join(shown) + f", … {len(levels)} of {every}" + "}"


def _interval_text(name: str, condition: Condition, encoding: Encoding) -> str:
    or_missing = " or missing" if condition.missing else ""
    above, upto = condition.above, condition.upto
    if above == np.inf:
        return f"{name} missing"
    if above == -np.inf and upto == np.inf:
        return f"{name} missing or not" if condition.missing else f"{name} present"
    if above == -np.inf:
        return f"{name} ≤ {threshold_text(encoding, upto)}{or_missing}"
    if upto == np.inf:
        return f"{name} > {threshold_text(encoding, above)}{or_missing}"
    return f"{threshold_text(encoding, above)} < {name} ≤ {threshold_text(encoding, upto)}{or_missing}"


def threshold_text(encoding: Encoding, threshold: float) -> str:
    """A threshold as it is when that is short, else in the fewest digits that part the same values of the column."""
    cut = int(np.searchsorted(encoding.low, threshold, side="right"))
    floor = float(encoding.high[cut - 1]) if cut else -np.inf
    ceiling = float(encoding.low[cut]) if cut < len(encoding.low) else np.inf
    if encoding.kind is Kind.DATE:
        stamp = np.datetime64(int(np.floor(threshold)), "us")
        day = stamp.astype("datetime64[D]").astype("datetime64[us]")
        return value_text(day if floor <= float(day.astype(np.int64)) else stamp)
    for digits in range(6, 17):
        shown = float(f"{threshold:.{digits}g}")
        if floor <= shown < ceiling:
            return value_text(shown)
    return value_text(threshold)


def number_text(value: float) -> str:
    """A measure to three digits, large ones in full."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def mean_text(numeric: "NumericRisk", node: int, position: int) -> str:
    """The mean of one numeric sensitive column in a node: four digits, or the day."""
    mean = float(numeric.mean[node, position])
    if numeric.names[position] in numeric.dates:
        return value_text(np.datetime64(round(mean), "us").astype("datetime64[D]"))
    return f"{mean:,.0f}" if abs(mean) >= 1000 else f"{mean:.4g}"


def figures_text(risk: "NodeRisk", labels: tuple[str | None, ...]) -> str:
    """What the figures on a node mean, in one sentence."""
    parts = ["n records" + (", E of them not in the largest class" if len(labels) > 1 else "")]
    if risk.numeric is not None:
        parts.append(
            "Δ how far the scatter of sensitive numbers falls short of the table's, p its chance, SSE squared error"
        )
    parts.append(
        "BIG bits learnt from the rule + ICR bits still missing = TIDI bits to one person: the lower, the riskier"
    )
    return "; ".join(parts)


def number_lines(numeric: "NumericRisk", node: int) -> list[str]:
    """What a node tells about numeric sensitive columns, one line for all and one for each."""
    p_value = "p not defined" if np.isnan(numeric.p_value[node]) else f"p {numeric.p_value[node]:.3g}"
    lines = [f"SSE {number_text(numeric.sse[node])}, digression {number_text(numeric.digression[node])}, {p_value}"]
    for position, name in enumerate(numeric.names):
        rsd, spread = numeric.rsd[node, position], numeric.spread[node, position]
        said = (
            f"mean {mean_text(numeric, node, position)}, RSD {rsd:.3f}, standard deviation {spread:.0%} of the table's"
        )
        lines.append(f"{visible_text(name)}: {said}")
    return lines


@dataclass(frozen=True)
class Worst:
    """The group of a cut that is the worst by one figure; ``what`` says the figure, its column and its number."""

    figure: str
    column: str
    node: int
    what: str


def worst_groups(tree: Tree, risk: "NodeRisk", encoded: EncodedTable, cut: NDArray[np.integer]) -> tuple[Worst, ...]:
    """The worst group of a cut by every figure that fits the sensitive columns; ties: the first column, then group.

    Lowest TIDI (Y19); lowest number of different values (l) of a categorical sensitive column; largest digression
    (L09), and lowest RSD and spread of a numeric one.
    """
    cut = np.asarray(cut)
    node = int(cut[np.argmin(risk.tidi[cut])])
    found = {"TIDI": Worst("TIDI", "", node, f"lowest TIDI: {risk.tidi[node]:.2f} bits")}
    if risk.numeric is not None:
        node = int(cut[np.argmax(risk.numeric.digression[cut])])
        said = f"largest digression: {number_text(risk.numeric.digression[node])}"
        found["digression"] = Worst("digression", "", node, said)
    lowest: dict[str, float] = {}
    for margin in margins(tree, risk, encoded, Limits(k=1, l=1, rsd_min=0, spread_min=0))[1:]:
        name = "l" if margin.limit == "l-diversity" else margin.limit
        node = int(cut[np.argmin(margin.achieved[cut])])
        value = float(margin.achieved[node])
        if value < lowest.get(name, np.inf):
            lowest[name] = value
            what = f"lowest {name}: {number_text(value)} ({visible_text(margin.column)})"
            found[name] = Worst(name, margin.column, node, what)
    return tuple(found.values())


def group_table(
    tree: Tree,
    risk: "NodeRisk",
    encodings: tuple[Encoding, ...],
    labels: tuple[str | None, ...],
    cut: NDArray[np.integer],
) -> pd.DataFrame:
    """One row for each node of a cut, or of a part of one, in its order.

    Columns: node, rule, records, largest class, its share, BIG, ICR and TIDI in bits, E in records; with numeric
    sensitive columns also digression, SSE, p-value, and of each column its mean, RSD and spread.
    """
    cut = np.asarray(cut)
    sums = tree.sums[cut]
    largest = sums.argmax(axis=1)
    found = regions(tree, encodings, map(int, cut))
    table: dict[str, Any] = {
        "node": cut,
        "rule": [rule_text(tree, encodings, int(node), conditions=found[int(node)]) for node in cut],
        "records": tree.n[cut],
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
        for position, name in enumerate(numeric.names):
            table[f"mean of {name}"] = [mean_text(numeric, int(node), position) for node in cut]
            table[f"RSD of {name}"] = numeric.rsd[cut, position]
            table[f"spread of {name}"] = numeric.spread[cut, position]
    return pd.DataFrame(table)


def explain_leaf(
    tree: Tree,
    risk: "NodeRisk",
    pruning: "Pruning",
    encodings: tuple[Encoding, ...],
    node: int,
    after: int | None = None,
    *,
    limits: tuple[Margin, ...] = (),
    significance: float | None = None,
) -> str:
    """Why the records of a node are one group, or why they are not, in one sentence.

    ``after``: the number of pruning steps done so far; ``None``: all. ``limits``: what the pruning kept, as
    :func:`anonymizer.limits.margins` gives it (k is known without); ``significance``: α where inner nodes are tested.
    Costs compare the group with the grown tree's branch: Y19 (8) and (9) for records, (5) and (6) for bits, L09 (8)
    for squared error and digression. A node inside a group is explained with that group.
    """
    cut = np.asarray(pruning.cut(after))
    n, k = int(tree.n[node]), pruning.k
    inside = tree.n[_in_branch(tree, cut, node)]
    if node not in cut:
        if len(inside):
            return (
                f"These {plural(n, 'record')} are not one group: they are divided into "
                f"{plural(len(inside), 'group')}, the smallest of {plural(int(inside.min()), 'record')}."
            )
        group = next(t for t in reversed(tree.path(node)) if t in cut)
        whole = explain_leaf(tree, risk, pruning, encodings, group, after, limits=limits, significance=significance)
        return f"These {plural(n, 'record')} were merged into a larger group: {whole[0].lower()}{whole[1:]}"
    these = f"These {plural(n, 'record')}" if n != 1 else "This 1 record"
    if tree.is_leaf[node]:
        were, they, are = ("were", "they are", "are") if n != 1 else ("was", "it is", "is")
        failed = _failed(limits, np.array([node]))
        if n >= k and failed is None:
            return f"{these} {were} not merged: {they} a leaf of the grown tree, and at least k = {k}."
        short = f"fewer than k = {k}" if n < k or failed is None else f"where {failed[0].shortfall(node)}"
        then = "a later step merges the branch around" if node else "and nothing is left to merge with"
        return f"{these} {are} a leaf of the grown tree, {short}; {then}."
    when = [int(step) for step in pruning.steps[:after]].index(node)
    why = _reason(tree, risk, pruning, encodings, node, when, limits, significance)
    if pruning.criterion != "least":
        ratio = _ratio_text(pruning.criterion, float(pruning.ratios[when]))
        why += f", and this branch came first by the {pruning.criterion} measure, {ratio}"
    *costs, last = _costs(tree, risk, pruning.criterion, node)
    said = f"{', '.join(costs)} and {last}" if costs else last
    n_leaves = int(tree.is_leaf[node : node + tree.size[node]].sum())
    return f"{these} were merged {why}; merging the {n_leaves} leaves of the grown tree {said}."


def _reason(
    tree: Tree,
    risk: "NodeRisk",
    pruning: "Pruning",
    encodings: tuple[Encoding, ...],
    node: int,
    when: int,
    limits: tuple[Margin, ...],
    significance: float | None,
) -> str:
    """What offended when a branch was collapsed: a small group, another limit, its own test, or a split above."""
    k, parts = pruning.k, _in_branch(tree, np.asarray(pruning.cut(when)), node)
    smallest = int(parts[np.argmin(tree.n[parts])])
    few, failed = int(tree.n[smallest]), _failed(limits, parts)
    if few < k:
        where = step_text(tree, encodings, smallest, brief=True)
        if int(tree.parent[smallest]) == node:
            return f"because the split on {where} left a group of {few:,}, fewer than k = {k}"
        return f"because one of the {len(parts)} groups below ({where}) had {plural(few, 'record')}, fewer than k = {k}"
    if failed is not None:
        margin, part = failed
        where = step_text(tree, encodings, part, brief=True)
        if int(tree.parent[part]) == node:
            return f"because the split on {where} left a group where {margin.shortfall(part)}"
        return f"because in one of the {len(parts)} groups below ({where}) {margin.shortfall(part)}"
    if significance is not None and risk.numeric is not None and risk.numeric.p_value[node] < significance:
        p_value = risk.numeric.p_value[node]
        below = f"(p = {p_value:.3g}, below α = {significance:g})"
        return f"because their sensitive values vary unlike the whole table's {below}"
    for above in reversed(tree.path(node)[:-1]):
        undone, children = step_text(tree, encodings, above + 1, brief=True), tree.children(above)
        least, failed = min(int(tree.n[child]) for child in children), _failed(limits, np.array(children))
        if least < k:
            short = f"of {least:,}, fewer than k = {k}"
        elif failed is not None:
            short = f"where {failed[0].shortfall(failed[1])}"
        else:
            continue
        return f"because a split above ({undone}) leaves a group {short}, and goes with all below"
    return "because this branch, or a group in it, did not keep the other limits asked for"


def _failed(limits: tuple[Margin, ...], nodes: NDArray[np.integer]) -> tuple[Margin, int] | None:
    """The first limit that some of the nodes fail, and which of them is furthest off."""
    for margin in limits:
        if not margin.passes[nodes].all():
            values = margin.achieved[nodes]
            return margin, int(nodes[np.argmin(values) if margin.least else np.argmax(values)])
    return None


def _costs(tree: Tree, risk: "NodeRisk", criterion: str, node: int) -> list[str]:
    """What merging a branch of the grown tree cost and brought, in words."""
    costs = []
    if tree.sums.shape[1] > 1:
        errors = int(risk.error[node] - risk.branch_error[node])
        costs.append(f"cost {plural(errors, 'more misclassified record')}" if errors else "cost no further error")
    if risk.numeric is not None and (criterion == "error-digression" or tree.sums.shape[1] == 1):
        error = float(risk.numeric.sse[node] - risk.numeric.branch_sse[node])
        before, now = float(risk.numeric.branch_digression[node]), float(risk.numeric.digression[node])
        costs.append(f"raised the squared error by {number_text(error)}")
        costs.append(f"changed the digression from {number_text(before)} to {number_text(now)}")
    bits = float(risk.tidi[node] - risk.branch_tidi[node])
    harder = f"made an attacker's best case {bits:.2f} bits harder"
    return [*costs, harder if bits >= 0.005 else "left an attacker's best case as it was"]


def _in_branch(tree: Tree, cut: NDArray[np.integer], node: int) -> NDArray[np.integer]:
    """The nodes of a cut that lie in the branch of ``node``."""
    inside: NDArray[np.integer] = cut[(cut >= node) & (cut < node + tree.size[node])]
    return inside


def _ratio_text(criterion: str, ratio: float) -> str:
    """ω or q of a pruning step in words."""
    if criterion == "error-risk":
        return "as it cost no error" if np.isinf(ratio) else f"{ratio:.3g} bits for each record of error"
    if np.isinf(ratio):
        return "though it took no digression away"
    return f"{ratio:.3g} of squared error for each unit of digression" if ratio else "as it cost no squared error"
