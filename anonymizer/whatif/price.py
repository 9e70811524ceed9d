"""What a repair does and what it costs, before it is taken: the release is made with it, and judged."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from anonymizer.errors import AnonymizerError, CancelledError, Progress, no_progress
from anonymizer.flow import Flow
from anonymizer.gate.finding import ABOUT_SEVERAL, Finding, Gate, Repair, Several, Severity, kind_of, together
from anonymizer.reading.facts import profile
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest_again
from anonymizer.schema import Schema


@dataclass(frozen=True)
class Price:
    """A release without a repair and with it.

    ``figure``: of the finding that it is to close; ``left``: its figure afterwards, "" where nothing is left of it.
    ``lost``, ``loses``: the detail lost (GCP, 0 to 1) before and after. ``columns``: how many more are left out;
    ``opens``: risks that are open afterwards and were not; ``problem``: why there is no release with it, or "".
    """

    figure: str
    left: str
    lost: float
    loses: float
    columns: int = 0
    opens: int = 0
    problem: str = ""

    @property
    def points(self) -> float:
        """How many more points of detail are lost, per cent."""
        return 100 * (self.loses - self.lost)


Again = Callable[[tuple[str, ...]], Flow]
"""What gives the flow of the table read again, with more texts as missing."""


def of_reading(flow: Flow, reading: Reading, suggested: Schema) -> Flow:
    """Return the flow of a table that was read again from the same file, with the roles that somebody chose, and other
    ones as they are suggested now. ``suggested``: how they were before."""
    schema = suggest_again(flow.schema, suggested, reading.values, reading.variables, profile(reading.frame))
    return Flow(
        reading.frame, schema, flow.settings, against_original=flow.against_original, reading=reading, rng=flow.rng,
        reasons=flow.reasons, turn=flow.turn, population=flow.population, earlier=flow.earlier, keep=flow.keep,
        key=flow.key,
    )  # fmt: skip


def repaired(flow: Flow, repair: Repair, again: Again | None = None) -> Flow:
    """Return the flow with a repair of roles, settings, what groups keep, or, where the file can be read ``again``, of
    what is missing."""
    if repair.missing and again is not None:
        return again(repair.missing)
    schema, settings = repair.apply(flow.schema, flow.settings)
    return flow.but(schema=schema, keep=repair.keep, **{name: settings[name] for name, _ in repair.settings})


def price_of(
    flow: Flow, several: Several, repair: Repair, progress: Progress = no_progress, again: Again | None = None
) -> Price:
    """Return the price of a repair of some findings, on the release that would be made: the same figures that taking it
    gives. ``progress``: called while it is worked out; what it raises ends the work. ``again``: see
    :func:`repaired`."""
    lost, figure = flow.utility.gcp, several.figure
    try:
        after = repaired(flow, repair, again).watch(progress)
        for stage in ("release", "verification", "guidance", "judgement", "utility"):
            after.compute(stage)
            progress(0.0, repair.words)
    except CancelledError:
        raise
    except AnonymizerError as error:
        return Price(figure, figure, lost, lost, problem=str(error))
    cards = [Counter(kind_of(one.first) for one in together(gate.open)) for gate in (flow.gate, after.gate)]
    own = {kind_of(finding) for finding in several.findings}
    return Price(
        figure,
        figure_left(after.judgement, several),
        lost,
        after.utility.gcp,
        len(after.schema.identifying) - len(flow.schema.identifying),
        sum(number for kind, number in (cards[1] - cards[0]).items() if kind not in own),
    )


def figure_left(gate: Gate, several: Several) -> str:
    """Return the figure of what is still to be seen to of some findings: those of their kinds and columns; "" for
    none."""
    kinds = {kind_of(finding) for finding in several.findings}
    columns = {name for finding in several.findings for name in columns_of(finding)}
    left = together(
        finding
        for finding in gate.findings
        if finding.severity is not Severity.FINE
        and kind_of(finding) in kinds
        and (not columns or columns & set(columns_of(finding)))
    )
    return left[0].figure if left else ""


def columns_of(finding: Finding) -> tuple[str, ...]:
    """Return the columns that a finding is about, without those that they reveal."""
    return finding.columns[:1] if kind_of(finding) in ABOUT_SEVERAL else finding.columns
