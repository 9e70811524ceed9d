"""The maximum-entropy program of a published tree, with as few unknowns as are exact, for an interior-point solver.

Keys of one leaf that every active constraint treats alike share one distribution: the constraints see only their
sum, and entropy is concave. Leaves whose distribution is known already leave the program. The shares of the groups
that internal constraints compare are unknowns of their own, tied by equations, so that the Hessian is diagonal.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.constraints import Candidate, Knowledge
from anonymizer.disclosure.multiway import Floats, split_information
from anonymizer.disclosure.outline import KeyedTree
from anonymizer.errors import ParameterError
from anonymizer.version import how_to_install

Tick = Callable[[int], bool]
"""Called at every iteration; returns ``True`` to stop."""

TINY = 1e-13
"""Added inside logarithms, so that a share that underflows harms nothing; an entropy changes by at most as much."""

CONVERGED = ("Solve_Succeeded", "Solved_To_Acceptable_Level")


@dataclass(frozen=True, eq=False)
class Cells:
    """The free unknowns: k cells. ``of_key`` (d,) the cell of each key, -1 when its leaf is known already.

    ``weight`` (k,) records; ``leaf`` (k,) the node; ``example`` (k,) one of its keys.
    """

    of_key: NDArray[np.int64]
    weight: Floats
    leaf: NDArray[np.int64]
    example: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of one run of the solver: an estimate (d, c), its status, iterations, and numbers of unknowns."""

    posterior: Floats
    status: str
    iterations: int
    variables: int

    @property
    def converged(self) -> bool:
        """``True`` where the solver says that it reached an optimum."""
        return self.status in CONVERGED


def cells_of(tree: KeyedTree, knowledge: Knowledge, active: Sequence[Candidate]) -> Cells:
    """Return which keys share an unknown, and which need none.

    A leaf is known already when it is pure and its rate is public, or when nothing but its own constraints reaches it:
    it stands under no active node, and totals are not public.
    """
    free = np.full(tree.n_keys, knowledge.totals)
    signature = tree.leaf_of_key.copy()
    for candidate in active:
        run = slice(int(tree.first[candidate.node]), int(tree.last[candidate.node]))
        free[run] = True
        side = candidate.group[tree.keys.codes[run, candidate.column]]
        pairs = signature[run] * (int(side.max(initial=0)) + 1) + side
        signature[run] = np.unique(pairs, return_inverse=True)[1] + signature.max() + 1
    if knowledge.rates:
        free &= tree.error[tree.leaf_of_key] > 0
        if tree.n_classes == 2:  # the rate is then all there is to know of a leaf that is not divided
            free &= in_split_leaf(tree.leaf_of_key, signature)
    of_key = np.full(tree.n_keys, -1, dtype=np.int64)
    _, example, cell = np.unique(signature[free], return_index=True, return_inverse=True)
    of_key[free] = cell
    example = np.flatnonzero(free)[example]
    weight = np.bincount(cell, weights=tree.keys.counts[free], minlength=len(example)).astype(np.float64)
    return Cells(of_key, weight, tree.leaf_of_key[example], example)


