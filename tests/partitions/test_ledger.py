"""A table in pieces beside a ledger: the entry, the members and the verdict of the same table in memory."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import anonymizer as an
from anonymizer.engines import anonymize_files
from anonymizer.errors import FolderExistsError, ParameterError
from anonymizer.flow import Flow
from anonymizer.gate.finding import Finding, Gate
from anonymizer.ledger.ledger import Ledger
from anonymizer.partitions import run
from anonymizer.partitions.run import FilesResult
from anonymizer.settings import Settings
from tests.partitions.tables import people, schema_of, visits, visits_schema, whole_frame, write_pieces

KEY = bytes(range(1, 33))
OWN = ("at", "nonce", "hash", "previous", "release", "members")
"""What entries of one release have of their own."""
FIRST = {"k": 5, "grouping": "least", "generalizer": "pack"}
SECOND: dict[str, Any] = {"k": 6, "grouping": "error-risk", "generalizer": "pack", "l": 2}


def numbered(n: int) -> pd.DataFrame:
    """People with an id each."""
    return people(n, 3).assign(patient=[f"patient {number:04}" for number in range(n)])


KINDS: dict[str, Any] = {
    "records": (people(300, 3), schema_of, {}),
    "persons": (numbered(300), schema_of, {"person": "patient"}),
    "several rows": (visits(400, 3), visits_schema, {}),
    "numbers": (visits(400, 4), visits_schema, {"quasi_identifying": ["age", "job"], "sensitive": ["income"]}),
}
"""By name a table, what gives its roles, and what is changed there."""


def whole_and_pieces(folder: Path, kind: str) -> tuple[pd.DataFrame, an.Schema, Path]:
    """A table as one and as files, and its roles."""
    frame, roles, changes = KINDS[kind]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame = whole_frame(table)
    return frame, roles(frame, **changes), write_pieces(folder / "in", table, [100, 100, 250], 70)


def together_in(gate: Gate) -> list[tuple[str, str, str, str]]:
    """What a gate says of releases together."""

    def about(one: Finding) -> tuple[str, str, str, str]:
        return one.key, str(one.severity), one.sentence, one.detail

    return [about(one) for one in gate.findings if one.key.startswith("together: ")]


def reasons_for(gate: Gate) -> dict[str, str]:
    """A reason for whatever stands in the way."""
    return {one.key: "both stay in one office" for one in gate.open}


def entered(entry: Mapping[str, Any], ledger: Ledger) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """What an entry says of a release, wherever its files are, and its members."""
    members = (ledger.members_path / entry["members"]["file"]).read_bytes()
    release = {name: entry["release"][name] for name in ("rows", "classes")}
    return {name: value for name, value in entry.items() if name not in OWN}, release, members


def in_memory(ledger: Ledger, frame: pd.DataFrame, schema: an.Schema, **how: Any) -> Flow:
    """A release in memory, entered with a reason for whatever stands in its way: with what the entry takes of its
    report, which takes long to make."""
    flow = Flow(frame, schema, Settings(**how), earlier=ledger.earlier, key=ledger.key)
    flow = flow.but(reasons=reasons_for(flow.gate))
    run_of = SimpleNamespace(schema=schema, parameters=flow.recorded)
    report: Any = SimpleNamespace(provenance=run_of, after=flow.after, verification=flow.verification, gate=flow.gate)
    ledger.add(frame, flow.leaving, report, "y.csv", "ab" * 32, to="the university")
    return flow


def in_pieces(ledger: Ledger, source: Path, schema: an.Schema, folder: Path, **how: Any) -> FilesResult:
    """The same of a table in pieces."""
    how |= {"ledger": ledger, "words": {"to": "the university"}}
    result = anonymize_files(source, schema, folder, **how)
    if result.gate.open:
        assert not folder.exists()
        result = anonymize_files(source, schema, folder, reasons=reasons_for(result.gate), **how)
    return result


@pytest.mark.sweep(2)
@pytest.mark.parametrize("kind", KINDS)
def test_entries__are_those_of_the_table_in_memory(tmp_path: Path, kind: str) -> None:
    frame, schema, source = whole_and_pieces(tmp_path, kind)
    here, there = (Ledger.new(tmp_path / name, KEY) for name in ("here", "there"))
    for number, how in enumerate([FIRST, SECOND, FIRST]):
        expected = in_memory(here, frame, schema, **how)
        result = in_pieces(there, source, schema, tmp_path / f"out {number}", **how)
        assert together_in(result.gate) == together_in(expected.gate)
        assert bool(together_in(result.gate)) == bool(number)
        entry = there.entries[-1]
        (about, *others), (expected_about, *expected_others) = entered(entry, there), entered(here.entries[-1], here)
        assert {name for name in about if about[name] != expected_about[name]} == set()
        assert others == expected_others
        assert result.entry == (entry["number"], entry["hash"])
        assert entry["release"]["sha256"] == result.manifest.sha256
        assert entry["release"]["name"] == f"out {number}"
    assert "the same groups as entry 2" in together_in(result.gate)[-1][0]
    assert there.faults() == ()


def test_chain__names_nobody_and_holds_no_row(tmp_path: Path) -> None:
    frame, schema, source = whole_and_pieces(tmp_path, "several rows")
    ledger = Ledger.new(tmp_path / "register", KEY)
    result = in_pieces(ledger, source, schema, tmp_path / "out", **FIRST)
    text = ledger.path.read_text("utf-8") + result.to_json()
    assert not any(name in text for name in frame["patient"].dropna())
    assert not any(f"{number!r}" in ledger.path.read_text("utf-8") for number in frame["income"].unique())
    assert KEY.hex() not in text


def test_packing__uses_the_key_of_the_ledger(tmp_path: Path) -> None:
    frame, schema, source = whole_and_pieces(tmp_path, "records")
    ledger = Ledger.new(tmp_path / "register", KEY)
    with_key = anonymize_files(source, schema, tmp_path / "one", ledger=ledger, **FIRST)
    assert anonymize_files(source, schema, tmp_path / "two", **FIRST).manifest.sha256 != with_key.manifest.sha256


def test_ledger__without_its_key_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    _, schema, source = whole_and_pieces(tmp_path, "records")
    ledger = Ledger.new(tmp_path / "register", KEY)
    shutil.rmtree(source)
    with pytest.raises(ParameterError, match="The key of this ledger is not here"):
        anonymize_files(source, schema, tmp_path / "out", ledger=Ledger(ledger.path), **FIRST)


def test_entry__comes_before_the_folder_stands_at_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, schema, source = whole_and_pieces(tmp_path, "persons")
    ledger, out = Ledger.new(tmp_path / "register", KEY), tmp_path / "out"
    places: list[int] = []
    replace = os.replace

    def watched(one: Any, other: Any) -> None:
        if Path(other) == out:
            places.append(len(ledger.entries))
        replace(one, other)

    monkeypatch.setattr(os, "replace", watched)
    anonymize_files(source, schema, out, ledger=ledger, **FIRST)
    assert places == [2]


def test_folder__that_comes_meanwhile_leaves_an_entry_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, schema, source = whole_and_pieces(tmp_path, "persons")
    ledger, out = Ledger.new(tmp_path / "register", KEY), tmp_path / "out"
    place_of = run.Entering.enter

    def another(*arguments: Any) -> Any:
        answer = place_of(*arguments)
        out.mkdir()
        (out / "theirs").touch()
        return answer

    monkeypatch.setattr(run.Entering, "enter", another)
    with pytest.raises(FolderExistsError) as caught:
        anonymize_files(source, schema, out, ledger=ledger, **FIRST)
    assert caught.value.__notes__ == [
        "Entry 2 of the ledger register was written, and its file was not. Make it again with the same settings, or "
        "mark the entry: ledger withdraw register --entry 2 --why TEXT."
    ]
    assert len(ledger.entries) == 2
