"""The entry of a published tree in an open ledger, which comes before its files can be taken away."""

import streamlit as st

from anonymizer.disclosure.repair import Repair
from anonymizer.errors import AnonymizerError
from anonymizer.gate.finding import FEWEST_WORDS, Gate, is_reason
from anonymizer.ledger.drafts import TreeDraft
from ui.controls import plain, problem
from ui.release.reports import statement_of
from ui.workspace import Workspace


def tree_entered(ws: Workspace, way: Repair, name: str) -> bool:
    """Return whether the files of a tree may be taken away: it has its entry in the ledger that is open, or none is.
    Draws what it tells with what the ledger has, and the button that writes the entry. ``name``: of its file."""
    opened, table, schema = ws.ledger, ws.table, ws.schema
    if opened is None or table is None or schema is None:
        return True
    codes, key = ws.flow.encoded.codes, opened.ledger.require_key()
    draft = ws.answers.get(
        "tree draft",
        (way.tree, way.knowledge, schema, opened.name),
        lambda: TreeDraft.of(table, schema, way.tree, way.knowledge, codes.matrix(), name, key),
    )
    before = [opened.trees[sha256] for sha256 in draft.files.values() if sha256 in opened.trees]
    if before:
        st.caption(f":material/history_edu: Entry {before[0]:,} of the ledger {plain(opened.name)}.")
        return True
    gate = Gate(ws.answers.get("tree findings", (draft, opened.head), lambda: opened.ledger.tree_findings(draft)))
    for finding in gate.findings:
        show = st.warning if finding.is_open else st.caption
        show(plain(f"{finding.sentence} {finding.detail}".strip()))
    st.markdown(f"Its entry in the ledger **{plain(opened.name)}** comes first.")
    reason = ""
    if gate.open:
        label = f"Why may it be published all the same? At least {FEWEST_WORDS} words."
        reason = st.text_input(label, max_chars=2000, key="tree reason")
    blocked = bool(gate.open) and not is_reason(reason)
    icon = ":material/history_edu:"
    if st.button("Write the entry", key="write tree entry", icon=icon, type="primary", disabled=blocked):
        words = statement_of(ws)
        reasons = {finding.key: " ".join(reason.split()) for finding in gate.open}
        try:
            opened.ledger.enter_tree(draft, reasons, to=words.recipient, basis=words.basis, by=words.prepared_by)
        except AnonymizerError as error:
            problem(error)
            ws.use_ledger(opened.again())
        else:
            ws.use_ledger(opened.again())
            st.rerun()
    return False