def in_split_leaf(leaf: NDArray[np.int64], signature: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (d,) whether the leaf of a key holds more than one signature. The keys of a leaf are a run."""
    starts = np.flatnonzero(np.diff(leaf, prepend=-1))
    several = np.minimum.reduceat(signature, starts) < np.maximum.reduceat(signature, starts)
    return np.asarray(np.repeat(several, np.diff(np.append(starts, len(leaf)))))


class _Builder:
    """Rows of sparse linear equations, collected one by one."""

    def __init__(self) -> None:
        self.rows: list[NDArray[np.int64]] = []
        self.columns: list[NDArray[np.int64]] = []
        self.values: list[Floats] = []
        self.low: list[Floats] = []
        self.high: list[Floats] = []
        self.size = 0

    def add(self, columns: NDArray[np.int64], values: Floats, low: Floats, high: Floats) -> None:
        """Add r rows: ``columns`` and ``values`` (r, w), bounds (r,)."""
        r, w = columns.shape
        self.rows.append(np.repeat(np.arange(self.size, self.size + r), w))
        self.columns.append(columns.ravel())
        self.values.append(values.ravel())
        self.low.append(low)
        self.high.append(high)
        self.size += r

    def matrix(self, width: int) -> Any:
        """Return all rows as one sparse matrix."""
        from scipy import sparse

        if not self.size:
            return sparse.csc_matrix((0, width))
        entries = (np.concatenate(self.values), (np.concatenate(self.rows), np.concatenate(self.columns)))
        return sparse.csc_matrix(entries, shape=(self.size, width))


@dataclass(frozen=True, eq=False)
class Program:
    """Maximize Σ w · H(p) subject to linear rows and to internal rows, which are linear in the groups' impurities.

    Unknowns: the k · c shares p of the cells, then the shares u of the groups. ``linear`` (r, v) with ``low`` and
    ``high`` (r,); ``internal`` (a, v_u): coefficients of the impurity terms of u, each row at least minus ``constant``.
    ``fixed`` (d, c): the estimate where it is known already.
    """

    tree: KeyedTree
    knowledge: Knowledge
    cells: Cells
    fixed: Floats
    linear: Any
    low: Floats
    high: Floats
    internal: Any
    constant: Floats
    upper: Floats
    lower: Floats

    @property
    def n_free(self) -> int:
        """Unknowns that are shares of cells: k · c."""
        return len(self.cells.weight) * self.tree.n_classes

    @property
    def variables(self) -> int:
        """All unknowns, the groups' included."""
        return int(self.linear.shape[1])


def terms(shares: Floats, measure: str) -> Floats:
    """Return the part of each share in an impurity: −p² for gini (1 is added for the group), −p ln p for entropy."""
    if measure == "gini":
        return np.asarray(-shares * shares)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-shares * logs)


def build(tree: KeyedTree, knowledge: Knowledge, fixed: Floats, active: Sequence[Candidate]) -> Program:
    """Return the program. ``fixed`` (d, c): the estimate of the leaves that are not in it."""
    cells = cells_of(tree, knowledge, active)
    k, c = len(cells.weight), tree.n_classes
    rows = _Builder()
    lower, upper = np.zeros(k * c), np.ones(k * c)
    unknown = np.arange(k * c).reshape(k, c)
    rows.add(unknown, np.ones((k, c)), np.ones(k), np.ones(k))  # QI
    add_leaves(tree, knowledge, cells, rows, lower, upper)
    constants = fixed * tree.keys.counts[:, None]
    constants[cells.of_key >= 0] = 0.0
    if knowledge.totals and k:
        left = tree.sums[0] - constants.sum(axis=0)
        weights = np.repeat(cells.weight[None, :] / tree.n_records, c - 1, axis=0)
        bounds = left[: c - 1] / tree.n_records  # the last total follows from the others
        rows.add(unknown.T[: c - 1], weights, bounds, bounds)
    internal, constant, n_groups = add_groups(tree, knowledge, cells, rows, constants, active)
    width = k * c + n_groups * c
    return Program(
        tree=tree,
        knowledge=knowledge,
        cells=cells,
        fixed=fixed,
        linear=rows.matrix(width),
        low=np.concatenate(rows.low),
        high=np.concatenate(rows.high),
        internal=internal,
        constant=constant,
        lower=np.concatenate([lower, np.zeros(n_groups * c)]),
        upper=np.concatenate([upper, np.ones(n_groups * c)]),
    )


def add_leaves(
    tree: KeyedTree, knowledge: Knowledge, cells: Cells, rows: _Builder, lower: Floats, upper: Floats
) -> None:
    """Add the rate and label constraints of each leaf that has unknowns (Z10, 4.1); implied ones are left out."""
    c = tree.n_classes
    order = np.argsort(cells.leaf, kind="stable")
    leaves, starts = np.unique(cells.leaf[order], return_index=True)
    for leaf, group in zip(leaves.tolist(), np.split(order, starts[1:]), strict=True):
        n, label = float(tree.n[leaf]), int(tree.label[leaf])
        shares = cells.weight[group] / n
        right = float(tree.correct[leaf]) / n
        if knowledge.rates:
            if len(group) == 1:
                lower[group[0] * c + label] = upper[group[0] * c + label] = right
            else:
                at = np.array([right])
                rows.add((group * c + label)[None, :], shares[None, :], at, at)
            if c == 2 or 1 - right <= right:
                continue
        others = np.array([x for x in range(c) if x != label])
        wrong = group[None, :] * c + others[:, None]
        if knowledge.rates:
            rows.add(wrong, np.tile(shares, (c - 1, 1)), np.full(c - 1, -np.inf), np.full(c - 1, right))
        else:
            own = np.tile(group * c + label, (c - 1, 1))
            columns, values = np.hstack([wrong, own]), np.tile(np.concatenate([shares, -shares]), (c - 1, 1))
            rows.add(columns, values, np.full(c - 1, -np.inf), np.zeros(c - 1))


