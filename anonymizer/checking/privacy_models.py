"""The privacy models that a release is checked against: each is a function from the evidence to its checks."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.cells import ESTIMATE_SIGN
from anonymizer.checking.evidence import Check, Evidence, rows_text
from anonymizer.checking.persons import k_persons, rows_together, share_of_one
from anonymizer.schema import LEFT_OUT, Kind
from anonymizer.values import share

TOLERANCE = 1e-9
"""Computed figures may miss a required one by this much, relative, and still count as equal."""


def _at_least(achieved: float, required: float) -> bool:
    return achieved >= required - TOLERANCE * max(1.0, abs(required))


def columns(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that identifying columns are gone and no column is there that the schema does not know."""
    schema_columns = {column.name: column for column in evidence.schema.columns}
    names = [str(name) for name in evidence.released.columns]
    identifying = [name for name in names if name in schema_columns and schema_columns[name].role in LEFT_OUT]
    foreign = [name for name in names if name not in schema_columns]
    wrong = identifying + foreign
    sentences = []
    if identifying:
        sentences.append(f"The release still has identifying columns: {', '.join(identifying)}.")
    if foreign:
        sentences.append(f"The release has columns that the schema does not know: {', '.join(foreign)}.")
    sentence = " ".join(sentences) or "No identifying and no unknown column is in the release."
    return (Check("columns", 0, len(wrong), not wrong, ", ".join(wrong), sentence),)


