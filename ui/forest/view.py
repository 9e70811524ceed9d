"""A private forest on the page: its budget, its rules, its trees, its predictions, and how it would do in public."""

import pandas as pd
import streamlit as st

from anonymizer.errors import AnonymizerError, CancelledError
from anonymizer.forest.cut_points import buy_cuts
from anonymizer.forest.domains import CodedTable, code, domains_of
from anonymizer.forest.drawing import (
    accuracy_figure,
    ledger_figure,
    points_figure,
    preorder,
    tree_dot,
    widest_columns,
)
from anonymizer.forest.forest import (
    MODES,
    Forest,
    Measurement,
    grow_and_measure,
    grow_forest,
    predict_records,
    require_growth,
)
from anonymizer.forest.mechanisms import Budget
from anonymizer.forest.rehearsal import BUDGETS, AccuracyCurve, accuracy_curve
from anonymizer.forest.rules import rule_sentence, rules_csv, rules_json, rules_of, rules_text, select_rules
from anonymizer.forest.scorecard import Scorecard
from anonymizer.reading.child import read_in_child
from anonymizer.reading.samples import SAMPLES
from ui.background import Job
from ui.controls import count, place_of, plain, plural, problem, share
from ui.forest.choices import Order
from ui.forest.state import ForestState, Growth
from ui.job import answer_of_job, start_job, stop_job, watch
from ui.server.framework import DeltaGenerator
from ui.tree_view import tree_view
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
CUT_SHARE = 0.1
JOB = "forest"
AT_ONCE = 0.5
"""Seconds that the page waits for a forest before it shows how far it is."""
STAYS_SPENT = "Its budget stays spent: what was asked of the rows cannot be taken back."
SAMPLE = "hospital"
ANYTHING = "any"


def budget_form(ws: Workspace, order: Order) -> None:
    """Draw what this session has spent on the table, and the button that spends more."""
    if ws.reading is None:
        return
    with st.container(border=True):
        state = ws.state(ForestState)
        left, right = st.columns([3, 2], gap="large")
        after, limit = spent_with(ws, order, left, right)
        measure = state.measure = left.toggle(
            "Measure it on a held-out fifth",
            state.measure,
            key="forest measure",
            help="How accurate it is, privately. Each row is seen by the forest or by the measurement, so nothing "
            "more is spent; but the forest learns from fewer rows.",
        )
        numbers = [attribute.name for attribute in order.domains.attributes if attribute.bounds is not None]
        buy = bool(numbers) and left.toggle(
            f"Buy cut points of {plural(len(numbers), 'column')}",
            state.cuts,
            key="forest cuts",
            disabled=measure,
            help="With a tenth of the budget. Only the two ends of these columns of numbers are known; without this "
            "they are cut into even ranges. Not together with a held-out part.",
        )
        state.cuts = buy
        over = after > limit * (1 + 1e-9)
        grows = JOB in ws.jobs
        if right.button(
            f"Spend β = {order.epsilon:g} and grow",
            type="primary",
            icon=":material/forest:",
            disabled=over or grows,
            key=f"begin {JOB}",
        ):
            grow(ws, order, measure, buy and not measure)
            st.rerun()
        if over and not grows:
            right.caption(f":material/block: That would make {after:g}. Lower β, or allow more.")


def spent_with(ws: Workspace, order: Order, left: DeltaGenerator, right: DeltaGenerator) -> tuple[float, float]:
    """Return what is spent after an order and the most that may be, and draw what was before: by the ledger that is
    open, where it has a budget, about the person with most; else in this session on this table."""
    state = ws.state(ForestState)
    account, later = ws.account(), ws.account(order.epsilon)
    if account is not None and later is not None and account.budget is not None and ws.ledger is not None:
        spent, after, limit = account.spent, later.spent, account.budget
        part = min(spent / limit, 1.0)
        left.progress(part, f"Spent on these people in the ledger: **{spent:g}** of {limit:g}")
        right.caption(f"The budget is that of the ledger {plain(ws.ledger.name)}.")
    else:
        limit = state.limit = right.number_input(
            "Most that may be spent on this table in this session",
            0.05,
            100.0,
            state.limit,
            step=0.5,
            key="forest limit",
            help="Answers add up: two forests for β = 1 each protect like one for β = 2.",
        )
        spent = ws.spent_here
        after = spent + order.epsilon
        left.progress(min(spent / limit, 1.0), f"Spent on this table in this session: **{spent:g}** of {limit:g}")
        left.caption(
            "Another file of the same rows, in whatever order, is the same table. What was spent elsewhere on the "
            "same people counts too."
        )
    return after, limit


