"""What a repair does and what it costs, before it is taken: the release is made with it, and judged."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonymizer.errors import AnonymizerError
from anonymizer.gate.finding import Repair, Severity, kind_of, together

if TYPE_CHECKING:
    from anonymizer.flow import Flow


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


def repaired(flow: "Flow", repair: Repair) -> "Flow":
    """Return the flow with a repair of roles or settings."""
    schema, settings = repair.apply(flow.schema, flow.settings)
    return flow.but(schema=schema, **{name: settings[name] for name, _ in repair.settings})


def price_of(flow: "Flow", keys: Iterable[str], repair: Repair) -> Price:
    """Return the price of a repair of the findings with these keys, on the release that would be made: the same
    figures that taking it gives."""
    kinds = {kind_of(finding) for finding in flow.gate.findings if finding.key in set(keys)}
    before, after = flow.gate, repaired(flow, repair)
    figure = figure_of_kinds(flow, kinds)
    try:
        after.compute("judgement", "utility")
    except AnonymizerError as error:
        return Price(figure, figure, flow.utility.gcp, flow.utility.gcp, problem=str(error))
    there = {one.key for one in together(before.open)}
    return Price(
        figure,
        figure_of_kinds(after, kinds),
        flow.utility.gcp,
        after.utility.gcp,
        len(after.schema.identifying) - len(flow.schema.identifying),
        sum(one.key not in there and kind_of(one.first) not in kinds for one in together(after.gate.open)),
    )


def figure_of_kinds(flow: "Flow", kinds: set[str]) -> str:
    """Return the figure of the findings of some kinds that are to be seen to, "" for none; numbers of several add
    up to columns."""
    cards = together(one for one in flow.judgement.findings if kind_of(one) in kinds and one.severity != Severity.FINE)
    return cards[0].figure if cards else ""
