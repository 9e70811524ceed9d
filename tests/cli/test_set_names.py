"""Short names of long sets from the terminal: what is written with them, and forged dictionaries, which are refused."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from anonymizer.cli.main import main
from anonymizer.digests import digest
from anonymizer.provenance.report import sets_digest
from tests.cli.test_forged_packets import changed, fitted, members_of
from tests.cli.test_main import Capture

ROLES = ["--quasi-identifying", "age,zip", "--sensitive", "ill", "--kinds", "zip=categorical"]
MORE = ["--k", "25", "--grouping", "least", "--attack-seconds", "0.1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its release with short names as files and as packets, and one in full."""
    folder, rng = tmp_path_factory.mktemp("sets"), np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 80, 500)})
    table["zip"] = [f"Z{number}" for number in rng.integers(10, 50, 500)]
    table["ill"] = rng.choice(["flu", "cold", "none"], 500)
    table.to_csv(folder / "people.csv", index=False)
    make = ["anonymize", str(folder / "people.csv"), *ROLES, *MORE]
    paths = ["--packet", str(folder / "out.zip"), "--internal-packet", str(folder / "own.zip")]
    files = ["--out", str(folder / "out.csv"), "--report", str(folder / "report.json"), *paths]
    assert main([*make, "--sets", "named", *files]) == 0
    assert main([*make, "--out", str(folder / "full.csv"), "--report", str(folder / "full.json")]) == 0
    return folder


def verify(place: Path, *more: str, file: str = "out.csv") -> int:
    return main(["verify", str(place / file), *more])


def test_files_with_names__are_checked_by_the_report_and_by_themselves(place: Path, capsys: Capture) -> None:
    report = ["--report", str(place / "report.json")]
    assert verify(place, *report) == 0
    assert verify(place, *report, "--original", str(place / "people.csv")) == 0
    assert verify(place, "--schema", report[1], "--k", "25", "--original", str(place / "people.csv")) == 0
    for packet in ("out.zip", "own.zip"):
        assert verify(place, file=packet) == 0
        assert verify(place, "--original", str(place / "people.csv"), file=packet) == 0
    capsys.readouterr()
    assert verify(place, *ROLES, "--k", "25") == 1
    assert capsys.readouterr().out.count("names of sets cannot be resolved without the dictionary of the release") == 2


def test_every_description__lists_what_the_names_hold(place: Path) -> None:
    sets = json.loads((place / "report.json").read_text())["sets"]["zip"]
    text = (place / "out.csv").read_text()
    assert {name for name, _ in re.findall(r"\{([A-Z]+): (\d+) levels\}", text)} == set(sets)
    listed = re.findall(r"\{[^:}]*\}", text)
    assert max(map(len, listed)) <= 100
    assert max(cell.count(",") for cell in listed) < 12
    members = {path: content.decode("utf-8", "replace") for path, content in members_of(place / "out.zip").items()}
    assert json.loads(members["report.json"])["sets"]["zip"] == sets
    field = json.loads(members["datapackage.json"])["resources"][0]["schema"]["fields"][1]
    assert field["sets"] == sets
    for name, levels in sets.items():
        assert len(levels) > 12
        listed = f"{name}: {len(levels)} of 40 levels: {', '.join(levels)}."
        assert listed in members["dictionary.html"]
        assert listed in members["ddi-codebook.xml"]
    sentence = f"Sets with a short name, such as {{C: 48 levels}}: {len(sets)} of zip."
    assert sentence in members["README.txt"]
    assert sentence in members["report.html"]
    full = members_of(place / "own.zip")["report.json"]
    assert json.loads(full)["sets"]["zip"] == sets


def test_names__take_a_report_beside_the_file(place: Path, capsys: Capture) -> None:
    make = ["anonymize", str(place / "people.csv"), *ROLES, *MORE, "--out", str(place / "alone.csv")]
    assert main([*make, "--sets", "named"]) == 2
    assert "--report" in capsys.readouterr().err
    assert not (place / "alone.csv").exists()


def fewer(sets: dict[str, Any]) -> None:
    sets["zip"]["A"].pop()


def other(sets: dict[str, Any]) -> None:
    own = sets["zip"]["A"]
    strange = next(level for levels in sets["zip"].values() for level in levels if level not in own)
    sets["zip"]["A"] = sorted([*own[:-1], strange])


def strange(sets: dict[str, Any]) -> None:
    sets["zip"]["A"][-1] = "Z999"


