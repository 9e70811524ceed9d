"""A private forest on the page: its budget, its rules, its trees, its predictions, and how it would do in public."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.cut_points import buy_cuts
from anonymizer.domains import code, domains_of
from anonymizer.errors import AnonymizerError
from anonymizer.forest import MODES, Forest, Measured, grow_and_measure, grow_forest, predict_records
from anonymizer.forest_drawing import accuracy_figure, ledger_figure, outline, tree_dot
from anonymizer.mechanisms import Budget
from anonymizer.read import read_table
from anonymizer.rehearsal import BUDGETS, accuracy_curve
from anonymizer.rules import chosen_rules, rule_sentence, rules_csv, rules_json, rules_of, rules_text
from anonymizer.samples import SAMPLES
from ui.controls import count, plain, plural, problem, share
from ui.forest_choices import Asked
from ui.tree_view import tree_view
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
LIMIT = 3.0
CUT_SHARE = 0.1
SAMPLE = "hospital"
ANYTHING = "any"


def spending(ws: Workspace, asked: Asked) -> None:
    """What this session has spent on the table, and the button that spends more."""
    if ws.reading is None:
        return
    sha, spent = ws.reading.sha256, ws.spent.get(ws.reading.sha256, 0.0)
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="large")
        limit = right.number_input(
            "Most that may be spent on this table in this session",
            0.05,
            100.0,
            ws.view.get("forest limit", LIMIT),
            step=0.5,
            key="forest limit",
            help="Answers add up: two forests for β = 1 each protect like one for β = 2.",
        )
        ws.view["forest limit"] = limit
        left.progress(min(spent / limit, 1.0), f"Spent on this table in this session: **{spent:g}** of {limit:g}")
        left.caption(f"Table with SHA-256 {sha[:16]}…. What was spent elsewhere on the same people counts too.")
        measure = left.toggle(
            "Measure it on a held-out fifth",
            ws.view.get("forest measure", False),
            key="forest measure",
            help="How accurate it is, privately. Each record is seen by the forest or by the measurement, so nothing "
            "more is spent; but the forest learns from fewer records.",
        )
        ws.view["forest measure"] = measure
        numbers = [attribute.name for attribute in asked.domains.attributes if attribute.bounds is not None]
        buy = bool(numbers) and left.toggle(
            f"Buy cut points of {plural(len(numbers), 'column')}",
            ws.view.get("forest cuts", False),
            key="forest cuts",
            disabled=measure,
            help="With a tenth of the budget. Only the two ends of these columns of numbers are known; without this "
            "they are cut into even ranges. Not together with a held-out part.",
        )
        ws.view["forest cuts"] = buy
        over = spent + asked.epsilon > limit * (1 + 1e-9)
        if right.button(
            f"Spend β = {asked.epsilon:g} and grow",
            type="primary",
            icon=":material/forest:",
            disabled=over,
            key="forest grow",
        ):
            grow(ws, asked, measure, buy and not measure)
            st.rerun()
        if over:
            right.caption(f":material/block: That would make {spent + asked.epsilon:g}. Lower β, or allow more.")


def grow(ws: Workspace, asked: Asked, measure: bool, buy: bool) -> None:
    """Grow the forest and charge the session for it."""
    if ws.reading is None:
        return
    parameters = {"mode": asked.mode, "n_trees": asked.n_trees, "max_depth": asked.max_depth}
    sha = ws.reading.sha256
    try:
        table = code(ws.reading.frame, asked.domains)
        with st.spinner("Growing the forest…", show_time=True):
            ws.spent[sha] = ws.spent.get(sha, 0.0) + asked.epsilon
            measured = grow_and_measure(table, asked.epsilon, **parameters) if measure else None
            paid = Budget(asked.epsilon)
            if buy:
                better = buy_cuts(ws.reading.frame, asked.domains, paid, asked.epsilon * CUT_SHARE)
                table = code(ws.reading.frame, better)
            forest = measured.forest if measured else grow_forest(table, asked.epsilon, paid=paid, **parameters)
            # Before the spinner ends: there a click on the page that came meanwhile would begin another run.
            ws.view |= {"forest": (sha, forest, measured), "forest problem": None, "forest node": None}
    except AnonymizerError as error:
        ws.view["forest problem"] = error


def shown_forest(ws: Workspace) -> tuple[Forest, Measured | None] | None:
    """The newest forest of this table."""
    held = ws.view.get("forest")
    if held is None or ws.reading is None or held[0] != ws.reading.sha256:
        return None
    return held[1], held[2]


def headline(forest: Forest, measured: Measured | None) -> None:
    """What was made, whether it may leave, and what it cost."""
    for warning in forest.warnings:
        st.error(plain(warning), icon=":material/gpp_bad:")
    if not forest.warnings:
        st.success(
            f"This forest may be published: it is {forest.epsilon:g}-differentially private.",
            icon=":material/verified:",
        )
    first, second, third, fourth = st.columns(4)
    kept = MODES[forest.mode].private
    paid = "ε that a record's data paid, along the dearest path"
    first.metric("Spent" if kept else "Spent, as it claims", f"{forest.ledger.spent:.4g}", help=paid)
    second.metric("Budget β" if kept else "Budget β, not kept", f"{forest.epsilon:g}")
    third.metric("Rules and subrules", count(len(rules_of(forest))))
    if measured is None:
        fourth.metric("Accuracy", "–", help="Not asked: looking at it on private records costs budget.")
    else:
        fourth.metric("Accuracy, held out", share(measured.accuracy), help=f"± {share(measured.margin)} from its noise")


def budget_panel(forest: Forest) -> None:
    """The ledger as a stacked bar and as a table."""
    st.plotly_chart(ledger_figure(forest.ledger), key="forest ledger", config=CONFIG)
    rows = [
        {
            "Part": entry.part,
            "Level": entry.level,
            "Query": entry.purpose,
            "ε of each": entry.epsilon,
            "Asked": entry.queries,
            "Composition": entry.composition,
        }
        for entry in forest.ledger.entries
    ]
    with st.expander(f"Every query: {plural(sum(entry.queries for entry in forest.ledger.entries), 'answer')}"):
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        st.caption("Queries of one level see different records: their ε counts once. Levels and trees add up.")


def rules_panel(ws: Workspace, forest: Forest) -> None:
    """The rules, filtered, and their files."""
    rules, domains = rules_of(forest), forest.domains
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    view = ws.view
    confidence = first.slider(
        "Least confidence", 0.0, 1.0, view.get("rule confidence", 0.0), 0.05, key="rule confidence"
    )
    support = second.number_input(
        "Least support", None, None, view.get("rule support", 0.0), step=10.0, key="rule support"
    )
    labels = [ANYTHING, *map(domains.target.shown, range(domains.target.n_levels))]
    label = third.selectbox("Class", labels, place_of(view.get("rule class"), labels), key="rule class")
    names = [ANYTHING, *(a.name for a in domains.attributes)]
    column = fourth.selectbox("With a condition on", names, place_of(view.get("rule column"), names), key="rule column")
    leaves = st.toggle(
        "Longest only", view.get("rule leaves", False), key="rule leaves",
        help="Leave out the subrules that a longer rule continues",
    )  # fmt: skip
    view |= {"rule confidence": confidence, "rule support": support, "rule leaves": leaves}
    view |= {"rule class": label, "rule column": column}
    kept = chosen_rules(
        rules, domains, confidence=confidence, support=float(support), leaves=leaves,
        label=None if label == ANYTHING else label, column=None if column == ANYTHING else column,
    )  # fmt: skip
    st.caption(f"{plural(len(kept), 'rule')} of {count(len(rules))}. Support is noisy and can be off, even negative.")
    table = pd.DataFrame(
        {
            "Tree": [rule.tree for rule in kept],
            "If": [rule.premise(domains) for rule in kept],
            f"then {domains.target.name}": [domains.target.shown(rule.label) for rule in kept],
            "Confidence": [rule.confidence for rule in kept],
            "Support": [round(rule.support) for rule in kept],
            "ε": [rule.spent for rule in kept],
        }
    )
    st.dataframe(table, hide_index=True, height=min(40 + 35 * len(table), 420))
    with st.container(horizontal=True):
        for label, make, ending, mime in (
            ("Rules (CSV)", rules_csv, "csv", "text/csv"),
            ("Rules (JSON)", rules_json, "json", "application/json"),
            ("Rules (text)", rules_text, "txt", "text/plain"),
        ):
            st.download_button(
                label, make(forest, kept), f"{named(forest)}-rules.{ending}", mime, on_click="ignore",
                icon=":material/download:", key=f"get rules.{ending}",
            )  # fmt: skip


def place_of(kept: Any, options: Sequence[Any]) -> int:
    """Where an option that was chosen before stands now; the first when it is not there."""
    return options.index(kept) if kept in options else 0


def named(forest: Forest) -> str:
    """How the name of a file begins: one that must not leave says so wherever it is seen."""
    return "private" if forest.private else "NOT-private"


def trees_panel(ws: Workspace, forest: Forest) -> None:
    """One tree, drawn; a click picks a node."""
    first, second = st.columns(2)
    numbers = list(range(1, len(forest.trees) + 1))
    view = ws.view
    depth = view["forest drawn"] = first.slider("Levels drawn", 1, 10, view.get("forest drawn", 3), key="forest drawn")
    number = 1
    if len(numbers) > 1:
        kept = place_of(view.get("forest tree"), numbers)
        number = view["forest tree"] = second.selectbox("Tree", numbers, kept, key=f"forest tree {len(numbers)}")
    drawn = outline(forest, number - 1)
    of, picked = view.get("forest node") or (0, None)
    picked = picked if of == number and isinstance(picked, int) and picked < drawn.n_nodes else None
    theme = "dark" if st.context.theme.type == "dark" else "light"
    source = tree_dot(forest, drawn, max_depth=depth, theme=theme)

    def pick(node: int) -> None:
        view["forest node"] = (number, node)

    drawing = tree_view(source, drawn, picked, key=f"forest drawing {number}", on_pick=pick)
    if picked is not None:
        rule = next((rule for rule in rules_of(forest) if (rule.tree, rule.node) == (number, picked + 1)), None)
        if rule is not None:
            st.info(plain(rule_sentence(forest, rule)), icon=":material/rule:")
    drawings = {"SVG": (drawing, "svg", "image/svg+xml"), "DOT": (source, "dot", "text/vnd.graphviz")}
    with st.container(horizontal=True):
        for label, (written, ending, mime) in drawings.items():
            if written is not None:
                st.download_button(
                    f"Drawing ({label})", written, f"{named(forest)}-tree.{ending}", mime, on_click="ignore",
                    icon=":material/download:", key=f"forest {ending}",
                )  # fmt: skip


def predict_panel(ws: Workspace, forest: Forest) -> None:
    """The class of records that are pasted or uploaded; post-processing, which costs nothing."""
    names = [attribute.name for attribute in forest.domains.attributes]
    st.caption(
        "Predicting from a private forest costs no budget. CSV with a header; columns: " + plain(", ".join(names))
    )
    pasted = ws.view["forest pasted"] = st.text_area(
        "Paste records (CSV with a header)", ws.view.get("forest pasted", ""), key="forest pasted", height=110
    )
    uploaded = st.file_uploader("or bring them as a file", type=["csv"], key=f"forest records {ws.edition}")
    source = uploaded.getvalue() if uploaded is not None else pasted.strip().encode()
    if not source:
        return
    try:
        records = read_table(source, name="records.csv").frame
        answer = pd.concat([predict_records(forest, records), records.reset_index(drop=True)], axis=1)
    except AnonymizerError as error:
        problem(error)
        return
    st.dataframe(answer.rename(columns={"class": f"predicted {forest.domains.target.name}"}), hide_index=True)


def rehearsal_panel(ws: Workspace, asked: Asked) -> None:
    """Accuracy against the budget on a table that is public, and labelled so."""
    st.markdown(
        "How much accuracy a budget buys can be seen on a **public** table for nothing. On private records every look "
        "at the accuracy gives something away and costs budget: use the switch above for that."
    )
    own = "This table, which is public (or made up)"
    sample = f"A made-up sample: {SAMPLES[SAMPLE].title}"
    where = st.radio("Rehearse on", [sample, own], key="forest rehearse on", horizontal=True)
    if st.button("Rehearse", icon=":material/model_training:", key="forest rehearse"):
        bar = st.progress(0.0)
        try:
            if where == own and ws.table is not None:
                table = code(ws.table, asked.domains)
            else:
                frame = SAMPLES[SAMPLE].load()
                columns = ["age", "sex", "marital_status", "occupation"]
                table = code(frame, domains_of(frame, "diagnosis", columns=columns))
            curve = accuracy_curve(
                table, tuple(dict.fromkeys((asked.mode, "strict"))), n_trees=asked.n_trees,
                max_depth=asked.max_depth, progress=lambda part, what: bar.progress(min(part, 1.0), what),
            )  # fmt: skip
            ws.view["forest curve"] = (where, curve)
        except AnonymizerError as error:
            problem(error)
        bar.empty()
    held = ws.view.get("forest curve")
    if held is not None:
        here = asked.epsilon if BUDGETS[0] <= asked.epsilon <= BUDGETS[-1] else None
        st.plotly_chart(accuracy_figure(held[1], here), key="forest curve", config=CONFIG)
        st.caption(
            f"A rehearsal on: {held[0]}. {count(held[1].records)} records, {held[1].folds}-fold cross-validation with "
            "repeatable noise. It says nothing about your own table."
        )
