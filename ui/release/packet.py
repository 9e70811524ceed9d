"""The release packet on the page: who it is for, made in the background from what is shown, then one file to take."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from anonymizer.errors import part_of
from anonymizer.provenance.report import Report
from anonymizer.provenance.signature import SigningKey
from anonymizer.releasing.release import Release
from anonymizer.reporting.findings import findings_of
from anonymizer.reporting.packet import packet_of
from anonymizer.reporting.packet_files import formats_of
from anonymizer.reporting.pictures import inward_of
from anonymizer.whatif.project import outward, to_json
from ui.background import Job
from ui.decisions.project_file import project_of
from ui.job import answer_of_job
from ui.release.attacks import outcome_of
from ui.release.databases import into_database
from ui.release.downloads import KINDS, file_stem, release_reason, single_files
from ui.release.ledger import entered
from ui.release.reports import signing, statement, statement_of
from ui.workspace import Workspace

JOB = "packet"
AUDIENCES = {"external": "For the recipient", "internal": "For your own files"}
CONTENTS = {
    "external": "Contains no original value that the release does not show, and none of your reasons.",
    "internal": "Contains the riskiest cases, your reasons, lines to sign, and the project for next year's table.",
}
REPORTS = {
    "external": {"html": "External report (HTML)", "pdf": "External report (PDF)"},
    "internal": {"html": "Internal report (HTML)", "pdf": "Internal report (PDF)"},
}
LOOKS = {"html": ("text/html", ":material/article:"), "pdf": ("application/pdf", ":material/picture_as_pdf:")}


def take_away(ws: Workspace, release: Release, report: Report) -> None:
    """Draw what can be taken away: the packet first, single files behind a fold; nothing as long as something stands in
    the way, and when a required check failed, only after a reason was typed."""
    st.header("Download", anchor=False)
    reason, locked = release_reason(ws, report)
    with st.expander("Purpose, recipient, signatures", key="statement", icon=":material/edit:"):
        statement(ws)
        signer = signing(ws)
    stem = file_stem(ws.reading.name if ws.reading else "")
    if not locked:
        entry = entered(ws, release, report, f"{stem}-released.csv")
        report, locked = entry or report, entry is None
    audience = str(
        st.segmented_control(
            "Who is the packet for?", list(AUDIENCES), default="external", format_func=AUDIENCES.get, required=True,
            key="packet audience", disabled=locked,
        )
    )  # fmt: skip
    st.caption(f"One ZIP: data ({table_formats(release)}), dictionary, report, script, manifest. {CONTENTS[audience]}")
    packet = None
    if locked:
        st.button("Make the packet", key="begin packet", icon=":material/inventory_2:", disabled=True)
    else:
        packet = made(ws, release, report, reason, audience, signer)
    if packet is not None:
        own = stem if audience == "internal" else "release"
        st.download_button(
            "Download the packet", partial(noted, ws.taking(), packet), f"{own}-{audience}-packet.zip",
            "application/zip", key="download packet",
            icon=":material/download:", type="primary", on_click="ignore",
        )  # fmt: skip
        st.caption(
            ":material/task_alt: Checked: all files match the manifest, and the table in each "
            "format passed the checker again. `copse verify` checks it once more, wherever it goes."
        )
    into_database(ws, release, report, reason, locked)
    with st.expander("Single files", icon=":material/folder_open:", key="single files"):
        single_files(ws, release, report, reason, locked)
        reports(ws, packet, audience)


def noted(take: Callable[[], None], packet: bytes) -> bytes:
    """Return a packet that is taken away now."""
    take()
    return packet


def table_formats(release: Release) -> str:
    """Return the names of the formats in which a packet has the table."""
    formats = formats_of(column.variable for column in release.columns)
    return ", ".join(KINDS[format][0] for format in formats if format in release.formats)


def made(
    ws: Workspace, release: Release, report: Report, reason: str, audience: str, signer: SigningKey | None
) -> bytes | None:
    """Return the packet, signed where there is a ``signer``, as soon as it is there; draws the button, progress, and
    Cancel."""
    table, flow, words = ws.table, ws.flow, statement_of(ws)
    assert table is not None
    attacks = outcome_of(ws, flow.release)
    project = ""
    if audience == "internal":
        project = to_json(replace(outward(project_of(ws)), saved=report.provenance.time), ws.suggest())

    def work(job: Job) -> bytes:
        inward = inward_of(flow, part_of(job.go_on, 0.0, 0.4)) if audience == "internal" else {}
        findings = findings_of(report, table, flow.released, attacks, **inward)
        how = {"override": reason, "project": project, "progress": part_of(job.go_on, 0.4, 1.0)}
        return packet_of(release, findings, words, audience, key=signer, **how)

    key = release, report, reason, audience, words, attacks, signer
    packet: bytes | None = answer_of_job(ws, JOB, key, "Make the packet", work)
    return packet


def reports(ws: Workspace, packet: bytes | None, audience: str) -> None:
    """Draw the report of a packet alone, as HTML and PDF, once there is one."""
    if packet is None:
        st.caption("The reports for people (HTML, PDF) come out of the packet: make it first.")
    else:
        stem = file_stem(ws.reading.name if ws.reading else "") if audience == "internal" else "release"
        with st.container(horizontal=True, gap="small"):
            for ending, label in REPORTS[audience].items():
                content = zipfile.ZipFile(io.BytesIO(packet)).read(f"report.{ending}")
                mime, icon = LOOKS[ending]
                st.download_button(
                    label, content, f"{stem}-{audience}-report.{ending}", mime, key=f"report {audience} {ending}",
                    icon=icon, on_click="ignore",
                )  # fmt: skip
    if outcome_of(ws, ws.flow.release) is None:
        st.caption("Run the attacks first, under *Attack it*, if the reports are to hold the three criteria of WP216.")
