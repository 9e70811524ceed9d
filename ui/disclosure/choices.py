"""What is assessed on the Disclosure page, and what an adversary is taken to know."""

from typing import Any, NamedTuple

import streamlit as st

from anonymizer.disclosure.brought import ENDINGS, Brought, read_tree
from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import KeyedTree, Keys, keys_of, lay_keys, outline_of
from anonymizer.json_value import MAX_BYTES
from ui.controls import plain, share
from ui.disclosure.state import DisclosureState
from ui.server.framework import drop_uploads
from ui.workspace import Workspace

SOURCES = {
    "groups": "The pruned tree of the Tree page",
    "grown": "The tree of the Tree page before pruning",
    "multiway": "A tree with a child for every value (Zhu and Du 2010)",
    "forest": "The private forest of the Forest page",
    "file": "A tree from a file: Copse's JSON, scikit-learn (skops), ONNX, PMML, or what R prints of rpart",
}
MEASURE_LABELS = {"gini": "Gini impurity", "entropy": "information gain (entropy)", "gain-ratio": "gain ratio (C4.5)"}


class Candidate(NamedTuple):
    """A tree that would be published, how it was grown where that says something, and what both depend on;
    ``brought``: the same with what its file tells, where it came in one."""

    tree: KeyedTree
    rule: GrowingRule | None
    key: Any
    brought: Brought | None = None


def source_choice(ws: Workspace) -> str:
    """Return which tree is to be published."""
    names, state = list(SOURCES), ws.state(DisclosureState)
    state.source = st.radio(
        "Which tree would be published?",
        names,
        names.index(state.source),
        format_func=SOURCES.get,
        key="disclosure source",
    )
    return state.source


def candidate_tree(ws: Workspace, source: str) -> Candidate | None:
    """Return the tree of a source, ``None`` as long as there is none; draws how it grows where that is chosen here."""
    encoded = ws.flow.encoded
    keys = ws.answers.get("disclosure keys", encoded, lambda: keys_of(encoded))
    if source == "file":
        return brought_tree(ws, keys)
    if source == "multiway":
        state = ws.state(DisclosureState)
        first, second, third = st.columns(3)
        measures = list(MEASURE_LABELS)
        state.measure = first.selectbox(
            "Questions are chosen by", measures, measures.index(state.measure), format_func=MEASURE_LABELS.get,
            key="disclosure measure",
        )  # fmt: skip
        state.depth = int(second.number_input("Deepest level", 1, 20, state.depth, key="d depth"))
        state.fewest = int(third.number_input("Fewest rows of a node that asks", 2, None, state.fewest, key="d fewest"))
        measure, fewest, deepest = state.measure, state.fewest, state.depth
        key = (encoded, source, measure, deepest, fewest)
        tree = ws.answers.get(
            "disclosure tree", key, lambda: lay_keys(grow_multiway(keys, measure, fewest, deepest), keys)
        )
        return Candidate(tree, GrowingRule(measure), key)
    pruning = ws.flow.pruning
    cut = pruning.cut() if source == "groups" else None
    key = (encoded, source, pruning)
    tree = ws.answers.get(
        "disclosure tree", key, lambda: lay_keys(outline_of(pruning.tree, encoded.encodings, cut), keys)
    )
    criterion, least = ws.flow.criterion, ws.flow.recipe.min_leaf
    rule = GrowingRule(criterion, "binary", least) if criterion in ("gini", "entropy") else None
    return Candidate(tree, rule, key)


def brought_tree(ws: Workspace, keys: Keys) -> Candidate | None:
    """Return the tree of the file that was dropped; draws where one is dropped."""
    state = ws.state(DisclosureState)
    file = st.file_uploader(
        "Drop a tree that was made from this table", list(ENDINGS), max_upload_size=MAX_BYTES >> 20,
        key=f"disclosure file {ws.edition}",
        help="Read as data: nothing in it is run. One decision tree for classes; its columns have the table's names, "
        "or a level's, such as sex_male.",
    )  # fmt: skip
    if file is not None:
        state.file = file.name, file.getvalue()
        drop_uploads()
    if state.file is None:
        return None
    name, content = state.file
    key = (keys, name, content)
    brought = ws.answers.get("disclosure brought", key, lambda: read_tree(content, keys, apart=True))
    st.caption(f"{plain(name)}: a tree of {plain(brought.form)}, {len(brought.tree.outline.leaves):,} leaves.")
    return Candidate(brought.tree, brought.knowledge.rule, key, brought)


def knowledge_in_file(brought: Brought) -> Knowledge:
    """Return what a file tells beside the tree; draws it, and what the class shares of its leaves add."""
    knowledge = brought.knowledge
    parts = ["the questions", "the label of each leaf"]
    parts += ["its error rate"] if knowledge.rates else []
    parts += ["totals of each value"] if knowledge.totals else []
    parts += ["how the tree was grown"] if knowledge.rule else []
    st.caption(f"The file tells {', '.join(parts)}: that is what the adversary is taken to know.")
    shares = brought.by_shares
    if shares is not None:
        st.warning(
            f"This file holds the class shares of every leaf, too. Whoever believes them is up to "
            f"{share(shares.highest_posterior)} sure of somebody, right for {share(shares.accuracy)}, at a distance of "
            f"{shares.mean_divergence:.3f} from the truth. The files at the end of this page leave them out.",
            icon=":material/pie_chart:",
        )
    return knowledge


def knowledge_choice(ws: Workspace, rule: GrowingRule | None) -> Knowledge:
    """Return what is published with the tree, and what an adversary knows of how it was grown."""
    state = ws.state(DisclosureState)
    st.markdown("**What does the adversary know, beside everyone's quasi-identifying columns and the tree?**")
    first, second, third = st.columns(3)
    state.rates = first.toggle(
        "Error rate of each leaf", state.rates, key="disclosure rates",
        help="Published with the tree: how many of a leaf's people do not have its label",
    )  # fmt: skip
    state.totals = second.toggle(
        "Totals of each value", state.totals, key="disclosure totals",
        help="Published with the tree: how often each value occurs in the whole table",
    )  # fmt: skip
    state.rule = third.toggle(
        "How the tree was grown", state.rule and rule is not None, key="disclosure rule",
        disabled=rule is None,
        help="Then every question tells that no other would have been better. This takes a solver, and time.",
    )  # fmt: skip
    return Knowledge(state.rates, state.totals, rule if state.rule else None)


def confidence_slider(ws: Workspace) -> float:
    """Return from which posterior on somebody counts as exposed."""
    state = ws.state(DisclosureState)
    state.confidence = st.slider(
        "A person is exposed from a chance of", 0.5, 1.0, state.confidence, 0.01, key="confidence"
    )
    return state.confidence