def grow(ws: Workspace, order: Order, measure: bool, buy: bool) -> None:
    """Charge the session, and the ledger that is open, for a forest, and begin to grow it in the background."""
    if ws.reading is None:
        return
    frame, sha, domains, epsilon = ws.reading.frame, ws.reading.sha256, order.domains, order.epsilon
    parameters = {"mode": order.mode, "n_trees": order.n_trees, "max_depth": order.max_depth}
    try:
        table = code(frame, domains)
        if ws.ledger is not None:
            require_growth(domains, **parameters)
            private = MODES[order.mode].private and not domains.read_from_data
            ws.ledger.ledger.charge(frame, ws.schema or ws.suggest(), epsilon, private=private, mode=order.mode)
            ws.use_ledger(ws.ledger.again())
    except AnonymizerError as error:
        ws.state(ForestState).problem = error
        return
    ws.spend(epsilon)

    def work(job: Job) -> Growth:
        how = {**parameters, "progress": job.go_on}
        if measure:
            measured = grow_and_measure(table, epsilon, **how)
            return Growth(sha, measured.forest, measured)
        paid, part = Budget(epsilon), table
        if buy:
            part = code(frame, buy_cuts(frame, domains, paid, epsilon * CUT_SHARE))
        return Growth(sha, grow_forest(part, epsilon, budget=paid, **how))

    start_job(ws, JOB, sha, work).done.wait(AT_ONCE)


def take_growth(ws: Workspace) -> None:
    """Keep what came of the forest that was grown last, once it is done."""
    job, state = ws.jobs.get(JOB), ws.state(ForestState)
    if job is None or not job.done.is_set():
        return
    stop_job(ws, JOB)
    if job.failure is None:
        state.grown, state.problem, state.node = job.answer, None, None
    elif isinstance(job.failure, CancelledError):
        state.problem = CancelledError("Growing was stopped.", remedy=STAYS_SPENT)
    elif isinstance(job.failure, AnonymizerError):
        state.problem = job.failure
    else:
        state.problem = AnonymizerError("Growing failed unexpectedly.", remedy=f"Try other choices. {STAYS_SPENT}")


def growth(ws: Workspace) -> None:
    """Draw how far a forest is that grows, and its Cancel."""
    job = ws.jobs.get(JOB)
    if job is not None:
        watch(job, JOB)


def newest_forest(ws: Workspace) -> Growth | None:
    """Return the newest forest of this table."""
    grown = ws.state(ForestState).grown
    return None if grown is None or ws.reading is None or grown.sha256 != ws.reading.sha256 else grown


def headline(forest: Forest, measurement: Measurement | None) -> None:
    """Draw what was made, whether it may leave, and what it cost."""
    for warning in forest.warnings:
        st.error(plain(warning), icon=":material/gpp_bad:")
    if not forest.warnings:
        st.success(
            f"This forest may be published: it is {forest.epsilon:g}-differentially private.",
            icon=":material/verified:",
        )
    st.caption(f"What was learnt: {plain(forest.lesson)}")
    first, second, third, fourth = st.columns(4)
    keeps = MODES[forest.mode].private
    paid = "ε that a row's data paid, along the dearest path"
    first.metric("Spent" if keeps else "Spent, as it claims", f"{forest.ledger.spent:.4g}", help=paid)
    second.metric("Budget β" if keeps else "Budget β, not kept", f"{forest.epsilon:g}")
    third.metric("Rules and subrules", count(len(rules_of(forest))))
    if measurement is None:
        fourth.metric("Accuracy", "–", help="Not asked: looking at it on private rows costs budget.")
    else:
        fourth.metric(
            "Accuracy, held out", share(measurement.accuracy), help=f"± {share(measurement.margin)} from its noise"
        )


def budget_panel(forest: Forest) -> None:
    """Draw the ledger as a stacked bar and as a table."""
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
        st.caption("Queries of one tree and level see different rows: their ε counts once. Levels and parts add up.")


