"""Attacks on a release, run and counted: singling out, linkage and inference, before and after.

The three criteria are those of the Article 29 Working Party's opinion on anonymisation techniques (WP216, 2014); how
they are attacked follows the definitions of Giomi et al. 2023 (Anonymeter), for generalized cells: the attacker
*guesses*, and every guess is compared with the original. Inference is the classification attack of Y19 and the
regression attack of L14, where a model is fitted to what was published and asked about the people themselves, and
beside it looking people up among the rows that fit them.

Three more attack the method rather than the cells: what the least loss says beyond them (downcoding), what running the
method again tells somebody who knows everybody else, and what it tells of the sensitive values that guided it
(minimality). They need to know how the release was made.

An attack that fails proves nothing; other attackers can be cleverer. The checker's promises are proofs, these are not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.attacks.attackers import (
    CellColumn,
    ExactColumn,
    Learners,
    Lookup,
    count_matches,
    count_pointed_at,
    guess,
)
from anonymizer.attacks.downcoding import downcode
from anonymizer.attacks.joint import OverReleases, attack_beside_table
from anonymizer.attacks.minimality import minimality as ways_of
from anonymizer.attacks.outcome import Inference, Outcome, Rate
from anonymizer.attacks.rerun import SECRETS
from anonymizer.attacks.rerun import rerun as run_again
from anonymizer.errors import Cancelled, CancelledError, ParameterError, Progress
from anonymizer.flow import Flow
from anonymizer.growing.encode import EncodedTable
from anonymizer.releasing.grid import public_parts
from anonymizer.schema import Schema
from anonymizer.studies.members import members

TRIES = 1_000
"""Predicates that are tried for singling out."""

TESTED = 5_000
"""Most people whose rows and sensitive values are guessed."""

RUN_AGAIN = 20
"""Most people for whom the method is run again and again."""

SECONDS = 20.0
"""After so many seconds nobody else is begun for whom the method is run again."""


@dataclass(frozen=True)
class Attacks:
    """The outcome of all attacks, in the order of :data:`ATTACKS`."""

    outcomes: tuple[Outcome, ...]

    def __repr__(self) -> str:
        return "\n".join(f"{outcome.name}: {outcome.sentence}" for outcome in self.outcomes)

    def __getitem__(self, name: str) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.name == name)

    @property
    def inferences(self) -> tuple[Inference, ...]:
        """The guesses of sensitive columns, one a column."""
        return tuple(guess for outcome in self.outcomes for guess in outcome.guesses)


@dataclass(frozen=True, eq=False)
class Scene:
    """What an attack has before it: the release (n rows of text cells), and the original (n rows) to be judged by.

    ``tries``: predicates for singling out; ``tested``: most people who are linked and whose values are guessed;
    ``rng`` draws them. ``flow``: how the release was made, ``None`` when that is not known; ``seconds``: for running
    it again. ``say``: called with the share of this attack that is done and what is being done; raises
    :class:`CancelledError` when the attacks were cancelled.
    """

    table: pd.DataFrame
    released: pd.DataFrame
    schema: Schema
    encoded: EncodedTable
    tries: int
    tested: int
    rng: np.random.Generator
    say: Progress
    flow: Flow | None = None
    seconds: float = SECONDS

    @cached_property
    def values(self) -> dict[str, ExactColumn]:
        """The quasi-identifying columns of the original."""
        return {name: ExactColumn.of(self.table[name], self.schema[name]) for name in self.schema.quasi_identifying}

    @cached_property
    def cells(self) -> dict[str, CellColumn]:
        """The quasi-identifying columns of the release."""
        public: Mapping[str, Any] = {}
        if self.flow is not None:
            settings = self.flow.settings
            public = public_parts(self.encoded, self.schema, settings.public_k, settings.writing)
        return {
            name: CellColumn.of(self.released[name], self.table[name], self.schema[name], public.get(name))
            for name in self.schema.quasi_identifying
        }

    @cached_property
    def lookup(self) -> Lookup:
        """The people who are looked up in the release, all or ``tested`` of them."""
        n = len(self.table)
        people = np.sort(self.rng.choice(n, min(self.tested, n), replace=False))
        return Lookup(self.table, self.released, list(self.schema.quasi_identifying), self.cells, people)


def attack(
    table: pd.DataFrame,
    released: pd.DataFrame,
    schema: Schema,
    encoded: EncodedTable,
    *,
    tries: int = TRIES,
    tested: int = TESTED,
    flow: Flow | None = None,
    seconds: float = SECONDS,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Attacks:
    """Return the outcome of all of :data:`ATTACKS` on a release (n rows of text cells) and on the original (n rows).

    ``tries``: predicates for singling out; ``tested``: most people who are linked and whose values are guessed.
    ``flow``: the flow that made the release; without it the method itself is not attacked. ``seconds``: after which
    nobody else is begun for whom it is run again. ``rng`` draws people; by default always the same ones, so that
    figures can be compared. ``progress``: called with a
    share from 0 to 1 and what is being done; ``cancelled``: called between attacks, ``True`` to stop.

    Raises :class:`ParameterError` when a release is too wide for a model or numbers make no sense, and
    :class:`CancelledError` when it was cancelled.
    """
    if tries < 1 or tested < 1 or not len(released):
        raise ParameterError("An attack needs tries, people and rows.", remedy="Choose at least 1 of each.")
    if not seconds >= 0:
        raise ParameterError(f"An attack cannot take {seconds:g} seconds.", value=seconds, remedy="Choose 0 or more.")
    rng = np.random.default_rng(0) if rng is None else rng
    number = 0

    def say(share: float, what: str) -> None:
        """Report progress, or stop."""
        if cancelled is not None and cancelled():
            raise CancelledError("The attack was stopped.")
        if progress is not None:
            progress((number + share) / len(ATTACKS), what)

    scene = Scene(table, released, schema, encoded, tries, tested, rng, say, flow, seconds)
    outcomes: list[Outcome] = []
    for number, run in enumerate(ATTACKS.values()):  # noqa: B007 (say reads it)
        outcomes += run(scene)
    if progress is not None:
        progress(1.0, "Done")
    return Attacks(tuple(outcomes))


def attack_release(flow: Flow, **options: Any) -> Attacks:
    """Return the outcome of all attacks on the release of a flow, judged over the people who are in it. ``options``: of
    :func:`attack`."""
    table = flow.table.iloc[flow.staying] if flow.left_out else flow.table
    return attack(table, flow.released, flow.schema, flow.codes_there, flow=flow, **options)


def attack_over_releases(flow: Flow) -> OverReleases | None:
    """Return what the release of a flow tells together with the earlier ones that it is counted with, of the people of
    its table; ``None`` where none of these is known row by row. Values are counted where all are releases of this very
    table: another one's are not here, and only people who are in this release are then counted."""
    earlier = [own for one in flow.earlier for own in one.of_rows(flow.table, flow.schema)]
    if not earlier:
        return None
    class_of, same = np.asarray(flow.class_of), all(one.whole for one in earlier)
    releases = [one.class_of if same else np.where(class_of >= 0, one.class_of, -1) for one in earlier]
    values = flow.treated[[name for name in flow.schema.sensitive if same]]
    k = max(flow.settings.k, *(one.k for one in earlier))
    return attack_beside_table([*releases, class_of], values, flow.schema, k, flow.encoded.person)


