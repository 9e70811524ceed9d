"""The reason why the records of a node are one group, in one sentence with its numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.drawing.rules import step_text
from anonymizer.groups.limits import Margin
from anonymizer.growing.encode import Encoding
from anonymizer.growing.tree import Tree
from anonymizer.values import number_text, plural

if TYPE_CHECKING:
    from anonymizer.groups.candidates import Candidates
    from anonymizer.groups.prune import Pruning
    from anonymizer.groups.risk import NodeRisk


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
    form: str = "printed",
) -> str:
    """Return why the records of a node are one group, or why they are not, in one sentence.

    ``after``: the number of pruning steps done so far; ``None``: all. ``limits``: what the pruning kept, as
    :func:`anonymizer.groups.limits.margins` gives it (k is known without); ``significance``: α where inner nodes are
    tested, in a ``form`` of the test. Costs compare the group with the grown tree's branch: Y19 (8) and (9) for
    records, (5) and (6) for bits, L09 (8) for squared error and digression. A node inside a group is explained with
    that group.
    """
    cut = np.asarray(pruning.cut(after))
    n, k, unit = int(tree.persons.n[node]), pruning.k, tree.unit
    inside = tree.persons.n[_in_branch(tree, cut, node)]
    if node not in cut:
        if len(inside):
            return (
                f"These {plural(n, unit)} are not one group: they are divided into "
                f"{plural(len(inside), 'group')}, the smallest of {plural(int(inside.min()), unit)}."
            )
        group = next(t for t in reversed(tree.path(node)) if t in cut)
        how: dict[str, Any] = {"limits": limits, "significance": significance, "form": form}
        whole = explain_leaf(tree, risk, pruning, encodings, group, after, **how)
        return f"These {plural(n, unit)} were merged into a larger group: {whole[0].lower()}{whole[1:]}"
    these = f"These {plural(n, unit)}" if n != 1 else f"This 1 {unit}"
    if tree.is_leaf[node]:
        were, they, are = ("were", "they are", "are") if n != 1 else ("was", "it is", "is")
        failure = _failure(limits, np.array([node]))
        if n >= k and failure is None:
            return f"{these} {were} not merged: {they} a leaf of the grown tree, and at least k = {k}."
        short = f"fewer than k = {k}" if n < k or failure is None else f"where {failure[0].shortfall(node)}"
        then = "a later step merges the branch around" if node else "and nothing is left to merge with"
        return f"{these} {are} a leaf of the grown tree, {short}; {then}."
    when = [int(step) for step in pruning.steps[:after]].index(node)
    p_values = None if significance is None or risk.numeric is None else risk.numeric.p_in(form)
    unlike = None if p_values is None or significance is None else (float(p_values[node]), significance)
    why = _reason(tree, pruning, encodings, node, when, limits, unlike)
    if pruning.criterion != "least":
        ratio = _ratio_text(pruning.criterion, float(pruning.ratios[when]))
        why += f", and this branch came first by the {pruning.criterion} measure, {ratio}"
    *costs, last = _costs(tree, risk, pruning.criterion, node)
    price = f"{', '.join(costs)} and {last}" if costs else last
    n_leaves = int(tree.is_leaf[node : node + tree.size[node]].sum())
    return f"{these} were merged {why}; merging the {n_leaves} leaves of the grown tree {price}."


def explain_step(pruning: "Pruning", branches: "Candidates", step: int) -> str:
    """Return which branch step ``step`` (from 1) took back and why it went before the others of ``branches``."""
    node, n = int(branches.nodes[0]), len(branches.nodes)
    took = f"Step {step:,} took back node {node:,}"
    if n == 1:
        return f"{took}: no other branch could go."
    if pruning.criterion not in ("error-risk", "error-digression"):
        return f"{took}: of {n:,} branches that must go, it has the fewest rows."
    by_risk = pruning.criterion == "error-risk"
    symbol, size = ("ω", "largest") if by_risk else ("q", "smallest")
    last = " The root goes last, although its ω is larger." if by_risk and _root_waits(branches) else ""
    if f"{branches.ratios[0]:.9e}" != f"{branches.ratios[1]:.9e}" or (by_risk and branches.nodes[1] == 0):
        return f"{took}: of {n:,} branches that could go, its {symbol} is the {size}.{last}"
    tie = f"{took}: its {symbol} is the {size}, as is that of node {int(branches.nodes[1]):,}."
    more = by_risk and f"{branches.gain[0]:.9e}" != f"{branches.gain[1]:.9e}"
    return f"{tie} {'It removes more bits of risk' if more else 'The lower number goes first'}.{last}"


def _root_waits(branches: "Candidates") -> bool:
    """Return True where the root is a candidate that would be first by its ω."""
    return bool(branches.nodes[-1] == 0 and branches.ratios[-1] > branches.ratios[0])


def _reason(
    tree: Tree,
    pruning: "Pruning",
    encodings: tuple[Encoding, ...],
    node: int,
    when: int,
    limits: tuple[Margin, ...],
    unlike: tuple[float, float] | None,
) -> str:
    """Return what offended when a branch collapsed: a small group, another limit, its own test, or a split above.
    ``unlike``: p of its covariance test and α, where inner nodes are tested."""
    k, parts = pruning.k, _in_branch(tree, np.asarray(pruning.cut(when)), node)
    smallest = int(parts[np.argmin(tree.persons.n[parts])])
    few, failure = int(tree.persons.n[smallest]), _failure(limits, parts)
    if few < k:
        where = step_text(tree, encodings, smallest, brief=True)
        if int(tree.parent[smallest]) == node:
            return f"because the split on {where} left a group of {few:,}, fewer than k = {k}"
        return (
            f"because one of the {len(parts)} groups below ({where}) had {plural(few, tree.unit)}, fewer than k = {k}"
        )
    if failure is not None:
        margin, part = failure
        where = step_text(tree, encodings, part, brief=True)
        if int(tree.parent[part]) == node:
            return f"because the split on {where} left a group where {margin.shortfall(part)}"
        return f"because in one of the {len(parts)} groups below ({where}) {margin.shortfall(part)}"
    if unlike is not None and unlike[0] < unlike[1]:
        below = f"(p = {unlike[0]:.3g}, below α = {unlike[1]:g})"
        return f"because their sensitive values vary unlike the whole table's {below}"
    for above in reversed(tree.path(node)[:-1]):
        undone, children = step_text(tree, encodings, above + 1, brief=True), tree.children(above)
        least, failure = min(int(tree.persons.n[child]) for child in children), _failure(limits, np.array(children))
        if least < k:
            short = f"of {least:,}, fewer than k = {k}"
        elif failure is not None:
            short = f"where {failure[0].shortfall(failure[1])}"
        else:
            continue
        return f"because the split above ({undone}) left a group {short}"
    return "because this branch, or a group in it, did not keep the other limits asked for"


def _failure(limits: tuple[Margin, ...], nodes: NDArray[np.integer]) -> tuple[Margin, int] | None:
    """Return the first limit that some of the nodes fail, with the node that is furthest off; ``None`` for none."""
    for margin in limits:
        if not margin.passes[nodes].all():
            values = margin.achieved[nodes]
            return margin, int(nodes[np.argmin(values) if margin.least else np.argmax(values)])
    return None


def _costs(tree: Tree, risk: "NodeRisk", criterion: str, node: int) -> list[str]:
    """Return what merging a branch of the grown tree cost and brought, in words."""
    costs = []
    if tree.sums.shape[1] > 1:
        errors = int(risk.error[node] - risk.branch_error[node])
        costs.append(f"cost {plural(errors, 'more misclassified row')}" if errors else "cost no further error")
    if risk.numeric is not None and (criterion == "error-digression" or tree.sums.shape[1] == 1):
        error = float(risk.numeric.sse[node] - risk.numeric.branch_sse[node])
        before, now = float(risk.numeric.branch_digression[node]), float(risk.numeric.digression[node])
        costs.append(f"raised the squared error by {number_text(error)}")
        costs.append(f"changed the digression from {number_text(before)} to {number_text(now)}")
    bits = float(risk.tidi[node] - risk.branch_tidi[node])
    harder = f"made an attacker's best case {bits:.2f} bits harder"
    return [*costs, harder if bits >= 0.005 else "left an attacker's best case as it was"]


def _in_branch(tree: Tree, cut: NDArray[np.integer], node: int) -> NDArray[np.integer]:
    """Return the nodes of a cut that lie in the branch of ``node``."""
    inside: NDArray[np.integer] = cut[(cut >= node) & (cut < node + tree.size[node])]
    return inside


def _ratio_text(criterion: str, ratio: float) -> str:
    """Return ω or q of a pruning step in words."""
    if criterion == "error-risk":
        return "as it cost no error" if np.isinf(ratio) else f"{ratio:.3g} bits for each row of error"
    if np.isinf(ratio):
        return "though it took no digression away"
    return f"{ratio:.3g} of squared error for each unit of digression" if ratio else "as it cost no squared error"
