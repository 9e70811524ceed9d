"""What a node tells about numeric sensitive values: squared error, digression, the covariance test, spread.

From sums of moments alone. Tags: L09, L14, both Li and Sarkar. r responses, m nodes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonymizer.growing.target import NumericTarget, means, scatter
from anonymizer.growing.tree import Tree

Floats = NDArray[np.float64]

SINGULAR = 1e-12
"""A determinant below this, relative to the product of its diagonal, counts as 0."""


@dataclass(frozen=True, eq=False)
class NumericRisk:
    """One entry a node, (m,), over the r numeric sensitive columns ``names``, each scaled to [0, 1].

    ``sse``: e(t), squared error around the node's means. ``digression``: Δ(t) = det(S − S(t)), L09 (3): how far the
    node's scatter falls short of the whole file's; 0 at the root, large is risky. ``branch_sse``,
    ``branch_digression``: sums over the branch's leaves. ``error_digression``: q_t, (8) = (e(t) − e(B_t)) /
    (Δ(B_t) − Δ(t)): error added for each unit of digression removed; NaN at leaves. ``statistic`` L_t and
    ``p_value`` of the covariance test, (9): whether the node's covariance could be the whole file's; NaN when the
    file's own is singular. ``p_adjusted``: with Bartlett's factor.

    Of each column (m, r): ``mean`` in its own unit; ``rsd``, Σ(y − ȳ_t)² / Σ(y − Ȳ)² over the node's records, (10):
    how little closer the node's mean brings an attacker than the file's, 0 is full disclosure; ``spread``: the node's
    standard deviation as a share of the file's. ``dates``: which of ``names`` are dates, their means in µs since 1970;
    ``titles``: what they are called where there is room.
    """

    names: tuple[str, ...]
    titles: tuple[str, ...]
    sse: Floats
    digression: Floats
    branch_sse: Floats
    branch_digression: Floats
    error_digression: Floats
    statistic: Floats
    p_value: Floats
    p_adjusted: Floats
    mean: Floats
    rsd: Floats
    spread: Floats
    dates: frozenset[str] = frozenset()

    def p_in(self, form: str) -> Floats:
        """Return the p-values (m,) in a form of the test: printed or adjusted."""
        return self.p_adjusted if form == "adjusted" else self.p_value


def annotate_numbers(tree: Tree, target: NumericTarget) -> NumericRisk:
    """Return the risk of every node on the numeric sensitive columns."""
    from anonymizer import kernels

    moments = tree.moments
    within = scatter(moments)
    error = np.trace(within, axis1=1, axis2=2)
    digressions = digression(within)
    branch = np.where(tree.is_leaf[:, None], np.stack([error, digressions], axis=1), 0.0)
    kernels.add_up(tree.parent, branch)
    r = target.n_responses
    diagonal = np.arange(r)
    own = within[:, diagonal, diagonal]
    squares = moments[:, [r + (a + 1) * (a + 2) // 2 for a in range(r)]]
    variance, whole = own / moments[:, :1], own[0] / moments[0, 0]
    return NumericRisk(
        names=target.names,
        titles=target.titles,
        sse=error,
        digression=digressions,
        branch_sse=branch[:, 0],
        branch_digression=branch[:, 1],
        error_digression=np.where(
            tree.is_leaf, np.nan, error_digression_ratio(error - branch[:, 0], branch[:, 1] - digressions)
        ),
        statistic=covariance_statistic(within, tree.n),
        p_value=covariance_test(within, tree.n),
        p_adjusted=covariance_test(within, tree.n, bartlett=True),
        mean=target.low + target.width * (means(moments) + target.centre),
        rsd=np.minimum(1.0, np.divide(own, squares, out=np.ones_like(own), where=squares > SINGULAR)),
        spread=np.sqrt(np.divide(variance, whole, out=np.ones_like(variance), where=whole > 0)),
        dates=target.dates,
    )


def digression(within: Floats) -> Floats:
    """Return Δ(t) = det(S − S(t)), L09 (3), with rounding noise clamped to 0. ``within`` (m, r, r), the root first ->
    (m,)."""
    between = within[0] - within
    determinants = np.linalg.det(between)
    size = np.prod(np.abs(np.diagonal(between, axis1=1, axis2=2)), axis=1)
    return np.where(determinants > SINGULAR * size, determinants, 0.0)


def error_digression_ratio(error_added: Floats, digression_removed: Floats) -> Floats:
    """Return q, L09 (8), shapes (m,): +inf where only error is added, 0 where nothing changes."""
    error_added, digression_removed = np.maximum(error_added, 0.0), np.maximum(digression_removed, 0.0)
    free = np.where(error_added > 0, np.inf, 0.0)
    return np.asarray(np.divide(error_added, digression_removed, out=free, where=digression_removed > 0))


def covariance_test(within: Floats, n: NDArray[np.integer], bartlett: bool = False) -> Floats:
    """Return the p-value of each node's covariance against the whole file's, L09 (9). ``within`` (m, r, r) scatter ->
    (m,).

    The statistic is compared with χ² of r (r + 1) / 2 degrees; ``bartlett`` shrinks it by
    1 − (2r + 1 − 2 / (r + 1)) / (6 (n_t − 1)). A singular node covariance has p = 0.
    """
    from scipy.special import chdtrc

    r, statistic = within.shape[1], covariance_statistic(within, n)
    flat = np.isposinf(statistic)
    finite = np.where(flat, 0.0, statistic)
    if bartlett:
        finite = finite * (1 - (2 * r + 1 - 2 / (r + 1)) / (6 * np.maximum(n - 1, 1)))
    return np.where(flat, 0.0, chdtrc(r * (r + 1) / 2, np.maximum(finite, 0.0)))


def covariance_statistic(within: Floats, n: NDArray[np.integer]) -> Floats:
    """Return L_t = (n_t − 1) (ln|Σ| − ln|Σ_t| + tr(Σ_t Σ⁻¹) − r), L09 (9). ``within`` (m, r, r) scatter -> (m,).

    A singular node covariance, as always with n_t <= r, has +inf; a singular overall one has NaN everywhere: the test
    is off.
    """
    m, r = within.shape[:2]
    freedom = np.maximum(n - 1, 1)[:, None, None]
    covariance = within / freedom
    if n[0] < 2 or singular(covariance[:1])[0]:
        return np.full(m, np.nan)
    flat = singular(covariance) | (n <= r)
    safe = np.where(flat[:, None, None], covariance[0], covariance)
    sign_and_log = np.linalg.slogdet(safe)
    trace = np.trace(safe @ np.linalg.inv(covariance[0]), axis1=1, axis2=2)
    statistic = freedom[:, 0, 0] * (sign_and_log[1][0] - sign_and_log[1] + trace - r)
    return np.where(flat, np.inf, np.maximum(statistic, 0.0))


def singular(covariance: Floats) -> NDArray[np.bool_]:
    """Return (m,) True for each covariance (m, r, r) that has no inverse worth the name."""
    size = np.prod(np.diagonal(covariance, axis1=1, axis2=2), axis=1)
    return np.asarray(np.linalg.det(covariance) <= SINGULAR * size)