def singling_out(scene: Scene) -> tuple[Outcome, ...]:
    """Return how often words that a published row gives fit exactly one person of the original: some of its cells, or
    all of them and one end or level, which says what somebody there has; whichever of the two fits one more often."""
    scene.say(0.0, "Singling out")
    names, rng, tries = list(scene.schema.quasi_identifying), scene.rng, scene.tries
    subsets = [
        rng.permutation(names)[: rng.integers(min(2, len(names)), len(names) + 1)].tolist() for _ in range(tries)
    ]
    rates = []
    for columns, rows in ((scene.values, len(scene.table)), (scene.cells, len(scene.released))):
        sample = rng.integers(0, rows, tries).tolist()
        alone = [count_matches(columns, row, subset) == 1 for row, subset in zip(sample, subsets, strict=True)]
        rates.append(Rate(sum(alone), tries))
    before, after = rates
    rows = rng.integers(0, len(scene.released), tries).tolist()
    ends = Rate(sum(count_pointed_at(scene.cells, row, rng) == 1 for row in rows), tries)
    sentence = (
        f"{after.text} of {after.tries:,} descriptions taken from published rows fit exactly one person "
        f"({before.text} before), and {ends.text} when they are a whole box and one of its ends or levels."
    )
    return (Outcome("singling out", (before, max(after, ends, key=lambda rate: rate.share)), sentence),)


def linkability(scene: Scene) -> tuple[Outcome, ...]:
    """Return how often an attacker who knows all quasi-identifiers of a person, and points at one of the rows that fit,
    points at theirs."""
    scene.say(0.0, "Linking")
    before, after = scene.lookup.links()
    sentence = (
        f"Somebody who knows all quasi-identifiers of a person points at the right row {after.text} of the time "
        f"({before.text} before)."
    )
    return (Outcome("linkability", (before, after), sentence),)


