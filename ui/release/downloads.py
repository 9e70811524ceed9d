"""What can be taken away: the release, its data dictionary, the report, and how to do it again."""

import json
import re
from functools import partial
from pathlib import PurePath

import streamlit as st

from anonymizer.digests import digest
from anonymizer.gate.finding import FEWEST_WORDS, is_reason
from anonymizer.provenance.report import Report, check_line
from anonymizer.reading.files import endings
from anonymizer.releasing.release import ORDERS, Release
from ui.release.state import ReleaseState
from ui.workspace import Workspace

KINDS = {
    "csv": ("CSV", "text/csv"),
    "csv.gz": ("CSV, compressed", "application/gzip"),
    "parquet": ("Parquet", "application/vnd.apache.parquet"),
    "feather": ("Feather", "application/vnd.apache.arrow.file"),
    "xlsx": ("Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "sav": ("SPSS", "application/x-spss-sav"),
    "dta": ("Stata", "application/x-stata-dta"),
    "xpt": ("SAS", "application/x-sas-xport"),
}
NAMED = (
    "Long sets have short names, such as {C: 48 levels}. The data dictionary and both reports list their levels: give "
    "one of them with the file."
)
"""What is said of files in which sets have short names."""
FILES = (
    "Files are made when you click, and are not kept here. Keep the report internal: it names values, and has the key "
    "of the commitment to your file."
)
"""What is said of all files."""


def release_reason(ws: Workspace, report: Report) -> tuple[str, bool]:
    """Return the reason for letting a release go that failed a check, "" where none is needed or said, and whether
    nothing may be taken away; draws the field for the reason."""
    passed, stops = report.verification.passed, bool(report.gate.open)
    reason = "" if passed or stops else reason_field(ws, report)
    return reason, stops or (not passed and not reason)


def single_files(ws: Workspace, release: Release, report: Report, reason: str, locked: bool) -> None:
    """Draw the files of a release one by one; they are made on the click, which is noted."""
    take = ws.taking()

    def made(format: str) -> bytes:
        take()
        return release.to_bytes(format)

    name = file_stem(ws.reading.name if ws.reading else "")
    with st.container(horizontal=True, gap="small"):
        for format in release.formats:
            label, mime = KINDS[format]
            st.download_button(
                label,
                partial(made, format),
                f"{name}-released.{format}",
                mime,
                key=f"download {format}",
                icon=":material/download:",
                disabled=locked,
                on_click="ignore",
            )
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "Report (JSON)",
            lambda: report_text(release, report, reason),
            f"{name}-report.json",
            "application/json",
            key="download report",
            icon=":material/description:",
            disabled=locked,
            on_click="ignore",
            help="What was done and found, with the SHA-256 of the files above. It holds no row.",
        )
        st.download_button(
            "For the recipient (JSON)",
            lambda: recipient_text(release, report, reason),
            "release-report.json",
            "application/json",
            key="download recipient",
            icon=":material/outgoing_mail:",
            disabled=locked,
            on_click="ignore",
            help="To check the files on the Verify page: roles, limits, SHA-256. Neither the worst cases nor the key.",
        )
        st.download_button(
            "Data dictionary (JSON)",
            lambda: json.dumps(release.dictionary(), ensure_ascii=False, indent=2) + "\n",
            f"{name}-dictionary.json",
            "application/json",
            key="download dictionary",
            icon=":material/menu_book:",
            disabled=locked,
            on_click="ignore",
            help="For whoever gets the release: what each column is and how its cells are read.",
        )
    if any(column.names for column in release.columns):
        st.caption(NAMED)
    st.caption(FILES)


def do_it_again(ws: Workspace, report: Report) -> None:
    """Draw the commands that check a release and make one like it."""
    name = file_stem(ws.reading.name if ws.reading else "")
    with st.expander("How to check it and do it again", icon=":material/terminal:"):
        st.markdown("Check the downloaded file again, in the folder of all three files:")
        st.code(
            check_line(report.provenance, f"{name}-released.csv", f"{name}-report.json"),
            language="bash",
            wrap_lines=True,
        )
        st.markdown("Make a release like it, in a terminal:")
        st.code(report.provenance.command, language="bash", wrap_lines=True)
        st.markdown("Or in Python, with the downloaded report renamed to `REPORT.json`:")
        st.code(report.provenance.python, language="python", wrap_lines=True)
        st.caption(ORDERS[ws.settings.order])
        if ws.flow.classes_to_keep:
            st.caption("Both keep the earlier groups, with the reports or the ledger of the earlier releases.")


def reason_field(ws: Workspace, report: Report) -> str:
    """Return the reason for letting a release go that failed a check, typed here; "" as long as it says too little."""
    st.markdown("**This release fails a required check.** To release it, give a reason. The report keeps it.")
    ws.state(ReleaseState).reason = st.text_area(
        "Reason",
        reason_for(ws, report),
        key=f"reason {id(report)}",
        max_chars=2000,
        height=90,
        placeholder="For example: goes only to the ethics board, under contract 12/7",
    )
    reason = reason_for(ws, report)
    if not is_reason(reason):
        st.caption(f"The downloads open when at least {FEWEST_WORDS} words are here.")
        return ""
    return " ".join(reason.split())


def reason_for(ws: Workspace, report: Report) -> str:
    """Return what was typed as the reason; it belongs to one release only, and "" to another."""
    state = ws.state(ReleaseState)
    if ws.answers.differs("reason", report):
        state.reason = ""
    return state.reason


def recipient_text(release: Release, report: Report, reason: str) -> str:
    """Return what the recipient needs to check the files."""
    return left(release, report, reason).to_recipient_json()


def report_text(release: Release, report: Report, reason: str) -> str:
    """Return the report of what left, for the steward."""
    return left(release, report, reason).to_json()


def left(release: Release, report: Report, reason: str) -> Report:
    """Return the report of what left: the digest of the file in every format, and the reason when one was needed."""
    return report.with_output({format: digest(release.to_bytes(format)) for format in release.formats}, reason)


def file_stem(name: str) -> str:
    """Return a table's name as the start of a file name: letters, digits, ``_`` and ``-`` only."""
    plain = name
    while PurePath(plain).suffix.lower()[1:] in endings():
        plain = PurePath(plain).stem
    return re.sub(r"[^\w-]+", "_", plain).strip("_")[:60] or "table"
