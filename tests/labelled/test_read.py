"""Files of SPSS, Stata and SAS come in with their labels, and no missing code is lost."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyreadstat
import pytest

from anonymizer.errors import ReadError
from anonymizer.labelled import parts, read
from anonymizer.labelled.variable import Variable
from anonymizer.pipeline import anonymize
from anonymizer.reading.child import read_in_child
from anonymizer.reading.files import Reading, read_table
from anonymizer.reading.options import Allowance, ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.schema import Kind, Role, Schema

SEXES = {1.0: "Ἀνήρ", 2.0: "نساء", 3.0: "女性", 4.0: "אחר", 5.0: "Мужчина"}
ANSWERS = {1.0: "Never", 2.0: "", 3.0: "Always", -9.0: "Refused", -8.0: "Don't know"}


def survey(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    income = rng.integers(1000, 9000, n).astype(float)
    income[:4], income[4:7] = -9.0, np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "sex": rng.integers(1, 6, n).astype(float),
            "answer": np.resize([1.0, 2.0, 3.0, -9.0, -8.0, np.nan], n),
            "income": income,
            "city": np.resize(["b", "m", "", "x"], n),
            "born": 13.5e9 + 86_400.0 * rng.integers(0, 9000, n),
        }
    )


def sav(tmp_path: Path, table: pd.DataFrame, **more: Any) -> bytes:
    file = tmp_path / "t.sav"
    labels = {"sex": SEXES, "answer": ANSWERS, "income": {-9.0: "Refused"}, "city": {"b": "Berlin", "m": "München"}}
    options: dict[str, Any] = {
        "variable_value_labels": labels,
        "column_labels": {"income": "الدخل", "answer": "Zufriedenheit"},
        "missing_ranges": {"answer": [{"lo": -9.0, "hi": -1.0}], "income": [-9.0]},
        "variable_measure": {"answer": "ordinal", "sex": "nominal"},
        "variable_format": {"born": "DATE11"},
    }
    pyreadstat.write_sav(table, file, **(options | more))
    return file.read_bytes()


@pytest.mark.parametrize("reader", [read_table, read_in_child])
def test_spss__comes_with_labels_and_missing_codes(reader: Any, tmp_path: Path) -> None:
    table = survey()
    reading: Reading = reader(sav(tmp_path, table), name="t.sav")
    frame, variables = reading.frame, reading.variables
    assert reading.format == "sav"
    assert list(frame["sex"]) == [SEXES[code] for code in table["sex"]]
    expected = {**ANSWERS, 2.0: "2", np.nan: None}
    for text, code in zip(frame["answer"].astype(object), table["answer"], strict=True):
        assert (pd.isna(text) and np.isnan(code)) or text == expected[code]
    assert variables["answer"].domain == ("Never", "2", "Always", "Refused", "Don't know")
    assert variables["answer"].missing == ("Refused", "Don't know")
    assert variables["income"] == Variable("الدخل", ranges=((-9.0, -9.0),), format="F8.2", width=8)
    assert frame["income"].isna().sum() == 7
    assert list(frame["income_missing"].notna()) == [True] * 4 + [False] * 56
    assert set(frame["income_missing"].dropna()) == {"Refused"}
    assert list(frame["city"].astype(object))[:2] == ["Berlin", "München"]
    assert pd.isna(frame["city"][2])
    assert frame["city"][3] == "x"
    assert (frame["born"] == pd.Timestamp("1582-10-14") + pd.to_timedelta(table["born"], "s")).all()
    texts = " ".join(problem.text for problem in reading.problems)
    assert "'answer' has codes without a label, shown as they are: 2" in texts
    assert "4 values of column 'income' are missing for a reason" in texts


def test_suggestion__takes_levels_and_order_of_the_file(tmp_path: Path) -> None:
    reading = read_table(sav(tmp_path, survey()))
    schema = suggest(reading.frame, reading.variables)
    assert schema["answer"].ordered
    assert schema["answer"].domain == ("Never", "2", "Always", "Refused", "Don't know")
    assert not schema["sex"].ordered
    assert schema["sex"].domain == tuple(SEXES.values())
    assert schema["income"].variable.label == "الدخل"
    assert schema["income_missing"].role is schema["income"].role
    assert schema["born"].kind is Kind.DATE
    assert Schema.from_json(schema.to_json()) == schema


def test_codes_with_one_label__stay_apart(tmp_path: Path) -> None:
    data = sav(tmp_path, survey(), variable_value_labels={"sex": dict.fromkeys(SEXES, "Other")})
    reading = read_table(data)
    assert set(reading.frame["sex"]) == {f"Other ({code:g})" for code in SEXES}
    assert any("with the same label" in problem.text for problem in reading.problems)


def test_labels_on_few_numbers__leave_numbers(tmp_path: Path) -> None:
    labels = {"age": {89.0: "89 or older"}}
    data = sav(tmp_path, survey(), variable_value_labels=labels)
    reading = read_table(data)
    assert reading.frame["age"].dtype == np.int64
    assert reading.variables["age"].levels == (("89 or older", 89.0),)
    as_text = read_table(data, options=ReadOptions(as_text=("age",)))
    assert isinstance(as_text.frame["age"].dtype, pd.CategoricalDtype)


def test_stata__tells_tagged_missing_values_apart(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": pd.Series([1.0, 2.0, "a", np.nan, "z"], dtype=object), "x": [1.5, 2.5, 3.5, 4.5, 5.5]})
    table["y"] = pd.Series([10.5, 2.25, "b", 3.5, 4.75], dtype=object)
    labels = {"a": {1: "ja", 2: "nein", "a": "Refused"}}
    pyreadstat.write_dta(
        table, tmp_path / "t.dta", variable_value_labels=labels, missing_user_values={"a": ["a", "z"], "y": ["b"]}
    )
    reading = read_in_child(tmp_path / "t.dta")
    assert list(reading.frame["a"].astype(object).fillna("")) == ["ja", "nein", "Refused", "", ".z"]
    assert reading.variables["a"].missing == ("Refused", ".z")
    assert list(reading.frame["y_missing"].astype(object).fillna("")) == ["", "", ".b", "", ""]
    assert reading.frame["y"].isna().sum() == 1


def test_portable_transport_and_feather__are_read(tmp_path: Path) -> None:
    table = survey().drop(columns=["city"])
    pyreadstat.write_por(table, tmp_path / "t.por", column_labels={"sex": "Sex"})
    portable = read_in_child(tmp_path / "t.por").frame
    assert list(portable["INCOME"].fillna(0)) == list(table["income"].fillna(0))
    pyreadstat.write_xport(table, tmp_path / "t.xpt", variable_format={"born": "DATE9."}, file_format_version=5)
    transport = read_in_child(tmp_path / "t.xpt")
    assert transport.format == "xpt"
    assert list(transport.frame["income"].fillna(0)) == list(table["income"].fillna(0))
    sink = io.BytesIO()
    pyarrow.feather.write_feather(read_table(sav(tmp_path, survey())).frame, sink)
    feather = read_in_child(sink.getvalue(), name="t.feather")
    assert feather.frame.equals(read_table(sav(tmp_path, survey())).frame)


def test_sas_dates__by_their_formats() -> None:
    assert read.moment_scale("YYMMDDN8.", "sas7bdat") == (float(read.DAY), read.STATA_EPOCH)
    assert read.moment_scale("DATETIME20.", "xpt") == (1e6, read.STATA_EPOCH)
    assert read.moment_scale("DAYFMT2.", "xpt") is None
    assert read.moment_scale("%tc", "dta") == (1e3, read.STATA_EPOCH)
    assert read.moment_scale("TIME8", "sav") is None


@pytest.mark.parametrize("kind", ["sav", "zsav", "dta", "xpt", "por"])
def test_a_file_in_parts__is_the_same_table(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"parts.{kind}"
    table = survey(200)
    table["plain"] = np.random.default_rng(1).normal(size=200)
    if kind in ("sav", "zsav"):
        path.write_bytes(sav(tmp_path, table, compress=kind == "zsav"))
    elif kind == "dta":
        table["answer"] = pd.Series(np.resize([1.0, 2.0, "a", np.nan, 3.5], 200), dtype=object).map(
            lambda value: value if value == "a" else float(value)
        )
        pyreadstat.write_dta(table, path, missing_user_values={"answer": ["a"]})
    else:
        write = pyreadstat.write_por if kind == "por" else pyreadstat.write_xport
        write(table, path)
    whole = read_table(path)
    monkeypatch.setattr(parts, "SMALLEST_PART", 7 * len(table.columns))
    again = read_table(path)
    assert again.frame.equals(whole.frame)
    assert again.variables == whole.variables
    assert again.sha256 == read_table(path.read_bytes(), name=path.name).sha256


@pytest.mark.parametrize("capacity", [0, 20_000])
def test_columns_of_few_values__are_kept_as_codes(capacity: int) -> None:
    few, more, many = np.resize([1.0, 7.0, np.nan, -0.0], 5000), np.arange(5000.0) % 700, np.arange(5000.0)
    column, sizes = parts.RawColumn(capacity), []
    for values in (few, more, many, few):
        column.add(list(values), is_text=False)
        sizes.append(column.cells.itemsize)
    assert sizes == [1, 2, 8, 8]
    numbers, codes, tags = column.take()
    assert codes is None
    assert np.array_equal(numbers, np.concatenate([few, more, many, few]), equal_nan=True)
    assert not np.signbit(numbers[numbers == 0]).any()
    assert not tags.any()


def test_columns_of_many_texts__are_kept_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_CODES", 10)
    batches = [["a", None, "b"], ["b", "c"], [f"text {at}" for at in range(30)], ["a"]]
    for first in range(len(batches)):
        column = parts.RawColumn()
        for texts in batches[first:]:
            column.add(texts, is_text=True)
        again = [text for part in column.take_texts() for text in part.to_pylist()]
        assert again == [text or "" for texts in batches[first:] for text in texts]


def test_a_file_that_is_written_meanwhile__is_refused(tmp_path: Path) -> None:
    path = tmp_path / "late.sav"
    path.write_bytes(sav(tmp_path, survey()))

    def write(share: float, words: str) -> None:
        with path.open("ab") as file:
            file.write(b"\0")

    with pytest.raises(ReadError, match="changed while it was read"):
        read_table(path, progress=write)


def test_a_missing_column__never_takes_the_name_of_another(tmp_path: Path) -> None:
    table = survey().assign(income_missing=1.0)
    frame = read_table(sav(tmp_path, table)).frame
    assert list(frame.columns) == [*survey().columns[:4], "income_missing_", "city", "born", "income_missing"]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.6, 0.9])
def test_a_torn_file__is_one_sentence(share: float, tmp_path: Path) -> None:
    whole = sav(tmp_path, survey(2000))
    with pytest.raises(ReadError, match="damaged"):
        read_in_child(whole[: int(share * len(whole))], name="t.sav")


@pytest.mark.parametrize("kind", ["sav", "dta", "xpt"])
def test_a_file_of_columns_alone__is_one_sentence(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"empty.{kind}"
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[kind]
    write(pd.DataFrame({"age": np.zeros(0)}), path)
    with pytest.raises(ReadError, match="has no rows"):
        read_table(path)


def test_a_file_that_states_more_records_than_may_be__is_refused(tmp_path: Path) -> None:
    pyreadstat.write_dta(survey(), tmp_path / "t.dta")
    data = bytearray((tmp_path / "t.dta").read_bytes())
    at = data.index(b"<N>") + 3
    assert int.from_bytes(data[at : at + 8], "little") == 60
    data[at : at + 8] = (2_000_000_000).to_bytes(8, "little")
    with pytest.raises(ReadError, match="2,000,000,000 rows and 6 columns"):
        read_in_child(bytes(data), name="t.dta", allowance=Allowance())


def test_a_hostile_arrow_file__is_one_sentence() -> None:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(pa.table({"a": ["x", "y"] * 50}), sink, compression="uncompressed")
    data = bytearray(sink.getvalue())
    data[len(data) // 2] ^= 0xFF
    for cut in (data[:200], data[:-10]):
        with pytest.raises(ReadError):
            read_in_child(bytes(cut), name="t.feather")


def test_labels__reach_the_release_and_its_dictionary(tmp_path: Path) -> None:
    reading = read_table(sav(tmp_path, survey(200)))
    schema = suggest(reading.frame, reading.variables)
    roles = {"income": Role.INSENSITIVE, "income_missing": Role.INSENSITIVE, "answer": Role.SENSITIVE}
    schema = schema.with_roles(roles).with_column("answer", own_reason="asked")
    result = anonymize(reading.frame, schema, k=5, reading=reading)
    entries = {entry["name"]: entry for entry in result.release.dictionary()}
    assert entries["answer"]["label"] == "Zufriedenheit"
    assert set(result.release["sex"].domain) == set(SEXES.values())
    cells = result.release["answer"].series()
    assert cells.isna().sum() == reading.frame["answer"].isna().sum()
    assert (cells == "Refused").sum() == (reading.frame["answer"] == "Refused").sum()
    assert "الدخل" not in result.report.to_recipient_json()
