"""A released file and its report, or a packet, on the page, and what the checker finds in them."""

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from anonymizer.checking.cell_limits import Promise
from anonymizer.checking.rare_forms import rare_forms
from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.checking.several import Proof, files_alone, schema_there
from anonymizer.checking.verify import Check, Verification, verify
from anonymizer.digests import digest
from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.partitions.check import archive_checks
from anonymizer.partitions.folder import is_archive
from anonymizer.provenance.claim import Claim, claim_from, roles_text
from anonymizer.provenance.signature import PublicKey
from anonymizer.reading.child import call_in_child, read_in_child
from anonymizer.reading.parquet import parquet_bytes
from anonymizer.releasing.release import LAST_ENDINGS
from anonymizer.reporting.against import other_than_said
from anonymizer.reporting.packet import check_packet
from anonymizer.reporting.recipient_page import recipient_page
from ui.controls import plain, plural, problem
from ui.release.view import check_line, headline
from ui.server.framework import drop_uploads
from ui.server.memory import size_of
from ui.server.places import PLACES
from ui.verify.state import Verdict, VerifyState
from ui.workspace import Workspace

MOST_SENTENCES = 5
Rows = tuple[pd.DataFrame, Claim]
"""The rows of a release, and what its report claims of them."""
SAME_FILE = "This is the file that the report speaks of, by its SHA-256."


def bring(ws: Workspace) -> None:
    """Draw where a packet, or a file and its report, are dropped; checks them, and runs the script again, once all is
    there."""
    state = ws.state(VerifyState)
    key = st.text_input(
        "Key of the sender, where a packet is signed", key="verify key", max_chars=60, width=560,
        help="44 letters that the sender gave you by another way than the packet: `copse key show` prints them. Type "
        "them before you drop the packet.",
    )  # fmt: skip
    left, right = st.columns(2, gap="large")
    with left:
        files = st.file_uploader(
            "A release packet or folder (ZIP), or the released file, of any kind that Copse writes",
            ["zip", *LAST_ENDINGS],
            accept_multiple_files=True,
            key=f"verify file {state.edition}",
        )
    with right:
        reports = st.file_uploader(
            "For a released file, its report (JSON); a packet has one in it", ["json"], accept_multiple_files=True,
            key=f"verify report {state.edition}",
        )  # fmt: skip
    kinds = [kind_of(file.name, file.getvalue()) for file in files]
    missing = len(kinds) - kinds.count("packet") - len(reports)
    if not files or missing > 0:
        if "folder" in kinds:
            st.caption("This is a released folder as one file: drop its report, too.")
        elif len(files) > 1:
            verb = "is" if missing == 1 else "are"
            st.caption(f"{plural(missing, 'report')} {verb} missing: each released file has its own.")
        return
    drops = [(kind, file.name, file.getvalue()) for kind, file in zip(kinds, files, strict=True)]
    claimed = [report.getvalue() for report in reports]
    drop_uploads()
    state.edition += 1
    state.clear()
    try:
        sender = PublicKey.of(key) if key.strip() else None
        if sender is not None and {*kinds} != {"packet"}:
            raise ParameterError("Only a packet is signed, and this is none.", remedy="Clear the key of the sender.")
        with st.spinner("Reading and checking the file …"), ws.turn(False):
            judge(ws, drops, claimed, sender)
    except AnonymizerError as error:
        state.clear()
        state.problem = error
    st.rerun()


def kind_of(name: str, content: bytes) -> str:
    """Return what was dropped: a ``folder`` as one file, a ``packet``, or a ``file``, which needs a report as a folder
    does."""
    if is_archive(content[:100]):
        return "folder"
    return "packet" if name.lower().endswith(".zip") else "file"


