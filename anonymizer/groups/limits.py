"""What every released group must satisfy: its size, and how much it may tell about each sensitive column.

Where the table says whose each record is, k, l, entropy l and t count persons; the limits on numbers count records.

A limit is judged on a node's sums alone, so it is known for every node of a tree at once, before anything is pruned.
k and distinct l hold in a union when they hold in its parts; the others need not, so the largest pruning that
satisfies them is sought from the top: a split is kept when both of its sides pass.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.target import ClassTarget, class_shares
from anonymizer.growing.tree import Tree
from anonymizer.population.individual import fewest_alike, individual_risk
from anonymizer.settings import OF_POPULATION, Limits
from anonymizer.values import plural

SHARE = "share of one person"
"""What the limit on it is called."""


@dataclass(frozen=True, eq=False)
class Margin:
    """One limit on every node (m,): ``achieved`` and what is ``required``; ``least``: True where more is better.
    ``title``: what the ``column`` is called where there is room."""

    limit: str
    column: str
    required: float
    achieved: NDArray[np.float64]
    least: bool
    title: str = ""

    @property
    def passes(self) -> NDArray[np.bool_]:
        """(m,) whether the node, released as a group, satisfies the limit."""
        slack = 1e-9 * max(1.0, abs(self.required))
        if self.least:
            return np.asarray(self.achieved >= self.required - slack)
        return np.asarray(self.achieved <= self.required + slack)

    def shortfall(self, node: int) -> str:
        """Return how far off a node is, in words."""
        achieved = float(self.achieved[node])
        name = self.title or self.column
        about = f" of {name}" if name else ""
        bound = "at least" if self.least else "at most"
        return f"{self.limit}{about} is {achieved:.4g}, and {bound} {self.required:.4g} is required"


def margins(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> tuple[Margin, ...]:
    """Return every limit that is on, judged on every node: what :data:`MARGINS` makes of each."""
    on = [name for name, value in limits.items() if value is not None and name in MARGINS]
    return tuple(margin for name in on for margin in MARGINS[name](tree, risk, encoded, limits))


def too_few(n: int, what: str, k: int) -> GuaranteeError:
    """Return the error that says that the n records, or persons, of a table make no group of k."""
    return GuaranteeError(
        f"The table has {n:,} {what}, fewer than k = {k}: no group can have {k}.",
        remedy=f"Choose a smaller k or add more {what}.",
    )


def shortfall_of_all(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> GuaranteeError:
    """Return the error that says which limits even the whole table as one group fails, and how far off it is."""
    failures = [margin for margin in margins(tree, risk, encoded, limits) if not margin.passes[0]]
    if limits.share_max is not None and encoded.person is not None and failures[0].limit == SHARE:
        return too_large_share(encoded.person, limits.share_max)
    return GuaranteeError(
        f"Even the whole table as one group is not enough: {'; '.join(margin.shortfall(0) for margin in failures)}.",
        column=failures[0].column or None,
        remedy="Relax this limit.",
    )


def require_limits(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits, satisfied: bool) -> None:
    """Raise the :class:`GuaranteeError` of :func:`too_few` or :func:`shortfall_of_all` where the records do not make
    one group of k, or a pruning is not ``satisfied``."""
    if encoded.n_persons < limits.k:
        raise too_few(encoded.n_persons, "rows" if encoded.person is None else "persons", limits.k)
    if not satisfied:
        raise shortfall_of_all(tree, risk, encoded, limits)


def too_large_share(person: NDArray[np.int32], share: float) -> GuaranteeError:
    """Return the error that says that somebody owns more than a ``share`` (0 to 1) of all records, and how many rows of
    each person may stay so that nobody does. ``person`` (n,): whose each is, -1 for nobody's."""
    n, rows = len(person), np.bincount(person[person >= 0])
    most = int(rows.max(initial=0))
    stay = np.arange(1, most)
    whole = n - rows.sum() + np.minimum(rows, stay[:, None]).sum(axis=1) if len(stay) else stay
    fits = stay[stay <= share * whole * (1 + 1e-9)]
    few = int((rows > share * n * (1 + 1e-9)).sum())
    several = f"Use a table with at most {plural(int(fits[-1]), 'row')} of each person, or a" if len(fits) else "A"
    return GuaranteeError(
        f"{'1 person owns' if few == 1 else f'{few:,} persons own'} more than {share:.4g} of all rows, up to "
        f"{most / n:.4g}, so no group can keep that share.",
        remedy=f"{several}llow a larger share of one person.",
    )


