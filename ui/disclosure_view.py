"""The Disclosure page's parts: what is assessed and assumed, the estimate with its progress, figures, repair, files."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from anonymizer.constraints import Knowledge, Rule
from anonymizer.disclosure import Exposure, Figures, assess, compare, figures_of_shares, leaves_alone, most_exposed
from anonymizer.domains import code
from anonymizer.errors import AnonymizerError
from anonymizer.explain import class_name
from anonymizer.exposure_drawing import exposure_dot, posterior_figure
from anonymizer.forest import class_shares_of
from anonymizer.integer_posterior import integer_posterior
from anonymizer.multiway import grow_multiway
from anonymizer.outline import KeyedTree, keyed, keys_of, outline_of
from anonymizer.publish import WRITERS, Document, conditions_of, publish
from anonymizer.repair import Repair, repairs
from ui.controls import count, plain, share, slider_ends
from ui.downloads import file_stem
from ui.forest_view import shown_forest
from ui.job import finished
from ui.tree_view import tree_view
from ui.workspace import Workspace

SOURCES = {
    "groups": "The pruned tree of the Tree page",
    "grown": "The tree of the Tree page before pruning",
    "multiway": "A tree with a child for every value (Zhu and Du 2010)",
    "forest": "The private forest of the Forest page",
}
MEASURE_LABELS = {"gini": "Gini impurity", "entropy": "information gain (entropy)", "gain-ratio": "gain ratio (C4.5)"}
FILES = {
    "json": ("Tree (JSON)", "json", "application/json"),
    "rules": ("Rules (text)", "txt", "text/plain"),
    "pmml": ("PMML 4.4", "pmml", "application/xml"),
}
STARTS = 3
DISTANCE = "D_overall: mean KL divergence, nats. Near 0 tells all; ∞ when somebody's true value was ruled out."


def held(ws: Workspace, name: str, key: Any, make: Callable[[], Any]) -> Any:
    """An answer kept for the session as long as what it depends on stays the same."""
    kept = ws.view.get(name)
    if kept is None or kept[0] != key:
        ws.view[name] = kept = (key, make())
    return kept[1]


def source(ws: Workspace) -> str:
    """Which tree is to be published."""
    names = list(SOURCES)
    chosen = st.radio(
        "Which tree would be published?",
        names,
        names.index(ws.view.get("disclosure source", "groups")),
        format_func=SOURCES.get,
        key="disclosure source",
    )
    ws.view["disclosure source"] = chosen
    return str(chosen)


def assessed_tree(ws: Workspace, chosen: str) -> tuple[KeyedTree, Rule | None, Any]:
    """The tree to be published, how it was grown where that says something, and a key of it."""
    view = ws.view
    with st.container():
        encoded = ws.encoded()
        keys = held(ws, "disclosure keys", encoded, lambda: keys_of(encoded))
        if chosen == "multiway":
            first, second, third = st.columns(3)
            measures = list(MEASURE_LABELS)
            measure = first.selectbox(
                "Questions are chosen by",
                measures,
                measures.index(view.get("disclosure measure", "gini")),
                format_func=MEASURE_LABELS.get,
                key="disclosure measure",
            )
            deepest = int(second.number_input("Deepest level", 1, 20, view.get("disclosure depth", 3), key="d depth"))
            fewest = int(
                third.number_input(
                    "Fewest records of a node that asks", 2, None, view.get("disclosure fewest", 10), key="d fewest"
                )
            )
            view |= {"disclosure measure": measure, "disclosure depth": deepest, "disclosure fewest": fewest}
            key = (encoded, chosen, measure, deepest, fewest)
            tree = held(ws, "disclosure tree", key, lambda: keyed(grow_multiway(keys, measure, fewest, deepest), keys))
            return tree, Rule(measure), key
    pruning = ws.pruning()
    cut = pruning.cut() if chosen == "groups" else None
    key = (encoded, chosen, pruning)
    tree = held(ws, "disclosure tree", key, lambda: keyed(outline_of(pruning.tree, encoded.encodings, cut), keys))
    recipe = ws.recipe
    known = recipe.criterion in ("gini", "entropy")
    return tree, Rule(recipe.criterion or "", "binary", recipe.min_leaf) if known else None, key


def assumed(ws: Workspace, rule: Rule | None) -> Knowledge:
    """What is published with the tree, and what an adversary knows of how it was grown."""
    view = ws.view
    st.markdown("**What does the adversary know, beside everyone's quasi-identifying columns and the tree?**")
    first, second, third = st.columns(3)
    rates = first.toggle(
        "Error rate of each leaf", view.get("disclosure rates", True), key="disclosure rates",
        help="Published with the tree: how many of a leaf's people do not have its label",
    )  # fmt: skip
    totals = second.toggle(
        "Totals of each value", view.get("disclosure totals", False), key="disclosure totals",
        help="Published with the tree: how often each value occurs in the whole table",
    )  # fmt: skip
    internal = third.toggle(
        "How the tree was grown", view.get("disclosure rule", False) and rule is not None, key="disclosure rule",
        disabled=rule is None,
        help="Then every question tells that no other would have been better. This takes a solver, and time.",
    )  # fmt: skip
    view |= {"disclosure rates": rates, "disclosure totals": totals, "disclosure rule": internal}
    return Knowledge(rates, totals, rule if internal else None)


def estimated(ws: Workspace, tree: KeyedTree, knowledge: Knowledge, key: Any) -> Exposure | None:
    """The adversary's estimate: at once where a formula gives it, otherwise by a job with a Cancel button."""
    if knowledge.rule is None and (knowledge.rates or not knowledge.totals):
        return held(ws, "exposure", (key, knowledge), lambda: assess(tree, knowledge))
    return finished(
        ws,
        "estimate job",
        (key, knowledge),
        "Estimate",
        lambda job: assess(tree, knowledge, starts=STARTS, progress=job.say, cancelled=job.cancelled),
    )


