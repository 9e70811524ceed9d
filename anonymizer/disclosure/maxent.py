"""The least biased estimate P(x|q) of an adversary with a published tree: maximum entropy (Z10), in three ways.

Without totals and without internal constraints there is a closed form. With totals and rates one convex program over
leaves is solved by scaling. Internal constraints make it non-convex: those that the estimate breaks are added step
by step, and an interior-point solver starts from several places. The best local optimum is reported with its
residuals, its status, the spread over the starts and the closed form as an upper bound: it may not be the global one.
"""

import time
from dataclasses import dataclass

import numpy as np

from anonymizer.disclosure.constraints import Candidate, Knowledge, Residuals, residuals, slacks
from anonymizer.disclosure.multiway import Floats, x_log_x
from anonymizer.disclosure.outline import KeyedTree
from anonymizer.disclosure.program import CONVERGED, Solution, build, solve
from anonymizer.errors import Cancelled, CancelledError, Progress, no_progress

BROKEN = 1e-7
"""An internal constraint counts as broken beyond this impurity a record."""
FEASIBLE = 1e-6
"""The largest residual with which an estimate is accepted."""
MOST_ROUNDS = 60
SWEEPS = 3000


@dataclass(frozen=True)
class Start:
    """One start of the solver: its origin, the entropy H(X|Q) reached (nats), status, iterations, worst residual."""

    origin: str
    entropy: float
    status: str
    iterations: int
    residual: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """The belief of an adversary. ``posterior`` (d, c): P(x|q) of each distinct key, in the tree's order of keys.

    ``entropy``: H(X|Q), nats; ``bound``: the same without internal constraints, an upper bound. ``method``: ``closed
    form``, ``scaling`` or ``interior point``; ``status``: the solver's word; ``converged``: ``True`` for an optimum
    that breaks nothing. ``variables``: unknowns solved for; ``active``: the internal constraints that had to be added.
    ``starts``: every start, the best first; ``seconds``.
    """

    posterior: Floats
    entropy: float
    bound: float
    method: str
    status: str
    converged: bool
    residuals: Residuals
    variables: int
    active: tuple[Candidate, ...]
    starts: tuple[Start, ...]
    rounds: int
    seconds: float

    @property
    def spread(self) -> float:
        """Difference in entropy between the best and the worst start that converged, nats."""
        reached = [start.entropy for start in self.starts if start.status in CONVERGED]
        return max(reached) - min(reached) if reached else 0.0


def conditional_entropy(tree: KeyedTree, posterior: Floats) -> float:
    """Return H(X|Q) = −Σ P(q) P(x|q) ln P(x|q), nats (Z10, section 3)."""
    return float(-(tree.keys.counts @ x_log_x(posterior).sum(axis=1)) / tree.n_records)


