"""Forged packets: whatever was put into one, however well its manifest was made to fit, the check names the file."""

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from anonymizer.checking.released_file import read_archive
from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.provenance.claim import claim_from
from anonymizer.reading.samples import hospital
from anonymizer.releasing.files import archive
from anonymizer.releasing.release import read_release
from anonymizer.reporting.described import Described, release_from
from anonymizer.reporting.packet_files import MANIFEST, REPORT, TABLES, manifest_text
from tests.cli.test_main import ROLES, Capture
from tests.labelled.test_read import sav, survey

Members = dict[str, bytes]
WORD = "Anna Berg"


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a packet for the recipient, one for the steward, and one of a table with labels."""
    folder = tmp_path_factory.mktemp("packets")
    hospital(200, 6).to_csv(folder / "people.csv", index=False)
    table = survey(200)
    table["born"] = table["born"] // 86_400 * 86_400
    sav(folder, table)
    more = ["--k", "5", "--attack-seconds", "0.1", "--purpose", "Study of costs"]
    paths = ["--packet", str(folder / "csv.zip"), "--internal-packet", str(folder / "own.zip")]
    assert main(["anonymize", str(folder / "people.csv"), *ROLES, *more, *paths]) == 0
    roles = ["--quasi-identifying", "age,sex,born", "--sensitive", "income,answer,income_missing", "--keep", "city"]
    why = [f"--reason={key}=nobody of these lives" for key in ("follows: city", "unchanged: city")]
    assert main(["anonymize", str(folder / "t.sav"), *roles, *more, *why, "--packet", str(folder / "sav.zip")]) == 0
    return folder


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def fitted(members: Members, before: Members) -> Members:
    """The files of a packet with the digest and size of every changed table in every file that states them, and a
    manifest that fits."""
    for path in TABLES.values():
        if path in members and members[path] != before[path]:
            for other in (REPORT, "datapackage.json", "dcat.jsonld"):
                text = members[other].replace(digest(before[path]).encode(), digest(members[path]).encode())
                sizes = [f"{word}{len(content)}".encode() for content in (before[path], members[path])
                         for word in ('"bytes": ', '"dcat:byteSize": {\n        "@value": "')]  # fmt: skip
                members[other] = text.replace(sizes[0], sizes[2]).replace(sizes[1], sizes[3])
    stated = json.loads(members[MANIFEST])
    rest = {path: members[path] for path in sorted(members) if path != MANIFEST}
    try:
        manifest = manifest_text(rest, stated["audience"], stated["time"])
    except KeyError:  # a file that has no place there
        others = {path: content for path, content in rest.items() if path != "notes.txt"}
        manifest = manifest_text(others, stated["audience"], stated["time"])
    return {MANIFEST: manifest.encode(), **rest}


def replaced(path: str, old: str, new: str, members: Members) -> Members:
    assert old.encode() in members[path], path
    return members | {path: members[path].replace(old.encode(), new.encode(), 1)}


def changed(path: str, change: Callable[[Any], None], members: Members) -> Members:
    """The files of a packet with another value in one of JSON, written as it was."""
    value = json.loads(members[path])
    change(value)
    return members | {path: (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()}


def put(*place: str | int) -> Callable[[Any], None]:
    """Return what puts a field into the object at a place."""

    def change(value: Any) -> None:
        for part in place:
            value = value[part]
        value["riskiest"] = WORD

    return change


def set_to(new: Any, *place: str | int) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for part in place[:-1]:
            value = value[part]
        value[place[-1]] = new

    return change


def turned(members: Members) -> Members:
    """The files of a packet with the last row first, in every format."""
    document = json.loads(members[REPORT])
    claim, described = claim_from(members[REPORT]), _described(document)
    rows = read_release(members[TABLES["csv"]], claim.schema)
    release = release_from(rows, claim.schema, described.columns, claim.settings["numbers"])
    order = [len(rows) - 1, *range(len(rows) - 1)]
    other = release.take(pd.array(order, dtype="int64").to_numpy())
    return members | {TABLES[format]: other.to_bytes(format) for format in ("csv", "parquet", "xlsx")}


def _described(document: Any) -> Described:
    from anonymizer.json_value import JsonValue

    return Described.from_value(JsonValue(document["described"], "", "report", ""))


def in_sheet(change: Callable[[str], str], members: Members) -> Members:
    """The files of a packet with another sheet in its workbook."""
    parts = read_archive(members[TABLES["xlsx"]])[0]
    name = "xl/worksheets/sheet1.xml"
    text = change(parts[name].decode())
    assert text.encode() != parts[name]
    return members | {TABLES["xlsx"]: archive(parts | {name: text.encode()})}


def relabelled(members: Members, **labels: Any) -> Members:
    """The files of a packet with other labels of columns in its file of SPSS."""
    from dataclasses import replace

    from anonymizer.labelled.read import read_labelled
    from anonymizer.labelled.write import labelled_bytes, planned_table

    columns = read_labelled(members[TABLES["sav"]], "sav", "t", stop=lambda rows, width: None)
    columns = [
        replace(
            column,
            values=column.values if not isinstance(column.values, list) else _texts(column.values),
            variable=replace(column.variable, **labels) if column.name == "income" else column.variable,
        )
        for column in columns
    ]
    return members | {TABLES["sav"]: labelled_bytes(planned_table(columns, "sav"), "sav")}


def _texts(pieces: Any) -> pd.Categorical:
    import pyarrow as pa

    return pd.Categorical(pa.chunked_array(pieces).cast(pa.large_string()).to_pandas().replace("", None))


P = partial
FORGED: dict[str, tuple[str, Callable[[Members], Members], str]] = {
    "text in the README": (
        "csv", P(replaced, "README.txt", "To check all", f"{WORD}\nTo check all"), "README.txt is not .* line"),
    "text behind the README": ("csv", lambda m: m | {"README.txt": m["README.txt"] + b"x"}, "README.txt is not"),
    "other words in the dictionary": (
        "csv", P(replaced, "dictionary.html", "released without a box", "harmless"), "dictionary.html is not .* line"),
    "a label in the dictionary": (
        "sav", P(replaced, "dictionary.html", "Zufriedenheit", WORD), "dictionary.html is not .* line"),
    "a resource in the data package": (
        "csv", P(changed, "datapackage.json", lambda v: v["resources"].append({"name": WORD})),
        "datapackage.json is not .* resources has 4 entries"),
    "a field in the data package": (
        "csv", P(changed, "datapackage.json", put("resources", 0, "schema", "fields", 1, "constraints")),
        "datapackage.json is not .* 'riskiest' has no place there"),
    "another title in the data package": (
        "csv", P(changed, "datapackage.json", set_to(WORD, "title")), "datapackage.json is not .* title"),
    "blanks in the data package": (
        "csv", lambda m: m | {"datapackage.json": m["datapackage.json"] + b"   "}, "datapackage.json is .* written"),
    "a level in the data package": (
        "csv", P(replaced, "datapackage.json", '"Asthma",', f'"Asthma", "{WORD}",'), "datapackage.json is not"),
    "a note in the codebook": (
        "csv", P(replaced, "ddi-codebook.xml", "</var>", f"<notes>{WORD}</notes></var>"), "ddi-codebook.xml is not"),
    "a comment in the codebook": (
        "csv", P(replaced, "ddi-codebook.xml", "</codeBook>", f"<!-- {WORD} --></codeBook>"), "ddi-codebook.xml is"),
    "another publisher in the catalogue": (
        "csv", P(changed, "dcat.jsonld", set_to({"foaf:name": WORD}, "dct:publisher")),
        "dcat.jsonld is not .* 'dct:publisher' has no place there"),
    "a distribution in the catalogue": (
        "csv", P(changed, "dcat.jsonld", put("dcat:distribution", 0)), "dcat.jsonld is not .* 'riskiest'"),
    "a line in the script": (
        "csv", P(replaced, "repeat.py", "import json", f"# {WORD}\nimport json"), "repeat.py is not .* line"),
    "another k in the script": ("csv", P(replaced, "repeat.py", "k=5", "k=50"), "repeat.py is not .* line"),
    "a line in the script of the steward": (
        "own", P(replaced, "repeat.py", "import json", f"# {WORD}\nimport json"), "repeat.py is not .* line"),
    "a key in the report": ("csv", P(changed, REPORT, put()), "report.json is not .* 'riskiest' has no place there"),
    "the key of the commitment": (
        "csv", P(changed, REPORT, set_to("ab" * 32, "provenance", "input", "key")),
        "report.json is not .* 'key' has no place there"),
    "a name of the original": (
        "csv", P(changed, REPORT, set_to(WORD, "provenance", "input", "name")), "report.json is not .* 'name'"),
    "riskiest rows in the report": (
        "csv", P(changed, REPORT, put("verification")), "report.json is not .* 'riskiest' has no place there"),
    "a field of a column": (
        "csv", P(changed, REPORT, put("provenance", "schema", "columns", 2)), "report.json: .* 'riskiest'"),
    "a reason of a role": (
        "csv", P(changed, REPORT, set_to(WORD, "provenance", "schema", "columns", 2, "reason")),
        "report.json is not .* 'reason' has no place there"),
    "a field of a described column": (
        "csv", P(changed, REPORT, put("described", "columns", 2)), "report.json: .* 'riskiest'"),
    "another setting": (
        "csv", P(changed, REPORT, put("provenance", "parameters")), "report.json is not .* 'riskiest'"),
    "another order in words": (
        "csv", P(changed, REPORT, set_to(WORD, "provenance", "row_order")), "report.json is not .* row_order"),
    "passed without a check": (
        "csv", P(changed, REPORT, set_to(["k-anonymity"], "described", "failed")), "report.json is not .* passed"),
    "blanks in the report": (
        "csv", lambda m: m | {REPORT: m[REPORT].replace(b'": ', b'":  ', 1)}, "report.json is not .* written"),
    "a field twice in the report": (
        "csv", P(replaced, REPORT, '"override": null', '"override": null, "override": null'), "report.json: "),
    "another purpose in the report": (
        "csv", P(changed, REPORT, set_to(WORD, "described", "purpose")), "datapackage.json is not .* description"),
    "another number of persons": (
        "csv", P(changed, REPORT, set_to(7, "described", "persons")), "is not what follows from the table"),
    "a level in the domain of a generalized column": (
        "csv", P(changed, REPORT, lambda v: next(
            c for c in v["described"]["columns"] if c["name"] == "sex")["domain"].append(WORD)), "is not what follows"),
    "a key in the report of the steward": (
        "own", P(changed, REPORT, put()), "report.json: it does not have the fields that it should"),
    "a field of the run in the report of the steward": (
        "own", P(changed, REPORT, put("provenance")), "report.json: provenance does not have the fields"),
    "a level that no row has": (
        "csv", P(changed, REPORT, lambda v: next(
            c for c in v["described"]["columns"] if c["name"] == "diagnosis")["domain"].append(WORD)),
        "report.json: .* 'diagnosis': its levels are not those of the rows"),
    "another highest value": (
        "csv", P(changed, REPORT, lambda v: set_to("99999", 1)(next(
            c for c in v["described"]["columns"] if c["name"] == "cost")["domain"])),
        "report.json: .* 'cost': its lowest and highest value"),
    "another label in the report": ("sav", P(replaced, REPORT, "Zufriedenheit", WORD), "has another label"),
    "rows in another order": ("csv", turned, r"data/release.csv: The rows do not stand in the order"),
    "numbers as text in the workbook": (
        "csv", P(in_sheet, lambda t: re.sub(
            r"<c><v>([^<]+)</v></c>", r'<c t="inlineStr"><is><t>\1</t></is></c>', t, count=1)),
        "data/release.xlsx: Column '.*' has numbers that are stored as text"),
    "another label in SPSS": (
        "sav", P(relabelled, label=WORD), "data/release.sav: Column 'income' has another label than the report gives"),
    "another width in SPSS": ("sav", P(relabelled, width=31), "data/release.sav: The file does not show its columns"),
    "a file beside": ("csv", lambda m: m | {"notes.txt": WORD.encode()}, "'notes.txt' has no place in such a packet"),
    "the files of the steward": (
        "csv", lambda m: m | {"approvals.html": WORD.encode()}, "approvals.html has no place in such a packet"),
}  # fmt: skip
"""What is forged: in which packet, how, and what the check says then."""

MANIFESTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "a key": (put(), "'riskiest' has no place there"),
    "a key of a file": (put("members", 0), "'riskiest' has no place there"),
    "other words of a file": (set_to(WORD, "members", 0, "what"), "members 1, what"),
    "another program": (set_to(WORD, "software", "name"), "software, name"),
    "another version": (set_to("9.9.9", "software", "version"), "software, version"),
    "another time": (set_to("2020-01-01T00:00:00+00:00", "time"), "does not have the time of the report"),
    "files in another order": (lambda v: v["members"].reverse(), "members 1"),
}
"""What is forged in the manifest, and what the check says then."""


def refused(data: bytes, folder: Path, capsys: Capture) -> str:
    """Return what the check says of a packet that it refuses: one line."""
    (folder / "forged.zip").write_bytes(data)
    assert main(["verify", str(folder / "forged.zip")]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("This packet is not as it was made: ")
    assert printed.count("\n") == 1
    return printed


@pytest.mark.sweep(8)
@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_file__is_refused_and_named(forgery: str, packets: Path, tmp_path: Path, capsys: Capture) -> None:
    which, forge, says = FORGED[forgery]
    before = members_of(packets / f"{which}.zip")
    printed = refused(archive(fitted(forge(dict(before)), before)), tmp_path, capsys)
    assert re.search(says, printed), printed


@pytest.mark.sweep(4)
@pytest.mark.parametrize("forgery", MANIFESTS)
def test_a_forged_manifest__is_refused_and_named(forgery: str, packets: Path, tmp_path: Path, capsys: Capture) -> None:
    change, says = MANIFESTS[forgery]
    members = changed(MANIFEST, change, members_of(packets / "csv.zip"))
    printed = refused(archive(members), tmp_path, capsys)
    assert MANIFEST in printed
    assert says in printed


def zipped(members: Members, **more: Any) -> bytes:
    """A ZIP file of members whose first has something ``more``."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as packed:
        for number, (name, content) in enumerate(members.items()):
            member = zipfile.ZipInfo(name)
            member.compress_type, member.create_system, member.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
            for field, value in more.items() if number == len(members) - 1 else ():
                setattr(member, field, value)
            packed.writestr(member, content)
    return sink.getvalue()