def add_groups(
    tree: KeyedTree,
    knowledge: Knowledge,
    cells: Cells,
    rows: _Builder,
    constants: Floats,
    active: Sequence[Candidate],
) -> tuple[Any, Floats, int]:
    """Add the equations of the groups that internal constraints compare; return coefficients, constants and number.

    A constraint says (Z10 (3)): Σ over the candidate's groups of share · impurity >= the same over the children.
    """
    rule = knowledge.rule
    from scipy import sparse

    k, c = len(cells.weight), tree.n_classes
    index: dict[tuple[Any, ...], int] = {}
    entries: list[tuple[int, int, float]] = []
    constant = np.zeros(len(active))

    def enter(a: int, name: tuple[Any, ...], members: NDArray[np.int64], coefficient: float) -> None:
        """Let constraint a count the impurity of these keys, known already or a group of unknowns."""
        assert rule is not None
        n = float(tree.keys.counts[members].sum())
        cell = cells.of_key[members]
        rest = constants[members].sum(axis=0) / n
        constant[a] += coefficient * (rule.measure == "gini")
        if not (cell >= 0).any():
            constant[a] += coefficient * float(terms(rest, rule.measure).sum())
            return
        if name not in index:
            index[name] = len(index)
            distinct, where = np.unique(cell[cell >= 0], return_inverse=True)
            mass = np.bincount(where, weights=tree.keys.counts[members[cell >= 0]], minlength=len(distinct)) / n
            classes = np.arange(c)[:, None]
            own = k * c + index[name] * c + classes
            columns = np.hstack([distinct[None, :] * c + classes, own])
            values = np.hstack([np.tile(mass, (c, 1)), -np.ones((c, 1))])
            rows.add(columns, values, -rest, -rest)
        entries.append((a, index[name], coefficient))

    for a, candidate in enumerate(active):
        assert rule is not None
        node = candidate.node
        members = np.arange(tree.first[node], tree.last[node])
        n = float(tree.n[node])
        children = [child for child in tree.outline.children[node] if tree.n[child]]
        side = candidate.group[tree.keys.codes[members, candidate.column]]
        parts = [members[side == s] for s in np.unique(side)]
        scale_own = scale_rival = 1.0
        if rule.measure == "gain-ratio":
            scale_own = 1 / split_information(tree.n[children].astype(np.float64))
            scale_rival = 1 / split_information(np.array([float(tree.keys.counts[part].sum()) for part in parts]))
            enter(a, (node,), members, scale_own - scale_rival)
        for child in children:
            run = np.arange(tree.first[child], tree.last[child])
            enter(a, (child,), run, -scale_own * float(tree.n[child]) / n)
        for s, part in enumerate(parts):
            enter(a, (*candidate.name, s), part, scale_rival * float(tree.keys.counts[part].sum()) / n)
    constraint, group, coefficient = zip(*entries, strict=True) if entries else ((), (), ())
    coefficients = sparse.csr_matrix((coefficient, (constraint, group)), shape=(len(active), len(index)))
    return sparse.kron(coefficients, np.ones((1, c)), format="csc"), constant, len(index)


