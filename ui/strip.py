"""The line that is always in view: whether the release may leave, what it would be, and what two-way tables lose."""

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from anonymizer.drawing.charts import baselines_sentence, two_way_sentence
from anonymizer.gate.finding import Gate
from anonymizer.measuring.utility import cut_error, cut_gcp
from anonymizer.releasing.generalize import INTERVALS
from anonymizer.settings import NAMES
from ui.controls import count, plural, share
from ui.release.folder import folder_result
from ui.warm import WARM_UP
from ui.workspace import Workspace

if TYPE_CHECKING:
    from anonymizer.groups.prune import Pruning


MEASURE = NAMES["measure"]


class Figure(NamedTuple):
    """One number of the strip, as text, and what it means."""

    label: str
    value: str
    meaning: str


RISK = {
    "row": "The best chance of linking a person to a row: 1 / smallest group.",
    "person": "The best chance of linking a row to a person: the largest share of a group's rows that is one person's. "
    "Known once a release was made.",
}
"""What the highest risk is, by what k counts."""

READY = (
    "Risks that are open, on the page of this name. So far: by the table and its roles alone. That page looks at the "
    "release as it is chosen now, too."
)


def figures(ws: Workspace) -> list[Figure]:
    """Return the figures for the current choices, as far as they are known without a record being looked at.

    As long as no release was made, they are those of the pruned tree, whose groups are what ``uniform`` releases.
    What another generalizer makes of them is not known before: a dash.
    """
    if not ws.ready("pruning"):
        return []
    flow = ws.flow
    pruning = flow.pruning
    result = folder_result(ws)
    released = flow.after if flow.ready("after") else result.after if result is not None else None
    utility = flow.utility if flow.ready("utility") else None
    tree, cut = pruning.tree, pruning.cut()
    foreseen = is_foreseen(ws)
    sizes, unit, aimed = tree.persons.n[cut], tree.unit, bool(ws.flow.encoded.target.name)
    records = count(tree.n[0]) + ("" if unit == "row" else f" of {plural(flow.encoded.n_persons, 'person')}")
    groups = smallest = highest = loss = error = "–"
    fewest = released.smallest if released is not None else int(sizes.min()) if foreseen else None
    if released is not None:
        groups, smallest, highest = count(released.groups), count(released.smallest), share(released.highest)
        records = f"{count(released.records)} of {records}" if flow.left_out else records
    elif foreseen:
        groups, smallest = count(len(cut)), count(sizes.min())
        highest = share(1 / int(sizes.min())) if unit == "row" else highest
    if utility is not None:
        loss = share(utility.gcp)
        error = share(utility.error or 0.0) if aimed else error
    elif foreseen:
        loss = share(cut_gcp(tree, ws.flow.node_ncp, cut))
        error = share(cut_error(tree, cut)) if aimed else error
    if result is not None:
        loss = share(sum(result.loss.values()) / len(result.loss))
    return [
        Figure("Ready", readiness(ws, fewest), READY),
        Figure("Rows", records, "Rows in the table, and in the release."),
        Figure(MEASURE["groups"], groups, "Groups of look-alike rows in the release."),
        Figure(MEASURE["smallest"], smallest, f"{unit.capitalize()}s in the smallest group. You ask for k = {ws.k}."),
        Figure(MEASURE["risk"], highest, RISK[unit]),
        Figure(MEASURE["gcp"], loss, "How much of each column's range a cell leaves open, on average."),
        lowest_rsd(ws, pruning, foreseen)
        if ws.flow.encoded.by_numbers
        else Figure(
            MEASURE["error"],
            error,
            "Rows outside the most frequent class of their group, counted on the rows themselves: it is lower "
            "than for people who are not in the table. – without a target.",
        ),
        *tables(ws),
    ]


def is_foreseen(ws: Workspace) -> bool:
    """Return True when the figures of a release are those of the pruned tree: its groups are released whole, and the
    ends of numbers bound every value."""
    return ws.settings.generalizer == "uniform" and ws.settings.numbers in INTERVALS


def readiness(ws: Workspace, smallest: int | None = None) -> str:
    """Return whether the release may leave, as far as that is known; a dash as long as nothing is. ``smallest``: the
    people of the smallest group, where that is known before there is a release."""
    result = folder_result(ws)
    if result is not None or ws.ready("judgement"):
        gate = ws.flow.gate if result is None else result.gate
        stopping = gate.risks
        return f"{stopping:,} open" if stopping else "Needs a reason" if gate.failed else "Yes"
    if not ws.ready("about_table"):
        return "–"
    stopping = Gate(ws.flow.about_table).with_reasons(ws.reasons).risks + is_risky(ws)
    if stopping:
        return f"{stopping:,} open so far"
    return "Yes, so far" if smallest is None or smallest >= ws.k else "k is not kept"


def is_risky(ws: Workspace) -> bool:
    """Return True when a row of the release is known to be likelier one person's than the steward accepts, which the
    gate will say of a release that is k-anonymous."""
    if ws.flow.schema.person is None or not ws.ready("after") or "risk" in ws.reasons:
        return False
    return ws.flow.after.share_above(max(1 / ws.settings.prosecutor_limit, 1 / ws.k)) > 0


def lowest_rsd(ws: Workspace, pruning: "Pruning", foreseen: bool) -> Figure:
    """Return what takes the place of the error where the target is a number."""
    numeric = ws.flow.risk.numeric
    is_known = foreseen and numeric is not None
    return Figure(
        MEASURE["rsd"],
        share(float(numeric.rsd[pruning.cut()].min())) if is_known else "–",
        "Guessing a sensitive number by the mean of its group leaves at least this share of the squared error of "
        "guessing by the whole table's: the lower, the more the worst group gives away.",
    )


def strip(ws: Workspace) -> None:
    """Draw the figures at the foot of the window."""
    tiles = figures(ws)
    if not tiles and WARM_UP.compiler is None:
        return
    with st.bottom, st.container(horizontal=True, horizontal_alignment="distribute", gap="small", key="strip"):
        if WARM_UP.compiler is not None:
            compiled()
        for figure in tiles:
            st.metric(figure.label, figure.value, help=figure.meaning, width="content")


@st.fragment(run_every=2.0)
def compiled() -> None:
    """Draw how far the compiler is."""
    meaning = "Copse compiles itself, once after every update. Pages that need what is not there yet wait for it."
    st.metric("Compiled", share(WARM_UP.share if WARM_UP.compiler is not None else 1.0), help=meaning, width="content")


def tables(ws: Workspace) -> list[Figure]:
    """Return what two-way tables lose, as a figure; none as long as no page measured it, or without a pair of
    columns."""
    two_way = ws.flow.two_way if ws.ready("two_way") else None
    if two_way is None or two_way.mean is None:
        return []
    value = share(two_way.mean) if two_way.is_worth_it else f":orange[{share(two_way.mean)}]"
    return [Figure("Cross tables off", value, f"{two_way_sentence(two_way)}. {baselines_sentence(two_way)}")]
