"""What comes of one run, and the stages in turn.

What a run does not need is imported where it is used: pictures, reports for people, packets and attacks. A process
that only makes a release starts without them.
"""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonymizer.checking.verify import Verification
from anonymizer.errors import ParameterError, Progress, part_of, require_extra
from anonymizer.flow import Flow
from anonymizer.gate.finding import Gate
from anonymizer.groups.prune import Pruning
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.tree import Tree
from anonymizer.measuring.utility import Utility
from anonymizer.provenance.report import Report
from anonymizer.releasing.files import write_file
from anonymizer.releasing.generalize import check_choices
from anonymizer.releasing.release import Release
from anonymizer.schema import Schema
from anonymizer.settings import ATTACK_SECONDS
from anonymizer.tables import as_it_came

if TYPE_CHECKING:
    from anonymizer.provenance.signature import SigningKey
    from anonymizer.studies.attack import Attacks


@dataclass(frozen=True, eq=False, repr=False)
class DrawnTree(Tree):
    """A tree that draws itself, pruned, where a notebook shows it. ``flow``: whose tree it is."""

    flow: Flow = field(kw_only=True, repr=False)

    def graphviz(self, **choices: Any) -> str:
        """Return the pruned tree in the language of Graphviz. ``choices``: of :func:`anonymizer.drawing.draw.dot`."""
        from anonymizer.drawing.draw import dot

        flow = self.flow
        how = {"cut": flow.pruning.cut(), "k": flow.settings.k, "max_depth": 4, "max_nodes": 60} | choices
        return dot(flow.tree, flow.risk, flow.encoded.encodings, flow.encoded.target.texts, **how)

    def _repr_svg_(self) -> str | None:
        from anonymizer.drawing.svg import DrawError, svg

        try:
            return svg(self.graphviz())
        except DrawError:
            return None


@dataclass(frozen=True, eq=False, repr=False)
class ReportOfRun(Report):
    """A report that is written for people when it is called. ``flow``: whose report it is."""

    flow: Flow = field(kw_only=True, repr=False)

    def __call__(
        self,
        path: str | Path | None = None,
        audience: str = "external",
        *,
        seconds: float = ATTACK_SECONDS,
        **words: Any,
    ) -> bytes:
        """Return the report for people, attacks included, and write it where a path is given: .html, .pdf or .json.

        ``audience``: "internal", for whoever may see the table, or "external", for the recipient. ``seconds``: for the
        attack that runs the method again. ``words``: of :class:`anonymizer.reporting.findings.Statement`, such as
        ``purpose``, ``recipient``, ``basis``. Raises :class:`ParameterError` for another audience or ending.
        """
        from anonymizer.reporting.findings import Statement
        from anonymizer.reporting.outputs import flow_findings, report_bytes
        from anonymizer.studies.attack import attack_release

        require_extra("reports")
        findings = flow_findings(self.flow, self, attack_release(self.flow, seconds=seconds), audience)
        content = report_bytes(findings, Statement(**words), audience, Path(path or "report.html").suffix)
        if path is not None:
            write_file(path, content)
        return content


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What comes of one run, stage by stage, in the order in which one reads it.

    Shown by itself, it is its verdict, its figures and the map of its groups. ``gate``: what stands in the way of the
    release; ``report``: every figure, and, called with a path, the report for people; ``compare()``: the figures before
    and after; ``attack()``: what attacks achieve; ``release``: writes files; ``packet()``: all of that in one file.
    ``tree`` draws itself; ``frontier()`` says what another k would cost. ``flow``: the stages themselves; ``came_as``:
    the class of the table that was given, as which :attr:`table` comes back.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load().drop(columns=["name", "email"])
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis", "identifying": ["postcode", "cost"]}
    >>> kept = ["marital_status", "occupation", "admission_date", "days_of_stay"]
    >>> result = an.release(table, **roles, insensitive=kept, k=10)
    >>> result.verification.k_anonymous
    True
    >>> result.report.after.smallest >= 10, len(result.report("report.html", seconds=0.1)) > 10_000
    (True, True)
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
    report: ReportOfRun
    flow: Flow
    came_as: type = pd.DataFrame

    def __repr__(self) -> str:
        from anonymizer.reporting.outputs import glance, text_table

        return text_table(glance(self.report))

    def _repr_html_(self) -> str:
        from anonymizer.reporting.outputs import glance_html

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
        from anonymizer.reporting.outputs import before_and_after

        columns = ["figure", "before", "after"]
        return pd.DataFrame(before_and_after(self.report), columns=columns).set_index("figure").astype(np.float64)

    def attack(self, seconds: float = ATTACK_SECONDS) -> "Attacks":
        """Return what attacks on the release achieve. ``seconds``: for the one that runs the method again."""
        from anonymizer.studies.attack import attack_release

        return attack_release(self.flow, seconds=seconds)

    def packet(
        self, path: str | Path | None = None, audience: str = "external", *, seconds: float = ATTACK_SECONDS,
        key: "SigningKey | None" = None, **words: Any,
    ) -> bytes:  # fmt: skip
        """Return the packet: table, dictionary, reports, script and manifest in one ZIP file that was read back and
        checked; write it where a path is given. ``key``: signs it; the others as when :attr:`report` is called.

        Raises :class:`GuaranteeError` as long as something stands in the way of the release.
        """
        from anonymizer.reporting.findings import Statement
        from anonymizer.reporting.outputs import flow_findings, packet_bytes
        from anonymizer.reporting.packet import write_packet

        require_extra("reports")
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
    report = ReportOfRun(**{each.name: getattr(flow.report, each.name) for each in fields(Report)}, flow=flow)
    return Result(
        flow.schema, flow.encoded, tree, flow.risk, flow.pruning, flow.leaving, flow.verification, flow.utility,
        flow.gate, report, flow,
    )  # fmt: skip