def maximum_entropy(
    tree: KeyedTree,
    knowledge: Knowledge,
    *,
    starts: int = 3,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Estimate:
    """Return the estimate that is consistent with what an adversary knows and supposes nothing more.

    ``starts``: where the solver starts from, when it is needed: the leaves' estimate, half-way to the truth, then at
    random from ``rng`` (by default a fixed seed, so that a result can be repeated). ``progress``: called with a share
    from 0 to 1 and what is being done; ``cancelled``: called at every iteration, ``True`` to stop. Raises
    :class:`CancelledError`.
    """
    began = time.perf_counter()
    say = progress or no_progress
    stopped = cancelled or (lambda: False)
    base, method, status, variables = without_internal(tree, knowledge, stopped)
    entropy = conditional_entropy(tree, base)
    if knowledge.rule is None or tree.outline.n_nodes == 1:
        breaks = residuals(tree, knowledge, base)
        fine = status in CONVERGED and breaks.worst <= FEASIBLE
        done = time.perf_counter() - began
        return Estimate(base, entropy, entropy, method, status, fine, breaks, variables, (), (), 0, done)
    search = Search(tree, knowledge, base, stopped, say)
    origins = first_guesses(tree, base, starts, rng or np.random.default_rng(0))
    outcomes: list[tuple[Start, Solution]] = []
    for number, (origin, guess) in enumerate(origins):
        outcomes.append(search.run(origin, guess, number / len(origins), 1 / len(origins)))
        if not search.active:  # nothing is broken: the closed form is the answer, wherever one starts
            break
    outcomes.sort(key=lambda pair: (not acceptable(pair[0]), -pair[0].entropy))
    best, outcome = outcomes[0]
    if search.active:
        method = "interior point"
        status, variables = outcome.status, outcome.variables
    done = time.perf_counter() - began
    return Estimate(
        posterior=outcome.posterior,
        entropy=best.entropy,
        bound=entropy,
        method=method,
        status=status,
        converged=acceptable(best),
        residuals=residuals(tree, knowledge, outcome.posterior),
        variables=variables,
        active=tuple(search.active),
        starts=tuple(start for start, _ in outcomes) if search.active else (),
        rounds=search.rounds,
        seconds=done,
    )


def acceptable(start: Start) -> bool:
    """Return whether a start ended at an optimum that breaks nothing."""
    return start.status in CONVERGED and start.residual <= FEASIBLE


class Search:
    """The lazy loop: solve, add what is broken, solve again. All starts share the constraints added so far."""

    def __init__(self, tree: KeyedTree, knowledge: Knowledge, base: Floats, stopped: Cancelled, say: Progress) -> None:
        self.tree, self.knowledge, self.base = tree, knowledge, base
        self.stopped, self.say = stopped, say
        self.active: list[Candidate] = []
        self.names: set[tuple[int, int, bytes]] = set()
        self.rounds = 0

    def run(self, origin: str, guess: Floats, at: float, width: float) -> tuple[Start, Solution]:
        """Return one start and its outcome, run until nothing is broken or no further constraint can be added."""
        outcome = Solution(self.base, "Solve_Succeeded", 0, 0)
        iterations = 0
        for round_ in range(MOST_ROUNDS):
            share = at + width * (1 - 0.7**round_)
            if round_ or not self.active:
                self.say(min(share, 0.99), f"Start {origin}: looking for internal constraints that are broken")
                if not self.extend(outcome.posterior):
                    break
                if round_:
                    guess = 0.7 * outcome.posterior + 0.3 * self.tree.truth
            self.rounds += 1
            self.say(min(share, 0.99), f"Start {origin}: writing down {len(self.active):,} internal constraints")
            program = build(self.tree, self.knowledge, self.base, self.active)

            def tick(iteration: int, share: float = share, unknowns: int = program.variables) -> bool:
                rules = f"{len(self.active):,} internal constraints, {unknowns:,} unknowns"
                self.say(min(share, 0.99), f"Start {origin}: {rules}, iteration {iteration}")
                return self.stopped()

            outcome = solve(program, guess, tick)
            iterations += outcome.iterations
            if self.stopped():
                raise CancelledError("The estimate was stopped before it was done.", remedy="Start it again.")
        breaks = residuals(self.tree, self.knowledge, outcome.posterior)
        entropy = conditional_entropy(self.tree, outcome.posterior)
        return Start(origin, entropy, outcome.status, iterations, breaks.worst), outcome

    def extend(self, posterior: Floats) -> bool:
        """Add the constraints that an estimate breaks, and return whether there was a new one."""
        assert self.knowledge.rule is not None
        broken = [
            candidate
            for candidate, slack in slacks(self.tree, self.knowledge.rule, posterior)
            if slack < -BROKEN and candidate.name not in self.names
        ]
        self.active += broken
        self.names |= {candidate.name for candidate in broken}
        return bool(broken)


def first_guesses(tree: KeyedTree, base: Floats, starts: int, rng: np.random.Generator) -> list[tuple[str, Floats]]:
    """Return where the solver starts from. The truth satisfies every constraint, so mixtures with it nearly do.

    That is a device of the steward's to find good optima soon; what an optimum says does not depend on the truth.
    """

    def towards_truth(guess: Floats, part: float) -> Floats:
        return np.asarray((1 - part) * guess + part * tree.truth)

    guesses = [
        ("half-way between leaves and truth", towards_truth(base, 0.5)),
        ("near the truth", towards_truth(base, 0.9)),
    ]
    for number in range(2, starts):
        noisy = base * rng.gamma(0.5, size=base.shape) + 1e-6
        noisy /= noisy.sum(axis=1, keepdims=True)
        guesses.append((f"random {number - 1}", towards_truth(noisy, 0.5)))
    return guesses[: max(starts, 1)]


def without_internal(tree: KeyedTree, knowledge: Knowledge, stopped: Cancelled) -> tuple[Floats, str, str, int]:
    """Return the estimate from leaves and totals alone (d, c), its method, its status, and its unknowns."""
    leaf = closed_form(tree, knowledge.rates)
    if not knowledge.totals:
        return leaf, "closed form", "Solve_Succeeded", 0
    if knowledge.rates:
        scaled, ok = scale_to_totals(tree)
        if ok:
            return scaled, "scaling", "Solve_Succeeded", int((tree.error[tree.outline.leaves] > 0).sum())
    program = build(tree, knowledge.without_rule(), leaf, ())
    outcome = solve(program, leaf, lambda _: stopped(), 3000)
    if stopped():
        raise CancelledError("The estimate was stopped before it was done.", remedy="Start it again.")
    return outcome.posterior, "interior point", outcome.status, outcome.variables


def closed_form(tree: KeyedTree, rates: bool) -> Floats:
    """Return the estimate in which every key of a leaf has 1 − e for its label and e / (c − 1) for each other class;
    uniform without rates. (d, c).

    Optimal by Jensen's inequality; the label constraint is implied, since the largest of c classes has at least 1/c.
    """
    c = tree.n_classes
    if not rates:
        return np.full((tree.n_keys, c), 1.0 / c)
    right = (tree.correct / np.maximum(tree.n, 1))[tree.leaf_of_key]
    shares = np.repeat(((1 - right) / (c - 1))[:, None], c, axis=1)
    shares[np.arange(tree.n_keys), tree.label[tree.leaf_of_key]] = right
    return shares


def scale_to_totals(tree: KeyedTree) -> tuple[Floats, bool]:
    """Return p = min(1 − e, a · w) for rates and totals, a of the leaf and w of the class, (d, c), and whether it fits.

    Alternates between the exact a of every leaf and the exact w of every class: coordinate ascent on the dual, which is
    concave. A boundary optimum (some w = 0) may be approached too slowly; then it does not fit.
    """
    leaves = tree.outline.leaves
    leaves = leaves[tree.n[leaves] > 0]
    n, c = tree.n[leaves].astype(np.float64), tree.n_classes
    labels, right = tree.label[leaves], tree.correct[leaves] / tree.n[leaves]
    others = np.ones((len(leaves), c))
    others[np.arange(len(leaves)), labels] = 0.0
    targets = (tree.sums[0] - np.bincount(labels, weights=tree.correct[leaves], minlength=c)).astype(np.float64)
    rest = np.maximum(n * (1 - right), 0.0)
    rest[tree.error[leaves] == 0] = 0.0
    caps = np.where(rest > 0, n * right, 0.0)
    w = np.maximum(targets, 0.0)
    masses = np.zeros((len(leaves), c))
    for sweep in range(SWEEPS):
        rates = others * n[:, None] * w[None, :]
        a = fill_levels(rates, np.repeat(caps[:, None], c, axis=1), rest)
        rates = (others * (n * a)[:, None]).T
        w = fill_levels(rates, np.repeat(caps[None, :], c, axis=0), targets)
        masses = np.minimum(caps[:, None], others * (n * a)[:, None] * w[None, :])
        if sweep % 10 == 9 and np.abs(masses.sum(axis=1) - rest).max(initial=0.0) < 1e-10 * tree.n_records:
            break
    gap = np.abs(masses.sum(axis=1) - rest).max(initial=0.0) + np.abs(masses.sum(axis=0) - targets).max(initial=0.0)
    shares = masses / n[:, None]
    shares[np.arange(len(leaves)), labels] = right
    place = np.searchsorted(leaves, tree.leaf_of_key)
    return shares[place], bool(gap <= 1e-9 * tree.n_records)


def fill_levels(rates: Floats, caps: Floats, targets: Floats) -> Floats:
    """Return each row's t with Σ min(cap, rate · t) = target: exact, by the order in which entries reach their caps.

    ``rates``, ``caps`` (r, w), ``targets`` (r,). Where even all caps do not suffice, the t at which all are reached.
    """
    active = rates > 0
    bound = np.divide(caps, rates, out=np.full_like(rates, np.inf), where=active)
    order = np.argsort(bound, axis=1, kind="stable")
    bounds = np.take_along_axis(bound, order, axis=1)
    capped = np.take_along_axis(np.where(active, caps, 0.0), order, axis=1)
    slopes = np.take_along_axis(np.where(active, rates, 0.0), order, axis=1)
    below = np.cumsum(capped, axis=1) - capped
    slope = slopes[:, ::-1].cumsum(axis=1)[:, ::-1]
    t = np.divide(targets[:, None] - below, slope, out=np.full_like(slope, np.inf), where=slope > 0)
    fits = t <= bounds * (1 + 1e-15)
    first = fits.argmax(axis=1)
    level = t[np.arange(len(t)), first]
    last = np.where(np.isfinite(bounds), bounds, 0.0).max(axis=1)
    level = np.where(fits.any(axis=1) & np.isfinite(level), level, last)
    return np.where(targets > 0, np.maximum(level, 0.0), 0.0)
