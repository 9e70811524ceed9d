"""The entry in an open ledger, which comes before anything of a release is taken away."""

import streamlit as st

from anonymizer.digests import digest
from anonymizer.errors import AnonymizerError
from anonymizer.provenance.report import Report
from anonymizer.releasing.release import Release
from ui.controls import plain, problem
from ui.release.reports import statement_of
from ui.workspace import Workspace


def entered(ws: Workspace, release: Release, report: Report, name: str) -> Report | None:
    """Return the report of what may be taken away, with its entry in the ledger that is open; ``None`` as long as it
    has none. Draws the entry, or the button that writes it. ``name``: of the file."""
    opened = ws.ledger
    if opened is None or ws.table is None:
        return report
    sha256 = ws.answers.get("digest of the release", ws.flow.release, lambda: digest(release.to_bytes("csv")))
    if sha256 in opened.entries:
        number, entry = opened.entries[sha256]
        st.caption(f":material/history_edu: Entry {number:,} of the ledger {plain(opened.name)}.")
        return ws.answers.get("report of the entry", (report, entry), lambda: report.with_ledger(number, entry))
    st.markdown(f"Its entry in the ledger **{plain(opened.name)}** comes first.")
    if st.button("Write the entry", key="write entry", icon=":material/history_edu:", type="primary"):
        words = statement_of(ws)
        try:
            opened.ledger.add(
                ws.table, release, report, name, sha256, to=words.recipient, basis=words.basis, by=words.prepared_by
            )
        except AnonymizerError as error:
            problem(error)
            ws.use_ledger(opened.again())
        else:
            ws.use_ledger(opened.again())
            st.rerun()
    return None
