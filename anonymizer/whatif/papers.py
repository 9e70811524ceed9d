"""The settings of the papers beside those that are chosen: what each would promise and lose of the same table."""

from dataclasses import dataclass, replace
from typing import Any

from anonymizer.errors import GuaranteeError, ParameterError, Progress, no_progress
from anonymizer.flow import Flow
from anonymizer.groups.recipe import fitting_groupings
from anonymizer.releasing.generalize import guarantee_of
from anonymizer.settings import SETTINGS, in_text, method_text

AS_PUBLISHED: dict[str, Any] = {"writing": "sets", "numbers": "range", "significance": None, "tested": "inner"}
"""How the papers write cells, and no test of significance."""

SIGNIFICANCE = 0.05
"""The α at which the paper tests."""


@dataclass(frozen=True)
class PaperSetting:
    """One setting of a paper, and what its release of this table would be.

    ``settings``: those that differ from what is chosen; ``title``, ``source`` and ``promise``: in words. ``gcp`` (0 to
    1), ``highest`` linking risk, and ``groups``: of that release; ``None`` where the limits cannot be kept.
    """

    settings: dict[str, Any]
    title: str
    source: str
    promise: str
    gcp: float | None = None
    highest: float | None = None
    groups: int | None = None


def paper_settings(flow: Flow) -> tuple[PaperSetting, ...]:
    """Return the settings of the papers that fit a flow's schema, without their figures."""
    by_risk = "error-risk" in fitting_groupings(flow.schema)
    by_digression = "error-digression" in fitting_groupings(flow.schema)
    natural = "error-risk" if by_risk else "error-digression" if by_digression else "least"
    source = {"error-risk": "Yang et al. 2019", "error-digression": "Li and Sarkar 2014", "least": "without a target"}
    ways: list[tuple[str, str, float | None]] = [(natural, "uniform", None), (natural, "tiered", None)]
    if by_digression:
        ways += [("error-digression", "uniform", None)] * (natural != "error-digression")
        ways.append(("error-digression", "uniform", SIGNIFICANCE))
    return tuple(
        PaperSetting(
            {
                **AS_PUBLISHED,
                "criterion": "sse" if flow.schema.by_numbers else "entropy",
                "grouping": grouping,
                "generalizer": generalizer,
                "significance": significance,
            },  # fmt: skip
            method_text(grouping, generalizer) + (f" and α = {significance:g}" if significance else ""),
            source[grouping],
            promise(generalizer, significance),
        )
        for grouping, generalizer, significance in ways
    )


def promise(generalizer: str, significance: float | None = None) -> str:
    """Return what a release would promise, in a sentence."""
    guarantee = guarantee_of(generalizer)
    text = guarantee.gives if guarantee.strict else guarantee.does_not
    first = text.partition(". ")[0].rstrip(".") + "."
    if significance is None:
        return first
    return f"{first} {in_text(SETTINGS['significance'].title)} merges groups whose numbers vary unlike the table's."


def with_figures(flow: Flow, progress: Progress = no_progress) -> tuple[PaperSetting, ...]:
    """Return the settings of the papers with what the release of each would lose, at the flow's k and other limits.

    ``progress``: called before each; an exception that it raises ends the work.
    """
    settings, measured = paper_settings(flow), []
    for number, one in enumerate(settings):
        progress(number / len(settings), one.title)
        other = flow.but(**one.settings, suppression=0.0)
        try:
            after = other.after
            measured.append(replace(one, gcp=other.utility.gcp, highest=after.highest, groups=after.groups))
        except (GuaranteeError, ParameterError):  # a limit that cannot be kept, or not by tiers
            measured.append(one)
    return tuple(measured)


def gain_sentence(flow: Flow, settings: tuple[PaperSetting, ...]) -> str:
    """Return what the chosen settings gain against the k-anonymous ones of the papers, in a sentence."""
    now = method_text(flow.grouping, flow.release.method, flow.recipe.weight)
    loss, comparable = flow.utility.gcp, [
        one for one in settings if one.gcp is not None and guarantee_of(one.settings["generalizer"]).strict
    ]  # fmt: skip
    if not comparable:
        return f"{now} loses {loss:.0%} of the detail"
    best = min(comparable, key=lambda one: one.gcp or 0.0)
    more = "less" if loss < (best.gcp or 0.0) else "more"
    return (
        f"Chosen now: {in_text(now)}. It loses {loss:.0%} of the detail, {more} than the {best.gcp:.0%} of "
        f"{in_text(best.title)} ({best.source})"
    )