def inference(scene: Scene) -> tuple[Outcome, ...]:
    """Return how often each sensitive column is guessed right; nothing where none was released.

    It is judged by the column of which most is gained.
    """
    names = [name for name in scene.schema.sensitive if name in scene.released.columns]
    if not names:
        return ()
    learners = Learners(scene.encoded, scene.released, scene.schema)
    guesses = []
    for number, name in enumerate(names):
        scene.say(number / len(names), f"Guessing {name}")
        guesses.append(guess(scene.table[name], scene.released[name], scene.schema[name], learners, scene.lookup))
    worst = max(guesses, key=lambda one: one.advantage)
    sentence = (
        f"{worst.column} is guessed right for {worst.after.text} of the rows ({worst.before.text} before, "
        f"{worst.blind.text} without looking)."
    )
    among = None if scene.flow is None else members(scene.flow)
    if among is not None:
        sentence += f" {scene.schema.target}: {among.sentence}"
    return (Outcome("inference", (worst.before, worst.after), sentence, tuple(guesses), among),)


def downcoding(scene: Scene) -> tuple[Outcome, ...]:
    """Return the share of cells that the least loss narrows further than they are written, rightly; nothing when the
    method is not known."""
    if scene.flow is None:
        return ()
    flow, schema = scene.flow, scene.schema
    cells = downcode(
        scene.table, scene.released, schema, scene.encoded.encodings,
        np.searchsorted(flow.staying, flow.release.order), flow.look_alikes,
        flow.settings.k, scene.lookup.people, scene.say,
    )  # fmt: skip
    sentence = (
        f"Somebody who supposes that the boxes lose as little as they can rules out a part of {cells.right.text} "
        f"of {cells.right.tries:,} cells rightly, and of {cells.wrong.text} wrongly."
    )
    return (Outcome("downcoding", (Rate(0, cells.right.tries), cells.right), sentence),)


def rerun(scene: Scene) -> tuple[Outcome, ...]:
    """Return the share of people whose record is certain to somebody who knows everybody else and runs the method
    again; nothing when the method is not known, its groups share records, records were left out, or earlier releases
    are kept."""
    scene.say(0.0, "Running the method again")
    if scene.flow is None or scene.flow.left_out or scene.flow.keeps:
        return ()
    people = scene.rng.permutation(len(scene.table))[:RUN_AGAIN].astype(np.int64)
    seeds = scene.rng.integers(2**63, size=SECRETS).tolist()
    result = run_again(scene.flow.run, people, seeds, scene.rng, seconds=scene.seconds, say=scene.say)
    if result is None:
        return ()
    certain = max(result.certain, result.certain_by_group, key=lambda rate: rate.share)
    rows_tried = f"{certain.tries} rows" if certain.tries != 1 else "1 row"
    sentence = (
        f"Somebody who knows the settings and everybody else's row, and runs the method again, is certain of the "
        f"row of {certain.right:.0f} of {rows_tried} tried. "
    ) if certain.tries else "Nobody could be tried in the time: one run of the method takes too long. "  # fmt: skip
    sentence += (
        "This method has no secret: who knows all rows makes all of its groups again."
        if result.secrets == 1
        else f"With other secrets {result.again.text} of its groups are made again from all rows."
    )
    return (Outcome("rerun", (Rate(certain.tries, certain.tries), certain), sentence),)


def minimality(scene: Scene) -> tuple[Outcome, ...]:
    """Return the share of people whose sensitive value becomes certain to somebody who runs the method on other ways
    that the values of each group could lie; nothing when the method is not known, its groups share records, records
    were left out, or earlier releases are kept."""
    scene.say(0.0, "Running the method under other values")
    flow = None if scene.flow is None or scene.flow.left_out or scene.flow.keeps else scene.flow
    result = None if flow is None else ways_of(flow.run, scene.rng, seconds=scene.seconds, say=scene.say)
    if result is None:
        return ()
    return (Outcome("minimality", (Rate(result.certain.tries, result.certain.tries), result.certain), result.sentence),)


ATTACKS: dict[str, Callable[[Scene], tuple[Outcome, ...]]] = {
    "singling out": singling_out,
    "linkability": linkability,
    "inference": inference,
    "downcoding": downcoding,
    "rerun": rerun,
    "minimality": minimality,
}
"""The attacks by name, the three criteria of WP216 first: each looks at the scene and gives its outcomes (none when it
has nothing to attack)."""
