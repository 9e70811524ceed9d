"""What a setting would be, while it is being chosen: controls, figures, and one view of what follows from them.

All of it is one fragment, so that a slider redraws nothing else; the figures stand inside it for the same reason.
"""

from collections.abc import Callable, Mapping
from html import escape

import numpy as np
import streamlit as st

from anonymizer.charts import RELEASED, distribution_figure, loss_figure, loss_sentence, moved_sentence
from anonymizer.errors import AnonymizerError
from anonymizer.frontier import POLICIES, Point, k_for, tree_frontier
from anonymizer.frontier_chart import k_figure, k_sentence
from anonymizer.generalize import GENERALIZERS, GUARANTEES
from anonymizer.prune import Pruning
from ui.controls import count, next_step, plain, plural, problem, share, slider_ends
from ui.frontier_view import frontier
from ui.knowledge_view import knowledge
from ui.limits_panel import limits_panel
from ui.parameters import LIMITS_OFF
from ui.release_view import check_text, disclosed, headline
from ui.scenarios_view import history, scenarios, undo_redo
from ui.strip import figures
from ui.tree_choices import GROUPINGS, fit_grouping, groupings_for
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
LARGEST_K = 200
ALWAYS = ("Scenarios", "History and project")
"""Views that help also where a setting cannot be released."""
ROW = "display:flex;gap:.6rem;align-items:center;margin:.28rem 0"


@st.fragment
def explore(ws: Workspace) -> None:
    """Everything on the page: what is chosen, the figures that follow, and the view that is open."""
    choices(ws)
    views: dict[str, Callable[[Workspace], None]] = {
        "At a glance": glance,
        "Which k do I need?": which_k,
        "What would I lose?": losses,
        "Frontier": frontier,
        "What if I knew…": knowledge,
        "Scenarios": scenarios,
        "History and project": history,
    }
    ws.remember()
    if ws.view.get("project problem") is not None:
        problem(ws.view.pop("project problem"))
    possible = released(ws)
    names = list(views)
    kept = ws.view.get("what if", names[0])
    chosen = st.segmented_control(
        "View", names, default=kept, key="what if view", label_visibility="collapsed", required=True
    )
    ws.view["what if"] = chosen or names[0]
    if possible or ws.view["what if"] in ALWAYS:
        try:
            views[ws.view["what if"]](ws)
        except AnonymizerError as error:
            problem(error)


def released(ws: Workspace) -> bool:
    """Make the release and show its figures; where that is impossible, say why."""
    try:
        ws.pruning()
        ws.released_risk()
        ws.utility()
        strip_here(ws)
    except AnonymizerError as error:
        problem(error, "Nothing can be released with this setting.")
        undo_redo(ws)
        return False
    return True


def choices(ws: Workspace) -> None:
    """k, how groups come about, how they are written, and the limits on sensitive columns."""
    fit_grouping(ws)
    p = ws.parameters
    with st.container(border=True):
        first, second, third = st.columns([4, 4, 5], gap="medium")
        with first:
            largest = max(2, p.k, min(LARGEST_K, ws.encoded().n_records))
            k = st.slider("k: fewest records that look alike", 1, largest, p.k, key=f"what if k {ws.version}")
            slider_ends("more detail, more risk", "less of both")
        names = groupings_for(ws)
        grouping = second.selectbox(
            "Which splits are taken back",
            names,
            names.index(p.grouping),
            format_func=lambda name: GROUPINGS.get(name, (name, ""))[0],
            key=f"what if grouping {ws.version} {len(names)}",
        )
        methods = list(GENERALIZERS)
        generalizer = third.selectbox(
            "How records are made to look alike",
            methods,
            methods.index(p.generalizer),
            format_func=lambda name: GUARANTEES[name].title,
            key=f"what if generalizer {ws.version}",
        )
        if st.toggle("Limits on sensitive columns", p.limited, key=f"what if limits {ws.version}"):
            limits_panel(ws, f"what if {ws.version}", opened=True)
        else:
            ws.set(**LIMITS_OFF)
    ws.set(k=int(k), grouping=grouping, generalizer=generalizer)


def strip_here(ws: Workspace) -> None:
    """The figures of the setting, and the way back."""
    with st.container(horizontal=True, horizontal_alignment="distribute", gap="small", key="strip"):
        for figure in figures(ws):
            st.metric(figure.label, figure.value, help=figure.meaning, width="content")
        undo_redo(ws)


def glance(ws: Workspace) -> None:
    """What the release would be: groups, the checker's findings, the loss of each column."""
    left, right = st.columns([3, 2], gap="large")
    with right:
        utility = ws.utility()
        st.markdown(f"**{plain(loss_sentence(utility.ncp_by_column, utility.gcp))}**")
        st.html(loss_bars(utility.ncp_by_column))
        st.caption("NCP: how much of a column's domain a cell leaves open, on average.")
    with left:
        st.markdown(tree_summary(ws.pruning()))
        place = st.container()
        if ws.peek("verification") is None and ws.parameters.generalizer == "tiered":
            with place, st.spinner("Checking who could be behind which row; the figures above are known already …"):
                ws.verification()
        found = ws.verification()
        with place:
            headline(found)
            told = [check for check in found.checks if check.passed is not None or check.name == "linking posterior"]
            st.markdown("\n\n".join(map(check_text, told)))
            disclosed(found)
            next_step("release", "Release this setting")


