"""Beside the tree: what colours mean, one node explained in plain words, and the table of groups."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from anonymizer.drawing.charts import class_figure, numbers_figure, numbers_sentence
from anonymizer.drawing.draw import TOGETHER, below_text, span_text
from anonymizer.drawing.groups import group_table, shared_cells, worst_groups
from anonymizer.drawing.leaving import Leaving
from anonymizer.drawing.reasons import explain_leaf
from anonymizer.drawing.rules import rule_text
from anonymizer.drawing.shades import Shade
from anonymizer.drawing.words import chance_text, class_name, mean_text
from anonymizer.groups.digression import NumericRisk
from anonymizer.groups.limits import margins
from anonymizer.groups.prune import Pruning
from anonymizer.groups.risk import NodeRisk
from anonymizer.growing.encode import EncodedTable
from anonymizer.reporting.findings import one_row_of
from anonymizer.values import number_text
from ui.controls import count, plain, plural, share
from ui.release.view import row_table
from ui.session import widget_state
from ui.tree.state import TreeState
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
LONGEST_RULE = 200
"""Letters of a rule that stands in full; a longer one is shortened, and its help has all of it."""
MOST_GROUPS = 1000
MOST_MARKS = 4
"""Groups that are named for what they leave together with earlier releases."""


def show_legend(shades: tuple[Shade, ...], what: str, is_below: bool) -> None:
    """Draw the colour scale with its gauges (or the marks of the classes), and how groups and folded branches look.
    ``is_below``: some group is marked for what it leaves together with earlier releases."""
    together = f"<span>{TOGETHER} people below k with earlier releases</span>" * is_below
    marks = "".join(
        f'<span style="white-space:nowrap"><span style="background:{shade.colour};border:1px solid #888;'
        f'border-radius:3px;padding:0 .4em;margin-right:.35em;color:{"#000" if _is_light(shade.colour) else "#fff"}">'
        f"{shade.gauge}</span>{_html(shade.text)}</span>"
        for shade in shades
    )
    st.html(
        f'<div style="font-size:.78rem;display:flex;flex-wrap:wrap;gap:.1rem .9rem;align-items:center">'
        f"<b>{_html(what)}</b>{marks}"
        "<span>double border: a group</span><span>dashed: merged into the group above</span>"
        f"<span>⚠ fewer than k rows</span><span>▸ folded branch</span>{together}</div>"
    )


def _is_light(colour: str) -> bool:
    return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) > 380


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def show_worst(ws: Workspace, pruning: Pruning, cut: NDArray[np.integer], on_pick: Callable[[int], None]) -> None:
    """Draw the worst group by every figure, each a button that picks it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Worst groups:", width="content")
        for worst in worst_groups(pruning.tree, ws.flow.risk, ws.flow.encoded, cut):
            st.button(
                f"{plain(worst.what)} · group {worst.node:,}",
                key=f"worst {worst.figure}",
                type="tertiary",
                on_click=on_pick,
                args=(worst.node,),
                help="Pick this group",
            )


def below_in_ledger(ws: Workspace, pruning: Pruning) -> Mapping[int, int]:
    """Return how many people of each group are in too small ones together with the releases of the ledger that is open,
    by node; empty without one, without a release, and while pruning steps are taken back."""
    opened, flow, table = ws.ledger, ws.flow, None if ws.reading is None or ws.reading.in_pieces else ws.table
    if opened is None or table is None or not opened.entries or not flow.ready("after"):
        return {}
    if ws.state(TreeState).after != pruning.n_steps:
        return {}

    def people() -> dict[int, int]:
        cells = opened.ledger.cells(table, flow.schema)
        return cells.people_below(flow.class_of, int(flow.settings.k), pruning.group_of_node()[flow.leaf])

    return ws.answers.get("below in ledger", (flow.release, opened.head), people)


