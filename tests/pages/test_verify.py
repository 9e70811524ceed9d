"""The Verify page without a browser: a release and its report, another file, a spoiled one, and what is no file."""

import io
import json
import re
import zipfile
from functools import cache

import pandas as pd
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.checking.released_file import read_file
from anonymizer.checking.several import verify_together
from anonymizer.checking.verify import verify
from anonymizer.digests import digest
from anonymizer.pipeline import Result, anonymize
from anonymizer.provenance.report import schema_digest
from anonymizer.provenance.signature import SigningKey
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.files import archive
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.reporting.packet import packet_of
from anonymizer.reporting.packet_files import MANIFEST
from anonymizer.settings import SETTINGS
from tests.pages.test_data import SHELL
from tests.pages.test_release import plain_text
from tests.waiting import PATIENCE
from ui.verify.state import VerifyState

PAGE_BUTTON = "Page for recipients (HTML)"
TABLE = hospital(120)
SCHEMA = suggest(TABLE)
FORMATS = ("csv", "csv.gz", "parquet")


@cache
def result() -> Result:
    """What the files are of."""
    return anonymize(TABLE, SCHEMA, k=4)


@cache
def files() -> dict[str, bytes]:
    """The release in some formats."""
    return {format: result().release.to_bytes(format) for format in FORMATS}


@cache
def report_of_files() -> str:
    """The report that says the digests of all of them."""
    return result().report.with_output({format: digest(content) for format, content in files().items()}).to_json()


def dropped(content: bytes, report: str = "", format: str = "csv") -> AppTest:
    """The page after a file and its report were dropped."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page("../pages/verify.py").run()
    assert not app.exception
    app.file_uploader(key="verify file 0").upload(f"out.{format}", content)
    app.file_uploader(key="verify report 0").upload("report.json", (report or report_of_files()).encode()).run()
    assert not app.exception
    return app


def test_a_file_of_another_program__has_a_clean_copy() -> None:
    sink = io.BytesIO()
    table = pq.read_table(io.BytesIO(files()["parquet"])).replace_schema_metadata(None)
    pq.write_table(table, sink, compression="snappy", store_schema=False)
    other = sink.getvalue()
    report = result().report.with_output({"parquet": digest(other)}).to_json()
    app = dropped(other, report, "parquet")
    assert ["cannot be said" in warning.value for warning in app.warning] == [True]
    [verdict] = app.session_state["workspace"].state(VerifyState).verdicts
    assert verdict.copy == files()["parquet"]
    assert [button.label for button in app.get("download_button")] == ["Clean copy (Parquet)", PAGE_BUTTON]
    for content, report in (
        (files()["parquet"], report_of_files()),
        (other, report_of_files()),
    ):  # judged; not the one of the report
        others = dropped(content, report, "parquet").get("download_button")
        assert [button.label for button in others] == [PAGE_BUTTON]


@pytest.mark.parametrize("format", FORMATS)
def test_a_release_and_its_report__need_no_table(format: str) -> None:
    app = dropped(files()[format], format=format)
    text = plain_text(app)
    file = read_file(files()[format])
    expected = verify(file.under(SCHEMA).rows, SCHEMA, k=4, beside=file.beside)
    assert expected.passed
    for check in expected.checks:
        assert check.sentence in text
    assert "This is the file that the report speaks of" in text
    assert schema_digest(SCHEMA) in text
    assert "Held to the limits of the report: k = 4." in text
    assert not [error.value for error in app.error]
    ws = app.session_state["workspace"]
    assert ws.table is None
    [verdict] = ws.state(VerifyState).verdicts
    assert not [value for value in vars(verdict).values() if isinstance(value, pd.DataFrame)]


def test_another_file__is_said_to_be_one() -> None:
    app = dropped(files()["csv"].replace(b'"female"', b'"Fe"', 1))
    text = plain_text(app)
    assert "This is not the file that the report speaks of" in text
    assert "required check" in text


def test_what_is_beside_the_rows__fails() -> None:
    app = dropped(files()["csv.gz"] + b"Anna", format="csv.gz")
    assert any("second part" in error.value for error in app.error)


def test_weaker_roles_in_the_report__are_refused() -> None:
    report = json.loads(report_of_files())
    for column in report["provenance"]["schema"]["columns"]:
        column["role"] = "insensitive" if column["role"] == "quasi-identifying" else column["role"]
    app = dropped(files()["csv"], json.dumps(report))
    assert "not that of the roles that stand there" in plain_text(app)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PK\x03\x04", b"\x00\xff"])
def test_no_file__is_one_message_and_the_next_one_can_be_dropped(content: bytes) -> None:
    app = dropped(content)
    assert len(app.error) == 1
    app.file_uploader(key="verify file 1").upload("out.csv", files()["csv"])
    app.file_uploader(key="verify report 1").upload("report.json", report_of_files().encode()).run()
    assert "This is the file that the report speaks of" in plain_text(app)


def test_a_name_from_outside__is_text() -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page("../pages/verify.py").run()
    app.file_uploader(key="verify file 0").upload("**bold**.csv", files()["csv"])
    app.file_uploader(key="verify report 0").upload("report.json", report_of_files().encode()).run()
    assert app.header[0].value == r"\*\*bold\*\*\.csv"


# A packet.


@cache
def packet() -> bytes:
    """A packet of the release for its recipient."""
    findings = findings_of(result().report, TABLE, result().release.frame(), None, ())
    return packet_of(result().release, findings, Statement(), "external")


def dropped_packet(content: bytes, name: str = "out.zip") -> AppTest:
    """The page after a packet was dropped, without any report beside it."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page("../pages/verify.py").run()
    app.file_uploader(key="verify file 0").upload(name, content).run()
    assert not app.exception
    return app