def show_figures(figures: Figures, confidence: float, blind: float) -> None:
    """The four figures of an estimate; ``blind``: how often guessing the most frequent value is right."""
    places = st.columns(4)
    places[0].metric("Highest posterior", share(figures.highest_posterior), help="How sure about one person at most")
    above = figures.people_above(confidence)
    places[1].metric(
        f"People at ≥ {share(confidence)}",
        count(above),
        help=f"{count(figures.exposed(confidence))} of them rightly",
    )
    places[2].metric("Best guess is right", share(figures.accuracy), f"{100 * (figures.accuracy - blind):+.1f} points")
    divergence = figures.mean_divergence
    shown = "∞" if divergence == float("inf") else f"{divergence:.3f}"
    places[3].metric("Distance to the truth", shown, help=DISTANCE)
    st.caption(f"The best guess is compared with always guessing the most frequent value ({share(blind)}).")


def headline(ws: Workspace, tree: KeyedTree, exposure: Exposure, confidence: float) -> None:
    """The figures of an estimate, and how far it can be relied on."""
    estimate = exposure.estimate
    show_figures(exposure.figures, confidence, float(tree.sums[0].max() / tree.n_records))
    if exposure.knowledge.rule is not None:
        knowledge = exposure.knowledge
        alone = held(ws, "leaves alone", (tree, knowledge), lambda: leaves_alone(tree, knowledge))
        st.caption(
            f"The leaves alone: highest posterior {share(alone.highest_posterior)}, best guess right for "
            f"{share(alone.accuracy)}, distance {alone.mean_divergence:.3f}. The rest is what the questions add."
        )
    if not estimate.converged:
        st.warning(
            f"The solver found no optimum ({plain(estimate.status)}). These figures are not an estimate.",
            icon=":material/warning:",
        )
    elif estimate.method == "interior point" and exposure.knowledge.rule is not None:
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
    """The tree coloured by posterior, and the most exposed leaf in a sentence."""
    document = publish(tree, exposure.knowledge)
    groups = most_exposed(tree, exposure)
    conditions = conditions_of(document)
    target = plain(tree.keys.target)
    if groups:
        worst = groups[0]
        st.markdown(
            f"The most exposed: of the {count(worst.records)} people with {plain(conditions[worst.node])}, the "
            f"adversary is **{share(worst.posterior)}** sure that {target} is {plain(class_name(worst.guess))}; it is "
            f"for {count(worst.right)} of them."
        )
    theme = "dark" if st.context.theme.type == "dark" else "light"
    source = exposure_dot(tree, exposure, document, theme=theme)

    ws.view["disclosure drawn"] = tree

    def pick(node: int) -> None:
        ws.view["disclosure node"] = (ws.view["disclosure drawn"], node)

    of, picked = ws.view.get("disclosure node", (None, None))
    picked = picked if of is tree else None
    tree_view(source, tree.outline, picked, key="disclosure tree", on_pick=pick)  # type: ignore[arg-type]
    if picked is not None:
        st.caption(f"{plain(conditions[picked])}: {count(int(tree.n[picked]))} people.")
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
    """How sure the adversary is, over people."""
    figure = posterior_figure(figures, confidence)
    st.plotly_chart(figure, key="posteriors", config={"displayModeBar": False})


