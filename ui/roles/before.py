"""The risk before anything is done: how far quasi-identifiers single people out, and for whom that is too much."""

import html

import plotly.graph_objects as go
import streamlit as st

from anonymizer.checking.linkage import ROUNDING, LinkageRisk
from anonymizer.settings import SETTINGS
from ui.controls import count, plain, plural, share, slider_ends
from ui.workspace import Workspace

CHANCES = (1, 2, 3, 5, 10, 11, 20, 33, 50, 100, 200, 500, 1000)


def risk_before(ws: Workspace) -> None:
    """Draw the panel for the columns that are quasi-identifying now."""
    with st.spinner("Looking for people who stand out …"):
        risk, _ = ws.flow.before, ws.singling()
    n_columns = len(ws.schema.quasi_identifying) if ws.schema else 0
    st.header("Risk before anything is done", anchor=False)
    st.markdown(unique_sentence(risk, n_columns))
    with st.container(horizontal=True, gap="medium"):
        st.metric("Unique records", count(risk.unique), help="Records that share their combination with nobody.")
        st.metric("Groups of look-alikes", count(risk.groups), help="Different combinations of the chosen columns.")
        st.metric("Smallest group", count(risk.smallest), help="Records in the smallest such group.")
        st.metric("Mean group", f"{risk.mean:,.1f}", help="Records in a group, on average.")
    for place, (name, (chance, words)) in zip(st.columns(3), risk.attackers().items(), strict=True):
        with place, st.container(border=True, height="stretch"):
            attacker(ws, risk, name, chance, words)
    singling_chart(ws)


def attacker(ws: Workspace, risk: LinkageRisk, name: str, chance: float, words: str) -> None:
    """Draw one kind of attacker: the risk, the limit the steward accepts, and whether it holds."""
    setting = f"{name}_limit"
    accepts = ws.settings[setting]
    st.metric(f"{SETTINGS[setting].title} risk", share(chance))
    limit = st.select_slider(
        "Accept one chance in",
        sorted({*CHANCES, accepts}),
        value=accepts,
        format_func=count,
        key=f"{name} limit",
    )
    slider_ends("any risk", "made public")
    ws.set(**{setting: limit})
    accepted = 1 / limit
    if chance * (1 - ROUNDING) <= accepted:
        st.success("Within your limit.", icon=":material/check:")
    elif name == "marketer":
        st.warning(f"Above your limit of {share(accepted)}.", icon=":material/warning:")
    else:
        records = share(risk.share_above(accepted))
        st.warning(f"Above your limit for {records} of the records.", icon=":material/warning:")
    st.caption(plain(words))


def unique_sentence(risk: LinkageRisk, columns: int) -> str:
    """Return what an attacker finds, in one sentence."""
    of_columns = plural(columns, "quasi-identifying column")
    if not risk.unique:
        return (
            f"Nobody is alone: every combination of the {of_columns} is shared by at least "
            f"{plural(risk.smallest, 'record')}."
        )
    verb, part = ("is" if risk.unique == 1 else "are"), share(risk.unique / risk.records)
    return (
        f"**{count(risk.unique)} of {plural(risk.records, 'record')} ({part}) {verb} unique**"
        f" on the {of_columns}: whoever knows these facts of a person finds that person's row."
    )


def singling_chart(ws: Workspace) -> None:
    """Draw a bar for each column: how many unique records it alone makes unique."""
    singles = sorted(ws.singling().items(), key=lambda item: item[1])
    name, most = singles[-1]
    if not most:
        st.markdown("**No single column makes anybody unique**: leaving one out would change nothing.")
        return
    alone = "1 record is" if most == 1 else f"{count(most)} records are"
    st.markdown(f"**{plain(name)} singles out most people: {alone} unique only because of it**")
    largest = singles[-20:]
    bars = go.Bar(
        x=[number for _, number in largest],
        y=[html.escape(column if len(column) <= 30 else column[:29] + "…") for column, _ in largest],
        text=[count(number) for _, number in largest],
        orientation="h",
        marker_color="#3a9163",
        hovertemplate="%{y}: %{x:,} records<extra></extra>",
    )
    figure = go.Figure(bars)
    figure.update_layout(
        height=60 + 26 * len(largest),
        margin={"l": 0, "r": 20, "t": 4, "b": 0},
        xaxis_title="records that would no longer be unique without the column",
        xaxis={"rangemode": "tozero", "tickformat": ",d"},
        yaxis={"type": "category", "automargin": True},
    )
    st.plotly_chart(figure, key="singling", config={"displayModeBar": False})
    if len(singles) > len(largest):
        st.caption(f"The {len(largest)} columns with the largest numbers are shown, of {len(singles)}.")