def loss_bars(ncp_by_column: Mapping[str, float]) -> str:
    """The loss of each column as bars of plain HTML, the largest first: drawn at once, which a figure is not."""
    rows = "".join(
        f'<div style="flex:0 0 34%;text-align:right;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">'
        f'{escape(name)}</div><div style="flex:1;background:#8883;border-radius:3px">'
        f'<div style="width:{100 * loss:.2f}%;background:{RELEASED};border-radius:3px;height:1.15em"></div></div>'
        f'<div style="flex:0 0 3.6em">{share(loss)}</div></div><div style="{ROW}">'
        for name, loss in sorted(ncp_by_column.items(), key=lambda item: -item[1])
    )
    return f'<div style="font-size:.86rem"><div style="{ROW}">{rows}</div></div>'


def tree_summary(pruning: Pruning) -> str:
    """The groups in a sentence."""
    sizes = pruning.tree.n[pruning.cut()]
    leaves = plural(int(pruning.tree.is_leaf.sum()), "leaf", "leaves")
    return (
        f"The tree makes **{plural(len(sizes), 'group')}** of {count(sizes.min())} to {count(sizes.max())} records, "
        f"half of them of at most {count(np.median(sizes))}. The grown tree has {leaves}; "
        f"{plural(pruning.n_steps, 'split')} of it {'is' if pruning.n_steps == 1 else 'are'} taken back."
    )


def which_k(ws: Workspace) -> None:
    """From a policy or a risk to k, and what it costs."""
    if ws.recipe.mondrian:
        st.info("A Mondrian partition is made anew for every k. Move the slider to see what a k costs.")
        return
    left, right = st.columns([2, 3], gap="large")
    with left:
        titles = [policy.title for policy in POLICIES]
        own = "Another risk"
        names, view = [*titles, own], ws.view
        kept = names.index(view.get("policy", titles[1]))
        chosen = view["policy"] = st.selectbox("The highest risk that is accepted", names, kept, key="policy")
        if chosen == own:
            risk = view["own risk"] = st.number_input(
                "One person is linked with a chance of at most",
                0.005,
                1.0,
                view.get("own risk", 0.1),
                0.01,
                key="own risk",
            )
        else:
            policy = POLICIES[titles.index(chosen)]
            risk = policy.risk
            st.caption(plain(policy.source))
        k = k_for(float(risk))
        found = point_for(ws, k)
        if found is None:
            st.warning(f"k = {count(k)} cannot be reached with this table and these limits.")
            return
        st.markdown(f"You need **k = {count(k)}**.")
        st.markdown(
            f"With uniform boxes: **{plural(found.groups, 'group')}**, the smallest of {count(found.smallest)}; "
            f"{share(found.gcp)} of the detail is lost"
            + (
                ""
                if found.error is None
                else f"; {share(found.error)} of the records are outside their group's majority"
            )
            + "."
        )
        st.button(
            f"Use k = {count(k)}", type="primary", icon=":material/check:", key="use k", disabled=k == ws.k,
            on_click=ws.open, args=({"k": k},),
        )  # fmt: skip
        st.caption(
            "Grouped as chosen above. *Refine* often loses much less at the same k: choose it above, or see Frontier."
        )
    with right:
        st.markdown(f"**{plain(k_sentence(ws.by_k(), ws.k, k))}**")
        st.plotly_chart(k_figure(ws.by_k(), ws.k, k), key="loss by k", config=CONFIG)


def point_for(ws: Workspace, k: int) -> Point | None:
    """What k would cost with the grouping that is chosen; ``None`` when it cannot be reached."""
    for point in ws.by_k():
        if point.k == k:
            return point
    chosen = (ws.tree(), ws.risk(), ws.encoded(), (k,), (ws.parameters.grouping,))
    return next(iter(tree_frontier(*chosen, limits=ws.limits, losses=ws.node_ncp())), None)


def losses(ws: Workspace) -> None:
    """The loss of every column, and one column before and after."""
    utility, columns = ws.utility(), {column.name: column for column in ws.distributions()}
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{plain(loss_sentence(utility.ncp_by_column, utility.gcp))}**")
        st.plotly_chart(loss_figure(utility.ncp_by_column), key="what if loss", config=CONFIG)
    with right:
        kept = ws.view.get("what if column")
        names = sorted(columns, key=ws.encoded().names.index)
        at = names.index(kept) if kept in names else names.index(next(iter(columns)))
        name = st.selectbox("Column", names, at, key=f"what if column {ws.edition} {len(names)}")
        ws.view["what if column"] = name
        st.markdown(f"**{plain(moved_sentence(columns[name]))}**")
        st.plotly_chart(distribution_figure(columns[name]), key="what if distribution", config=CONFIG)
        st.caption("Released cells are read evenly: an interval along its length, a set over its levels.")