def show_below(below: Mapping[int, int], k: int, on_pick: Callable[[int], None]) -> None:
    """Draw the groups whose people are in too small ones together with earlier releases, the worst first, each a button
    that picks it; nothing without any."""
    if not below:
        return
    worst = sorted(below, key=lambda node: (-below[node], node))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        people = plural(sum(below.values()), "person", "people")
        st.caption(f"{TOGETHER} With earlier releases {people} in groups of fewer than {k:,}:", width="content")
        for node in worst[:MOST_MARKS]:
            label = f"group {node:,} · {below[node]:,}"
            st.button(label, key=f"below {node}", type="tertiary", on_click=on_pick, args=(node,))
        if len(worst) > MOST_MARKS:
            st.caption(f"and {plural(len(worst) - MOST_MARKS, 'more group')}", width="content")


def show_node(
    ws: Workspace,
    pruning: Pruning,
    subject: tuple[Pruning, NodeRisk, EncodedTable],
    node: int,
    after: int,
    bands: Mapping[int, NDArray[np.int64]],
    on_close: Callable[[], None],
    on_open: Callable[[int], None],
) -> None:
    """Draw one node beside the picture: who is in it, what somebody who knows them learns, why they are together, one
    row before and after, and the papers' figures last. ``subject``: of the sensitive column that colours are of."""
    encoded, risk, tree, p = ws.flow.encoded, ws.flow.risk, pruning.tree, ws.settings
    encodings = encoded.encodings
    what = "group" if pruning.group_of_node(after)[node] == node else "node"
    with st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        if node not in (0, ws.state(TreeState).focus):
            st.button(
                "Zoom into this branch", icon=":material/zoom_in:", type="tertiary", on_click=on_open, args=(node,)
            )
        st.button("Close", icon=":material/close:", type="tertiary", on_click=on_close)
    whose = "" if tree.unit == "row" else f", of {plural(int(tree.persons.n[node]), 'person')}"
    size = f"{count(tree.n[node])} of {count(tree.n[0])} rows{whose}"
    st.header(f"{what.capitalize()} {node:,}: {size}", anchor=False)
    rule, short = (rule_text(tree, encodings, node, brief=brief) for brief in (False, True))
    is_long = len(rule) > LONGEST_RULE
    st.markdown(plain(short if is_long else rule), help=plain(rule) if is_long else None)
    if node in (below := below_in_ledger(ws, pruning)):
        st.caption(plain(f"{TOGETHER} {below_text(below[node], pruning.k)}"))
    st.subheader("What somebody who knows this learns", anchor=False)
    coloured, coloured_risk, coloured_table = subject
    for sentence in learnt_sentences(coloured_table, coloured_risk, coloured, node):
        st.markdown(plain(sentence))
    show_one_row(ws, pruning, coloured_table, node)
    labels = coloured_table.target.texts
    if len(labels) > 1:
        st.plotly_chart(class_figure(coloured.tree.sums[node], labels), key="classes", config=CONFIG)
    if coloured_risk.numeric is not None:
        st.plotly_chart(numbers_figure(coloured_risk.numeric, node), key="numbers", config=CONFIG)
    st.subheader("Why they are together", anchor=False)
    limits = margins(tree, risk, encoded, ws.flow.limits)
    significance = p.significance if p.tested == "inner" else None
    why = explain_leaf(
        tree, risk, pruning, encodings, node, after, limits=limits, significance=significance, form=p.test_form
    )
    st.markdown(plain(why))
    show_parts(ws, pruning, node, bands)
    st.subheader("In the papers' words", anchor=False)
    for value, words in measures(risk, encoded, node):
        st.caption(f"**{plain(value)}** {plain(words)}")


def learnt_sentences(encoded: EncodedTable, risk: NodeRisk, pruning: Pruning, node: int) -> list[str]:
    """Return what somebody learns who knows that a person belongs to a node: the likeliest class and how likely it is
    here and in the whole table, and what the numbers say."""
    tree, target = pruning.tree, encoded.target
    sentences = []
    if target.n_classes > 1:
        counts = tree.sums[node]
        largest = int(counts.argmax())
        here, whole = int(counts[largest]), float(tree.sums[0][largest] / max(int(tree.n[0]), 1))
        sentences.append(
            f"{target.title}: {class_name(target.texts[largest])}, {here:,} of {plural(int(tree.n[node]), 'row')} "
            f"({chance_text(here / max(int(tree.n[node]), 1))}; in the whole table {chance_text(whole)})."
        )
    if risk.numeric is not None:
        sentences.append(numbers_sentence(risk.numeric, node))
    return sentences or ["Nothing: no column is sensitive."]