def test_a_packet__is_checked_as_a_whole_with_every_table() -> None:
    app = dropped_packet(packet())
    text = plain_text(app)
    assert "This packet (external) is whole" in text
    for format in ("csv", "parquet", "xlsx"):
        assert f"data/release.{format}" in text
    expected = verify(read_file(files()["csv"]).under(SCHEMA).rows, SCHEMA, k=4)
    assert all(check.sentence in text for check in expected.checks if check.passed)
    assert schema_digest(SCHEMA) in text
    assert not app.error
    assert len(app.success) == 2, "the packet is whole, and all its tables say the same"


def test_a_packet__is_held_to_the_key_of_its_sender() -> None:
    findings = findings_of(result().report, TABLE, result().release.frame(), None, ())
    key, other = SigningKey.new(), SigningKey.new()
    data = packet_of(result().release, findings, Statement(), "external", key=key)
    for typed, content, sentence in (
        ("", data, f"It says that key {key.public.id} signed it."),
        (key.public.text, data, f"The holder of key {key.public.groups} signed it."),
        (other.public.text, data, f"is not signed with key {other.public.groups}"),
        (key.public.text, packet(), "It is not signed"),
        ("no key", data, "This is no public key"),
    ):
        app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page("../pages/verify.py").run()
        app.text_input(key="verify key").set_value(typed)
        app.file_uploader(key="verify file 0").upload("out.zip", content).run()
        assert sentence in plain_text(app) + "".join(one.value for one in app.error), typed


def test_a_key__is_of_a_packet_alone() -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page("../pages/verify.py").run()
    app.text_input(key="verify key").set_value(SigningKey.new().public.text)
    app.file_uploader(key="verify file 0").upload("out.csv", files()["csv"])
    app.file_uploader(key="verify report 0").upload("report.json", report_of_files().encode()).run()
    assert "Only a packet is signed" in app.error[0].value


@cache
def hostile_packets() -> dict[str, tuple[bytes, str]]:
    """Packets that were tampered with or are none, and words of the one sentence that says so."""
    with zipfile.ZipFile(io.BytesIO(packet())) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    without = {name: content for name, content in members.items() if name != "dictionary.html"}
    other = members | {"data/release.csv": members["data/release.csv"] + b"9"}
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr(MANIFEST, members[MANIFEST])
        with packed.open("data/release.csv", "w") as member:
            for _ in range(300):
                member.write(bytes(1 << 20))
    return {
        "bomb": (bomb.getvalue(), "takes more memory than there is for it"),
        "path": (archive(members | {"../../etc/passwd": b"x"}), "'../../etc/passwd' has no place"),
        "digest": (archive(other), "data/release.csv is not what the manifest says"),
        "missing": (archive(without), "dictionary.html is missing."),
        "nested": (archive(members | {"more.zip": packet()}), "'more.zip' has no place"),
        "long name": (archive(members | {"*b*" * 5_000: b"x"}), "'*b**b*"),
        "behind": (packet() + b"Anna Berg", "Something stands between or behind the members"),
        "cut off": (packet()[:-400], "damaged or cut off"),
        "no packet": (archive({"a.csv": b"x"}), "it has no manifest"),
        "no archive": (b"age,sex\n1,f\n", "damaged or cut off"),
        "empty": (b"", "damaged or cut off"),
    }