def twice(members: Members) -> bytes:
    data = io.BytesIO(archive(members))
    with zipfile.ZipFile(data, "a", zipfile.ZIP_DEFLATED) as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr(zipfile.ZipInfo("README.txt"), members["README.txt"])
    return data.getvalue()


def commented(members: Members) -> bytes:
    data = archive(members)
    return data[:-2] + struct.pack("<H", len(WORD)) + WORD.encode()


ARCHIVES: dict[str, tuple[Callable[[Members], bytes], str]] = {
    "a comment of a file": (partial(zipped, comment=WORD.encode()), "Something is noted beside 'verify.html'"),
    "an extra field": (
        partial(zipped, extra=struct.pack("<2H", 0xCAFE, 4) + b"Anna"),
        "Something is noted beside 'verify.html'",
    ),
    "a time": (partial(zipped, date_time=(2024, 5, 17, 1, 2, 4)), "Something stands between or behind"),
    "rights": (partial(zipped, external_attr=0o100777 << 16), "Something stands between or behind"),
    "a comment": (commented, "Something stands between or behind"),
    "a member twice": (twice, "'README.txt' is there twice"),
    "other order": (
        lambda m: archive(dict([*list(m.items())[:1], *reversed(list(m.items())[1:])])),
        "in the order of their names",
    ),
    "something behind": (lambda m: archive(m) + WORD.encode(), "Something stands between or behind"),
}
"""What is forged in the ZIP file around the members, and what the check says then."""


