"""What a notebook shows of results: a few short lines, figures and pictures, and never a value of a person."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonymizer as an
from anonymizer.flow import Flow
from anonymizer.settings import Settings

N = 120
CANARY = "Quuxbert"
NAME = "<b>town</b>"
TABLE = pd.DataFrame(
    {
        "name": [f"{CANARY} {at}" for at in range(N)],
        "age": np.arange(N) % 40 + 20.5,
        NAME: [f"{CANARY}ville", f"{CANARY}stadt", f"{CANARY}burg"] * (N // 3),
        "ill": [f"{CANARY}itis", "flu", "cold", "cough"] * (N // 4),
    }
)
ROLES: dict[str, Any] = {"quasi_identifying": ["age", NAME], "sensitive": ["ill"], "identifying": ["name"]}


@pytest.fixture(scope="module")
def result() -> an.Result:
    """A release of the table."""
    return an.release(TABLE, **ROLES, k=5)


def things(result: an.Result, path: Path) -> dict[str, Any]:
    """Everything that can be shown."""
    TABLE.to_csv(path, index=False)
    release = result.release
    return {
        "result": result, "schema": result.schema, "column": result.schema.columns[2], "encoded": result.encoded,
        "tree": result.tree, "plain tree": result.flow.tree, "risk": result.risk, "pruning": result.pruning,
        "release": release, "released column": release.columns[1], "verification": result.verification,
        "utility": result.utility, "report": result.report, "flow": Flow(TABLE, result.schema, Settings(k=5)),
        "reading": an.read_table(path), "linkage": an.linkage_risk(TABLE, ["age"]), "facts": an.profile(TABLE)[0],
        "attacks": result.attack(0.1), "suggested": an.suggest(TABLE),
    }  # fmt: skip


def test_repr__is_short_and_holds_no_value(result: an.Result, tmp_path: Path) -> None:
    for name, thing in things(result, tmp_path / "t.csv").items():
        text = repr(thing)
        assert len(text) < 1_500, name
        assert text.count("\n") < 8, name
        assert CANARY not in text, name
        assert "array(" not in text, name
        assert "20.5" not in text, name


def test_repr_of_a_result__is_five_lines(result: an.Result) -> None:
    lines = repr(result).splitlines()
    assert [line.split()[0] for line in lines] == ["release", "k", "loss", "checks", "verdict"]
    assert f"{N} rows in {result.report.after.groups} groups" in lines[0]
    assert f"{result.report.after.smallest} in the smallest group, 5 required" in lines[1]
    assert f"{result.utility.gcp:.1%}" in lines[2]
    assert lines[4].endswith(result.gate.verdict)


def test_html_of_a_result__is_small_escaped_and_well_formed(result: an.Result) -> None:
    html = result._repr_html_()
    assert len(html) < 200_000
    assert CANARY not in html
    assert NAME not in html
    assert "<script" not in html
    root = ElementTree.fromstring(html)
    assert result.gate.verdict in "".join(root.itertext())
    (svg,) = root.iter("{http://www.w3.org/2000/svg}svg")
    boxes = list(svg)
    assert len(boxes) >= len(result.pruning.cut())
    assert {box.find("{http://www.w3.org/2000/svg}title").text for box in boxes} >= {"120 rows"}  # type: ignore[union-attr]


def test_html_of_open_findings__has_no_markup_of_the_table() -> None:
    table = TABLE.assign(**{"<img src=x>": [f"{CANARY}{at % 7}" for at in range(N)]})
    result = an.release(table, **ROLES, insensitive=["<img src=x>"], k=5)
    html = result._repr_html_()
    assert "<img" not in html
    ElementTree.fromstring(html)


def test_tree__draws_itself(result: an.Result) -> None:
    svg = result.tree._repr_svg_()
    assert svg is not None
    assert len(svg) < 300_000
    ElementTree.fromstring(svg)
    assert "<b>" not in svg
    assert result.tree.graphviz().startswith("digraph tree {")
    assert result.tree.unit == result.flow.tree.unit
    assert an.annotate(result.tree, result.encoded).n.tolist() == result.risk.n.tolist()


def test_figures__are_tables(result: an.Result) -> None:
    figures = result.compare()
    assert figures.loc["groups", "after"] == result.report.after.groups
    assert figures.loc["unique rows", "before"] == result.report.before.unique
    points = result.frontier()
    assert {"method", "k", "risk", "gcp"} <= set(points.columns)
    assert (points["smallest"] >= points["k"]).all()
    assert CANARY not in points.to_string()


def test_papers__are_bytes_and_files(result: an.Result, tmp_path: Path) -> None:
    page = result.report(tmp_path / "r.html", "external", seconds=0.1, purpose="a study")
    assert (tmp_path / "r.html").read_bytes() == page
    assert b"a study" in page
    assert CANARY.encode() not in page
    assert result.report(tmp_path / "r.pdf", seconds=0.1).startswith(b"%PDF")
    packet = result.packet(tmp_path / "p.zip", seconds=0.1)
    assert (tmp_path / "p.zip").read_bytes() == packet
    assert packet[:2] == b"PK"
    with pytest.raises(an.ParameterError, match="no audience 'press'"):
        result.report(audience="press", seconds=0.1)
    with pytest.raises(an.ParameterError, match=re.escape("Use .html, .pdf or .json.")):
        result.report("r.doc", seconds=0.1)


def test_table__comes_back_as_it_came(result: an.Result) -> None:
    assert result.table.equals(result.release.frame())
    arrow = an.release(pa.Table.from_pandas(TABLE, preserve_index=False), **ROLES, k=5)
    assert isinstance(arrow.table, pa.Table)
    assert arrow.table.column_names == list(result.table.columns)
    assert isinstance(arrow.release.frame(), pd.DataFrame)


def test_release__refuses_columns_without_a_role(tmp_path: Path) -> None:
    with pytest.raises(an.SchemaError, match=r"'name' looks identifying.*insensitive=\['name'\]"):
        an.release(TABLE, quasi_identifying=["age", NAME], sensitive="ill")
    with pytest.raises(an.ParameterError, match="release\\(\\) lacks quasi_identifying"):
        an.release(TABLE, k=5)
    with pytest.raises(an.SchemaError, match="two roles"):
        an.release(TABLE, quasi_identifying=["age", NAME], sensitive=["ill", "age"], identifying="name")
    with pytest.raises(an.ParameterError, match="no setting 'kk'"):
        an.release(TABLE, **ROLES, kk=5)
    with pytest.raises(an.SchemaError, match="not a sensitive column"):
        an.release(TABLE, **ROLES, target="age")


def test_release__of_several_rows_of_a_person() -> None:
    table = pd.concat([TABLE, TABLE]).assign(name=lambda frame: frame["name"])
    result = an.release(table, quasi_identifying=["age", NAME], sensitive="ill", person="name", k=5)
    assert result.schema.person == "name"
    assert result.verification["k persons"].passed