def twice(sets: dict[str, Any]) -> None:
    sets["zip"]["A"][-1] = sets["zip"]["A"][0]


def more(sets: dict[str, Any]) -> None:
    sets["zip"]["AA"] = list(sets["zip"]["A"])


def swapped(sets: dict[str, Any]) -> None:
    sets["zip"]["A"], sets["zip"]["B"] = sets["zip"]["B"], sets["zip"]["A"]


def none(sets: dict[str, Any]) -> None:
    del sets["zip"]["A"]


def elsewhere(sets: dict[str, Any]) -> None:
    sets["age"] = sets.pop("zip")


def unordered(sets: dict[str, Any]) -> None:
    sets["zip"]["A"].reverse()


FORGED = [fewer, other, strange, twice, more, swapped, none, elsewhere, unordered]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_dictionary__is_refused_in_a_report(place: Path, forge: Callable[[Any], None]) -> None:
    report = json.loads((place / "report.json").read_text())
    forge(report["sets"])
    path = place / f"{forge.__name__}.json"
    path.write_text(json.dumps(report))
    assert verify(place, "--report", str(path)) == 2
    report["sets_sha256"] = sets_digest(report["sets"])
    path.write_text(json.dumps(report))
    beside = ["--original", str(place / "people.csv")]
    assert verify(place, "--report", str(path), *(beside if forge in (other, strange) else [])) in (1, 2)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("packet", ["out.zip", "own.zip"])
@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_dictionary__is_refused_in_a_packet(
    place: Path, packet: str, forge: Callable[[Any], None], capsys: Capture
) -> None:
    from anonymizer.releasing.files import archive

    def change(report: Any) -> None:
        forge(report["sets"])
        report["sets_sha256"] = sets_digest(report["sets"])

    before = members_of(place / packet)
    members = fitted(changed("report.json", change, dict(before)), before)
    (place / "forged.zip").write_bytes(archive(members))
    capsys.readouterr()
    assert verify(place, file="forged.zip") == 1
    assert re.search("not as it was made|FAILED", capsys.readouterr().out)


def test_another_way_to_write_than_said__is_refused(place: Path, capsys: Capture) -> None:
    report = json.loads((place / "full.json").read_text())
    report["provenance"]["parameters"]["sets"] = "named"
    (place / "said.json").write_text(json.dumps(report))
    assert verify(place, "--report", str(place / "said.json"), file="full.csv") == 1
    assert "a set of many levels is written in full" in capsys.readouterr().out
    report = json.loads((place / "report.json").read_text())
    report["provenance"]["parameters"]["sets"] = "full"
    (place / "said.json").write_text(json.dumps(report))
    assert verify(place, "--report", str(place / "said.json")) == 2
    del report["sets"]
    (place / "said.json").write_text(json.dumps(report))
    assert verify(place, "--report", str(place / "said.json")) == 1


def test_a_changed_count__is_refused(place: Path, capsys: Capture) -> None:
    text = (place / "out.csv").read_text()
    first = re.search(r"\{([A-Z]+): (\d+) levels\}", text)
    assert first is not None
    (place / "other.csv").write_text(text.replace(first[0], f"{{{first[1]}: {int(first[2]) + 1} levels}}"))
    report = json.loads((place / "report.json").read_text())
    report["provenance"]["output_sha256"] = {"csv": digest((place / "other.csv").read_bytes())}
    (place / "said.json").write_text(json.dumps(report))
    assert verify(place, "--report", str(place / "said.json"), file="other.csv") == 1
    assert "not in the dictionary as it is in the rows" in capsys.readouterr().out


@pytest.fixture(scope="module")
def whole(place: Path) -> Path:
    """A folder in pieces of the same table, with short names."""
    pd.read_csv(place / "people.csv").to_parquet(place / "people.parquet", index=False)
    make = ["anonymize", str(place / "people.parquet"), *ROLES, *MORE[:4], "--generalizer", "uniform"]
    paths = ["--out", str(place / "folder"), "--report", str(place / "folder.json"), "--engine", "local"]
    assert main([*make, "--sets", "named", *paths]) == 0
    return place


def test_a_folder_with_names__is_checked_by_its_own_dictionary(whole: Path, capsys: Capture) -> None:
    entries = json.loads((whole / "folder" / "dictionary.json").read_text())
    assert next(entry for entry in entries if entry["name"] == "zip")["sets"]
    assert verify(whole, "--k", "25", file="folder") == 0
    assert verify(whole, "--report", str(whole / "folder.json"), file="folder") == 0
    rows = pd.concat(map(pd.read_parquet, sorted((whole / "folder").glob("*.parquet"))))
    assert rows["zip"].astype(str).str.fullmatch(r"\{[A-Z]+: \d+ levels\}").any()
    capsys.readouterr()


