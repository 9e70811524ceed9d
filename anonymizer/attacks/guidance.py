"""What the gate says of a method that is guided by sensitive values: the attack of :mod:`minimality`, in a few runs.

The runs are bounded by the size of the table, never by a clock, and who is tried follows from the table: the same
release has the same finding everywhere.
"""

import numpy as np

from anonymizer.attacks.minimality import Minimality, minimality
from anonymizer.attacks.rerun import Run
from anonymizer.errors import Progress
from anonymizer.gate.finding import Finding, Repair, Severity
from anonymizer.groups.detail import DETAIL
from anonymizer.groups.recipe import BLIND, PACKS, recipe_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings

MINIMALITY = "minimality"
"""The key of the finding."""
RUNS = 60
"""Most runs of the method."""
CELLS = 720_000
"""Most cells of quasi-identifiers in all runs together: 60 runs on 2,000 rows of 6 columns."""
FEWEST = 30
"""Runs that tell something; where the cells allow fewer, nothing is tried."""
SWAPS = 10
"""Exchanges for each person: half of the attack's, so that more people are tried."""
MORE = "“Run the attacks” on the Release page tries more rows, and so does --attack in a terminal."


def beside_guidance(run: Run, left_out: int, say: Progress) -> tuple[Finding, ...]:
    """Return what a release gives away by how its groups follow from sensitive values, worth a look where somebody
    becomes certain. ``left_out``: how many rows are."""
    if left_out or len(run.parts.shared_record):
        what = "rows are left out" if left_out else "groups share rows"
        return (not_tried(f"This attack is not tried where {what}."),)
    runs = runs_for(len(run.table) * max(1, len(run.schema.quasi_identifying)))
    if runs < FEWEST:
        why = "The table is too large to run the method on it many times here."
        return (not_tried(f"{why} {MORE}", repairs_of(run.settings)),)
    result = minimality(run, np.random.default_rng(0), runs=runs, swaps=SWAPS, say=say)
    return () if result is None else (finding_of(result, repairs_of(run.settings)),)


def beside_pieces(schema: Schema, settings: Settings, n: int) -> tuple[Finding, ...]:
    """Return that nothing was tried of a table of n records in pieces; nothing where groups do not follow from
    sensitive values."""
    return (not_tried("This attack is not tried on a table in pieces."),) if is_guided(schema, settings, n) else ()


def is_guided(schema: Schema, settings: Settings, n: int = 0) -> bool:
    """Return True when the groups of n records follow from sensitive values: all do, but those of median cuts, and of a
    tree of detail under a pruning that looks at sizes alone, where no limit looks at values."""
    recipe = recipe_of(settings, n)
    if recipe.mondrian:
        blind = recipe.criterion is None
    else:
        blind = recipe.criterion == DETAIL and settings.grouping in (None, *BLIND)
    return schema.target is not None and (not blind or settings.limits.of_values)


def runs_for(cells: int) -> int:
    """Return how many runs of a method are made on a table of so many cells."""
    return min(RUNS, CELLS // cells)


def repairs_of(settings: Settings) -> tuple[Repair, ...]:
    """Return what keeps the groups from following sensitive values: another grouping, where no limit looks at them."""
    grouping = "regions" if settings.generalizer in PACKS else "least"
    blind = ("grouping", grouping), ("criterion", DETAIL)
    return () if settings.limits.of_values else (Repair("Group without the values", settings=blind),)


def not_tried(why: str, repairs: tuple[Repair, ...] = ()) -> Finding:
    """Return the finding that nothing was tried, and why."""
    sentence = "What the method tells by looking at sensitive values was not tried here."
    return Finding(MINIMALITY, Severity.LOOK, "Not tried", sentence, why, repairs=repairs)


def finding_of(result: Minimality, repairs: tuple[Repair, ...]) -> Finding:
    """Return what some runs of the method say."""
    certain, sure = result.certain, result.certain.tries == result.people
    none = "The method makes no sensitive value certain" + ("." if sure else " where it was tried.")
    return Finding(
        MINIMALITY,
        Severity.LOOK if certain.right else Severity.FINE,
        f"{'≤ ' if result.walks and certain.right else ''}{certain.right:,.0f} of {certain.tries:,} rows",
        "The method makes some sensitive values certain." if certain.right else none,
        result.sentence if sure else f"{result.sentence} {MORE}",
        repairs=repairs if certain.right else (),
    )