def k_anonymity(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every class has at least k rows (Sweeney 2002)."""
    k, size = evidence.required.k, evidence.smallest
    if size >= k:
        sentence = (
            f"Every released row looks the same as at least {size - 1:,} others (smallest class: {rows_text(size)})."
        )
    else:
        small = evidence.sizes[evidence.sizes < k]
        sentence = (
            f"{rows_text(small.sum())} in {len(small):,} classes look the same as fewer than {k - 1:,} others "
            f"(smallest class: {rows_text(size)}), so this release is not {k}-anonymous."
        )
    return (Check("k-anonymity", k, size, size >= k, evidence.where(int(np.argmin(evidence.sizes))), sentence),)


def unique_rows(evidence: Evidence) -> tuple[Check, ...]:
    """Return the number of rows that are alone in their class."""
    alone = np.flatnonzero(evidence.sizes == 1)
    if not len(alone):
        return (Check("unique rows", None, 0, None, "", "No released row is unique."),)
    sentence = f"{rows_text(len(alone))} of the release ({share(len(alone) / evidence.rows)}) without any look-alike."
    return (Check("unique rows", None, len(alone), None, evidence.where(int(alone[0])), sentence),)


def columns_as_they_are(evidence: Evidence) -> tuple[Check, ...]:
    """Return the number of rows that somebody finds who knows all unchanged columns of a person, beside the box."""
    if not evidence.unchanged:
        return ()
    together, n = evidence.unchanged[-1], evidence.rows
    names = together.columns
    which = "the unchanged column" if len(names) == 1 else f"the {len(names):,} unchanged columns"
    which += f" ({', '.join(names[:5])}{' …' if len(names) > 5 else ''})"
    finds = f"{share(together.alone / n)} of the rows, and {share(together.beside / n)} beside the box"
    sentence = f"Somebody who knows {which} finds {finds}."
    if not together.beside:
        sentence = f"No row is unique on {which}."
    return (Check("columns as they are", None, together.beside, None, "", sentence),)


def distinct_l_diversity(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every class has at least l different sensitive values (Machanavajjhala et al. 2007)."""
    checks = []
    for histograms in evidence.histograms:
        if not histograms.tells_anything:
            checks.append(nothing_to_tell("distinct l-diversity", histograms.column, evidence.required.l))
            continue
        distinct = histograms.distinct()
        worst = int(np.argmin(distinct))
        achieved = int(distinct[worst])
        values = "1 value" if achieved == 1 else f"{achieved:,} different values"
        sentence = f"Every class holds at least {values} of {histograms.column}."
        passed = None if evidence.required.l is None else _at_least(achieved, evidence.required.l)
        if passed is False:
            sentence = f"A class holds only {values} of {histograms.column}; {evidence.required.l:g} were required."
        name = f"distinct l-diversity of {histograms.column}"
        checks.append(Check(name, evidence.required.l, achieved, passed, evidence.where(worst), sentence))
    return tuple(checks)


def nothing_to_tell(name: str, column: str, required: float | None) -> Check:
    """Return the check of a column in which nobody has a value of which somebody learns something."""
    sentence = f"Nobody has a value of {column} of which somebody learns something."
    return Check(f"{name} of {column}", required, None, None if required is None else True, "", sentence)


def entropy_l_diversity(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that the entropy of the sensitive values of every class is at least log l (Machanavajjhala et
    al. 2007)."""
    checks = []
    for histograms in evidence.histograms:
        if not histograms.tells_anything:
            checks.append(nothing_to_tell("entropy l-diversity", histograms.column, evidence.required.entropy_l))
            continue
        effective = histograms.effective()
        worst = int(np.argmin(effective))
        achieved = float(effective[worst])
        sentence = (
            f"In every class the values of {histograms.column} are at least as mixed as {achieved:.2f} equally "
            "frequent ones."
        )
        passed = None if evidence.required.entropy_l is None else _at_least(achieved, evidence.required.entropy_l)
        if passed is False:
            sentence = (
                f"In a class the values of {histograms.column} are only as mixed as {achieved:.2f} equally frequent "
                f"ones; {evidence.required.entropy_l:g} were required."
            )
        name = f"entropy l-diversity of {histograms.column}"
        checks.append(Check(name, evidence.required.entropy_l, achieved, passed, evidence.where(worst), sentence))
    return tuple(checks)


def t_closeness(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that the sensitive values of every class are distributed almost as in the whole table (Li et al.
    2007)."""
    checks = []
    for histograms in evidence.histograms:
        distances = histograms.distances()
        worst = int(np.argmax(distances))
        achieved = float(distances[worst])
        measure = "ordered" if histograms.ordered else "equal"
        last = ", where missing is the greatest" if histograms.ordered and histograms.misses else ""
        sentence = (
            f"No class's distribution of {histograms.column} is further than {achieved:.3f} from the whole table's "
            f"({measure} distance{last}, 0 to 1)."
        )
        passed = None if evidence.required.t is None else _at_least(-achieved, -evidence.required.t)
        if passed is False:
            sentence = (
                f"A class's distribution of {histograms.column} is {achieved:.3f} away from the whole table's "
                f"({measure} distance{last}, 0 to 1); at most {evidence.required.t:g} was allowed."
            )
        name = f"t-closeness of {histograms.column}"
        checks.append(Check(name, evidence.required.t, achieved, passed, evidence.where(worst), sentence))
    return tuple(checks)


def rsd(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that no class leaves too little squared error to who guesses a number by the class's mean."""
    what = "of the squared error that the table's mean leaves there"
    return tuple(
        _value_disclosure(evidence, "RSD", s.column, s.rsd, evidence.required.rsd_min, what) for s in evidence.spreads
    )


def spread(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that no class holds the numeric sensitive values of its people too close together."""
    what = "of the whole table's standard deviation"
    return tuple(
        _value_disclosure(evidence, "spread", s.column, s.spread, evidence.required.spread_min, what)
        for s in evidence.spreads
    )


def _value_disclosure(
    evidence: Evidence, name: str, column: str, values: NDArray[np.float64], required: float | None, what: str
) -> Check:
    """Return the check of the class that leaves least of one numeric sensitive column; ``values``: a figure a class."""
    worst = int(np.argmin(values))
    achieved = float(values[worst])
    passed = None if required is None else _at_least(achieved, required)
    says = f"A class leaves at least {achieved:.1%} {what} of {column}"
    if required is not None and not passed:
        says = f"A class leaves only {achieved:.1%} {what} for {column}; {required:.1%} was required"
    return Check(f"{name} of {column}", required, achieved, passed, evidence.where(worst), f"{says} ({name}).")


def record_risk(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check of the highest chance that a link to a row is right, by what is known of the population
    (Benedetti and Franconi 1998, where people were not counted); none where nothing is known and nothing required."""
    says = "A link to a row is right with a chance of at most {}, by the population behind it."
    achieved = None if evidence.sample is None else float(evidence.sample.risk.max())
    return _chance(evidence, "risk of a row", achieved, evidence.required.risk_max, says)


def average_risk(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check of the average chance that a link to a row is right, by what is known of the population."""
    says = "A link to a row is right with a chance of {} on average, by the population behind it."
    achieved = None if evidence.sample is None else evidence.sample.marketer
    return _chance(evidence, "average risk", achieved, evidence.required.risk_mean, says)


def _chance(
    evidence: Evidence, name: str, achieved: float | None, required: float | None, says: str
) -> tuple[Check, ...]:
    if evidence.sample is None or achieved is None:
        return () if required is None else (_unknown(name, required),)
    passed = None if required is None else _at_least(-achieved, -required)
    sentence = f"{says.format(f'{achieved:.3g}')} (Known of it: {evidence.sample.source}.)"
    if passed is False:
        sentence = f"{says.format(f'{achieved:.3g}')} At most {required:.3g} was allowed."
    return (Check(name, required, achieved, passed, "", sentence),)


def k_map(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that at least so many people of the population fit the cells of every row."""
    sample, required = evidence.sample, evidence.required.k_map
    if sample is None:
        return () if required is None else (_unknown("k-map", required),)
    if sample.k_map is None:
        text = "k-map was not computed: people of the population were not counted, only estimated."
        return () if required is None else (Check("k-map", required, None, False, "", text),)
    passed = None if required is None else sample.k_map >= required
    sentence = f"At least {sample.k_map:,} people of the population fit the cells of every row."
    if passed is False:
        sentence = f"A row fits only {sample.k_map:,} people of the population; {required:,} were required."
    return (Check("k-map", required, sample.k_map, passed, "", sentence),)


def _unknown(name: str, required: float) -> Check:
    text = f"{name.capitalize()} was not computed: that needs the original, the order of its rows, and the population."
    return Check(name, required, None, None, "", text)


def homogeneity(evidence: Evidence) -> tuple[Check, ...]:
    """Return how many rows' class has one sensitive value only: it is disclosed without linking anybody to a row."""
    checks = []
    for histograms in evidence.histograms:
        single = histograms.of_one_value()
        rows = int(evidence.sizes[single].sum())
        largest = evidence.where(int(single[np.argmax(evidence.sizes[single])])) if len(single) else ""
        where = "1 class" if len(single) == 1 else f"{len(single):,} classes"
        sentence = (
            f"{rows:,} rows ({share(rows / evidence.rows)}) are in {where} where all have the same {histograms.column}."
            if rows
            else f"No class gives away {histograms.column} by having one value only."
        )
        checks.append(Check(f"homogeneity of {histograms.column}", None, rows, None, largest, sentence))
    return tuple(checks)


CONTAINED = "Every released cell covers the original value; unchanged columns are exact."
CONTAINED_BUT = CONTAINED.replace("cell", "cell but the means and medians", 1)
"""What is said where every cell fits, and where some need not."""


def containment(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that people can be assigned to rows one to one so that all cells contain their values and kept
    columns agree.

    Means and medians contain nobody's value, which is said even without an original.
    """
    comparison, estimate_checks = evidence.comparison, estimates(evidence)
    if comparison is None:
        return estimate_checks
    worst = ""
    if comparison.contained:
        sentence = CONTAINED_BUT if estimate_checks else CONTAINED
    elif comparison.contained is None:
        sentence = f"Whether every cell contains its original value was not computed: {comparison.reason}."
    else:
        sentence = f"The release does not fit the original: {comparison.mismatch}."
        if comparison.misfit is not None:
            worst = f"row {comparison.misfit + 1}: {evidence.cells_of(comparison.misfit)}"
    return (*estimate_checks, Check("containment", None, None, comparison.contained, worst, sentence))


def estimates(evidence: Evidence) -> tuple[Check, ...]:
    """Return which columns hold means or medians: cells that need not contain anybody's value."""
    names = [
        name
        for name in evidence.schema.quasi_identifying
        if evidence.schema[name].kind is not Kind.CATEGORICAL and _has_estimates(evidence.released[name])
    ]
    if not names:
        return ()
    sentence = (
        f"Cells of {', '.join(names)} marked {ESTIMATE_SIGN} are a mean or median of a group. They need not contain "
        "their person's value, so a comparison with the original says nothing about them: it lets them fit everybody. "
        "An attacker who knows how they were made, or knows most of a group, can learn more from them."
    )
    return (Check("means and medians", None, len(names), None, ", ".join(names), sentence),)


def _has_estimates(cells: "pd.Series[Any]") -> bool:
    """Return True when any of the cells of a column is a mean or median."""

    def any_of(texts: Iterable[Any]) -> bool:
        return any(str(text).startswith((ESTIMATE_SIGN, "{" + ESTIMATE_SIGN)) for text in texts)

    if isinstance(cells.dtype, pd.CategoricalDtype) and not any_of(cells.cat.categories):
        return False
    return any_of(cells.unique())


def _count_check(
    evidence: Evidence, name: str, counts: NDArray[np.int64] | None, of_rows: bool, promise: str, failure: str
) -> tuple[Check, ...]:
    """Return a check that the smallest of some counts is at least k. ``of_rows``: the counts belong to released rows.

    When the counts were not computed but every cell contains its value, classes are a lower bound: the people of
    a class and its rows all fit each other and can be exchanged.
    """
    if evidence.schema.person is not None:  # what fits are records, several of a person
        promise, failure = (text.replace("people", "rows").replace("person", "row") for text in (promise, failure))
    comparison, k = evidence.comparison, evidence.required.k
    if comparison is None:
        return ()
    if evidence.lacks > 0:
        promise = promise.replace("very person", "very person who was not left out")
    if counts is not None:
        achieved, worst = int(counts.min()), ""
        if of_rows:
            worst = evidence.cells_of(int(np.argmin(counts)))
        passed = achieved >= k
        sentence = (promise if passed else failure).format(achieved=f"{achieved:,}", k=k)
        return (Check(name, k, achieved, passed, worst, sentence),)
    if comparison.contained and evidence.smallest >= k:
        sentence = promise.format(achieved=f"{evidence.smallest:,}", k=k)
        sentence += " (A lower bound, by the size of the classes.)"
        return (Check(name, k, evidence.smallest, True, "", sentence),)
    if comparison.contained is False:
        return (Check(name, k, None, False, "", f"{name} does not hold: {comparison.reason}."),)
    return (Check(name, k, None, None, "", f"{name} was not computed: {comparison.reason}."),)


def one_k(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every person is consistent with at least k rows (Gionis, Mazza and Tassa 2008)."""
    counts = None if evidence.comparison is None else evidence.comparison.rows_per_record
    return _count_check(
        evidence,
        "(1,k)",
        counts,
        False,
        "Every person fits at least {achieved} released rows.",
        "Some person fits only {achieved} released rows; {k} were required.",
    )


def k_one(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every row is consistent with at least k people (Gionis, Mazza and Tassa 2008)."""
    counts = None if evidence.comparison is None else evidence.comparison.records_per_row
    return _count_check(
        evidence,
        "(k,1)",
        counts,
        True,
        "Every released row fits at least {achieved} people.",
        "Some released row fits only {achieved} people; {k} were required.",
    )


def k_k(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check of both (1,k) and (k,1) (Gionis, Mazza and Tassa 2008)."""
    comparison = evidence.comparison
    counts = None
    if comparison is not None and comparison.rows_per_record is not None and comparison.records_per_row is not None:
        counts = np.array([comparison.rows_per_record.min(), comparison.records_per_row.min()])
    return _count_check(
        evidence,
        "(k,k)",
        counts,
        False,
        "It is ({k},{k})-anonymous: every person fits at least {k} rows, and every row at least {k} people (at least "
        "{achieved}).",
        "It is not ({k},{k})-anonymous: a person or a row fits only {achieved} of the others.",
    )


def global_one_k(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every person takes at least k rows over all complete assignments (Gionis, Mazza and Tassa
    2008)."""
    counts = None if evidence.comparison is None else evidence.comparison.matches_per_record
    return _count_check(
        evidence,
        "global (1,k)",
        counts,
        False,
        "It is globally (1,{k})-anonymous: with all people assigned to rows at once, everybody fits at least "
        "{achieved} rows.",
        "It is not globally (1,{k})-anonymous: with all people assigned to rows at once, somebody fits only "
        "{achieved} rows.",
    )


def linking_posterior(evidence: Evidence) -> tuple[Check, ...]:
    """Return the highest chance of a right link for an attacker who knows everybody's quasi-identifiers."""
    comparison = evidence.comparison
    if comparison is None:
        return ()
    name = "linking posterior"
    persons, whose = evidence.persons, evidence.schema.person
    if comparison.posterior is None:
        if comparison.contained:
            bound, why = 1 / evidence.smallest, "Rows of a class can be exchanged"
            if whose is not None:
                if persons is None or persons.linking is None:
                    reason = "whose the rows are is not known"
                    if persons is not None and persons.of_row is not None:
                        reason = "rows of a person may fit rows of others, which were not compared"
                    return (Check(name, None, None, None, "", f"The linking posterior was not computed: {reason}."),)
                bound = persons.linking
                why += ". At most as many of them are a person's as that person has rows that may be there"
            chance = f"a link to a row is right with a chance of at most {bound:.3g}"
            sentence = f"For somebody who knows all quasi-identifiers, {chance}. {why}."
            if comparison.reason:
                sentence += f" Whether it is less was not computed: {comparison.reason}."
            return (Check(name, None, bound, None, "", sentence),)
        return (Check(name, None, None, None, "", f"The linking posterior was not computed: {comparison.reason}."),)
    how = "" if comparison.posterior.exact else " (an estimate by belief propagation; the true figure can differ)"
    if comparison.posterior.residual > 0.005:
        how += f", which had not settled yet: it still changed by {comparison.posterior.residual:.2g}"
    link = "a person" if whose is None else "one row of a person"
    sentence = (
        f"The highest chance of linking {link} to a row, for somebody who knows all quasi-identifiers, is "
        f"{comparison.posterior.highest:.3g}{how}."
    )
    worst = evidence.cells_of(comparison.posterior.at_row)
    return (Check(name, None, comparison.posterior.highest, None, worst, sentence),)


MODELS: dict[str, Callable[[Evidence], tuple[Check, ...]]] = {
    "columns": columns,
    "k-anonymity": k_anonymity,
    "k persons": k_persons,
    "share of one person": share_of_one,
    "rows together": rows_together,
    "unique rows": unique_rows,
    "columns as they are": columns_as_they_are,
    "distinct l-diversity": distinct_l_diversity,
    "entropy l-diversity": entropy_l_diversity,
    "t-closeness": t_closeness,
    "RSD": rsd,
    "spread": spread,
    "risk of a row": record_risk,
    "average risk": average_risk,
    "k-map": k_map,
    "homogeneity": homogeneity,
    "containment": containment,
    "(1,k)": one_k,
    "(k,1)": k_one,
    "(k,k)": k_k,
    "global (1,k)": global_one_k,
    "linking posterior": linking_posterior,
}
"""Privacy models: each looks at the evidence and gives its checks (none when it has nothing to look at)."""
OURS = frozenset(MODELS)
"""The names of those that come with this package: all others are extensions."""