def group_size(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margin of k: persons of each node."""
    return [Margin("group size", "", limits.k, tree.persons.n.astype(np.float64), True)]


def share_of_one(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margin of the largest share of the records of each node that are one person's. That of a union is at
    most the larger of its parts', so groups that keep it keep it together."""
    most = 1 if tree.persons.most is None else tree.persons.most
    yield Margin(SHARE, "", limits.share_max, np.asarray(most / tree.n), False)


def distinct_l(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margins of l: different values of each categorical sensitive column."""
    for target, shares, tells in telling_columns(tree, encoded):
        values = np.where(tells, (shares > 0).sum(axis=1), np.inf)
        yield Margin("l-diversity", target.name, limits.l, values, True, target.title)


def entropy_l(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margins of entropy l: effective number of values, exp(entropy), of each categorical column."""
    for target, shares, tells in telling_columns(tree, encoded):
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        values = np.where(tells, np.exp(-(shares * logs).sum(axis=1)), np.inf)
        yield Margin("entropy l", target.name, limits.entropy_l, values, True, target.title)


def t_closeness(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margins of t: distance of each categorical sensitive column's shares from the whole table's."""
    for target, shares in class_columns(tree, encoded):
        yield Margin("t-closeness", target.name, limits.t, distances(shares, target.ordered), False, target.title)


def squared_distance(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margins of RSD, L09 (10), of each numeric sensitive column."""
    if risk.numeric is not None:
        for position, (name, title) in enumerate(zip(risk.numeric.names, risk.numeric.titles, strict=True)):
            yield Margin("RSD", name, limits.rsd_min, risk.numeric.rsd[:, position], True, title)


def spread(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margins of spread: each numeric sensitive column's standard deviation as a share of the file's."""
    if risk.numeric is not None:
        for position, (name, title) in enumerate(zip(risk.numeric.names, risk.numeric.titles, strict=True)):
            yield Margin("spread", name, limits.spread_min, risk.numeric.spread[:, position], True, title)


def record_risk(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margin of the highest risk: all records of a group have one."""
    yield Margin("risk of a row", "", limits.risk_max, risk_of_nodes(tree), False)


def average_risk(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margin of the average risk: groups that each keep it keep it together."""
    yield Margin("average risk", "", limits.risk_mean, risk_of_nodes(tree), False)


def k_map(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margin of k-map: people of the population inside the hull of each node. Raises
    :class:`ParameterError` where people were not counted: sums of weights say nothing about the rarest of them."""
    if tree.people is not None and not tree.counted:
        raise ParameterError(
            "k-map counts people, and nothing known of the population says how many have the values of a row.",
            remedy="Use a table of the population with all quasi-identifiers, or limit the risk of a row.",
        )
    yield Margin("k-map", "", limits.k_map, people_of_nodes(tree), True)


def people_of_nodes(tree: Tree) -> NDArray[np.float64]:
    """Return (m,) the people of the population behind each node; its own persons, where nothing more is known."""
    own = np.maximum(tree.persons.n, 1).astype(np.float64)
    return own if tree.people is None else np.maximum(tree.people, own)


def risk_of_nodes(tree: Tree) -> NDArray[np.float64]:
    """Return (m,) the risk of each record of a node, released as a group: 1/F, where F is counted, else E[1/F | f]."""
    people = people_of_nodes(tree)
    if tree.people is None or tree.counted:
        return np.asarray(1 / people)
    return individual_risk(np.maximum(tree.persons.n, 1).astype(np.float64), people)


def as_k(limits: Limits, encoded: EncodedTable) -> Limits:
    """Return the same limits, with k in the place of those on risk where every record stands for as many people, as the
    risk of a group then only depends on its size; and with the k that a largest share of one person takes."""
    if limits.share_max is not None:
        limits = limits.but(k=max(limits.k, ceil(1 / limits.share_max - 1e-9)))
    people = encoded.people
    if not limits.of_population or (people is not None and (people.counted or np.ptp(people.weights) > 0)):
        return limits
    fraction = 1.0 if people is None else min(1.0, 1 / float(people.weights[0]))
    risks = [risk for risk in (limits.risk_max, limits.risk_mean) if risk is not None]
    k = max(limits.k, limits.k_map or 1, *(fewest_alike(risk, fraction) for risk in risks), 1)
    return limits.but(k=k, **dict.fromkeys(OF_POPULATION))


def covariance(tree: Tree, risk: NodeRisk, encoded: EncodedTable, limits: Limits) -> Iterable[Margin]:
    """Return the margin of the covariance test where it is tested on groups, L09 (9)."""
    if risk.numeric is not None and limits.tested == "leaves":
        p_value = np.nan_to_num(risk.numeric.p_in(limits.test_form), nan=1.0)
        yield Margin("p-value of the covariance", "", limits.significance, p_value, True)


MARGINS: dict[str, Callable[[Tree, NodeRisk, EncodedTable, Limits], Iterable[Margin]]] = {
    "k": group_size,
    "share_max": share_of_one,
    "l": distinct_l,
    "entropy_l": entropy_l,
    "t": t_closeness,
    "rsd_min": squared_distance,
    "spread_min": spread,
    "risk_max": record_risk,
    "risk_mean": average_risk,
    "k_map": k_map,
    "significance": covariance,
}
"""How each limit is judged on the nodes of a tree, by the name of its setting."""


def class_columns(tree: Tree, encoded: EncodedTable) -> Iterable[tuple[ClassTarget, NDArray[np.float64]]]:
    """Return each categorical sensitive column with the shares of its classes in every node, (m, c), by persons."""
    persons = tree.persons
    for target, sums in [(encoded.target, persons.sums), *zip(encoded.others, persons.others, strict=True)]:
        if target.name:
            yield target, class_shares(sums[:, sums[0] > 0])


def telling_columns(
    tree: Tree, encoded: EncodedTable
) -> Iterable[tuple[ClassTarget, NDArray[np.float64], NDArray[np.bool_]]]:
    """Return each categorical sensitive column with the shares, in every node, of the classes of which somebody learns
    something, (m, c'), by persons, and whether it has any of them (m,): where it has none, it has nothing to tell."""
    persons = tree.persons
    for target, sums in [(encoded.target, persons.sums), *zip(encoded.others, persons.others, strict=True)]:
        if target.name:
            telling = sums[:, target.tells]
            yield target, class_shares(telling), telling.sum(axis=1) > 0


def distances(shares: NDArray[np.float64], ordered: bool) -> NDArray[np.float64]:
    """Return the earth mover's distance of each node's class shares (m, c) from the root's -> (m,), 0 to 1.

    Li, Li and Venkatasubramanian 2007: between ranks for ordered classes, all equally far apart otherwise.
    """
    differences = shares - shares[0]
    if ordered and shares.shape[1] > 1:
        return np.asarray(np.abs(np.cumsum(differences, axis=1)).sum(axis=1) / (shares.shape[1] - 1))
    return np.asarray(np.abs(differences).sum(axis=1) / 2)
