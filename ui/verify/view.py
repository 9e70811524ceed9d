"""A released file and its report, or a packet, on the page, and what the checker finds in them."""

from functools import partial

import streamlit as st

from anonymizer.checking.rare_forms import rare_forms
from anonymizer.checking.released_file import ReleasedFile, read_released
from anonymizer.checking.verify import Check, Verification, verify
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
        file = st.file_uploader(
            "A release packet or folder (ZIP), or the released file, of any kind that Copse writes",
            ["zip", *LAST_ENDINGS],
            key=f"verify file {state.edition}",
        )
    with right:
        report = st.file_uploader(
            "For a released file, its report (JSON); a packet has one in it", ["json"],
            key=f"verify report {state.edition}",
        )  # fmt: skip
    is_folder = file is not None and is_archive(file.getvalue()[:100])
    is_packet = file is not None and file.name.lower().endswith(".zip") and not is_folder
    if file is None or (report is None and not is_packet):
        if is_folder:
            st.caption("This is a released folder as one file: drop its report, too.")
        return
    name, content, claimed = file.name, file.getvalue(), b"" if report is None else report.getvalue()
    drop_uploads()
    state.edition += 1
    state.verdict = state.problem = None
    try:
        sender = PublicKey.of(key) if key.strip() else None
        if sender is not None and not is_packet:
            raise ParameterError("Only a packet is signed, and this is none.", remedy="Clear the key of the sender.")
        with st.spinner("Reading and checking the file …"), ws.turn(False):
            if is_folder:
                state.verdict = verdict_on_folder(name, content, claimed)
            elif is_packet:
                state.verdict = verdict_on_packet(ws, name, content, sender)
            else:
                state.verdict = check(ws, name, content, claimed)
    except AnonymizerError as error:
        state.problem = error
    st.rerun()


def check(ws: Workspace, name: str, content: bytes, report: bytes) -> Verdict:
    """Return what the checker finds in a file, under the roles and limits of its report. The file is read in a process
    of its own; nothing of it is kept but a clean copy. Raises what reading and checking raise."""
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
    return Verdict(name, not differences, sentences, {name: verification}, words_of(claim), copy=copy)


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


def verdict_on_packet(ws: Workspace, name: str, content: bytes, key: PublicKey | None) -> Verdict:
    """Return what comes of checking a packet: every file in it, its signature where a ``key`` was typed, and what the
    checker finds in its tables. The archive unfolds, and each table is read, in a process of its own; nothing is kept.
    Raises what reading and checking raise."""

    def read(data: bytes) -> ReleasedFile:
        reading = read_in_child(data, name="The table", reader=read_released)
        PLACES.require(ws.owner, name, size_of(reading.frame))
        return ReleasedFile.of_reading(reading)

    answer = check_packet(content, unfold=partial(ws.unfold_packet, name), read=read, key=key)
    roles = "" if answer.claim is None else words_of(answer.claim)
    if not answer.differences:
        return Verdict(name, True, (answer.sentence, *answer.notes), answer.tables, roles)
    more = len(answer.differences) - MOST_SENTENCES
    sentences = answer.differences[:MOST_SENTENCES] + ((f"And {more:,} more.",) if more > 0 else ())
    return Verdict(name, False, ("This packet is not as it was made.", *sentences), {}, roles)


def offer_page() -> None:
    """Draw the button by which somebody takes the page that verifies a release without Copse."""
    st.download_button(
        "Page for recipients (HTML)", recipient_page(), "verify.html", "text/html", icon=":material/download:",
        on_click="ignore", key="download recipient page",
        help="It verifies a packet, or released files, in any newer browser. It needs no Copse and no network. Every "
        "packet has it.",
    )  # fmt: skip


def outcome(ws: Workspace) -> None:
    """Draw what came of the last file: whether it is what it says, then what the checker finds in each table."""
    state = ws.state(VerifyState)
    if state.problem is not None:
        problem(state.problem)
    verdict = state.verdict
    if verdict is None:
        return
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
        table(names, verdict.tables[names[0]], len(verdict.tables) > 1, verdict.copy)
    if verdict.roles:
        st.caption(plain(verdict.roles))
    if verdict.is_folder:
        st.caption("Checked from the file alone. Each row was compared with its original when the folder was made.")
        return
    st.caption(
        "Checked from the file alone. Whether its cells contain the values of the people it was made from, and what "
        "somebody who knows them all can link, needs the original: `copse verify` with `--original`."
    )


def table(names: list[str], verification: Verification, is_named: bool, copy: bytes) -> None:
    """Draw what the checker finds in tables of which it says the same; ``copy``: their rows alone, where bytes cannot
    be judged."""
    headline(verification)
    if is_named:
        st.caption(f"In {', '.join(map(plain, names))}.")
    judged = [check for check in verification.checks if check.passed is not None]
    reported = [check for check in verification.checks if check.passed is None and check.name != "file"]
    file = verification.get("file")
    if file is not None and file.passed is None:
        st.warning(plain(file.sentence), icon=":material/help:")
    if copy:
        st.download_button(
            "Clean copy (Parquet)", copy, "clean-copy.parquet", "application/vnd.apache.parquet",
            icon=":material/download:", on_click="ignore", key="download clean copy",
            help="The rows and nothing else. It is kept in this session until you choose another file.",
        )  # fmt: skip
    for each in sorted(judged, key=lambda check: bool(check.passed)):
        check_line(each)
    title = f"{plural(len(reported), 'more figure')}, reported without a requirement"
    with st.expander(title, key=f"verify figures {names[0]}"):
        for each in reported:
            check_line(each)