def surest_sentence(leaves: Leaving | None, name: str) -> str:
    """Return what the picture says of all released groups, in one sentence; "" where nothing is released yet, or where
    neither the target (``name``) has classes nor the colours are ranges of a number."""
    if leaves is None or not (name or leaves.ranges):
        return ""
    if leaves.ranges:
        (narrow, third), rows = leaves.narrow, sum(leaves.records.values())
        few = f"{count(narrow) if narrow else 'None'} of the {plural(rows, 'row')} {'is' if narrow == 1 else 'are'}"
        where = f"in groups where 8 in 10 values of {plain(leaves.number)} lie within a range of {plain(third)}."
        missing = f" {plural(leaves.missing, 'missing value counts', 'missing values count')} as the mean."
        return f"{few} {where}{missing * (leaves.missing > 0)}"
    better, groups = leaves.groups - leaves.up_to_even, plural(leaves.groups, "released group")
    if not better:
        return f"In none of the {groups} can somebody's {plain(name)} be guessed with better than even odds."
    certain = f"; in {count(leaves.certain)}, for certain" if leaves.certain else ""
    guessed = f"somebody's {plain(name)} can be guessed with better than even odds{certain}."
    return f"In {'each' if better == leaves.groups else count(better)} of the {groups}, {guessed}"


def rows_of(ws: Workspace, pruning: Pruning, node: int) -> NDArray[np.int64]:
    """Return the rows of a node that are released; none as long as there is no release."""
    flow = ws.flow
    if not flow.ready("after") or not flow.ready("release"):
        return np.empty(0, np.int64)
    leaf = flow.leaf[flow.staying]
    return flow.staying[(leaf >= node) & (leaf < node + pruning.tree.size[node])]


def row_in_sight(ws: Workspace, pruning: Pruning, node: int) -> int | None:
    """Return the row of a node that is shown before and after, ``None`` where none is released."""
    rows = rows_of(ws, pruning, node)
    return int(rows[ws.state(TreeState).turn % len(rows)]) if len(rows) else None


def show_one_row(ws: Workspace, pruning: Pruning, encoded: EncodedTable, node: int) -> None:
    """Draw one row of a node as it is in the table and as it is released, and its released group, which is outlined in
    the picture; another one by a button. ``encoded``: the table, told of the column that colours are of."""
    row, flow, state = row_in_sight(ws, pruning, node), ws.flow, ws.state(TreeState)
    if row is None:
        return

    def turn() -> None:
        state.turn += 1

    st.subheader("One row, before and after", anchor=False)
    st.markdown(plain(released_sentence(encoded, flow.class_of == flow.class_of[row])))
    st.table(row_table(one_row_of(flow, row)).map(plain), hide_index=True, border="horizontal")
    st.button("Another row", icon=":material/shuffle:", on_click=turn, key="another row")


def released_sentence(encoded: EncodedTable, alike: NDArray[np.bool_]) -> str:
    """Return how many rows look alike when they are released, of how many persons where these have several rows, and
    the likeliest class of these rows. ``alike`` (n,)."""
    n, target = int(alike.sum()), encoded.target
    size = f"It is released with {plural(n - 1, 'other row')} that look{'s' if n == 2 else ''} the same"
    if encoded.person is not None:
        size += f", of {plural(len(np.unique(encoded.person[alike])), 'person')} in all"
    if target.n_classes < 2:
        return f"{size}."
    counts = np.bincount(target.codes[alike], minlength=target.n_classes)
    largest = int(counts.argmax())
    return f"{size}; {target.title}: {class_name(target.texts[largest])}, {counts[largest]:,} of {n:,}."


