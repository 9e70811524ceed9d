"""Cross-validated comparison of groupings and generalizers, as Y19 and L14 report it: each fold of
:mod:`anonymizer.studies.folds` is left out in turn.
"""

from collections.abc import Callable, Sequence

import numpy as np

from anonymizer.errors import Cancelled, CancelledError, ParameterError, Progress
from anonymizer.flow import Flow
from anonymizer.measuring.measures import MEASURES, ORIGINAL, Outcome
from anonymizer.releasing.generalize import check_choices
from anonymizer.settings import Settings, names_of
from anonymizer.studies.folds import Fold, Measured, folds_of

UNTOUCHED, GENERALIZED, BLENDED, FIXED = 4.3e-6, 1e-6, 2.5e-6, 0.02
"""Seconds a cell of the quasi-identifiers: to judge the original records, or a setting; to grow a blended tree. And
seconds of a setting in a fold, whatever the size of the table."""


def all_groupings() -> tuple[str, ...]:
    """Return the ways to make groups: prunings of the grown tree, the baselines, and blended trees with at least k
    records a leaf; "blend:0.2" is a blend of that weight."""
    return (*names_of("grouping"), "blend")


def evaluate(
    flow: Flow,
    *,
    folds: int = 10,
    ks: Sequence[int] = (10, 20, 30),
    groupings: Sequence[str] = (),
    generalizers: Sequence[str] = ("uniform", "pack"),
    run: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    each: Callable[[tuple[Outcome, ...]], None] | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Outcome, ...]:
    """Return every grouping with every generalizer at every k, and the original records first.

    ``flow``: the table, and the settings that all of these share: ``writing``, ``numbers``, ``weight`` of blended trees
    that do not name one, limits beside k (``significance`` for error-digression only). ``groupings``: of
    :func:`all_groupings`, by default the flow's and median Mondrian; ``generalizers``: as in a :class:`Settings`.
    ``run``: folds to run, all by default. ``sample``: only so many records, drawn at random, take part. ``seed``: of
    the sample and of the folds, which are stratified by a categorical target. ``each``: called with the outcomes of
    the folds so far, after each fold. ``progress``: called with a share from 0
    to 1 and what is done; ``cancelled``: asked before each step of a setting; if so, complete folds are returned.

    Raises :class:`ParameterError` for unknown names, impossible numbers, or a grouping that does not fit the target,
    and :class:`GuaranteeError` for a limit that the training records of a fold cannot keep.
    """
    n = len(flow.table) if sample is None else min(sample, len(flow.table))
    groupings = groupings or (flow.grouping, "median-mondrian")
    check_settings(flow.settings, groupings, generalizers, ks, folds, run, n)
    if n < len(flow.table):
        flow = flow.rows(np.sort(np.random.default_rng(seed).permutation(len(flow.table))[:n]))
    tries = [(grouping, generalizer, k) for k in ks for grouping in groupings for generalizer in generalizers]
    settings = [(ORIGINAL, "none", 1), *tries]
    figures: dict[tuple[str, str, int], list[Measured]] = {setting: [] for setting in settings}
    pairs = list(folds_of(flow.encoded, folds, seed))[:run]
    for number, (train, test) in enumerate(pairs):
        fold = Fold.of(flow, train, test, cancelled, seed)
        of_fold = []
        for place, setting in enumerate(settings):
            if progress is not None:
                share = (number * len(settings) + place) / (len(pairs) * len(settings))
                what = "the original rows" if place == 0 else f"{setting[0]}, {setting[1]}, k = {setting[2]}"
                progress(share, f"Fold {number + 1} of {len(pairs)}: {what}")
            try:
                of_fold.append(fold.measure(*setting))
            except CancelledError:
                return outcomes(figures)
        for setting, measured in zip(settings, of_fold, strict=True):
            figures[setting].append(measured)
        if each is not None:
            each(outcomes(figures))
    return outcomes(figures)


def outcomes(by_setting: dict[tuple[str, str, int], list[Measured]]) -> tuple[Outcome, ...]:
    """Return the outcome of each setting over its folds; nothing when no fold is complete."""
    return tuple(
        Outcome(
            *setting,
            measured={name: np.array([fold.figures[name] for fold in measured], dtype=float) for name in MEASURES},
            left_out=sum(fold.left_out for fold in measured),
            made=", ".join(sorted({fold.made for fold in measured} - {"", setting[1]})),
        )
        for setting, measured in by_setting.items()
        if measured
    )


def check_settings(
    settings: Settings,
    groupings: Sequence[str],
    generalizers: Sequence[str],
    ks: Sequence[int],
    folds: int,
    run: int | None,
    n: int,
) -> None:
    """Raise :class:`ParameterError` for what cannot be evaluated."""
    for grouping in groupings:
        name, _, weight = grouping.partition(":")
        if name not in all_groupings() or (weight and not (name == "blend" and is_share(weight))):
            raise ParameterError(
                f"There is no grouping {grouping!r}.",
                value=grouping,
                remedy=f"Choose among {', '.join(all_groupings())}.",
            )
    for generalizer in generalizers:
        check_choices(generalizer, settings.writing, settings.numbers)
    if not 2 <= folds <= n or (run is not None and not 1 <= run <= folds):
        raise ParameterError(
            f"{n:,} rows cannot be evaluated in {folds} folds{'' if run is None else f', of which {run} are run'}.",
            remedy="Use 2 to 10 folds.",
        )
    most = n - -(-n // folds)
    if not ks or not all(1 <= k <= most for k in ks):
        raise ParameterError(
            f"Every k must be from 1 to the {most:,} training rows of a fold.", remedy="Choose a smaller k."
        )


def expected_seconds(
    records: int,
    columns: int,
    groupings: Sequence[str],
    generalizers: Sequence[str],
    ks: Sequence[int],
    folds: int,
) -> float:
    """Return about how many seconds :func:`evaluate` takes on two cores, once compiled, from the cost of a cell
    measured on Adult."""
    trees = sum(BLENDED if grouping.startswith("blend") else 0.0 for grouping in groupings) * len(ks)
    settings = len(groupings) * len(generalizers) * len(ks)
    return folds * (records * columns * (UNTOUCHED + trees + GENERALIZED * settings) + FIXED * (settings + 1))


def is_share(text: str) -> bool:
    """Return whether a text is a number from 0 to 1."""
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
