"""Every guarantee of a release, computed again from the released rows alone, or beside the original.

The checker does not trust the maker: it knows cells and rows, not trees, groups or how they came about.

Rows are in one *class* when all their quasi-identifying cells are identical; missing equals missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.candidates import Original, original_of, prepare
from anonymizer.checking.consistency import Consistency, consistency
from anonymizer.checking.evidence import Check, Evidence, class_histograms, class_spread, rows_text
from anonymizer.checking.form import cells_check, file_check, records_check, sensitive_check
from anonymizer.checking.linkage import LookAlikes, classes_of, look_alikes, sizes_of
from anonymizer.checking.persons import count_persons, persons_of_rows, sample_of
from anonymizer.checking.privacy_models import MODELS
from anonymizer.checking.released import ColumnCells
from anonymizer.checking.unchanged import Unchanged, unchanged_columns
from anonymizer.errors import ParameterError, SchemaError
from anonymizer.population.sample import Population
from anonymizer.schema import Role, Schema
from anonymizer.settings import Limits
from anonymizer.settings import check as check_setting

__all__ = ["MODELS", "Check", "Evidence", "Original", "Verification", "prepare", "verify"]


@dataclass(frozen=True)
class Verification:
    """All checks of one release of so many ``rows``, for the required class size ``k``. ``left_out``: records of the
    original that are in no row, as far as that is known; ``unchanged``: what each unchanged column finds, and the last
    what all together find.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> result = an.release(table, quasi_identifying=["age", "sex"], sensitive="diagnosis", k=10)
    >>> result.verification.passed, result.verification.k
    (True, 10)
    """

    checks: tuple[Check, ...]
    k: int
    rows: int
    left_out: int = 0
    unchanged: tuple[Unchanged, ...] = ()

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else f"failed: {', '.join(check.name for check in self.failed)}"
        return f"Verification of {self.rows:,} rows for k = {self.k:,}: {len(self.checks)} checks, {verdict}"

    @property
    def passed(self) -> bool:
        """True when no check failed. A figure that was not computed does not fail, and its check says so."""
        return all(check.passed is not False for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    @property
    def k_anonymous(self) -> bool:
        """True when every class has at least k rows, of k persons where these are not the same; nothing weaker is
        called k-anonymous."""
        persons = self.get("k persons")
        return self["k-anonymity"].passed is True and (persons is None or persons.passed is True)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def get(self, name: str) -> Check | None:
        """Return the check of this name, or ``None`` when it was not made (most need the original or a sensitive
        column)."""
        return next((check for check in self.checks if check.name == name), None)

    def describe(self) -> str:
        """Return what the release is, in words, and what it does not promise."""
        sentences = [self._kind_of_release()]
        for name in ("containment", "rows left out"):
            check = self.get(name)
            if check is not None:
                sentences.append(check.sentence)
        first = ("k-anonymity", "k persons", "containment", "rows left out")
        sentences += [check.sentence for check in self.failed if check.name not in first]
        return " ".join(sentences)

    def _kind_of_release(self) -> str:
        k, persons = self.k, self.get("k persons")
        size = self["k-anonymity"].achieved or 0
        if persons is not None and self["k-anonymity"].passed:
            if self.k_anonymous:
                return (
                    f"This release is {k}-anonymous: on the quasi-identifying columns every row looks the same as rows "
                    f"of at least {(persons.achieved or 0) - 1:,.0f} other persons."
                )
            verdict = "is not" if persons.passed is False else "is not known to be"
            return f"This release {verdict} {k}-anonymous: its rows are not persons. {persons.sentence}"
        if self.k_anonymous:
            return (
                f"This release is {k}-anonymous: every row looks the same as at least {size - 1:,.0f} others on the "
                "quasi-identifying columns."
            )
        unique = self["unique rows"].achieved or 0
        sentences = [
            f"This release is not {k}-anonymous: its smallest class has {rows_text(size)}, and "
            f"{unique:,.0f} of its {self.rows:,} rows are unique."
        ]
        weaker_checks = [check for check in map(self.get, ("global (1,k)", "(k,k)")) if check is not None]
        if not weaker_checks:
            sentences.append("Whether it keeps a weaker promise can only be said with the original beside it.")
            return " ".join(sentences)
        passes = [check for check in weaker_checks if check.passed]
        sentences += [check.sentence for check in passes]
        if not passes:
            sentences.append("It was not shown to keep a weaker promise either.")
        posterior = self.get("linking posterior")
        sentences.append(f"It does not promise that a person is linked to a row with a chance of at most 1 in {k}.")
        if posterior is not None:
            sentences.append(posterior.sentence)
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "passed": self.passed,
            "k": self.k,
            "rows": self.rows,
            "left_out": self.left_out,
            "k_anonymous": self.k_anonymous,
            "description": self.describe(),
            "checks": [asdict(check) for check in self.checks],
        }


def verify(
    released: pd.DataFrame,
    schema: Schema,
    *,
    k: int,
    original: pd.DataFrame | Original | None = None,
    order: NDArray[np.integer[Any]] | None = None,
    classes: LookAlikes | None = None,
    cells: Mapping[str, ColumnCells] | None = None,
    beside: Sequence[str] | None = None,
    unjudged: str = "",
    population: Population | None = None,
    counts: NDArray[np.int64] | None = None,
    comparison: Consistency | None = None,
    whose: NDArray[np.int64] | None = None,
    suppression: float = 0.0,
    left_out: int | None = None,
    **limits: Any,
) -> Verification:
    """Check a release: a table of text cells, as :meth:`Release.frame` or a file that was read back gives it.

    ``k``: rows that a class must have. ``limits``: what else is required, by the names of
    :class:`anonymizer.settings.Limits`: ``l``, ``entropy_l``, ``t`` of every sensitive column, ``rsd_min`` and
    ``spread_min`` of every numeric one; all of them are reported in any case.
    ``original``: the table the release was made from, or what :func:`prepare` made of it once for many releases;
    without it only what the release shows is checked. ``order`` (n,): the original row of each released row, a secret
    of whoever made the release. When a release is k-anonymous and contains the original, what follows from that for
    attackers who know the original is not counted but bounded by the sizes of its classes. ``classes``: those of
    ``released`` on the quasi-identifiers (:func:`anonymizer.checking.linkage.look_alikes`), and ``cells``: of each of
    these columns (:func:`anonymizer.checking.released.read_cells`), when the caller has them. ``beside``: what the file
    holds beside its rows, when one was read (:func:`anonymizer.checking.released_file.read_file`): anything fails.
    ``unjudged``: why that cannot be said for certain.
    ``population``: what is known of it beside the sampling weights of the original; limits on risk and k-map count by
    it.
    ``counts`` (n,): how many rows each of ``released`` stands for, where equal rows were put together; ``comparison``:
    with the original, where the caller has made it, and ``whose`` (n,): the number of each row's person, -1 for
    nobody's, where rows are not persons. ``suppression``: the largest share of the records of the original
    that may be left out, 0 to 1, and ``left_out``: how many were, when that was said; all else that is required is
    required of the rows that are there.

    Cells that are none, or outside the domain, fail; the release is then not compared with the original. Raises
    :class:`ParameterError` for impossible requirements or an empty release, and :class:`SchemaError` when a
    quasi-identifier is missing.
    """
    required = Limits(k=k, **limits)
    check_setting("suppression", suppression)
    names = columns_to_compare(released, schema)
    if classes is None and cells is not None:
        classes = classes_of([(cells[name].index, len(cells[name].cells)) for name in names], len(released))
    classes = classes or look_alikes(released, names)
    classes = LookAlikes(classes.class_of, sizes_of(classes, counts))
    original = None if original is None else original_of(original, schema)
    in_order, readable = cells_check(released, schema, classes, original, cells, counts)
    lacks = 0 if original is None else max(len(original) - len(released), 0)
    about_rows: tuple[Check, ...] = ()
    if original is not None and counts is None:
        about_rows = records_check(len(released), len(original), suppression, left_out)
    if original is not None and readable:
        may_lack = lacks if about_rows and about_rows[0].passed else 0
        how = {"order": order, "classes": classes, "cells": cells, "enough": required.k, "may_lack": may_lack}
        comparison = consistency(released, original, schema, **how)
    persons = None
    if original is not None and readable:
        persons = count_persons(released, original, classes, order, cells)
    elif whose is not None:
        persons = persons_of_rows(whose, classes, counts)
    population = population or Population()
    about = required.of_population or population.tells or schema.only(Role.WEIGHT) is not None
    sample = sample_of(released, classes, schema, population, original, order) if about and readable else None
    of_row = None if persons is None else persons.of_row
    evidence = evidence_of(released, schema, required, classes, counts, of_row)
    evidence = replace(evidence, comparison=comparison, persons=persons, sample=sample, lacks=lacks)
    form = (*file_check(beside, unjudged), in_order, *about_rows, *sensitive_check(released, schema, required))
    checks = (check for model in MODELS.values() for check in model(evidence))
    absent = lacks if original is not None else left_out or 0
    return Verification((*form, *checks), required.k, int(classes.sizes.sum()), absent, evidence.unchanged)


def columns_to_compare(released: pd.DataFrame, schema: Schema) -> list[str]:
    """Return the quasi-identifiers. Raises :class:`ParameterError` for an empty release, and :class:`SchemaError` where
    there are none."""
    if not len(released):
        raise ParameterError("The release has no rows, so there is nothing to verify.", remedy="Use a release.")
    if not schema.quasi_identifying:
        raise SchemaError("No column is quasi-identifying.", remedy="Mark the columns that an attacker could know.")
    return list(schema.quasi_identifying)


def evidence_of(
    released: pd.DataFrame,
    schema: Schema,
    required: Limits,
    classes: LookAlikes,
    counts: NDArray[np.int64] | None,
    of_row: NDArray[np.int64] | None,
) -> Evidence:
    """Return what the released rows alone show. ``counts``: as of :func:`verify`; ``of_row`` (n,): whose each row is,
    where that is known."""
    class_of, sizes = classes.class_of, classes.sizes
    names = [name for name in schema.sensitive if name in released.columns]
    spreads = (class_spread(released[name], schema[name], class_of, sizes, counts) for name in names)
    return Evidence(
        released=released,
        schema=schema,
        required=required,
        class_of=class_of,
        sizes=sizes,
        histograms=tuple(
            class_histograms(released[name], schema[name], class_of, sizes, of_row, counts) for name in names
        ),
        comparison=None,
        spreads=tuple(spread for spread in spreads if spread is not None),
        counts=counts,
        unchanged=unchanged_columns(released, schema, class_of, of_row, counts),
    )
