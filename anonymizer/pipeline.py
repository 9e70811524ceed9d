"""The whole flow, in one call: read this first, then :mod:`anonymizer.flow`.

    table + schema → encode → grow → annotate → prune → generalize → verify → report

Every step is a function of its own that can be called alone. In the order of the flow, and of the rooms:

    reading     a file of any kind to a table, with suggested roles
    growing     the table to small codes (encode), the codes to a tree (grow)
    groups      the tree's risk (annotate), and the splits that are taken back for k and other limits (prune)
    releasing   the groups to released cells (generalize)
    checking    every promise, computed again from the cells (verify)
    measuring   what the cells are still worth (measure)
    gate        what stands in the way of leaving, and the steward's reasons
    reporting   what was done and found

:class:`anonymizer.flow.Flow` strings them together, once; :class:`anonymizer.settings.Settings` is what can be chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.verify import Verification
from anonymizer.drawing.draw import dot
from anonymizer.drawing.svg import DrawError, svg
from anonymizer.errors import ParameterError, Progress, part_of, warn
from anonymizer.flow import Flow
from anonymizer.gate.earlier import Earlier, OtherPeople
from anonymizer.gate.finding import Gate
from anonymizer.groups.prune import Pruning
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.tree import Tree
from anonymizer.ledger.ledger import Ledger
from anonymizer.measuring.utility import Utility
from anonymizer.plan.plan import Plan
from anonymizer.population.sample import WHOLE, Population
from anonymizer.provenance.report import Report
from anonymizer.provenance.signature import SigningKey
from anonymizer.reading.files import Reading
from anonymizer.releasing.files import write_file
from anonymizer.releasing.generalize import check_choices
from anonymizer.releasing.release import Release
from anonymizer.reporting.findings import Statement
from anonymizer.reporting.outputs import (
    before_and_after,
    flow_findings,
    glance,
    glance_html,
    packet_bytes,
    report_bytes,
    text_table,
)
from anonymizer.reporting.packet import write_packet
from anonymizer.schema import Schema
from anonymizer.settings import RUN, SETTINGS, Settings, setting_names
from anonymizer.studies.attack import SECONDS, Attacks, attack_release
from anonymizer.tables import as_it_came
from anonymizer.whatif.project import made_again


@dataclass(frozen=True, eq=False, repr=False)
class DrawnTree(Tree):
    """A tree that draws itself, pruned, where a notebook shows it. ``flow``: whose tree it is."""

    flow: Flow = field(kw_only=True, repr=False)

    def graphviz(self, **choices: Any) -> str:
        """Return the pruned tree in the language of Graphviz. ``choices``: of :func:`anonymizer.drawing.draw.dot`."""
        flow = self.flow
        how = {"cut": flow.pruning.cut(), "k": flow.settings.k, "max_depth": 4, "max_nodes": 60} | choices
        return dot(flow.tree, flow.risk, flow.encoded.encodings, flow.encoded.target.texts, **how)

    def _repr_svg_(self) -> str | None:
        try:
            return svg(self.graphviz())
        except DrawError:
            return None


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What comes of one run, stage by stage. A notebook shows its figures and the map of its groups.

    ``flow``: the stages themselves; ``came_as``: the class of the table that was given, as which :attr:`table` comes
    back. ``tree`` draws itself; ``release`` writes files.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load().drop(columns=["name", "email"])
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis", "identifying": ["postcode", "cost"]}
    >>> kept = ["marital_status", "occupation", "admission_date", "days_of_stay"]
    >>> result = an.release(table, **roles, insensitive=kept, k=10)
    >>> result.verification.k_anonymous
    True
    """

    schema: Schema
    encoded: EncodedTable
    tree: Tree
    risk: NodeRisk
    pruning: Pruning
    release: Release
    verification: Verification
    utility: Utility
    gate: Gate
    report: Report
    flow: Flow
    came_as: type = pd.DataFrame

    def __repr__(self) -> str:
        return text_table(glance(self.report))

    def _repr_html_(self) -> str:
        return glance_html(self.flow, self.report)

    def __sklearn_clone__(self) -> "Result":
        raise ParameterError("A result is no estimator, so it has no clone.", remedy="Clone what it was made with.")

    @property
    def table(self) -> Any:
        """The released rows as a table of the kind that was given: of pandas, polars or Arrow."""
        return as_it_came(self.release.frame(), self.came_as)

    def frontier(self) -> pd.DataFrame:
        """Return what every k risks and loses in the cuts of the tree, a row each; see
        :class:`anonymizer.measuring.points.Point`."""
        return pd.DataFrame([{"method": point.method, **asdict(point)} for point in self.flow.frontier])

    def compare(self) -> pd.DataFrame:
        """Return the figures of the table before and after, a row each; NaN where there is none."""
        columns = ["figure", "before", "after"]
        return pd.DataFrame(before_and_after(self.report), columns=columns).set_index("figure").astype(np.float64)

    def attack(self, seconds: float = SECONDS) -> Attacks:
        """Return what attacks on the release achieve. ``seconds``: for the one that runs the method again."""
        return attack_release(self.flow, seconds=seconds)

    def document(
        self, path: str | Path | None = None, audience: str = "external", *, seconds: float = SECONDS, **words: Any
    ) -> bytes:
        """Return the report for people, attacks included, and write it where a path is given: .html, .pdf or .json.

        ``audience``: "internal", for whoever may see the table, or "external", for the recipient. ``words``: of
        :class:`anonymizer.reporting.findings.Statement`, such as ``purpose``, ``recipient``, ``basis``. Raises
        :class:`ParameterError` for another audience or ending.
        """
        findings = flow_findings(self.flow, self.report, self.attack(seconds), audience)
        content = report_bytes(findings, Statement(**words), audience, Path(path or "report.html").suffix)
        if path is not None:
            write_file(path, content)
        return content

    def packet(
        self, path: str | Path | None = None, audience: str = "external", *, seconds: float = SECONDS,
        key: SigningKey | None = None, **words: Any,
    ) -> bytes:  # fmt: skip
        """Return the packet: table, dictionary, reports, script and manifest in one ZIP file that was read back and
        checked; write it where a path is given. ``key``: signs it; the others as of :meth:`document`.

        Raises :class:`GuaranteeError` as long as something stands in the way of the release.
        """
        findings = flow_findings(self.flow, self.report, self.attack(seconds), audience)
        content = packet_bytes(self.flow, findings, Statement(**words), audience, key=key)
        if path is not None:
            write_packet(path, content)
        return content