def judge(
    ws: Workspace, drops: Sequence[tuple[str, str, bytes]], reports: Sequence[bytes], sender: PublicKey | None
) -> None:
    """Keep what the checker finds in each file and, of two or more, what they prove together. ``drops``: the kind, the
    name and the bytes of each. Raises what reading and checking raise."""
    state, rows = ws.state(VerifyState), []
    rest = iter(reports_of([content for kind, _, content in drops if kind != "packet"], reports))
    if len(drops) > 1 and any(kind == "folder" for kind, _, _ in drops):
        raise ParameterError("A released folder is checked alone.", remedy="Drop it without other files.")
    for kind, name, content in drops:
        if kind == "packet":
            verdict, own = verdict_on_packet(ws, name, content, sender)
        elif kind == "folder":
            verdict, own = verdict_on_folder(name, content, next(rest)), None
        else:
            verdict, own = check(ws, name, content, next(rest))
        state.verdicts = (*state.verdicts, verdict)
        rows += [] if own is None or not verdict.is_whole else [own]
    if len(rows) > 1 and len(rows) == len(drops):
        state.proof = files_alone(
            [table for table, _ in rows],
            [schema_there(claim.schema, table) for table, claim in rows],
            max(int(claim.limits["k"]) for _, claim in rows),
            promises=[Promise.of(claim.schema, claim.promise) for _, claim in rows],
        )


def reports_of(contents: Sequence[bytes], reports: Sequence[bytes]) -> list[bytes]:
    """Return the report of each of some files: the one that names its SHA-256; those that no report names have what is
    left, in order. Raises :class:`ReadError` for a report that is none."""
    names = {report: {*claim_from(report).outputs.values()} for report in reports}
    own = [next((report for report in reports if digest(one) in names[report]), None) for one in contents]
    others = iter([report for report in reports if report not in own] or reports)
    return [report or next(others, reports[0]) for report in own]


def check(ws: Workspace, name: str, content: bytes, report: bytes) -> tuple[Verdict, Rows]:
    """Return what the checker finds in a file, under the roles and limits of its report, and its rows with what that
    claims. The file is read in a process of its own; nothing of it is kept but a clean copy. Raises what reading and
    checking raise."""
    claim = claim_from(report)
    reading = read_in_child(content, name=name, reader=read_released)
    PLACES.require(ws.owner, name, size_of(reading.frame))
    file = ReleasedFile.of_reading(reading).under(claim.schema, labels=claim.knows_labels, sets=claim.sets)
    verification = verify(
        file.rows, claim.schema, beside=file.beside, unjudged=file.unjudged, left_out=claim.left_out, **claim.held_to
    )
    differences = claim.differences(reading.sha256, len(file.rows), claim.schema) or other_than_said(file.rows, claim)
    sentences = differences or (SAME_FILE, *rare_forms(file.rows, claim.schema))
    is_clean = verification.passed and not differences
    copy = parquet_bytes(file.rows) if file.unjudged and is_clean else b""
    verdict = Verdict(name, not differences, sentences, {name: verification}, words_of(claim), copy=copy)
    return verdict, (file.rows, claim)


def words_of(claim: Claim) -> str:
    """Return the roles and the limits that a release is checked under, in words."""
    return f"{roles_text(claim.schema)} {claim.limits_text}"


def verdict_on_folder(name: str, content: bytes, report: bytes) -> Verdict:
    """Return what the checker finds in a folder as one file, under the roles and limits of its report. All of it is
    read and checked in a process of its own. Raises what reading and checking raise."""
    roles = words_of(claim_from(report))
    words = {"name": name, "report": report.decode("utf-8", "replace")}
    answer = call_in_child(archive_checks, words, source=content, name=name)
    checks = tuple(Check(**check) for check in answer["checks"])
    verification = Verification(checks, answer["k"], answer["rows"], answer["left_out"])
    differences = tuple(answer["differences"])
    return Verdict(name, not differences, differences or (SAME_FILE,), {name: verification}, roles, is_folder=True)


def verdict_on_packet(ws: Workspace, name: str, content: bytes, key: PublicKey | None) -> tuple[Verdict, Rows | None]:
    """Return what comes of checking a packet: every file in it, its signature where a ``key`` was typed, and what the
    checker finds in its tables; and its rows with what its report claims. The archive unfolds, and each table is read,
    in a process of its own; nothing is kept. Raises what reading and checking raise."""

    def read(data: bytes) -> ReleasedFile:
        reading = read_in_child(data, name="The table", reader=read_released)
        PLACES.require(ws.owner, name, size_of(reading.frame))
        return ReleasedFile.of_reading(reading)

    answer = check_packet(content, unfold=partial(ws.unfold_packet, name), read=read, key=key)
    roles = "" if answer.claim is None else words_of(answer.claim)
    if not answer.differences:
        own = None if answer.rows is None or answer.claim is None else (answer.rows, answer.claim)
        return Verdict(name, True, (answer.sentence, *answer.notes), answer.tables, roles), own
    more = len(answer.differences) - MOST_SENTENCES
    sentences = answer.differences[:MOST_SENTENCES] + ((f"And {more:,} more.",) if more > 0 else ())
    return Verdict(name, False, ("This packet is not as it was made.", *sentences), {}, roles), None