@pytest.mark.parametrize("forgery", ARCHIVES)
def test_a_forged_archive__is_refused(forgery: str, packets: Path, tmp_path: Path, capsys: Capture) -> None:
    forge, says = ARCHIVES[forgery]
    assert says in refused(forge(members_of(packets / "csv.zip")), tmp_path, capsys)


@pytest.mark.parametrize("which", ["csv", "own", "sav"])
def test_a_packet_as_it_was_made__is_whole_and_says_what_was_not_read(
    which: str, packets: Path, capsys: Capture
) -> None:
    assert main(["verify", str(packets / f"{which}.zip")]) == 0
    printed = capsys.readouterr().out
    assert "is whole" in printed
    assert "Nobody signed the manifest" in printed
    assert "Not read: report.html" in printed
    assert "report.pdf" in printed
    assert main(["verify", str(packets / f"{which}.zip"), "--json"]) == 0
    assert "Nobody signed" in " ".join(json.loads(capsys.readouterr().out)["notes"])


def test_labels__are_in_the_packet(packets: Path) -> None:
    members = members_of(packets / "sav.zip")
    _, about = pyreadstat.read_sav(io.BytesIO(members[TABLES["sav"]]), metadataonly=True)
    assert about.column_names_to_labels["answer"] == "Zufriedenheit"
    assert "Zufriedenheit" in members["dictionary.html"].decode()
