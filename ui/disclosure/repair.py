"""A bound for everybody's posterior: the ways to keep it, what each costs, and the files of the tree."""

import shlex
from typing import Any

import streamlit as st

from anonymizer.disclosure.exposure import Exposure
from anonymizer.disclosure.outline import KeyedTree
from anonymizer.disclosure.publish import forms_of, publish
from anonymizer.disclosure.repair import Repair, repairs
from anonymizer.schema import csv_names
from ui.controls import count, plain, share, slider_ends
from ui.disclosure.ledger import tree_entered
from ui.disclosure.state import DisclosureState
from ui.job import answer_of_job
from ui.release.downloads import file_stem
from ui.workspace import Workspace

FILES = {
    "json": ("Tree (JSON)", "json", "application/json"),
    "rules": ("Rules (text)", "txt", "text/plain"),
    "pmml": ("PMML 4.4", "pmml", "application/xml"),
}


def repair_panel(ws: Workspace, tree: KeyedTree, exposure: Exposure, key: Any) -> None:
    """Draw a bound for everybody's posterior, the ways to keep it, and the files of the tree that is chosen."""
    knowledge, state = exposure.knowledge, ws.state(DisclosureState)
    blind = 1 / tree.n_classes
    st.header("Keep everybody below a bound", anchor=False)
    low = min(0.99, round(blind + 0.01, 2))
    bound = state.bound = st.slider("Highest posterior allowed", low, 1.0, max(low, state.bound), 0.01, key="bound")
    slider_ends("nobody can be believed to have a value", "anything goes")
    if knowledge.rule is None and (knowledge.rates or not knowledge.totals):
        ways = ws.answers.get("repairs", (key, knowledge, bound), lambda: repairs(tree, knowledge, bound))
    else:
        ways = answer_of_job(
            ws,
            "repair job",
            (key, knowledge, bound),
            "Repair",
            lambda job: repairs(tree, knowledge, bound, progress=job.say, cancelled=job.cancelled),
        )
        if ways is None:
            return
    labels = [way_text(way) for way in ways]
    at = st.radio("What is published", range(len(ways)), format_func=labels.__getitem__, key=f"way {len(ways)}")
    files(ws, ways[at])


def way_text(way: Repair) -> str:
    """Return one way to keep the bound, with what it costs."""
    leaves = int((way.tree.n[way.tree.outline.leaves] > 0).sum())
    fails = "" if way.possible else " (the bound is NOT kept)"
    return (
        f"{plain(way.how.capitalize())}: {count(leaves)} {'leaf' if leaves == 1 else 'leaves'}, highest posterior "
        f"{share(way.exposure.highest_posterior)} ({plain(way.exposure.judged_by)}), accuracy {share(way.accuracy)} "
        f"(before {share(way.accuracy_before)}){fails}"
    )


def files(ws: Workspace, way: Repair) -> None:
    """Draw the buttons that give the tree in each form, with exactly what was assessed, and how to check it again."""
    document = publish(way.tree, way.knowledge)
    stem = file_stem(ws.reading.name if ws.reading else "")
    fields = ["questions", "labels"]
    fields += ["error rates"] if way.knowledge.rates else []
    fields += ["totals of each value"] if way.knowledge.totals else []
    fields += ["how it was grown"] if way.knowledge.rule else []
    st.caption("The files hold " + ", ".join(fields) + ", and nothing else: no counts of people.")
    texts, unfit = forms_of(document)
    is_open = tree_entered(ws, way, f"{stem}-tree.json") if way.possible else False
    with st.container(horizontal=True):
        for form, (label, ending, mime) in FILES.items():
            st.download_button(
                label,
                texts.get(form, ""),
                f"{stem}-tree.{ending}",
                mime,
                key=f"download tree {form}",
                icon=":material/download:",
                disabled=not is_open or form not in texts,
                on_click="ignore",
            )
    if unfit is not None:
        st.caption(plain(str(unfit)))
    schema = ws.schema
    if schema is not None:
        words = ["python", "-m", "anonymizer", "disclosure", "TABLE", "--target", str(schema.target)]
        words += ["--quasi-identifying", csv_names(schema.quasi_identifying)]
        line = shlex.join([*words, "--tree", f"{stem}-tree.json", "--bound", f"{way.bound:g}"])
        with st.expander("Check the downloaded tree again", icon=":material/terminal:"):
            st.code(line, language="bash", wrap_lines=True)
