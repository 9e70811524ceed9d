"""The checks of releases in which several rows can be one person's."""

import numpy as np

from anonymizer.checking.evidence import Check, Evidence, rows_text


def k_persons(evidence: Evidence) -> tuple[Check, ...]:
    """Return the check that every class has rows of at least k different persons ((X, Y)-anonymity, Wang and Fung
    2006)."""
    name, k, persons = "k persons", evidence.required.k, evidence.persons
    if evidence.schema.person is None:
        return ()
    if persons is None or persons.in_class is None:
        why = "that takes the original" if persons is None else persons.reason
        sentence = f"Of how many different persons the rows of a class are was not counted: {why}."
        return (Check(name, k, None, None, "", sentence),)
    fewest = int(np.argmin(persons.in_class))
    achieved = int(persons.in_class[fewest])
    whatever = "" if persons.exact else ", whatever row is whose"
    if achieved >= k:
        sentence = f"Every class has rows of at least {_persons(achieved)}{whatever}."
        if persons.largest is not None:
            sentence += f" At most {persons.largest:.0%} of the rows of a class are one person's."
        return (Check(name, k, achieved, True, evidence.where(fewest), sentence),)
    if persons.exact:
        small = persons.in_class < k
        sentence = (
            f"{rows_text(evidence.sizes[small].sum())} are in {small.sum():,} classes with rows of fewer than {k} "
            f"persons; the fewest are {achieved:,}."
        )
        return (Check(name, k, achieved, False, evidence.where(fewest), sentence),)
    sentence = (
        f"The cells alone show no more than {_persons(achieved)} behind the rows of a class; {k} were required. Who "
        "made the release knows which row is whose, and can count exactly."
    )
    return (Check(name, k, achieved, None, evidence.where(fewest), sentence),)


def rows_together(evidence: Evidence) -> tuple[Check, ...]:
    """Return how many persons could be told apart by somebody who knows which rows are one person's: fewer than k
    persons fit the boxes of all their rows."""
    persons, k = evidence.persons, evidence.required.k
    if persons is None or not persons.exact:
        return ()
    name = "rows together"
    if persons.fitting is None:
        return (
            Check(
                name, None, None, None, "", f"What a person's rows tell together was not computed: {persons.reason}."
            ),
        )
    present = persons.fitting[persons.fitting > 0]
    few = int((present < k).sum())
    if not few:
        sentence = f"Even who knows which rows are one person's finds at least {k} persons that fit all of them."
        return (Check(name, None, 0, None, "", sentence),)
    sentence = (
        f"Who knows which rows are one person's finds fewer than {k} persons that fit all of them for {few:,} of "
        f"{len(present):,} persons ({few / len(present):.1%}). The release does not say which rows are one person's, "
        "unless kept columns do."
    )
    return (Check(name, None, few, None, "", sentence),)


def _persons(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} persons"