def parts_in_view(ws: Workspace, pruning: Pruning) -> Mapping[int, NDArray[np.int64]]:
    """Return the records of every group that are released alike, by node: none while steps are taken back, where the
    grown tree alone is drawn, or where nothing can be released."""
    state = ws.state(TreeState)
    whole = state.what != "grown" and state.after == pruning.n_steps
    return ws.flow.bands if whole and ws.flow.ready("bands") else {}


def show_parts(ws: Workspace, pruning: Pruning, node: int, bands: Mapping[int, NDArray[np.int64]]) -> None:
    """Draw what the picked group is divided into: the cells that its records share in the release, largest first."""
    sizes = bands.get(node, ())
    if len(sizes) < 2:
        return
    st.markdown(
        f"**Inside.** Its rows are divided into {plural(len(sizes), 'smaller group')} of "
        f"{plain(span_text(min(sizes), max(sizes)))} that look alike in the release: neighbours that fit best."
    )
    flow = ws.flow
    rows = (pruning.group_of_node()[flow.leaf] == node)[flow.release.order]
    table = shared_cells(flow.released, flow.schema.quasi_identifying, rows)
    with st.expander("The cells that they share", key=f"parts {node}"):
        st.dataframe(table.head(MOST_GROUPS), hide_index=True, height=min(40 + 35 * len(table), 320))


def measures(risk: NodeRisk, encoded: EncodedTable, node: int) -> list[tuple[str, str]]:
    """Return the measures of a node, each in plain words with its symbol after."""
    facts = [
        (
            f"{risk.big[node]:.2f} bits",
            "learnt about a person's quasi-identifiers by knowing that they belong here (BIG): "
            "the narrower the rule, the more.",
        ),
        (f"{risk.icr[node]:.2f} bits", "still needed to find one person among the rows here (ICR = log₂ n)."),
        (
            f"{risk.tidi[node]:.2f} bits",
            "in all between an attacker and one person (TIDI = BIG + ICR): the lower, the riskier.",
        ),
    ]
    if encoded.target.n_classes > 1:
        name = encoded.target.title
        facts.append((f"{count(risk.error[node])} rows", f"are not in the largest class of {name} here (E)."))
    if not np.isnan(risk.error_risk[node]):
        facts += branch_measures(risk, node, encoded.target.n_classes > 1)
    return facts if risk.numeric is None else [*facts, *number_measures(risk.numeric, node)]


def branch_measures(risk: NodeRisk, node: int, has_classes: bool) -> list[tuple[str, str]]:
    """Return the measures of the branch below a node, at the leaves of the grown tree."""
    ratio = risk.error_risk[node]
    facts = [(f"{risk.branch_tidi[node]:.2f} bits", "is the lowest TIDI of the leaves below as grown (R(B)).")]
    if has_classes:
        facts += [
            (f"{count(risk.branch_error[node])} rows", "are not in the largest class of their leaf below (E(B))."),
            ("No row of error", "is added if the branch is merged (ω = ∞).")
            if np.isinf(ratio)
            else (f"{ratio:.3g} bits", "of risk go for each row of error if the branch is merged (ω)."),
        ]
    return facts


def number_measures(numeric: NumericRisk, node: int) -> list[tuple[str, str]]:
    """Return what a node tells about numeric sensitive columns, in plain words with the symbol after."""
    p_value = numeric.p_value[node]
    tested = (
        "of drawing rows that vary together this unlike the whole table, by chance (p-value; "
        f"adjusted for few rows, {numeric.p_adjusted[node]:.3g})."
    )
    statistic = numeric.statistic[node]
    facts = [
        (
            number_text(numeric.digression[node]),
            "is how far the scatter of the sensitive numbers here falls short of the whole table's (digression Δ): "
            "0 for the whole table, and the larger, the more the group gives away.",
        ),
        (
            number_text(numeric.sse[node]),
            "is the squared error around the means here, each column scaled to 0–1 (SSE).",
        ),
        *branch_numbers(numeric, node),
        *(
            [(f"{statistic:.4g}", "says how unlike the whole table's the numbers vary together (statistic L).")]
            if np.isfinite(statistic)
            else []
        ),
        ("No chance known", "of the test: the table's own numbers move in step (p-value).")
        if np.isnan(p_value)
        else (f"{p_value:.3g}", f"is the chance {tested}"),
    ]
    for position, name in enumerate(numeric.titles):
        rsd, spread = numeric.rsd[node, position], numeric.spread[node, position]
        words = (
            f"is the mean of {name}, for the whole table {mean_text(numeric, 0, position)}. Guessing it "
            f"leaves {share(float(rsd))} of the squared error of a blind guess (RSD), and the values vary "
            f"{share(float(spread))} as much as in the table (spread, of standard deviations)."
        )
        facts.append((mean_text(numeric, node, position), words))
    return facts