@pytest.mark.parametrize("forge", [fewer, twice, more, swapped, none, unordered])
def test_a_forged_dictionary__is_refused_in_a_folder(
    whole: Path, tmp_path: Path, forge: Callable[[Any], None], capsys: Capture
) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(whole / "folder", folder)
    entries = json.loads((folder / "dictionary.json").read_text())
    entry = next(entry for entry in entries if entry["name"] == "zip")
    sets = {"zip": entry["sets"]}
    forge(sets)
    before = (folder / "dictionary.json").read_bytes()
    text = json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
    (folder / "dictionary.json").write_text(text)
    assert verify(tmp_path, "--k", "25", file="folder") == 1
    manifest = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(manifest.replace(digest(before), digest(text.encode())))
    capsys.readouterr()
    assert verify(tmp_path, "--k", "25", file="folder") == 1
    assert re.search("dictionary|order of the sets", capsys.readouterr().out)
    assert verify(tmp_path, "--report", str(whole / "folder.json"), file="folder") == 1


def test_a_database__has_the_names_and_is_checked_by_the_report(place: Path, capsys: Capture) -> None:
    address = f"sqlite:///{place}/made.db?{{}}table=released"
    make = ["anonymize", str(place / "people.csv"), *ROLES, *MORE, "--sets", "named"]
    report = ["--report", str(place / "made.json")]
    assert main([*make, "--out", address.format("new=yes&"), *report]) == 0
    assert main(["verify", address.format(""), *report]) == 0
    capsys.readouterr()


def test_labels_of_codes__are_the_names_in_a_packet_of_a_survey(place: Path, tmp_path: Path, capsys: Capture) -> None:
    table = pd.read_csv(place / "people.csv")
    labels = ["Age in years", "Where the person lives", "Illness"]
    pyreadstat.write_sav(table, str(tmp_path / "people.sav"), column_labels=labels)
    packet = tmp_path / "survey.zip"
    make = ["anonymize", str(tmp_path / "people.sav"), *ROLES, *MORE, "--sets", "named", "--packet", str(packet)]
    assert main(make) == 0
    assert verify(tmp_path, file="survey.zip") == 0
    assert verify(tmp_path, "--original", str(tmp_path / "people.sav"), file="survey.zip") == 0
    (tmp_path / "out.sav").write_bytes(members_of(packet)["data/release.sav"])
    codes = pyreadstat.read_sav(str(tmp_path / "out.sav"))[1].variable_value_labels["zip"]
    names = [label for label in codes.values() if re.fullmatch(r"\{[A-Z]+: \d+ levels\}", label)]
    assert len(names) == len(json.loads(members_of(packet)["report.json"])["sets"]["zip"])
    capsys.readouterr()


def test_sets_of_bands__have_names_too(tmp_path: Path, capsys: Capture) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.integers(0, 100, 800)})
    bands = [f"[{low}-{low + 5})" for low in range(0, 300, 5)]
    table["band"] = [bands[2 * place + (x >= 50)] for x, place in zip(table.x, rng.integers(0, 30, 800), strict=True)]
    table["ill"] = np.where(table.x >= 50, "a", rng.choice(["b", "c"], 800))
    table.to_csv(tmp_path / "bands.csv", index=False)
    make = ["anonymize", str(tmp_path / "bands.csv"), "--quasi-identifying", "x,band", "--sensitive", "ill"]
    make += ["--k", "100", "--grouping", "least", "--generalizer", "uniform", "--sets", "named"]
    make += ["--attack-seconds", "0.1", "--reason=one value: ill=nobody of these lives"]
    files = ["--out", str(tmp_path / "out.csv"), "--report", str(tmp_path / "report.json")]
    assert main([*make, *files, "--packet", str(tmp_path / "out.zip")]) == 0
    cells = set(pd.read_csv(tmp_path / "out.csv").band)
    assert len([cell for cell in cells if re.fullmatch(r"\{[A-Z]: \d\d levels\}", cell)]) >= 2
    assert verify(tmp_path, "--report", files[-1], "--original", str(tmp_path / "bands.csv")) == 0
    assert verify(tmp_path, file="out.zip") == 0
    capsys.readouterr()
