"""Whose the rows are: how likely a row is one person's, whether persons are counted as several, and who is nobody."""

from collections.abc import Iterable

from anonymizer.checking.linkage import ROUNDING
from anonymizer.checking.verify import Verification
from anonymizer.gate.finding import Finding, Repair, Severity
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.values import share


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
            "Who knows which rows are one person's can tell persons apart.",
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