def branch_numbers(numeric: NumericRisk, node: int) -> list[tuple[str, str]]:
    """Return what the branch below a node tells about numbers, at the leaves of the grown tree; nothing of a leaf."""
    ratio = numeric.error_digression[node]
    if np.isnan(ratio):
        return []
    price = "of squared error is added for each unit of digression that merging the branch removes (q)."
    nothing = "is removed by merging the branch (q = ∞)."
    return [
        (number_text(numeric.branch_digression[node]), "is the sum of Δ over the leaves below as grown (Δ(B))."),
        ("No digression", nothing) if np.isinf(ratio) else (f"{ratio:.4g}", price),
    ]


def show_groups(
    encoded: EncodedTable, risk: NodeRisk, pruning: Pruning, after: int, on_pick: Callable[[int], None]
) -> None:
    """Draw the groups as a sortable table, smallest first, the first thousand of them; a row can be picked."""
    cut, tree = pruning.cut(after), pruning.tree
    cut = cut[np.argsort(tree.n[cut], kind="stable")]
    if len(cut) > MOST_GROUPS:
        st.caption(f"The {count(MOST_GROUPS)} smallest of {count(len(cut))} groups.")
    table = group_table(tree, risk, encoded.encodings, encoded.target.texts, cut[:MOST_GROUPS])
    if encoded.target.n_classes < 2:
        table = table.drop(columns=["largest class", "its share", "E"])
    key = f"groups {after} {len(table)}"

    nodes = [int(node) for node in table["node"]]

    def pick() -> None:
        state = widget_state(key)
        rows = state["selection"]["rows"] if state else []
        if rows and 0 <= rows[0] < len(nodes):
            on_pick(nodes[rows[0]])

    st.dataframe(
        table, key=key, on_select=pick, selection_mode="single-row", hide_index=True,
        height=min(40 + 35 * len(table), 460),
        column_config=group_columns(table),
    )  # fmt: skip


def group_columns(table: pd.DataFrame) -> dict[str, Any]:
    """Return how the columns of the table of groups are shown and explained."""
    bits = {"format": "%.2f"}
    columns = {
        "node": st.column_config.NumberColumn("Node", width="small"),
        "rule": st.column_config.TextColumn("Rule", width="large"),
        "records": st.column_config.NumberColumn("Rows", format="localized"),
        "largest class": st.column_config.TextColumn("Largest class"),
        "its share": st.column_config.NumberColumn("Its share", format="percent"),
        "BIG": st.column_config.NumberColumn("BIG, bits", help="Learnt about the quasi-identifiers", **bits),
        "ICR": st.column_config.NumberColumn("ICR, bits", help="Still needed to find one person: log₂ n", **bits),
        "TIDI": st.column_config.NumberColumn("TIDI, bits", help="BIG + ICR; low is risky", **bits),
        "E": st.column_config.NumberColumn("E", help="Rows outside the largest class", format="localized"),
        "digression": st.column_config.NumberColumn("Δ", help="Digression; large is risky", format="%.4g"),
        "SSE": st.column_config.NumberColumn("SSE", help="Squared error around the means", format="%.4g"),
        "p-value": st.column_config.NumberColumn("p", help="Of the covariance test", format="%.3g"),
    }
    return {name: columns[name] for name in table if name in columns}