HOSTILE = (
    "bomb", "path", "digest", "missing", "nested", "long name", "behind", "cut off", "no packet", "no archive", "empty",
)  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_packet__is_one_clear_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPSE_READ_MEMORY", "64")
    content, words = hostile_packets()[name]
    app = dropped_packet(content)
    assert not app.success
    (error,) = (re.sub(r"[\\\u2060]", "", error.value) for error in app.error)
    assert words in error
    assert len(error) < 600
    assert "Anna Berg" not in plain_text(app)
    if name != "bomb":
        return
    app.file_uploader(key="verify file 1").upload("out.zip", packet()).run()
    assert "is whole" in plain_text(app)


# Several releases.


@cache
def another(**limits: float) -> tuple[bytes, str]:
    """Another release of the same table, with its report."""
    result = anonymize(TABLE, SCHEMA, k=6, criterion="gini", **limits)
    content = result.release.to_bytes("csv")
    return content, result.report.with_output({"csv": digest(content)}).to_json()


def dropped_at_once(files: dict[str, bytes], reports: list[str]) -> AppTest:
    """The page after files and reports were dropped at once."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run().switch_page("../pages/verify.py").run()
    app.file_uploader(key="verify file 0").set_value([(name, content, "") for name, content in files.items()])
    values = [(f"{number}.json", report.encode(), "") for number, report in enumerate(reports)]
    app.file_uploader(key="verify report 0").set_value(values).run()
    assert not app.exception
    return app


def test_several_releases__are_held_against_each_other_and_their_own_reports() -> None:
    content, report = another()
    app = dropped_at_once({"a.csv": files()["csv"], "b.csv": content}, [report, report_of_files()])
    state = app.session_state["workspace"].state(VerifyState)
    assert [(one.name, one.is_whole) for one in state.verdicts] == [("a.csv", True), ("b.csv", True)]
    tables = [read_file(one).under(SCHEMA).rows for one in (files()["csv"], content)]
    expected = verify_together(tables, SCHEMA, k=6)
    assert state.proof == expected
    text = plain_text(app)
    for sentence in expected.sentences(["a.csv", "b.csv"]):
        assert sentence in text
    assert [header.value for header in app.header][0] == "Together"


def test_packets__are_held_against_each_other_without_reports() -> None:
    app = dropped_at_once({"a.zip": packet(), "b.zip": packet()}, [])
    state = app.session_state["workspace"].state(VerifyState)
    assert state.proof is not None
    assert state.proof.holds
    assert "everybody is in a group of at least 4 people" in plain_text(app)


def test_several_releases__say_which_promise_is_not_asked_of_them_together() -> None:
    content, report = another(risk_max=0.5)
    app = dropped_at_once({"a.csv": files()["csv"], "b.csv": content}, [report, report_of_files()])
    title = SETTINGS["risk_max"].title
    assert f"Not asked of groups that all files share: {title}." in plain_text(app)
    app = dropped_at_once({"a.csv": files()["csv"], "b.csv": another()[0]}, [another()[1], report_of_files()])
    assert "Not asked" not in plain_text(app)


def test_several_releases__one_of_which_is_another_file_prove_nothing_together() -> None:
    content, report = another()
    app = dropped_at_once(
        {"a.csv": files()["csv"].replace(b'"female"', b'"Fe"', 1), "b.csv": content}, [report, report_of_files()]
    )
    state = app.session_state["workspace"].state(VerifyState)
    assert [one.is_whole for one in state.verdicts] == [False, True]
    assert state.proof is None


def test_a_release_with_two_reports__is_held_to_its_own() -> None:
    app = dropped_at_once({"a.csv": files()["csv"]}, [another()[1], report_of_files()])
    [verdict] = app.session_state["workspace"].state(VerifyState).verdicts
    assert verdict.is_whole


def test_several_releases__wait_for_the_report_of_each() -> None:
    app = dropped_at_once({"a.csv": files()["csv"], "b.csv": another()[0]}, [report_of_files()])
    assert "1 report is missing" in plain_text(app)
    assert app.session_state["workspace"].state(VerifyState).verdicts == ()
