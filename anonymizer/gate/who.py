"""Whose the rows are: how likely a row is one person's, whether persons are counted as several, and who is nobody."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from anonymizer.alike import id_key
from anonymizer.checking.linkage import ROUNDING
from anonymizer.checking.verify import Verification
from anonymizer.gate.dependence import FUNCTIONAL, LOOKED_AT, Binned, explained, in_bins
from anonymizer.gate.finding import MOST_NAMED, Finding, Repair, Severity
from anonymizer.reading.facts import ColumnFacts
from anonymizer.reading.patterns import meanings_of
from anonymizer.schema import Kind, Role, Schema
from anonymizer.settings import Settings
from anonymizer.values import plural, share

SAME_PEOPLE = "same people"
"""What the key of a finding begins with whose column numbers people by its values."""
AGREE = 0.9
"""From this share of what differs in a column on, rows of equal value agree in it."""
FEWEST = 5
"""Values that repeat, from which on it is asked whether they number people."""


def risks(schema: Schema, settings: Settings, verification: Verification) -> Iterable[Finding]:
    """Yield what of the release is riskier than the steward accepts: the chance that a row is one person's, and what
    all rows of a person tell together."""
    by_person = schema.person is not None
    check = verification.get("share of one person" if by_person else "k-anonymity")
    if check is not None and check.achieved:
        highest = check.achieved if by_person else 1 / check.achieved
        if highest * (1 - ROUNDING) > 1 / settings.prosecutor_limit:
            yield above_limit(schema, settings, verification, highest)
    together = verification.get("rows together")
    if together is not None and together.achieved:
        few = int(together.achieved)
        yield Finding(
            "rows together",
            Severity.LOOK,
            "1 person" if few == 1 else f"{few:,} persons",
            "Somebody who knows which rows are one person's can tell persons apart.",
            together.sentence,
            repairs=(Repair("Keep a person's rows together", settings=(("generalizer", "pack-persons"),)),),
        )


def above_limit(schema: Schema, settings: Settings, verification: Verification, highest: float) -> Finding:
    """Return the finding that the highest risk of a row is above what the steward accepts. It stops the release where
    k does not say so: where k-anonymous rows are likelier one person's than 1 in k."""
    accepts, k = settings.prosecutor_limit, verification.k
    stops = verification.k_anonymous and highest * (1 - ROUNDING) > max(1 / accepts, 1 / k)
    if schema.person is None:
        detail = f"The smallest group has {verification['k-anonymity'].achieved or 0:,.0f} rows."
        repair = Repair(f"Ask for groups of {accepts:,}", settings=(("k", accepts),))
    else:
        detail = f"In a group one person owns {share(highest)} of the rows, so each of them is that person's so likely."
        repair = Repair(f"Let nobody own more than 1 in {accepts:,}", settings=(("share_max", 1 / accepts),))
    return Finding(
        "risk",
        Severity.STOPS if stops else Severity.LOOK,
        share(highest),
        f"The highest risk of a row is above the 1 in {accepts:,} that you accept.",
        f"{detail} You accept 1 in {accepts:,} on Roles, or with --prosecutor-limit.",
        repairs=(repair,),
    )


def ids(schema: Schema, facts: Iterable[ColumnFacts]) -> Iterable[Finding]:
    """Yield what of the values that say whose a row is makes persons of nobody, or several of one. ``facts``: of
    columns, that of the person among them."""
    for fact in facts:
        if fact.name != schema.person or fact.persons is None:
            continue
        column = schema[fact.name]
        settled = set(map(id_key, column.nobody))
        nobody = tuple(text for text in fact.nobody if id_key(text) not in settled)
        if nobody:
            texts = ", ".join(f"“{text}”" for text in nobody[:MOST_NAMED])
            yield Finding(
                f"nobody: {fact.name}",
                Severity.STOPS,
                "1 value" if len(nobody) == 1 else f"{len(nobody):,} values",
                f"“{fact.name}” has values that stand for nobody: {texts}.",
                "All rows with such a value count as one person's, and whose they are is not known.",
                (fact.name,),
                (Repair("These are nobody", ids=(("nobody", (*column.nobody, *nobody)),)),),
            )
        if fact.persons < fact.distinct and not column.alike:
            yield Finding(
                f"ids alike: {fact.name}",
                Severity.STOPS,
                f"{fact.distinct - fact.persons:,} values",
                f"“{fact.name}” writes a person in several ways, each of which counts as a person.",
                f"{fact.distinct:,} values are {fact.persons:,} when case, blanks, signs, leading zeros and the form "
                "of letters and digits do not count.",
                (fact.name,),
                (Repair("Count them as one", ids=(("alike", True),)),),
            )


