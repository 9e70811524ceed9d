"""What a release costs, on the page beside its risks: detail lost by column, the target guessed, prices of repairs."""

from functools import partial
from html import escape

import numpy as np
import streamlit as st

from anonymizer.drawing.charts import BY_TABLES, baselines_sentence
from anonymizer.errors import AnonymizerError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Gate, Repair, Severity, together
from anonymizer.whatif.price import of_reading, price_of, repaired
from ui.background import Job
from ui.controls import duration, plain, share
from ui.gate.state import GateState
from ui.gate.view import Prices
from ui.job import answer_of_job, parts_of
from ui.workspace import Workspace

AT_ONCE = 5.0
"""Seconds that one release may take for the prices of repairs to be worked out without being asked for."""
MOST_COLUMNS = 12


def prices(ws: Workspace, gate: Gate) -> Prices:
    """Return the prices of the repairs that are known so far; draws what works them out, or the button for it."""
    flow, suggested, again = ws.flow, ws.suggest(), ws.reader()
    repairs = [
        (several, repair)
        for several in together(gate.findings)
        if several.severity is not Severity.FINE and not several.reason
        for repair in several.repairs
        if not repair.missing or ws.can_read_again
    ]
    if not repairs:
        return {}
    expected = [seconds_of(flow, repair) for _, repair in repairs]
    label = "" if max(expected) <= AT_ONCE else f"Work out prices (about {duration(sum(expected))})"

    def work(job: Job) -> None:
        for number, (several, repair) in enumerate(repairs):
            at, words = number / len(repairs), f"Price of “{repair.words}”"
            go_on = partial(lambda at, words, *_: job.go_on(at, words), at, words)
            price = price_of(flow, several, repair, go_on, lambda missing: of_reading(flow, again(missing), suggested))
            job.parts.append(((several.keys, repair.words), price))

    key = (flow.needs("leaving"), tuple(several.keys for several, _ in repairs))
    answer_of_job(ws, "prices", key, label, work)
    return dict(parts_of(ws, "prices", key))


def seconds_of(flow: Flow, repair: Repair) -> float:
    """Return how long the price of a repair will take: as long as the same took here; 0 where it cannot be made."""
    try:
        return flow.expected(repaired(flow, repair, lambda _: Flow(flow.table, flow.schema, flow.settings)))
    except AnonymizerError:
        return 0.0


def costs(ws: Workspace) -> None:
    """Draw what the release costs: the detail lost by column, before the repairs and with them, and the target."""
    flow = ws.flow
    change, now = ws.state(GateState).first(flow.schema, ws.settings), flow.utility
    before = change.lost if change else now.ncp_by_column
    st.header("What it costs", anchor=False)
    first = sum(before.values()) / len(before) if before else now.gcp
    then = f"{share(first)} → " if change and share(first) != share(now.gcp) else ""
    st.markdown(f"Detail lost: {then}**{share(now.gcp)}**")
    columns = sorted(now.ncp_by_column.items(), key=lambda pair: -pair[1])
    rows = "".join(row(name, before.get(name, loss), loss) for name, loss in columns[:MOST_COLUMNS])
    st.html(f'<table class="copse-loss"><tbody>{rows}</tbody></table>')
    if len(columns) > MOST_COLUMNS:
        st.caption(f"and {len(columns) - MOST_COLUMNS:,} more")
    if change:
        st.caption("Green: before the repairs. Amber: added by them.")
    target(ws)
    cross_tables(flow)


def row(name: str, before: float, now: float) -> str:
    """Return the loss of a column as a row of a table."""
    old, new = min(before, now), max(0.0, now - before)
    bar = f'<div class="copse-bar"><i style="width:{100 * old:.1f}%"></i><i style="width:{100 * new:.1f}%"></i></div>'
    name = escape(name, quote=True)
    return f'<tr><th scope="row" title="{name}">{name}</th><td>{bar}</td><td>{share(now)}</td></tr>'


def cross_tables(flow: Flow) -> None:
    """Draw how far cross tables are off, beside reading evenly and beside one-way tables alone, which is a mark."""
    two_way = flow.two_way
    if two_way.mean is None or two_way.mean_alone is None or two_way.even is None:
        return
    st.markdown(f"Cross tables off: **{share(two_way.mean)}**", help=f"Rows in a wrong cell, on average. {BY_TABLES}")
    most = max(two_way.mean, two_way.mean_alone, two_way.even.mean or 0.0, 1e-9)
    wide, mark = (100 * part / most for part in (two_way.mean, two_way.mean_alone))
    colour = "" if two_way.is_worth_it else ' class="amber"'
    st.html(f'<div class="copse-bar"><i{colour} style="width:{wide:.1f}%"></i><b style="left:{mark:.1f}%"></b></div>')
    st.caption(plain(baselines_sentence(two_way)))


def target(ws: Workspace) -> None:
    """Draw how often the target is guessed right, beside guessing its most frequent value."""
    flow = ws.flow
    if flow.held_out is None or flow.encoded.by_numbers:
        return
    codes = flow.encoded.target.codes
    always = float(np.bincount(codes).max() / len(codes))
    st.markdown(
        f"{plain(flow.encoded.target.title)} guessed right: **{share(flow.held_out)}**",
        help="Of people who were held out while groups were made, by the most frequent value of their group.",
    )
    st.caption(f"The most frequent value: {share(always)}")