def rules_panel(ws: Workspace, forest: Forest) -> None:
    """Draw the rules, filtered, and their files."""
    rules, domains = rules_of(forest), forest.domains
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    choices = ws.state(ForestState).rules
    choices.confidence = first.slider("Least confidence", 0.0, 1.0, choices.confidence, 0.05, key="rule confidence")
    choices.support = second.number_input("Least support", None, None, choices.support, step=10.0, key="rule support")
    labels = [ANYTHING, *map(domains.target.text, range(domains.target.n_levels))]
    choices.label = third.selectbox("Class", labels, place_of(choices.label, labels), key="rule class")
    names = [ANYTHING, *(a.name for a in domains.attributes)]
    choices.column = fourth.selectbox("With a condition on", names, place_of(choices.column, names), key="rule column")
    choices.leaves = st.toggle(
        "Longest only", choices.leaves, key="rule leaves",
        help="Leave out the subrules that a longer rule continues",
    )  # fmt: skip
    selection = select_rules(
        rules, domains, confidence=choices.confidence, support=float(choices.support), leaves=choices.leaves,
        label=None if choices.label == ANYTHING else choices.label,
        column=None if choices.column == ANYTHING else choices.column,
    )  # fmt: skip
    st.caption(
        f"{plural(len(selection), 'rule')} of {count(len(rules))}. Support is noisy and can be off, even negative."
    )
    table = pd.DataFrame(
        {
            "Tree": [rule.tree for rule in selection],
            "If": [rule.premise(domains) for rule in selection],
            f"then {domains.target.name}": [domains.target.text(rule.label) for rule in selection],
            "Confidence": [rule.confidence for rule in selection],
            "Support": [round(rule.support) for rule in selection],
            "ε": [rule.spent for rule in selection],
        }
    )
    for place, label in enumerate([] if forest.trees else labels[1:]):
        table[f"Points for {label}"] = [rule.points[place] for rule in selection]
    st.dataframe(table, hide_index=True, height=min(40 + 35 * len(table), 420))
    files = selection
    if not forest.trees:
        files = rules
        st.caption("The files hold every rule: a sum of points needs them all.")
    with st.container(horizontal=True):
        for title, make, ending, mime in (
            ("Rules (CSV)", rules_csv, "csv", "text/csv"),
            ("Rules (JSON)", rules_json, "json", "application/json"),
            ("Rules (text)", rules_text, "txt", "text/plain"),
        ):
            st.download_button(
                title, make(forest, files), f"{stem_of(forest)}-rules.{ending}", mime, on_click="ignore",
                icon=":material/download:", key=f"get rules.{ending}",
            )  # fmt: skip


def stem_of(forest: Forest) -> str:
    """Return how the name of a file begins: one that must not leave says so wherever it is seen."""
    return "private" if forest.private else "NOT-private"


def trees_panel(ws: Workspace, forest: Forest) -> None:
    """Draw one tree; a click picks a node."""
    first, second = st.columns(2)
    numbers = list(range(1, len(forest.trees) + 1))
    state = ws.state(ForestState)
    state.levels = first.slider("Levels drawn", 1, 10, state.levels, key="forest drawn")
    number = 1
    if len(numbers) > 1:
        at = place_of(state.tree, numbers)
        number = state.tree = second.selectbox("Tree", numbers, at, key=f"forest tree {len(numbers)}")
    order = preorder(forest, number - 1)
    tree, node = state.node or (0, None)
    node = node if tree == number and node is not None and node < order.n_nodes else None
    theme = "dark" if st.context.theme.type == "dark" else "light"
    source = tree_dot(forest, order, max_depth=state.levels, theme=theme)

    def pick(node: int) -> None:
        ws.state(ForestState).node = (number, node)

    drawing = tree_view(source, order, node, key=f"forest drawing {number}", on_pick=pick)
    if node is not None:
        rule = next((rule for rule in rules_of(forest) if (rule.tree, rule.node) == (number, node + 1)), None)
        if rule is not None:
            st.info(plain(rule_sentence(forest, rule)), icon=":material/rule:")
    drawings = {"SVG": (drawing, "svg", "image/svg+xml"), "DOT": (source, "dot", "text/vnd.graphviz")}
    with st.container(horizontal=True):
        for title, (text, ending, mime) in drawings.items():
            if text is not None:
                st.download_button(
                    f"Drawing ({plain(title)})", text, f"{stem_of(forest)}-tree.{ending}", mime, on_click="ignore",
                    icon=":material/download:", key=f"forest {ending}",
                )  # fmt: skip


