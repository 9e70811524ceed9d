"""Packets that somebody changed and gave a manifest that fits: each is refused in a sentence that names the file."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from anonymizer.errors import ReadError
from anonymizer.releasing.files import archive
from anonymizer.reporting.packet import MANIFEST, check_packet
from anonymizer.reporting.report import digest
from tests.reporting.test_packet import members_of, packet

Members = dict[str, bytes]
ANNA = "Anna Berg, born 1 May 1970"


def fitting(members: Members, **more: Any) -> Members:
    """The members with a manifest and a report in which every digest is right. ``more``: fields of the manifest."""
    report = json.loads(members["report.json"])
    outputs = report["provenance"]["output_sha256"]
    for format in outputs:
        outputs[format] = digest(members[f"data/release.{format}"])
    text = (json.dumps(report, ensure_ascii=False, indent=2) + "\n").encode()
    members = members | {"report.json": text if b'\n  "so' in members["report.json"] else members["report.json"]}
    manifest = json.loads(members[MANIFEST])
    words_of = {item["path"]: item["what"] for item in manifest["members"]}
    manifest["members"] = [
        {"path": path, "what": words_of.get(path, ""), "bytes": len(content), "sha256": digest(content)}
        for path, content in members.items()
        if path != MANIFEST
    ]
    manifest |= more
    return members | {MANIFEST: (json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode()}


def replaced(path: str, old: str, new: str) -> Callable[[Members], Members]:
    """A forgery that writes something else in a member."""

    def forge(members: Members) -> Members:
        assert old.encode() in members[path], (path, old)
        return members | {path: members[path].replace(old.encode(), new.encode(), 1)}

    return forge


def added(path: str, more: str = ANNA) -> Callable[[Members], Members]:
    """A forgery that writes something at the end of a member."""
    return lambda members: members | {path: members[path] + more.encode()}


def with_json(path: str, change: Callable[[Any], Any]) -> Callable[[Members], Members]:
    """A forgery that changes a document of JSON."""

    def forge(members: Members) -> Members:
        document = json.loads(members[path])
        change(document)
        return members | {path: (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()}

    return forge


def rows_turned(members: Members) -> Members:
    """The rows of every table in another order."""
    lines = members["data/release.csv"].decode().splitlines(keepends=True)
    table = pd.read_parquet(io.BytesIO(members["data/release.parquet"]))
    order = [len(table) - 1, *range(len(table) - 1)]
    sink = io.BytesIO()
    table.iloc[order].reset_index(drop=True).to_parquet(sink)
    rest = {path: content for path, content in members.items() if not path.endswith((".xlsx", ".parquet"))}
    report = json.loads(rest["report.json"])
    report["provenance"]["output_sha256"] = {"csv": ""}
    text = (json.dumps(report, ensure_ascii=False, indent=2) + "\n").encode()
    return rest | {"data/release.csv": "".join([lines[0], lines[-1], *lines[1:-1]]).encode(), "report.json": text}


def in_workbook(members: Members) -> Members:
    """Numbers of a workbook as text."""
    path, part = "data/release.xlsx", "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(io.BytesIO(members[path])) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    text = parts[part].decode()
    at = text.index("<c><v>")
    value = text[at + 6 : text.index("</v>", at)]
    text = text.replace(f"<c><v>{value}</v></c>", f'<c t="inlineStr"><is><t>{value}</t></is></c>', 1)
    return members | {path: archive(parts | {part: text.encode()})}


FORGERIES: dict[str, Callable[[Members], Members]] = {
    "a line more in README.txt": added("README.txt"),
    "another word in README.txt": replaced("README.txt", "SHA-256 of every file", ANNA),
    "a line more in the dictionary": added("dictionary.md"),
    "another level in the dictionary": replaced("dictionary.md", "plain level", "plain Level"),
    "a comment in the codebook": replaced("ddi-codebook.xml", "</", f"<!-- {ANNA} --></"),
    "a note in the codebook": replaced("ddi-codebook.xml", "It is", f"{ANNA}. It is"),
    "a field in the data package": with_json("datapackage.json", lambda d: d.update(sources=[ANNA])),
    "a field of a field in the data package": with_json(
        "datapackage.json", lambda d: d["resources"][0]["schema"]["fields"][0].update(example=ANNA)
    ),
    "a resource in the data package": with_json("datapackage.json", lambda d: d["resources"].append({"name": ANNA})),
    "blanks in the data package": replaced("datapackage.json", "{", "{ "),
    "another description in the catalogue": with_json("dcat.jsonld", lambda d: d.update({"dct:description": ANNA})),
    "a keyword in the catalogue": with_json("dcat.jsonld", lambda d: d.update({"dcat:keyword": [ANNA]})),
    "a comment in the script": added("repeat.py", f"# {ANNA}\n"),
    "another setting in the script": replaced("repeat.py", "k=5", "k=2"),
    "a key of the commitment in the report": with_json(
        "report.json", lambda d: d["provenance"]["input"].update(key="0" * 64)
    ),
    "the riskiest rows in the report": with_json("report.json", lambda d: d.update(riskiest=[{"row": 7}])),
    "a field of a column in the report": with_json(
        "report.json", lambda d: d["provenance"]["schema"]["columns"][0].update(reason=ANNA)
    ),
    "a field of the dictionary in the report": with_json("report.json", lambda d: d["dictionary"].update(note=ANNA)),
    "a level more in the facts of the report": with_json(
        "report.json", lambda d: d["dictionary"]["columns"][1]["domain"].append(ANNA)
    ),
    "blanks in the report": replaced("report.json", '"software"', ' "software"'),
    "no dictionary in the report": with_json("report.json", lambda d: d.pop("dictionary")),
    "rows in another order": rows_turned,
    "numbers as text in a workbook": in_workbook,
    "a file more": lambda members: members | {"notes.txt": ANNA.encode()},
    "a file of the internal packet": lambda members: members | {"approvals.html": ANNA.encode()},
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_packet__is_refused(name: str) -> None:
    members = members_of(packet("external"))
    forged = fitting(FORGERIES[name](dict(members)))
    check = check_packet(archive({MANIFEST: forged.pop(MANIFEST), **dict(sorted(forged.items()))}))
    assert not check.passed
    assert all(sentence.endswith((".", ")")) for sentence in check.differences)
    words = " ".join(check.differences)
    assert any(path in words for path in (*members, *forged)) or "order" in words, words


@pytest.mark.parametrize(
    "more",
    [{"note": ANNA}, {"time": "2020-01-01T00:00:00+00:00"}, {"software": {"name": ANNA}}, {"copse_packet": 2},
     {"software": {"name": "Copse", "version": "0.0.1", "libraries": {}}}, {"audience": "internal"}],
)  # fmt: skip
def test_a_forged_manifest__is_refused(more: dict[str, Any]) -> None:
    members = fitting(members_of(packet("external")), **more)
    data = archive({MANIFEST: members.pop(MANIFEST), **dict(sorted(members.items()))})
    try:
        assert not check_packet(data).passed
    except ReadError:
        return


def test_what_was_not_forged__is_whole_and_says_what_was_not_read() -> None:
    members = fitting(members_of(packet("external")))
    check = check_packet(archive({MANIFEST: members.pop(MANIFEST), **members}))
    assert check.differences == ()
    assert "Not read: HTML, PDF and the project." in check.sentence
    assert "Nobody signed the manifest" in check.sentence