STEPS = (
    (0.0, "Encoding the table", "encoded"),
    (0.1, "Growing the tree", "tree"),
    (0.2, "Scoring its nodes", "risk"),
    (0.3, "Pruning it", "pruning"),
    (0.4, "Making groups", "parts"),
    (0.6, "Writing cells", "release"),
    (0.7, "Checking the release", "verification"),
    (0.85, "Looking at what leaves", "leaving"),
    (0.9, "Measuring what is left", "report"),
)
"""The stages of a run in order: how far it is before each, 0 to 1, and what it does."""


def anonymize(
    table: pd.DataFrame,
    schema: Schema | Plan,
    *,
    against_original: bool = True,
    reading: Reading | None = None,
    rng: np.random.Generator | None = None,
    reasons: Mapping[str, str] | None = None,
    population: Population = WHOLE,
    earlier: Sequence[Result | str | Path | Ledger | OtherPeople] | Ledger = (),
    keep: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Return a verified release of the table, its report, and every stage on the way to them.

    ``schema``: roles, kinds and domains; or a plan, which says settings and ``reasons``, too, where these are not said.
    ``settings``: any of :data:`anonymizer.settings.SETTINGS` by name, such as ``k=20, grouping="error-risk"``.
    ``criterion``: what guides the splits of the tree: ``detail``, the default, cuts where least is lost and never looks
    at what is sensitive; ``entropy``, ``gini``, and ``sse`` of all numeric sensitive columns together serve the target;
    ``blend`` uses ``weight`` and never grows groups below k.
    ``grouping``: ``regions``, the default where groups are packed, and ``least``, where they are not, take splits back
    until k holds; ``error-risk`` (Y19) and ``error-digression`` (L14) do so at the least error, and mean the papers'
    criterion, ``entropy`` or ``sse``, where none is named; ``median-mondrian``, ``infogain-mondrian`` and
    ``regression-mondrian`` (LeFevre et al.) are the baselines. A table of more than a million rows is grown as in the
    papers where nothing is said.
    ``generalizer``, ``writing``, ``numbers``: see :func:`anonymizer.releasing.generalize.generalize`. ``k`` and the
    other limits on every group: see :class:`anonymizer.settings.Limits`; they steer pruning, that of the baselines
    too, and the checker requires them of the release again.

    ``against_original``: let the checker also compare with the table. ``reading``: how the table came in, for the
    report. ``rng``: for the row order and whatever else is drawn; by default that follows from the user's key and the
    table, so the same table and settings give the same release. ``reasons``: why the release may leave although
    something stands in the way, by the key of the finding, in three words at least; the report keeps them. Without a
    reason ``result.gate.open`` says what it is, and ``result.release`` makes no file.
    ``population``: what is known of it beside sampling weights, for the limits ``risk_max``, ``risk_mean``, ``k_map``.
    ``earlier``: what is released, too: results of the same table, with its rows in the same order, or their reports, by
    path, of which the releases are made again; last time's, of :func:`anonymizer.whatif.project.last_release`; or a
    ledger, whose releases may be of other tables of the same people, and whose key then is that of packing. The gate
    counts who is in groups of fewer than k when all are put together. ``keep``: make groups that keep these releases:
    everybody stays in a group of k people that all of them share. They are packed inside the earlier groups, or join
    them; who was in none of the releases and is one of fewer than k waits, as far as ``suppression`` allows.
    ``progress``: called with a share from 0 to 1 and what is being done.

    Raises :class:`GuaranteeError` when the table has fewer than k records, :class:`ParameterError` for a setting that
    is not one and a reason for what is never found, and whatever the stages raise.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]]
    >>> roles = {"age": "quasi-identifying", "sex": "quasi-identifying", "diagnosis": "sensitive"}
    >>> an.anonymize(table, roles, k=10).verification.k_anonymous
    True
    """
    if keep and not earlier:
        raise ParameterError("No earlier release is given that could be kept.", remedy="Give its result as earlier.")
    if isinstance(schema, Plan):
        settings, reasons = {**schema.settings, **settings}, schema.answers if reasons is None else reasons
        population = schema.population_data() if population is WHOLE else population
        schema = schema.schema_for(table, None if reading is None else reading.variables)
    before = [earlier] if isinstance(earlier, Ledger) else list(earlier)
    flow = Flow(
        table,
        schema,
        Settings(**settings),
        against_original=against_original,
        reading=reading,
        rng=rng,
        reasons=reasons,
        population=population,
        keep=keep,
        key=next((one.key for one in before if isinstance(one, Ledger)), None),
    )
    result = run_flow(flow.but(earlier=_earlier_of(before, flow)), progress)
    for key in result.gate.unused(reasons or {}):
        warn(f"No finding is called {key!r} here, so the reason for it is not used.")
    return result


def _earlier_of(
    before: Sequence[Result | str | Path | Ledger | OtherPeople], flow: Flow
) -> tuple[Earlier | OtherPeople, ...]:
    """Return what :func:`anonymize` takes as ``earlier`` as a flow counts it."""
    answers: list[Earlier | OtherPeople] = []
    for one in before:
        if isinstance(one, Ledger):
            answers += one.earlier
        elif isinstance(one, Result):
            limits = one.report.provenance.parameters
            answers.append(Earlier.of(one.release, len(flow.table), limits["k"], Promise.of(one.schema, limits)))
        else:
            answers.append(made_again(one, flow, answers) if isinstance(one, str | Path) else one)
    return tuple(answers)


def run_flow(flow: Flow, progress: Progress | None = None) -> Result:
    """Return every stage of a flow, computed in turn. ``progress``: see :func:`anonymize`.

    Raises :class:`GuaranteeError` when a limit cannot be kept, and whatever the stages raise.
    """
    say = progress or flow.progress
    check_choices(flow.settings.generalizer, flow.settings.writing, flow.settings.numbers)
    for (start, what, stage), end in zip(STEPS, [*(start for start, _, _ in STEPS[1:]), 1.0], strict=True):
        say(start, what)
        flow.watch(part_of(say, start, end)).compute(stage)
    say(1.0, "Done")
    tree = DrawnTree(**{each.name: getattr(flow.tree, each.name) for each in fields(Tree)}, flow=flow)
    return Result(
        flow.schema, flow.encoded, tree, flow.risk, flow.pruning, flow.leaving, flow.verification, flow.utility,
        flow.gate, flow.report, flow,
    )  # fmt: skip


_fixed = [
    parameter for parameter in signature(anonymize).parameters.values() if parameter.kind != Parameter.VAR_KEYWORD
]
anonymize.__signature__ = signature(anonymize).replace(  # type: ignore[attr-defined]
    parameters=[
        *_fixed,
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=SETTINGS[name].default) for name in setting_names(*RUN)),
    ]
)