def points_panel(ws: Workspace, forest: Forest) -> None:
    """Draw the points of a scorecard for one class: a chart a column, those that tell most first."""
    if not isinstance(forest.model, Scorecard):
        return
    state, domains, n_columns = ws.state(ForestState), forest.domains, len(forest.model.points)
    labels = [domains.target.text(code) for code in range(domains.target.n_levels)]
    first, second = st.columns(2)
    usual = state.points_for if state.points_for in labels else labels[-1]
    state.points_for = first.selectbox("Points for", labels, labels.index(usual), key="forest points for")
    label = labels.index(state.points_for)
    at_most = min(state.charts, n_columns)
    if n_columns > 1:
        at_most = state.charts = second.slider("Columns drawn", 1, n_columns, at_most, key=f"forest charts {n_columns}")
    base = forest.model.base[label]
    st.caption(f"Everybody begins with {base:+.2f} points. 0 in all means even odds; every 0.69 more double them.")
    left, right = st.columns(2)
    for place, column in enumerate(widest_columns(forest.model, label)[:at_most]):
        figure = points_figure(domains, forest.model, column, label)
        (right if place % 2 else left).plotly_chart(figure, key=f"forest points {column}", config=CONFIG)


def picture_panel(ws: Workspace, forest: Forest) -> None:
    """Draw the model: its trees, or the points of its columns."""
    (trees_panel if forest.trees else points_panel)(ws, forest)


def predict_panel(ws: Workspace, forest: Forest) -> None:
    """Draw the class of records that are pasted or uploaded; post-processing, which costs nothing."""
    names = [attribute.name for attribute in forest.domains.attributes]
    st.caption(
        "Predicting from a private forest costs no budget. CSV with a header; columns: " + plain(", ".join(names))
    )
    state = ws.state(ForestState)
    state.pasted = st.text_area("Paste rows (CSV with a header)", state.pasted, key="forest pasted", height=110)
    upload = st.file_uploader("or choose a file with them", type=["csv"], key=f"forest rows {ws.edition}")
    source = upload.getvalue() if upload is not None else state.pasted.strip().encode()
    if not source:
        return
    try:
        records = read_in_child(source, name="records.csv").frame
        answer = pd.concat([predict_records(forest, records), records.reset_index(drop=True)], axis=1)
    except AnonymizerError as error:
        problem(error)
        return
    st.dataframe(answer.rename(columns={"class": f"predicted {forest.domains.target.name}"}), hide_index=True)


def sample_table() -> CodedTable:
    """Return the made-up sample that is rehearsed on, in public codes."""
    frame = SAMPLES[SAMPLE].load()
    columns = ["age", "sex", "marital_status", "occupation"]
    return code(frame, domains_of(frame, "diagnosis", columns=columns))


def rehearsal_panel(ws: Workspace, order: Order) -> None:
    """Draw accuracy against the budget on a table that is public, and labelled so."""
    st.markdown(
        "How much accuracy a budget buys can be seen on a **public** table for nothing. On private rows every look "
        "at the accuracy gives something away and costs budget: use the switch above for that."
    )
    own = "This table, which is public (or made up)"
    sample = f"A made-up sample: {SAMPLES[SAMPLE].title}"
    where = st.radio("Rehearse on", [sample, own], key="forest rehearse on", horizontal=True)
    own_table, domains = (ws.table if where == own else None), order.domains
    modes = tuple(dict.fromkeys((order.mode, "strict")))
    n_trees, max_depth = order.n_trees, order.max_depth

    def work(job: Job) -> AccuracyCurve:
        table = sample_table() if own_table is None else code(own_table, domains)
        return accuracy_curve(table, modes, n_trees=n_trees, max_depth=max_depth, progress=job.go_on)

    key = (where, modes, n_trees, max_depth, None if own_table is None else domains)
    curve: AccuracyCurve | None = answer_of_job(ws, "forest rehearsal", key, "Rehearse", work)
    if curve is not None:
        here = order.epsilon if BUDGETS[0] <= order.epsilon <= BUDGETS[-1] else None
        st.plotly_chart(accuracy_figure(curve, here), key="forest curve", config=CONFIG)
        st.caption(
            f"A rehearsal on: {plain(where)}. {count(curve.records)} rows, {count(curve.folds)}-fold "
            "cross-validation with repeatable noise. It says nothing about your own table."
        )
