"""A table on a cluster beside a ledger: the entry, the members and the verdict of the same files on one machine."""

from pathlib import Path
from typing import Any

import pytest

import anonymizer as an
from anonymizer.engines import anonymize_files
from anonymizer.ledger.ledger import Ledger
from anonymizer.partitions.ledger import Register
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.run import FilesResult
from anonymizer.settings import Settings
from anonymizer.workers import questions
from anonymizer.workers.cluster import Cluster
from anonymizer.workers.remote import release_on
from tests.partitions.test_ledger import FIRST, KEY, SECOND, entered, reasons_for, together_in, whole_and_pieces


def on_cluster(
    two: Cluster, ledger: Ledger, source: Path, schema: an.Schema, folder: Path, reasons: dict[str, str], **how: Any
) -> FilesResult:
    """A release on a cluster that is entered in a ledger."""
    register = Register(ledger, {"to": "the university"})
    settings = Settings(**how)
    return release_on(two, open_table(source), schema, folder, settings, reasons=reasons, register=register)


@pytest.mark.sweep(1)
@pytest.mark.parametrize("kind", ["records", "several rows", "text"])
def test_entries__are_those_of_one_machine(tmp_path: Path, two: Cluster, kind: str) -> None:
    frame, schema, source = whole_and_pieces(tmp_path, "persons" if kind == "text" else kind)
    if kind == "text":
        source = tmp_path / "text"
        source.mkdir()
        frame.head(150).to_csv(source / "a.csv", index=False)
        frame.tail(150).to_csv(source / "b.csv", index=False)
    here, there = (Ledger.new(tmp_path / name, KEY) for name in ("here", "there"))
    for number, how in enumerate([FIRST, SECOND]):
        reasons: dict[str, str] = {}
        names = f"one {number}", f"two {number}"
        for _ in range(2):  # the second time with reasons
            words = {"ledger": here, "words": {"to": "the university"}, "reasons": reasons}
            expected = anonymize_files(source, schema, tmp_path / names[0], **words, **how)
            result = on_cluster(two, there, source, schema, tmp_path / names[1], reasons, **how)
            assert together_in(result.gate) == together_in(expected.gate)
            if not (reasons := reasons_for(expected.gate)):
                break
        assert bool(together_in(result.gate)) == bool(number)
        assert result.entry == (number + 2, there.entries[-1]["hash"])
        (about, *rest), (other, *other_rest) = (entered(one.entries[-1], one) for one in (there, here))
        assert {name for name in about if about[name] != other[name]} == set()
        assert rest == other_rest
        assert result.manifest == expected.manifest


def test_key__stays_here(tmp_path: Path, two: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    _, schema, source = whole_and_pieces(tmp_path, "records")
    ledger, sent = Ledger.new(tmp_path / "register", KEY), list[str]()
    keys_in = questions.keys_in

    def watched(argument: Any) -> Any:
        sent.append(repr(argument))
        return keys_in(argument)

    monkeypatch.setattr("anonymizer.workers.cluster.keys_in", watched)
    on_cluster(two, ledger, source, schema, tmp_path / "out", {}, **FIRST)
    assert sent
    assert not any(repr(KEY) in text or KEY.hex() in text for text in sent)
