"""The risk before release: how far quasi-identifiers single people out, and for whom that is too much."""

import html
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from anonymizer.checking.linkage import ROUNDING, LinkageRisk
from anonymizer.settings import MOST, SETTINGS
from ui.controls import count, plain, share, slider_ends
from ui.slider import Scale, number, set_one
from ui.workspace import Workspace

CHANCES = (1, 2, 3, 5, 10, 11, 20, 33, 50, 100, 200, 500, 1000)
MOST_BARS = 6
OTHERS = ("journalist", "marketer")
"""Attackers who are looked at beside the one who knows that a person is in the table."""


def risk_before(ws: Workspace) -> None:
    """Draw the panel for the columns that are quasi-identifying now."""
    with st.spinner("Looking for people who stand out …"):
        risk, _ = ws.flow.before, ws.singling()
    n_columns = len(ws.schema.quasi_identifying) if ws.schema else 0
    st.header("Risk before release", anchor=False)
    st.caption(f"Counted on the {n_columns:,} quasi-identifier{'s' * (n_columns != 1)}.")
    figures = st.container(gap="small")
    limit(ws, "prosecutor", "Highest risk you accept: 1 in")
    figures.metric(
        "Rows that fit one person only", count(risk.unique), share(risk.unique / risk.records), delta_color="off",
        delta_arrow="off", help="Somebody who knows these facts of a person finds the row.",
    )  # fmt: skip
    above = risk.share_above(1 / ws.settings.prosecutor_limit)
    figures.metric(
        "Rows above your limit", count(round(above * risk.records)), share(above), delta_color="off", delta_arrow="off",
        help="Their person is found with a higher chance than you accept.",
    )  # fmt: skip
    singling_chart(ws)
    with st.expander("Other attackers", key="other attackers"):
        attackers = risk.attackers()
        for name in OTHERS:
            attacker(ws, risk, name, *attackers[name])
        with st.container(horizontal=True, gap="medium"):
            st.metric("Groups", count(risk.groups), help="Different combinations of these columns.")
            st.metric("Smallest group", count(risk.smallest), help="Persons in the smallest such group.")
            st.metric("Mean group", f"{risk.mean:,.1f}", help="Persons in a group, on average.")


def limit(ws: Workspace, name: str, words: str) -> None:
    """Draw the limit on the risk of one kind of attacker."""
    setting = f"{name}_limit"
    accepts = ws.settings[setting]
    scale = Scale(1, MOST, 1, CHANCES)
    take = partial(set_one, ws, setting)
    number(plain(words), scale, accepts, take, slider=f"{name} limit", field=f"{name} limit field")
    slider_ends("any risk", "made public")


def attacker(ws: Workspace, risk: LinkageRisk, name: str, chance: float, words: str) -> None:
    """Draw one kind of attacker: the risk, the limit the steward accepts, and whether it holds."""
    st.metric(f"{SETTINGS[f'{name}_limit'].title} risk", share(chance), help=plain(words))
    limit(ws, name, "Highest risk you accept: 1 in")
    accepted = 1 / ws.settings[f"{name}_limit"]
    if chance * (1 - ROUNDING) <= accepted:
        st.success("Within your limit.", icon=":material/check:")
    elif name == "marketer":
        st.warning(f"Above your limit of {share(accepted)}.", icon=":material/warning:")
    else:
        part = share(risk.share_above(accepted))
        st.warning(f"{part} of the rows are above your limit.", icon=":material/warning:")


def singling_chart(ws: Workspace) -> None:
    """Draw a bar for each column: how many unique records it alone makes unique."""
    singles = sorted(ws.singling().items(), key=lambda item: item[1])
    if not singles[-1][1]:
        st.markdown("**No single column makes a row unique**")
        return
    st.markdown("**What singles people out**", help="Rows that are unique only because of the column.")
    largest = singles[-MOST_BARS:]
    bars = go.Bar(
        x=[number for _, number in largest],
        y=[html.escape(column if len(column) <= 18 else column[:17] + "…") for column, _ in largest],
        text=[count(number) for _, number in largest],
        textangle=0,
        orientation="h",
        marker_color="#3a9163",
        hovertemplate="%{y}: %{x:,} rows<extra></extra>",
    )
    figure = go.Figure(bars)
    figure.update_layout(
        height=14 + 26 * len(largest),
        margin={"l": 0, "r": 20, "t": 0, "b": 0},
        xaxis={"visible": False, "rangemode": "tozero"},
        yaxis={"type": "category", "automargin": True},
    )
    st.plotly_chart(figure, key="singling", config={"displayModeBar": False})
