"""The release packet: equal bytes for equal releases, standards kept, nothing internal in what goes out, every change
seen."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import kept_value
from anonymizer.checking.verify import verify
from anonymizer.digests import digest
from anonymizer.errors import GuaranteeError, ReadError
from anonymizer.flow import Flow
from anonymizer.provenance.again import SHORT_PATH
from anonymizer.reading.files import read_table
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing.files import archive
from anonymizer.releasing.key import KEY_FILE
from anonymizer.releasing.release import read_release
from anonymizer.reporting.catalogue import DDI
from anonymizer.reporting.document import Picture
from anonymizer.reporting.findings import Findings, Statement, findings_of
from anonymizer.reporting.packet import PacketCheck, check_packet, packet_of, write_packet
from anonymizer.reporting.packet_files import INTERNAL, MANIFEST, MEMBERS, PLAIN, TABLES, manifest_text
from anonymizer.reporting.pictures import FEW_COLUMNS, LARGEST, pictures_of
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.values import share
from tests.conftest import run_python

HOSTILE = '=HYPERLINK("http://x.example")<script>&]]>|`*_x0041_'
SECRETS = ("Canary-Person-Name", "canary-reason-of-the-steward", "canary-original.csv", "canary-why-this-role")
STATEMENT = Statement(purpose="Study of <stays> & costs", prepared_by="Ann & Co")

WITHOUT_WORDS = set(MEMBERS) - {path for format, path in TABLES.items() if format not in PLAIN}
"""What a packet of a table without words of its columns holds."""


@cache
def flow() -> Flow:
    """A run whose names and levels are hostile, and whose secrets are easy to recognise."""
    rng = np.random.default_rng(5)
    n = 160
    table = pd.DataFrame(
        {
            "who": [f"{SECRETS[0]} {row}" for row in range(n)],
            "age": rng.integers(18, 90, n),
            HOSTILE: rng.choice([HOSTILE, "plain level", "-1+2"], n),
            "seen": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "cost": np.round(rng.normal(1000, 200, n), 2),
            "ill": rng.choice(["a cold", "@SUM(A1)", "tab\there\x07"], n),
        }
    )
    table.loc[3, HOSTILE] = None
    schema = Schema.of(
        table, identifying=["who"], quasi_identifying=["age", HOSTILE, "seen"], sensitive=["ill", "cost"]
    )
    schema = schema.with_column("age", own_reason=SECRETS[3])
    made = Flow(table, schema, Settings(k=5))
    return made.but(reasons={finding.key: SECRETS[1] + " three words" for finding in made.judgement.findings})


@cache
def findings() -> Findings:
    made = flow()
    report = replace(made.report, provenance=replace(made.report.provenance, input_name=SECRETS[2]))
    return findings_of(report, made.table, made.released, None, pictures_of(made))


@cache
def packet(audience: str) -> bytes:
    project = json.dumps({"why": SECRETS[3]}) if audience == "internal" else ""
    return packet_of(flow().leaving, findings(), STATEMENT, audience, project=project)


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def with_manifest(members: dict[str, bytes]) -> bytes:
    """A packet of other members, whose manifest was made to fit."""
    manifest = json.loads(members[MANIFEST])
    rest = {name: text for name, text in sorted(members.items()) if name != MANIFEST}
    return archive({MANIFEST: manifest_text(rest, manifest["audience"], manifest["time"]).encode(), **rest})


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_packet__is_whole_and_its_table_the_release(audience: str) -> None:
    data = packet(audience)
    check = check_packet(data, original=flow().table)
    assert (check.passed, check.audience, check.differences) == (True, audience, ())
    members = members_of(data)
    assert set(members) == {MANIFEST, *WITHOUT_WORDS, *(INTERNAL if audience == "internal" else ())}
    manifest = json.loads(members.pop(MANIFEST))
    assert {item["path"]: (item["bytes"], item["sha256"]) for item in manifest["members"]} == {
        name: (len(content), digest(content)) for name, content in members.items()
    }
    rows = [
        read_release(members[f"data/release.{format}"], flow().schema).astype(object).map(str, na_action="ignore")
        for format in ("csv", "xlsx")
    ]
    assert len(rows[0]) == len(flow().table)
    pd.testing.assert_frame_equal(*rows)
    assert set(check.tables) == {f"data/release.{format}" for format in ("csv", "parquet", "xlsx")}


def test_packet__equal_releases_are_equal_files() -> None:
    again = packet_of(flow().leaving, findings(), STATEMENT, "external")
    assert again == packet("external")
    with zipfile.ZipFile(io.BytesIO(again)) as packed:
        names = packed.namelist()
        assert {member.date_time for member in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names == [MANIFEST, *sorted(names[1:])]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)?(\.[a-zR0-9]+)+", name) for name in names)


def test_external__holds_nothing_internal() -> None:
    inner, outer = (b"".join(members_of(packet(audience)).values()) for audience in ("internal", "external"))
    for secret in SECRETS[1:]:
        assert secret.encode() in inner, secret
        assert secret.encode() not in outer, secret
    assert SECRETS[0].encode() not in inner + outer
    report = findings().report
    assert report.provenance.input_key == "" or report.provenance.input_key.encode() not in outer
    worst = {check.worst for check in report.verification.checks if check.worst}
    assert worst
    page = members_of(packet("external"))["report.html"].decode()
    assert not [case for case in worst if case in page]
    assert "The pruned tree" in members_of(packet("internal"))["report.html"].decode()
    assert "The pruned tree" not in page


# What a catalogue is told.


def test_table_schema__is_kept_by_the_file() -> None:
    members = members_of(packet("external"))
    described = json.loads(members["datapackage.json"])
    assert described["profile"] == "data-package"
    table, *others = described["resources"]
    assert [one["path"] for one in others] == ["data/release.parquet", "data/release.xlsx"]
    for one in (table, *others):
        content = members[one["path"]]
        assert re.fullmatch(r"[a-z0-9._/-]+", one["name"])
        assert (one["bytes"], one["hash"]) == (len(content), f"sha256:{digest(content)}")
    rows = list(csv.DictReader(io.StringIO(members["data/release.csv"].decode(), newline="")))
    assert table["schema"]["missingValues"] == [""]
    fields = table["schema"]["fields"]
    assert [field["name"] for field in fields] == list(rows[0])
    assert {field["name"]: field["type"] for field in fields if field["type"] != "string"} == {"cost": "number"}
    for field in fields:
        texts = [row[field["name"]] for row in rows]
        limits = field["constraints"]
        assert limits["required"] is False or "" not in texts
        assert set(filter(None, texts)) <= set(limits.get("enum", texts))
        if field["type"] == "number":
            assert all(limits["minimum"] <= float(text) <= limits["maximum"] for text in texts)
    assert [field["constraints"]["required"] for field in fields].count(False) == 1
    assert {"enum" in field["constraints"] for field in fields if field["name"] == "ill"} == {True}


DDI_ORDER = {
    "codeBook": ["docDscr", "stdyDscr", "fileDscr", "dataDscr"],
    "docDscr": ["citation"],
    "stdyDscr": ["citation", "stdyInfo", "dataAccs"],
    "citation": ["titlStmt", "rspStmt", "prodStmt"],
    "prodStmt": ["prodDate", "software"],
    "fileTxt": ["fileName", "dimensns", "fileType"],
    "dimensns": ["caseQnty", "varQnty"],
    "var": ["labl", "valrng", "txt", "catgry", "varFormat", "notes"],
    "catgry": ["catValu", "labl"],
}
"""The order of children in DDI-Codebook 2.5, of those that are used."""


def test_codebook__has_the_structure_of_ddi() -> None:
    members = members_of(packet("external"))
    root = ElementTree.fromstring(members["ddi-codebook.xml"])
    assert (root.tag, root.get("version")) == (f"{{{DDI}}}codeBook", "2.5")
    for element in root.iter():
        name, children = element.tag.removeprefix(f"{{{DDI}}}"), [c.tag.removeprefix(f"{{{DDI}}}") for c in element]
        if name in DDI_ORDER:
            places = [DDI_ORDER[name].index(child) for child in children]
            assert places == sorted(places), name
    within = {"": DDI}
    for part in ("stdyDscr", "docDscr"):
        assert root.findtext(f"{part}/citation/titlStmt/titl", None, within)
    file = root.find("fileDscr", within)
    variables = root.findall("dataDscr/var", within)
    assert file is not None
    released = flow().released
    assert [one.findtext("labl", None, within) for one in variables] == list(released.columns)
    assert root.findtext("fileDscr/fileTxt/dimensns/caseQnty", None, within) == str(len(released))
    assert root.findtext("fileDscr/fileTxt/dimensns/varQnty", None, within) == str(len(variables))
    assert len({one.get("ID") for one in variables}) == len(variables)
    assert {one.get("files") for one in variables} == {file.get("ID")}
    for one in variables:
        form = one.find("varFormat", within)
        assert form is not None
        assert form.get("type") in ("numeric", "character")
        assert one.get("intrvl") in ("contin", "discrete")
    levels = [kept_value(str(v.text)) for v in variables[-1].findall("catgry/catValu", within)]
    assert set(levels) == set(released["ill"].unique())


def test_dcat__is_json_ld_of_a_dataset() -> None:
    members = members_of(packet("external"))
    described = json.loads(members["dcat.jsonld"])
    context = described["@context"]
    terms = [key for one in (described, *described["dcat:distribution"]) for key in one if not key.startswith("@")]
    assert {term.partition(":")[0] for term in terms} <= set(context)
    assert described["@type"] == "dcat:Dataset"
    assert described["dct:publisher"]["foaf:name"] == "Ann & Co"
    for one in described["dcat:distribution"]:
        content = members[one["dct:title"]]
        assert one["@type"] == "dcat:Distribution"
        assert one["dcat:byteSize"] == {"@value": str(len(content)), "@type": "xsd:nonNegativeInteger"}
        assert one["spdx:checksum"]["spdx:checksumValue"]["@value"] == digest(content)


def test_dictionary__shows_hostile_text_and_runs_none() -> None:
    members = members_of(packet("external"))
    words = members["dictionary.html"].decode()
    assert "<script>" not in words
    assert "&lt;script&gt;" in words
    page = members["report.html"].decode()
    assert "<script>" not in page
    assert "Study of &lt;stays&gt; &amp; costs" in page
    script = members["repeat.py"].decode()
    compile_free = json.loads(members["report.json"])["provenance"]["schema"]["columns"]
    assert 'json.load(open("report.json"' in script
    assert HOSTILE in [column["name"] for column in compile_free]
    with zipfile.ZipFile(io.BytesIO(members["data/release.xlsx"])) as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert not re.search(r"<f[ >]|<t>[=+@]", sheet)  # no formula, and no text that a program could take for one
    assert "_x005F_x0041_" in sheet


# What is seen.


def changed(name: str, old: bytes, new: bytes) -> dict[str, bytes]:
    members = members_of(packet("external"))
    assert old in members[name]
    return members | {name: members[name].replace(old, new, 1)}


def refused(data: bytes) -> PacketCheck:
    check = check_packet(data)
    assert not check.passed
    assert all(sentence.endswith(".") for sentence in check.differences)
    return check


def test_check__sees_every_flipped_byte_of_some() -> None:
    data = packet("external")
    rng = np.random.default_rng(1)
    for at in [*rng.integers(0, len(data), 40), len(data) - 1, 10, 4]:
        bad = bytearray(data)
        bad[at] ^= 0x10
        try:
            assert not check_packet(bytes(bad)).passed, at
        except ReadError:
            continue


def test_check__sees_members_that_are_missing_or_beside() -> None:
    members = members_of(packet("external"))
    for name in WITHOUT_WORDS:
        rest = {other: content for other, content in members.items() if other != name}
        assert any(name in one for one in refused(archive(rest)).differences)
        if name not in ("data/release.parquet", "data/release.xlsx"):
            assert any(name in one for one in refused(with_manifest(rest)).differences)
    assert "notes.txt" in refused(archive(members | {"notes.txt": b"x"})).differences[0]
    assert "has no place" in refused(with_manifest(members | {"approvals.html": b"x"})).differences[0]
    for more in (b"Anna Berg", b"PK\x05\x06"):
        for data in (packet("external") + more, more + packet("external")):
            try:
                assert not check_packet(data).passed
            except ReadError:
                continue


def test_check__sees_a_swapped_table_though_the_manifest_fits() -> None:
    members = changed("data/release.csv", b"a cold", b"@SUM(A1)")
    assert "manifest" in refused(archive(members)).differences[0]
    assert "not the table that the report speaks of" in refused(with_manifest(members)).differences[0]
    report = json.loads(members["report.json"])
    report["provenance"]["output_sha256"]["csv"] = digest(members["data/release.csv"])
    everything = with_manifest(members | {"report.json": json.dumps(report).encode()})
    assert "does not have the rows" in " ".join(refused(everything).differences)


def test_check__sees_rows_that_the_csv_file_alone_lacks() -> None:
    members = members_of(packet("external"))
    path = TABLES["csv"]
    fewer = b"".join(members[path].splitlines(keepends=True)[:-3])
    members["report.json"] = members["report.json"].replace(digest(members[path]).encode(), digest(fewer).encode())
    check = check_packet(with_manifest({**members, path: fewer}))
    assert f"{path} does not have the rows that it should." in check.differences


def test_check__of_no_packet() -> None:
    for data in (b"", b"PK\x03\x04", archive({"a.csv": b"x"}), archive({MANIFEST: b"{}"})):
        with pytest.raises(ReadError):
            check_packet(data)


def test_workbook__with_anything_hidden_is_refused() -> None:
    members = members_of(packet("external"))
    parts = members_of(members["data/release.xlsx"])
    sheet = "xl/worksheets/sheet1.xml"
    for old, new in (
        (b"<row>", b'<row hidden="1">'), (b"<c t=", b"<!-- Anna Berg --><c t="),
        (b"<sheetData>", b"<cols/><sheetData>"), (b"</sheetData>", b"</sheetData><x/>"), (b"a cold", b"a&#32;cold"),
    ):  # fmt: skip
        assert old in parts[sheet]
        with pytest.raises(ReadError, match="plain cells"):
            read_release(archive(parts | {sheet: parts[sheet].replace(old, new, 1)}))
    with pytest.raises(ReadError, match="plain cells"):
        read_release(archive(parts | {"docProps/core.xml": b"<x>Anna Berg</x>"}))


def test_packet__of_a_release_that_may_not_leave() -> None:
    barred = replace(flow().leaving, bars=("unchanged: ill",))
    with pytest.raises(GuaranteeError, match="is not ready"):
        packet_of(barred, findings(), STATEMENT, "external")


def test_write__reads_back(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_packet(tmp_path / "out.zip", packet("external"))
    assert (tmp_path / "out.zip").read_bytes() == packet("external")
    monkeypatch.setattr("anonymizer.reporting.packet.write_file", lambda path, content: path.write_bytes(content[:-1]))
    with pytest.raises(GuaranteeError):
        write_packet(tmp_path / "out.zip", packet("external"))


# Pictures.


def test_pictures__are_small_and_plain() -> None:
    pictures = findings().pictures
    assert len(pictures) == 4
    for picture in pictures:
        assert isinstance(picture, Picture)
        assert len(picture.svg) <= LARGEST
        assert picture.alt.endswith(".")
        names = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture.svg).iter()}
        assert names <= {"svg", "g", "path", "polygon", "polyline", "ellipse", "text", "title"}


def test_pictures__say_the_figures_of_the_report() -> None:
    page = members_of(packet("external"))["report.html"].decode()
    after, before = flow().after, flow().before
    losses = flow().utility.ncp_by_column.values()
    for part in (before.unique / before.records, after.share_above(0.1), *sorted(losses)[-FEW_COLUMNS:]):
        assert f">{share(part)}<" in page
    assert f"{after.groups:,} groups; " in page
    assert f"The smallest has {after.smallest:,} rows." in page
    assert page.count("<figure>") == page.count('role="img" aria-label="') == 3


# The script that repeats it.


@pytest.mark.sweep(1)
@pytest.mark.parametrize(("audience", "generalizer"), [("external", "pack"), ("internal", "refine")])
def test_script__repeats_the_release(
    audience: str, generalizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run beside the packet's report, it makes the same cells from the original, in whatever order; where groups follow
    from a key, the same file with it, and other cells that keep the same promises with another."""
    table = hospital(160, 4).assign(code=[f"{row % 7:03d}" for row in range(160)])
    original = tmp_path / "stays.csv"
    original.write_bytes(table.to_csv(index=False).encode())
    reading = read_table(original, options=ReadOptions(missing=("", "unclear"), as_text=("code",)))
    schema = suggest(reading.frame)
    settings = Settings(k=6, generalizer=generalizer, writing="concatenate", l=2)
    made = Flow(reading.frame, schema, settings, reading=reading)
    made = made.but(reasons={finding.key: "known to the board" for finding in made.gate.open})
    report = made.report
    results = findings_of(report, made.table, made.released, None, ())
    for path, content in members_of(packet_of(made.leaving, results, STATEMENT, audience)).items():
        (tmp_path / Path(path).name).write_bytes(content)
    if audience == "external":  # it names no file, and does not know how it was read, or why it may leave
        script = (tmp_path / "repeat.py").read_text("utf-8")
        assert "stays.csv" not in script
        assert "known to the board" not in script
        (tmp_path / SHORT_PATH).write_bytes(original.read_bytes())
    if generalizer == "pack":
        assert "must not be published beside these" in script
        run_python(["repeat.py"], tmp_path)
        assert (tmp_path / "RELEASE.csv").read_bytes() == (tmp_path / "release.csv").read_bytes()
        key = tmp_path / "another.key"
        key.write_bytes(bytes(32))
        key.chmod(0o600)
        monkeypatch.setenv(KEY_FILE, str(key))
    run_python(["repeat.py"], tmp_path)
    again, first = (read_release(tmp_path / name, schema) for name in ("RELEASE.csv", "release.csv"))
    assert len(again) == len(table)
    assert verify(again, schema, original=reading.frame, **settings.limits.required).passed
    columns = list(first.columns) if generalizer == "refine" else list(schema.sensitive)
    rows = [frame[columns].astype(str).sort_values(columns, ignore_index=True) for frame in (again, first)]
    pd.testing.assert_frame_equal(*rows)
