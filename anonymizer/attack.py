"""Attacks on a release, run and counted: singling out, linkage and inference, before and after.

The three criteria are those of the Article 29 Working Party's opinion on anonymisation techniques (WP216, 2014); how
they are attacked follows the definitions of Giomi et al. 2023 (Anonymeter), for generalized cells: the attacker
*guesses*, and every guess is compared with the original. Inference is the classification attack of Y19 and the
regression attack of L14, where a model is fitted to what was published and asked about the people themselves, and
beside it looking people up among the rows that fit them.

An attack that fails proves nothing; other attackers can be cleverer. The checker's promises are proofs, these are not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.attackers import CellColumn, ExactColumn, Fits, Inference, Learners, Rate, guess, satisfying
from anonymizer.encode import EncodedTable
from anonymizer.errors import ParameterError
from anonymizer.maxent import CancelledError
from anonymizer.schema import Schema

TRIES = 1_000
"""Predicates that are tried for singling out."""

TESTED = 5_000
"""Most people who are looked for and whose sensitive values are guessed."""


@dataclass(frozen=True)
class Criterion:
    """One criterion of WP216 with its one number, before and after (0 to 1), and what it says."""

    name: str
    before: float
    after: float
    interval: tuple[float, float]
    sentence: str


@dataclass(frozen=True)
class Attacks:
    """The outcome of all attacks as pairs: before (on the original), after (on the release).

    ``singling_out``: predicates made of some quasi-identifying cells of a published row; right when exactly one person
    of the original satisfies them. ``linkage``: an attacker who knows all quasi-identifiers of a person points at one
    of the rows that fit; right when it is theirs. ``inferences``: one a sensitive column.
    """

    singling_out: tuple[Rate, Rate]
    linkage: tuple[Rate, Rate]
    inferences: tuple[Inference, ...]

    def criteria(self) -> tuple[Criterion, ...]:
        """The three criteria of WP216. Inference is judged by the column of which most is gained."""
        single, link = self.singling_out, self.linkage
        found = [
            Criterion(
                "singling out", single[0].share, single[1].share, single[1].interval,
                f"{single[1].share:.1%} of {single[1].tries:,} descriptions taken from published rows fit exactly one "
                f"person ({single[0].share:.1%} before).",
            ),
            Criterion(
                "linkability", link[0].share, link[1].share, link[1].interval,
                f"Somebody who knows all quasi-identifiers of a person points at the right row {link[1].share:.1%} of "
                f"the time ({link[0].share:.1%} before).",
            ),
        ]  # fmt: skip
        if self.inferences:
            worst = max(self.inferences, key=lambda inference: inference.advantage)
            found.append(
                Criterion(
                    "inference", worst.before.share, worst.after.share, worst.after.interval,
                    f"{worst.column} is guessed right for {worst.after.share:.1%} of the people "
                    f"({worst.before.share:.1%} before, {worst.blind.share:.1%} without looking).",
                )
            )  # fmt: skip
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "singling_out": {"before": self.singling_out[0].to_dict(), "after": self.singling_out[1].to_dict()},
            "linkage": {"before": self.linkage[0].to_dict(), "after": self.linkage[1].to_dict()},
            "inference": [
                {
                    "column": inference.column,
                    "model": {"before": inference.model[0].to_dict(), "after": inference.model[1].to_dict()},
                    "look_up": {"before": inference.look_up[0].to_dict(), "after": inference.look_up[1].to_dict()},
                    "blind": inference.blind.to_dict(),
                    "advantage": inference.advantage,
                    "mape": None if inference.mape is None else [_or_none(value) for value in inference.mape],
                }
                for inference in self.inferences
            ],
        }


def attack(
    table: pd.DataFrame,
    released: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    *,
    tries: int = TRIES,
    tested: int = TESTED,
    rng: np.random.Generator | None = None,
    progress: Callable[[float, str], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Attacks:
    """Attack a release (n rows of text cells) and, with the same means, the original ``table`` (n rows).

    ``tries``: predicates for singling out; ``tested``: most people who are linked and whose values are guessed.
    ``rng`` draws them; by default always the same ones, so that figures can be compared. ``progress``: called with a
    share from 0 to 1 and what is being done; ``cancelled``: asked between attacks.

    Raises :class:`ParameterError` when a release is too wide for a model or numbers make no sense, and
    :class:`CancelledError` when it was cancelled.
    """
    if tries < 1 or tested < 1 or not len(released):
        raise ParameterError("An attack needs tries, people and rows.", remedy="Choose at least 1 of each.")
    rng = np.random.default_rng(0) if rng is None else rng
    names = list(schema.quasi_identifying)

    def step(share: float, what: str) -> None:
        if cancelled is not None and cancelled():
            raise CancelledError("The attack was stopped.")
        if progress is not None:
            progress(share, what)

    step(0.0, "Reading the cells")
    own = {name: ExactColumn.of(table[name], schema[name]) for name in names}
    cells = {name: CellColumn.of(released[name], table[name], schema[name]) for name in names}
    step(0.1, "Singling out")
    subsets = [
        rng.permutation(names)[: rng.integers(min(2, len(names)), len(names) + 1)].tolist() for _ in range(tries)
    ]
    single = []
    for held, rows in ((own, len(table)), (cells, len(released))):
        drawn = rng.integers(0, rows, tries).tolist()
        alone = [satisfying(held, row, subset) == 1 for row, subset in zip(drawn, subsets, strict=True)]
        single.append(Rate(sum(alone), tries))
    step(0.3, "Linking")
    people = np.sort(rng.choice(len(table), min(tested, len(table)), replace=False))
    fits = Fits(table, released, names, cells, people)
    sensitive = [name for name in schema.sensitive if name in released.columns]
    learners = Learners(encoded, released, schema) if sensitive else None
    found = []
    for number, name in enumerate(sensitive):
        step(0.5 + 0.5 * number / len(sensitive), f"Guessing {name}")
        assert learners is not None
        found.append(guess(table[name], released[name], schema[name], people, learners, fits))
    step(1.0, "Done")
    return Attacks((single[0], single[1]), fits.links(), tuple(found))


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