def same_people(table: pd.DataFrame, schema: Schema, facts: Iterable[ColumnFacts]) -> Iterable[Finding]:
    """Yield the left-out columns whose values number people, whatever their header says: those that repeat, and whose
    rows of equal value agree in what is generalized as only rows of one person do."""
    if schema.person is not None:
        return
    facts = [fact for fact in facts if schema[fact.name].role is Role.IDENTIFYING]
    unread = sorted(set(schema.names(Role.IDENTIFYING)) - set(table.columns))
    if unread:
        yield Finding(
            "left out unread",
            Severity.LOOK,
            plural(len(unread), "column"),
            "Columns that are left out of a table in pieces are judged by their headers.",
            f"Whether the values of {', '.join(unread[:MOST_NAMED])}{' …' * (len(unread) > MOST_NAMED)} number people "
            "was not looked at. Where they do, make one of them the person of a row.",
        )
    for fact in facts:
        if fact.kind is Kind.DATE or any(one.role is Role.QUASI_IDENTIFYING for one in meanings_of(fact.name)):
            continue
        agree, of, apart = agreement(table, schema, fact.name)
        if agree:
            numbers = agree >= 2 and (2 * agree > of or (2 * agree == of and apart))
            yield Finding(
                f"{SAME_PEOPLE}: {fact.name}",
                Severity.STOPS if numbers else Severity.LOOK,
                f"{fact.distinct:,} values",
                f"“{fact.name}” is left out, and its values {'number' if numbers else 'may number'} people.",
                f"{fact.present:,} rows have {fact.distinct:,} values, and those of one value agree in {agree:,} of "
                f"{plural(of, 'generalized column')}: a group of k rows can be one person's.",
                (fact.name,),
                (Repair("Count persons", roles=((fact.name, Role.PERSON),)),),
            )


def agreement(table: pd.DataFrame, schema: Schema, name: str) -> tuple[int, int, bool]:
    """Return in how many generalized columns rows of equal value in a column agree far more than others, of how many
    that vary, and whether these columns tell most values apart; columns that follow from each other are one. 0 where
    few values repeat."""
    codes = pd.factorize(table[name])[0]
    repeats = (np.bincount(codes[codes >= 0], minlength=1) > 1)[codes] & (codes >= 0)
    step = 1 + int(repeats.sum()) // LOOKED_AT
    rows = np.flatnonzero(repeats & (codes % step == 0))
    if len(np.unique(codes[rows])) < FEWEST:
        return 0, 0, False
    by, groups = pd.factorize(codes[rows])
    values = Binned(by.astype(np.int64), len(groups), None, True)
    columns = [in_bins(table[one].iloc[rows], schema[one]) for one in schema.quasi_identifying]
    own: list[Binned] = []
    for column in sorted((one for one in columns if one.n_bins > 1), key=lambda one: -one.n_bins):
        if all(explained(other, column) < FUNCTIONAL for other in own):
            own.append(column)
    same = [column for column in own if explained(values, column) >= AGREE]
    kinds = len(pd.DataFrame({at: column.bins for at, column in enumerate(same)}).drop_duplicates()) if same else 0
    return len(same), len(own), 2 * kinds >= len(groups)


def still_people(findings: Iterable[Finding], k: int, classes: Callable[[str], tuple[int, int]]) -> tuple[Finding, ...]:
    """Return the findings as far as the release is concerned: of :func:`same_people`, those of columns with at least 2k
    values, which stop it where a class has fewer than k. ``classes``: of a column how many values it has, and how many
    the class with the fewest."""
    left = []
    for finding in findings:
        if finding.key.startswith(f"{SAME_PEOPLE}: "):
            distinct, fewest = classes(finding.columns[0])
            if distinct < 2 * k:
                continue
            if fewest >= k:
                finding = replace(finding, severity=Severity.LOOK)
        left.append(finding)
    counts = any(finding.key.startswith(f"{SAME_PEOPLE}: ") for finding in left)
    return tuple(finding for finding in left if not (counts and finding.key == "persons"))
