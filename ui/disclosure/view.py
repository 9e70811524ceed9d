"""What a published tree tells, on the page: the estimate with its progress, its figures, and the tree in colours."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.drawing import exposure_dot, posterior_figure
from anonymizer.disclosure.exposure import (
    Exposure,
    Figures,
    assess,
    compare,
    figures_of_leaves,
    figures_of_shares,
    most_exposed,
)
from anonymizer.disclosure.integer_posterior import surest_posterior
from anonymizer.disclosure.outline import KeyedTree
from anonymizer.disclosure.publish import conditions_of, publish
from anonymizer.drawing.words import class_name
from anonymizer.forest.domains import code
from anonymizer.forest.forest import class_shares_of
from ui.controls import count, plain, share
from ui.disclosure.choices import confidence_slider
from ui.disclosure.state import DisclosureState
from ui.forest.view import newest_forest
from ui.job import answer_of_job
from ui.tree_view import tree_view
from ui.workspace import Workspace

STARTS = 3
DISTANCE = "D_overall: mean KL divergence, nats. Near 0 tells all; ∞ when somebody's true value was ruled out."


def estimate(ws: Workspace, tree: KeyedTree, knowledge: Knowledge, key: Any) -> Exposure | None:
    """Return the adversary's estimate: at once where a formula gives it, otherwise by a job with a Cancel button."""
    if knowledge.rule is None and (knowledge.rates or not knowledge.totals):
        return ws.answers.get("exposure", (key, knowledge), lambda: assess(tree, knowledge))
    return answer_of_job(
        ws,
        "estimate job",
        (key, knowledge),
        "Estimate",
        lambda job: assess(tree, knowledge, starts=STARTS, progress=job.say, cancelled=job.cancelled),
    )


def show_figures(figures: Figures, confidence: float, blind: float) -> None:
    """Draw the four figures of an estimate; ``blind``: how often guessing the most frequent value is right."""
    places = st.columns(4)
    places[0].metric("Highest posterior", share(figures.highest_posterior), help="How sure about one person at most")
    above = figures.people_above(confidence)
    places[1].metric(
        f"People at ≥ {share(confidence)}",
        count(above),
        help=f"{count(figures.count_exposed(confidence))} of them rightly",
    )
    places[2].metric("Best guess is right", share(figures.accuracy), f"{100 * (figures.accuracy - blind):+.1f} points")
    divergence = figures.mean_divergence
    text = "∞" if divergence == float("inf") else f"{divergence:.3f}"
    places[3].metric("Distance to the truth", text, help=DISTANCE)
    st.caption(f"The best guess is compared with always guessing the most frequent value ({share(blind)}).")


def failure(exposure: Exposure) -> None:
    """Say that what is drawn is no estimate, where the solver found none."""
    if not exposure.estimate.converged:
        st.warning(
            f"The solver found no optimum ({plain(exposure.estimate.status)}). What follows is not an estimate.",
            icon=":material/warning:",
        )


def headline(ws: Workspace, tree: KeyedTree, exposure: Exposure, confidence: float) -> None:
    """Draw the figures of an estimate, and how far it can be relied on."""
    estimate = exposure.estimate
    show_figures(exposure.figures, confidence, float(tree.sums[0].max() / tree.n_records))
    if exposure.knowledge.rule is not None:
        knowledge = exposure.knowledge
        alone = ws.answers.get("leaves alone", (tree, knowledge), lambda: figures_of_leaves(tree, knowledge))
        st.caption(
            f"The leaves alone: highest posterior {share(alone.highest_posterior)}, best guess right for "
            f"{share(alone.accuracy)}, distance {alone.mean_divergence:.3f}. The rest is what the questions add."
        )
    if estimate.converged and estimate.method == "interior point" and exposure.knowledge.rule is not None:
        st.caption(
            f"{count(len(estimate.active))} of {count(exposure.constraints.internal)} internal constraints matter; "
            f"{len(estimate.starts)} starts ended within {estimate.spread:.2g} nats of each other; largest residual "
            f"{estimate.residuals.worst:.1g}; {estimate.seconds:.0f} s. The problem has local optima: a better one "
            "may exist, so more may be learnt than this says."
        )
    st.caption(
        "Maximum entropy treats people as shares. For small leaves whole people tell more: somebody who counts can be "
        "surer than these figures. Labels alone, without error rates, count as telling nothing about a person."
    )