def solve(program: Program, start: Floats, tick: Tick | None = None, max_iterations: int = 1000) -> Solution:
    """Return what IPOPT reaches from a start (d, c). The outcome's rows are distributions whatever the status says.

    Raises :class:`ParameterError` where the solver is not installed.
    """
    cells, tree, c = program.cells, program.tree, program.tree.n_classes
    if not len(cells.weight):
        return Solution(program.fixed, "Solve_Succeeded", 0, 0)
    casadi = import_solver()
    n_free, total = program.n_free, program.variables
    z = casadi.SX.sym("z", total)
    p, u = z[:n_free], z[n_free:]
    weights = np.repeat(cells.weight / cells.weight.sum(), c)
    objective = casadi.dot(casadi.DM(weights), p * casadi.log(p + TINY))
    rows = casadi.mtimes(casadi.DM(program.linear), z)
    low, high = program.low, program.high
    if len(program.constant):
        assert program.knowledge.rule is not None
        gini = program.knowledge.rule.measure == "gini"
        impurity = -u * u if gini else -u * casadi.log(u + TINY)
        rows = casadi.vertcat(rows, casadi.mtimes(casadi.DM(program.internal), impurity))
        low = np.concatenate([low, -program.constant])
        high = np.concatenate([high, np.full(len(program.constant), np.inf)])
    options: dict[str, Any] = {
        "print_time": False,
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "ipopt.max_iter": max_iterations,
        "ipopt.tol": 1e-8,
        "ipopt.constr_viol_tol": 1e-9,
        "ipopt.bound_relax_factor": 0.0,
        "ipopt.bound_push": 1e-6,
        "ipopt.bound_frac": 1e-6,
        "ipopt.mu_init": 1e-2,
        "ipopt.mu_strategy": "adaptive",
    }
    watcher = _watcher(total, len(low), tick) if tick else None
    if watcher is not None:
        options["iteration_callback"] = watcher
    solver = casadi.nlpsol("maximum_entropy", "ipopt", {"x": z, "f": objective, "g": rows}, options)
    first = np.clip(cell_means(cells, start, tree), 1e-9, 1.0).ravel()
    first = np.clip(first, program.lower[:n_free], program.upper[:n_free])
    groups = group_shares(program, first)
    answer = solver(
        x0=np.concatenate([first, np.clip(groups, 1e-9, 1.0)]),
        lbx=program.lower,
        ubx=program.upper,
        lbg=low,
        ubg=high,
    )
    shares = np.clip(np.asarray(answer["x"]).ravel()[:n_free].reshape(-1, c), 0.0, None)
    shares /= shares.sum(axis=1, keepdims=True)
    posterior = program.fixed.copy()
    free = cells.of_key >= 0
    posterior[free] = shares[cells.of_key[free]]
    stats = solver.stats()
    return Solution(posterior, str(stats["return_status"]), int(stats["iter_count"]), total)


def import_solver() -> Any:
    """Return the package casadi, which is no part of Copse. Raises :class:`ParameterError` where it is missing."""
    try:
        return importlib.import_module("casadi")
    except ImportError:
        raise ParameterError(
            "This estimate needs a solver that is not installed: casadi. It is not installed with Copse, because its "
            "files hold METIS 4.0, which companies may use for evaluation only.",
            remedy="Leave out how the tree was grown, or totals without error rates. Or, if these terms suit you: "
            f"python run.py solver. {how_to_install('disclosure')}",
        ) from None


def cell_means(cells: Cells, posterior: Floats, tree: KeyedTree) -> Floats:
    """Return (k, c) the mean of an estimate over the keys of each cell."""
    free = cells.of_key >= 0
    mass = posterior[free] * tree.keys.counts[free, None]
    sums = np.zeros((len(cells.weight), posterior.shape[1]))
    np.add.at(sums, cells.of_key[free], mass)
    return np.asarray(sums / cells.weight[:, None])


def group_shares(program: Program, shares: Floats) -> Floats:
    """Return the groups' shares that the linear equations give for shares of the cells."""
    n_free, n_groups = program.n_free, program.variables - program.n_free
    if not n_groups:
        return np.zeros(0)
    tail = program.linear[-n_groups:]
    return np.asarray(tail[:, :n_free] @ shares - program.low[-n_groups:])


def _watcher(n_unknowns: int, n_rows: int, tick: Tick) -> Any:
    """Return a callback for the solver that calls ``tick`` at each iteration and stops where that is ``True``."""
    casadi = import_solver()

    class Watcher(casadi.Callback):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.iteration = 0
            self.construct("watcher", {})

        def get_n_in(self) -> int:
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(casadi.nlpsol_out(i))

        def get_name_out(self, i: int) -> str:
            return "ret"

        def get_sparsity_in(self, i: int) -> Any:
            sizes = {"x": n_unknowns, "lam_x": n_unknowns, "g": n_rows, "lam_g": n_rows, "f": 1}
            size = sizes.get(casadi.nlpsol_out(i), 0)
            return casadi.Sparsity.dense(size, 1) if size else casadi.Sparsity(0, 0)

        def eval(self, _: Any) -> list[int]:
            self.iteration += 1
            return [int(tick(self.iteration))]

    return Watcher()