def compared(ws: Workspace, tree: KeyedTree, rule: Rule | None, key: Any) -> None:
    """The figures under every assumption."""
    found = finished(
        ws,
        "compare job",
        (key, rule),
        "Compare all assumptions",
        lambda job: compare(tree, rule, starts=1, progress=job.say, cancelled=job.cancelled),
    )
    if found is None:
        return
    rows = [
        {
            "error rates": one.knowledge.rates,
            "totals": one.knowledge.totals,
            "how it was grown": one.knowledge.rule is not None,
            "highest posterior": one.figures.highest_posterior,
            "people at 90 % or more": one.figures.people_above(0.9),
            "best guess right": one.figures.accuracy,
            "distance to the truth": one.figures.mean_divergence,
            "solved": one.estimate.converged,
        }
        for one in found
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def repair_panel(ws: Workspace, tree: KeyedTree, exposure: Exposure, key: Any) -> None:
    """A bound for everybody's posterior, the ways to keep it, and the files of the tree that is chosen."""
    knowledge, view = exposure.knowledge, ws.view
    blind = 1 / tree.n_classes
    st.subheader("Keep everybody below a bound", anchor=False)
    low = min(0.99, round(blind + 0.01, 2))
    bound = st.slider("Highest posterior allowed", low, 1.0, max(low, view.get("bound", 0.8)), 0.01, key="bound")
    slider_ends("nobody can be believed to have a value", "anything goes")
    view["bound"] = bound
    if knowledge.rule is None and (knowledge.rates or not knowledge.totals):
        ways = held(ws, "repairs", (key, knowledge, bound), lambda: repairs(tree, knowledge, bound))
    else:
        ways = finished(
            ws,
            "repair job",
            (key, knowledge, bound),
            "Repair",
            lambda job: repairs(tree, knowledge, bound, progress=job.say, cancelled=job.cancelled),
        )
        if ways is None:
            return
    labels = [way_text(way) for way in ways]
    chosen = st.radio("What is published", range(len(ways)), format_func=labels.__getitem__, key=f"way {len(ways)}")
    way = ways[chosen]
    files(ws, way)


def way_text(way: Repair) -> str:
    """One way to keep the bound, with what it costs."""
    leaves = int((way.tree.n[way.tree.outline.leaves] > 0).sum())
    kept = "" if way.possible else " (the bound is NOT kept)"
    return (
        f"{way.how.capitalize()}: {count(leaves)} {'leaf' if leaves == 1 else 'leaves'}, highest posterior "
        f"{share(way.exposure.figures.highest_posterior)}, accuracy {share(way.accuracy)} (before "
        f"{share(way.accuracy_before)}){kept}"
    )


def files(ws: Workspace, way: Repair) -> None:
    """The published tree in each form, with exactly what was assessed, and how to check it again."""
    document = publish(way.tree, way.knowledge)
    stem = file_stem(ws.reading.name if ws.reading else "")
    held_fields = ["questions", "labels"]
    held_fields += ["error rates"] if way.knowledge.rates else []
    held_fields += ["totals of each value"] if way.knowledge.totals else []
    held_fields += ["how it was grown"] if way.knowledge.rule else []
    st.caption("The files hold " + ", ".join(held_fields) + ", and nothing else: no counts of people.")
    written, unfit = forms_of(document)
    with st.container(horizontal=True):
        for form, (label, ending, mime) in FILES.items():
            st.download_button(
                label,
                written.get(form, ""),
                f"{stem}-tree.{ending}",
                mime,
                key=f"download tree {form}",
                icon=":material/download:",
                disabled=not way.possible or form not in written,
                on_click="ignore",
            )
    if unfit is not None:
        st.caption(plain(str(unfit)))
    schema = ws.schema
    if schema is not None:
        known = ",".join(schema.quasi_identifying)
        line = (
            f"python -m anonymizer disclosure TABLE --quasi-identifying '{known}' --target '{schema.target}' "
            f"--tree {stem}-tree.json --bound {way.bound:g}"
        )
        with st.expander("Check the downloaded tree again", icon=":material/terminal:"):
            st.code(line, language="bash", wrap_lines=True)


def forms_of(document: Document) -> tuple[dict[str, str], AnonymizerError | None]:
    """The published tree in each form that can hold it, and why one cannot.

    Written at once, for a file that is made on the click is lost when the page is drawn again in the same moment.
    """
    written, unfit = {}, None
    for form, write in WRITERS.items():
        try:
            written[form] = write(document)
        except AnonymizerError as error:
            unfit = error
    return written, unfit


def forest_panel(ws: Workspace) -> None:
    """How near the class shares of the private forest come to the truth. Internal: the budget does not cover it."""
    held_forest = shown_forest(ws)
    if held_forest is None or ws.table is None:
        st.info("No forest was grown from this table yet. Grow one on the Forest page.", icon=":material/info:")
        return
    forest = held_forest[0]
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
    """The exact posterior of somebody who counts whole people, where that is feasible."""
    knowledge = exposure.knowledge
    st.markdown(
        "Maximum entropy treats people as shares. Whoever counts whole people can be surer: of all ways to give values "
        "to people, those that contradict the tree are ruled out. That can be counted where leaves are small."
    )
    found = finished(
        ws,
        "count job",
        (key, knowledge),
        "Count",
        lambda job: integer_posterior(tree, knowledge, cancelled=job.cancelled),
    )
    if found is None:
        return
    people = int(tree.keys.counts[found.exact].sum())
    if not people:
        st.info("No leaf of this tree is small enough to be counted.", icon=":material/info:")
        return
    exact, estimate = found.posterior[found.exact].max(axis=1), exposure.figures.highest[found.exact]
    surer = int(tree.keys.counts[found.exact][exact > estimate + 1e-6].sum())
    st.markdown(
        f"Counted for **{count(people)}** of {count(tree.n_records)} people: the highest posterior is "
        f"**{share(float(exact.max()))}**, and {count(surer)} people are more exposed than the estimate says."
    )


def confidence_slider(ws: Workspace) -> float:
    """From which posterior on somebody counts as exposed."""
    chosen = st.slider("Count people as exposed from", 0.5, 1.0, ws.view.get("confidence", 0.9), 0.01, key="confidence")
    ws.view["confidence"] = chosen
    return chosen