def drawing(ws: Workspace, tree: KeyedTree, exposure: Exposure) -> None:
    """Draw the tree coloured by posterior, and the most exposed leaf in a sentence."""
    document = publish(tree, exposure.knowledge)
    groups = most_exposed(tree, exposure)
    conditions = conditions_of(document)
    target = plain(tree.keys.target)
    if groups:
        worst = groups[0]
        st.markdown(
            f"The most exposed: {plain(conditions[worst.node])}. Of these {count(worst.records)} people the adversary "
            f"is **{share(worst.posterior)}** sure that {target} is {plain(class_name(worst.guess))}. It is so for "
            f"{count(worst.right)} of them."
        )
    theme = "dark" if st.context.theme.type == "dark" else "light"
    source = exposure_dot(tree, exposure, document, theme=theme)

    state = ws.state(DisclosureState)
    if ws.answers.differs("disclosure drawing", tree):
        state.node = None

    def pick(node: int) -> None:
        state.node = node

    node = state.node
    tree_view(source, tree.outline, node, key="disclosure tree", on_pick=pick)  # type: ignore[arg-type]
    if node is not None:
        st.caption(f"{plain(conditions[node])}: {count(int(tree.n[node]))} people.")


def most_exposed_groups(tree: KeyedTree, exposure: Exposure) -> None:
    """Draw the groups of which somebody is surest, as a table that folds."""
    groups, conditions = most_exposed(tree, exposure), conditions_of(publish(tree, exposure.knowledge))
    with st.expander("The ten most exposed groups (internal: they point at few people)"):
        st.dataframe(
            pd.DataFrame(
                {
                    "people": [group.records for group in groups],
                    "where": [conditions[group.node] for group in groups],
                    "believed": [class_name(group.guess) for group in groups],
                    "posterior": [group.posterior for group in groups],
                    "from the leaf alone": [group.from_leaf for group in groups],
                    "rightly": [group.right for group in groups],
                }
            ),
            hide_index=True,
        )


def histogram(figures: Figures, confidence: float) -> None:
    """Draw how sure the adversary is, over people."""
    figure = posterior_figure(figures, confidence)
    st.plotly_chart(figure, key="posteriors", config={"displayModeBar": False})


def comparison(ws: Workspace, tree: KeyedTree, rule: GrowingRule | None, key: Any) -> None:
    """Draw the figures under every assumption."""
    exposures = answer_of_job(
        ws,
        "compare job",
        (key, rule),
        "Compare all assumptions",
        lambda job: compare(tree, rule, starts=1, progress=job.say, cancelled=job.cancelled),
    )
    if exposures is None:
        return
    rows = [
        {
            "error rates": one.knowledge.rates,
            "totals": one.knowledge.totals,
            "how it was grown": one.knowledge.rule is not None,
            "highest posterior": one.figures.highest_posterior,
            "people at 90% or more": one.figures.people_above(0.9),
            "best guess right": one.figures.accuracy,
            "distance to the truth": one.figures.mean_divergence,
            "solved": one.estimate.converged,
        }
        for one in exposures
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def forest_panel(ws: Workspace) -> None:
    """Draw how near the class shares of the forest come to the truth. Internal: the budget does not cover it."""
    grown = newest_forest(ws)
    if grown is None or ws.table is None:
        st.info("No forest was grown from this table yet. Grow one on the Forest page.", icon=":material/info:")
        return
    forest = grown.forest
    for warning in forest.warnings:
        st.error(plain(warning), icon=":material/gpp_bad:")
    table = code(ws.table, forest.domains)
    figures = figures_of_shares(table.codes, table.classes, class_shares_of(forest, table.codes))
    blind = float(np.bincount(table.classes).max() / len(table.classes))
    confidence = confidence_slider(ws)
    show_figures(figures, confidence, blind)
    histogram(figures, confidence)
    limited = (
        "What it may reveal about anybody is limited by its budget, not by these figures. "
        if forest.private
        else "No budget limits what it reveals about anybody, for the reason above. "
    )
    st.caption(
        f"Somebody who holds the forest believes the class shares that it gives. {limited}The figures use the true "
        "values, which no budget paid for, and so are internal."
    )


def whole_people(ws: Workspace, tree: KeyedTree, exposure: Exposure, key: Any) -> None:
    """Draw the exact posterior of somebody who counts whole people, where that is feasible."""
    knowledge = exposure.knowledge
    st.markdown(
        "Maximum entropy treats people as shares. Somebody who counts whole people can be surer. Ways to give values "
        "to people that contradict the tree are ruled out. That can be counted where leaves are small."
    )
    counts = answer_of_job(
        ws,
        "count job",
        (key, knowledge),
        "Count",
        lambda job: surest_posterior(tree, knowledge, cancelled=job.cancelled),
    )
    if counts is None:
        return
    people = int(tree.keys.counts[counts.exact].sum())
    if not people:
        st.info("No leaf of this tree is small enough to be counted.", icon=":material/info:")
        return
    exact, estimate = counts.posterior[counts.exact].max(axis=1), exposure.figures.highest[counts.exact]
    surer = int(tree.keys.counts[counts.exact][exact > estimate + 1e-6].sum())
    st.markdown(
        f"Counted for **{count(people)}** of {count(tree.n_records)} people: the highest posterior is "
        f"**{share(float(exact.max()))}**, and {count(surer)} people are more exposed than the estimate says."
    )