def offer_page() -> None:
    """Draw the button by which somebody takes the page that verifies a release without Copse."""
    st.download_button(
        "Page for recipients (HTML)", recipient_page(), "verify.html", "text/html", icon=":material/download:",
        on_click="ignore", key="download recipient page",
        help="It verifies a packet, or released files, in any newer browser. It needs no Copse and no network. Every "
        "packet has it.",
    )  # fmt: skip


def outcome(ws: Workspace) -> None:
    """Draw what came of the last files: what they prove together, then of each whether it is what it says, and what the
    checker finds in each table."""
    state = ws.state(VerifyState)
    if state.problem is not None:
        problem(state.problem)
    if state.proof is not None:
        proven_together(state.proof, [verdict.name for verdict in state.verdicts])
    for place, verdict in enumerate(state.verdicts):
        outcome_of_one(verdict, place)


def proven_together(proof: Proof, names: Sequence[str]) -> None:
    """Draw what two or more files prove together. ``names``: of the files."""
    st.header("Together", anchor=False)
    first, *others = map(plain, proof.sentences(names))
    text = "  \n".join([f"**{first}**", *others])
    if proof.overall == "fails":
        st.error(text, icon=":material/group_off:")
    elif proof.holds:
        st.success(text, icon=":material/groups:")
    else:
        st.warning(text, icon=":material/help:")


def outcome_of_one(verdict: Verdict, place: int) -> None:
    """Draw what came of one file; ``place``: which of them."""
    st.header(plain(verdict.name), anchor=False)
    first, *others = map(plain, verdict.sentences)
    text = "  \n".join([f"**{first}**" if others else first, *others])
    if verdict.is_whole:
        st.success(text, icon=":material/link:")
    else:
        st.error(text, icon=":material/link_off:")
    alike: dict[str, list[str]] = {}
    for name, verification in verdict.tables.items():
        alike.setdefault(verification.describe(), []).append(name)
    for names in alike.values():
        table(verdict, names, place)
    if verdict.roles:
        st.caption(plain(verdict.roles))
    if verdict.is_folder:
        st.caption("Checked from the file alone. Each row was compared with its original when the folder was made.")
        return
    st.caption(
        "Checked from the file alone. Whether its cells contain the values of the people it was made from, and what "
        "somebody who knows them all can link, needs the original: `copse verify` with `--original`."
    )


def table(verdict: Verdict, names: list[str], place: int) -> None:
    """Draw what the checker finds in tables of a verdict, by their names, of which it says the same."""
    verification = verdict.tables[names[0]]
    headline(verification)
    if len(verdict.tables) > 1:
        st.caption(f"In {', '.join(map(plain, names))}.")
    judged = [check for check in verification.checks if check.passed is not None]
    reported = [check for check in verification.checks if check.passed is None and check.name != "file"]
    file = verification.get("file")
    if file is not None and file.passed is None:
        st.warning(plain(file.sentence), icon=":material/help:")
    if verdict.copy:
        st.download_button(
            "Clean copy (Parquet)", verdict.copy, "clean-copy.parquet", "application/vnd.apache.parquet",
            icon=":material/download:", on_click="ignore", key=f"download clean copy {place}",
            help="The rows and nothing else. It is kept in this session until you choose another file.",
        )  # fmt: skip
    for each in sorted(judged, key=lambda check: bool(check.passed)):
        check_line(each)
    title = f"{plural(len(reported), 'more figure')}, reported without a requirement"
    with st.expander(title, key=f"verify figures {place} {names[0]}"):
        for each in reported:
            check_line(each)
