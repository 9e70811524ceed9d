"""Releases as SPSS, Stata, SAS and Feather files: the same cells, labels and missing codes, and nothing else."""

import io
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from python_calamine import CalamineWorkbook

from anonymizer.checking.released_file import read_archive, read_file
from anonymizer.checking.verify import verify
from anonymizer.errors import ParameterError, ReadError
from anonymizer.flow import Flow
from anonymizer.labelled.forms import code_form, moment_form, number_form
from anonymizer.labelled.read import LabelledColumn, read_labelled
from anonymizer.labelled.variable import Variable
from anonymizer.labelled.write import FIRST_CODE, FORMATS, SIZES, _aligned, labelled_bytes, planned, planned_table
from anonymizer.pipeline import anonymize
from anonymizer.reading.child import read_in_child
from anonymizer.reading.files import read_table
from anonymizer.reading.profile import suggest
from anonymizer.releasing.files import archive
from anonymizer.releasing.release import Release
from anonymizer.releasing.workbook import LABELS
from anonymizer.reporting.findings import Statement, findings_of
from anonymizer.reporting.packet import check_packet, packet_of
from anonymizer.reporting.packet_files import PLAIN
from anonymizer.schema import Role, Schema
from anonymizer.settings import Settings
from tests.labelled.test_read import ANSWERS, SEXES, sav, survey

DAY_VALUES = np.array(["2024-02-29", "1970-01-01"], "datetime64[us]")
LARGEST = np.finfo(np.float64).max
READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport}


@cache
def release_of(folder: Path) -> tuple[Release, Schema]:
    reading = read_table(sav(folder, survey(200)))
    schema = suggest(reading.frame, reading.variables)
    roles = {"income": Role.SENSITIVE, "income_missing": Role.SENSITIVE, "answer": Role.SENSITIVE}
    schema = schema.with_roles(roles | {"born": Role.INSENSITIVE})
    return replace(
        anonymize(reading.frame, schema, k=5, reading=reading, rng=np.random.default_rng(1)).release, bars=()
    ), schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labelled")


def cells(values: Any) -> list[Any]:
    return list(values.astype(object).where(values.notna(), None))


@pytest.mark.parametrize("format", [*FORMATS, "feather"])
def test_a_written_release__is_read_back_cell_by_cell(format: str, folder: Path) -> None:
    release, schema = release_of(folder)
    data = release.to_bytes(format)
    assert data == release.to_bytes(format)
    file = read_file(data)
    assert file.beside == ()
    frame = release.frame()
    assert list(file.rows.columns) == list(frame.columns)
    for name in frame.columns:
        assert cells(file.rows[name]) == cells(frame[name])
    assert verify(file.rows, schema, k=5, beside=file.beside).passed


def test_a_packet__has_a_table_with_labels_in_every_format(folder: Path) -> None:
    reading = read_table(sav(folder, survey(200)))
    schema = release_of(folder)[1]
    flow = Flow(reading.frame, schema, Settings(k=5), reading=reading)
    flow = flow.but(reasons={finding.key: "nobody of these lives" for finding in flow.gate.open})
    findings = findings_of(flow.report, reading.frame, flow.released, None, ())
    packet = packet_of(flow.leaving, findings, Statement(), "external")
    check = check_packet(packet)
    assert check.passed
    assert set(check.tables) == {f"data/release.{format}" for format in (*PLAIN, "feather", *FORMATS)}
    members, _, _ = read_archive(packet)
    _, about = pyreadstat.read_sav(io.BytesIO(members["data/release.sav"]), metadataonly=True)
    assert about.column_names_to_labels["income"] == "الدخل"
    damaged = members | {"data/release.dta": members["data/release.dta"] + b"row 7 is Ada"}
    assert any("data/release.dta" in sentence for sentence in check_packet(archive(damaged)).differences)


def test_spss__keeps_codes_labels_and_missing_codes(folder: Path) -> None:
    release, _ = release_of(folder)
    table, about = pyreadstat.read_sav(io.BytesIO(release.to_bytes("sav")), user_missing=True)
    labels = about.variable_value_labels
    all_labels = {code: text or f"{code:g}" for code, text in ANSWERS.items()}
    assert labels["answer"] == all_labels
    assert about.missing_ranges["answer"] == [{"lo": -9.0, "hi": -1.0}]
    assert about.missing_ranges["income"] == [{"lo": -9.0, "hi": -9.0}]
    assert about.variable_measure["answer"] == "ordinal"
    assert about.column_names_to_labels["income"] == "الدخل"
    assert (table["income"] == -9.0).sum() == 4
    assert [labels["answer"].get(code) for code in table["answer"]] == cells(release["answer"].series())
    own = {text: code for code, text in SEXES.items()}
    sets = [text for text in labels["sex"].values() if text not in own]
    assert sets
    assert all(code == own.get(text, code) and (text in own or code > 5) for code, text in labels["sex"].items())


def test_stata__keeps_reasons_as_tagged_missing_values(folder: Path) -> None:
    release, _ = release_of(folder)
    table, about = pyreadstat.read_dta(io.BytesIO(release.to_bytes("dta")), user_missing=True)
    assert about.variable_value_labels["income"] == {"a": "Refused"}
    assert (table["income"] == "a").sum() == 4
    assert set(about.missing_user_values["answer"]) == {"a", "b"}


def test_spss__keeps_formats_widths_and_sides(tmp_path: Path) -> None:
    table = survey(200)
    widths = {"age": 5, "sex": 21, "answer": 12, "city": 30, "born": 14}
    formats = {"age": "F3.0", "sex": "F1.0", "income": "DOLLAR9.2", "born": "EDATE10"}
    data = sav(tmp_path, table, variable_display_width=widths, variable_format=formats)
    data = _aligned(data, ["center", "", "left", "", "right", ""])
    reading = read_table(data)
    variables = reading.variables
    assert {name: variables[name].width for name in widths} == widths
    assert [variables[name].alignment for name in table] == ["center", "", "left", "", "right", ""]
    schema = suggest(reading.frame, reading.variables)
    roles = dict.fromkeys(("income", "income_missing", "answer", "city", "born"), Role.INSENSITIVE)
    release = anonymize(reading.frame, schema.with_roles(roles | {"answer": Role.SENSITIVE}), k=5).release
    data = replace(release, bars=()).to_bytes("sav")
    assert read_file(data).beside == ()
    _, about = pyreadstat.read_sav(io.BytesIO(data), metadataonly=True)
    assert {name: about.original_variable_types[name] for name in ("income", "born")} == {
        name: formats[name] for name in ("income", "born")
    }
    assert about.variable_display_width["born"] == 14
    assert about.variable_display_width["answer"] == 12
    assert about.variable_alignment == {
        "age": "right", "sex": "right", "answer": "left", "income": "right", "city": "right", "born": "right"
    }  # fmt: skip
    cells_there = release["sex"].series().dropna().unique()
    assert about.variable_display_width["sex"] == max(21, min(40, max(map(len, cells_there))))
    sets = [code for code, cell in about.variable_value_labels["sex"].items() if cell.startswith("{")]
    assert about.original_variable_types["sex"] == ("F4.0" if sets else "F1.0")
    assert all(code >= FIRST_CODE for code in sets)


@pytest.mark.parametrize("format", ["sav", "dta"])
def test_one_value__keeps_its_code_and_all_else_gets_one_from_1001(format: str) -> None:
    texts = ["29", "31.5", "[30, 40]", "1200", "No", "{No, Yes}", "007"]
    variable = Variable(levels=(("No", 2.0), ("Refused", 31.0)))
    column = planned(LabelledColumn("cell", variable, pd.Categorical(texts, texts)), format, generalized=True)
    codes = dict(column.variable.levels)
    assert codes["29"] == 29
    assert codes["No"] == 2
    assert codes["1200"] == 1200
    assert (codes["31.5"] == 31.5) == (format == "sav"), "Stata has labels for whole numbers only"
    others = [codes[text] for text in texts if text not in ("29", "31.5", "1200", "No")]
    assert len(set(codes.values())) == len(texts)
    assert min(others) > 1200
    other = planned(LabelledColumn("cell", variable, pd.Categorical(["31", "No"])), format, generalized=True)
    assert dict(other.variable.levels) == {"31": FIRST_CODE, "No": 2}, "31 is the file's code of another level"


@pytest.mark.parametrize(
    ("own", "format", "number", "day"),
    [
        ("F4.1", "sav", "F4.1", "DATE11"),
        ("ADATE8", "sav", "F8.2", "ADATE8"),
        ("DATE8", "sav", "F8.2", "DATE11"),
        ("DATETIME41", "sav", "F8.2", "DATE11"),
        ("F8.9", "sav", "F8.2", "DATE11"),
        ("%9.2f", "sav", "F8.2", "DATE11"),
        ("%td", "dta", "", "%td"),
        ("%tdDD/NN/CCYY", "dta", "", "%tdDD/NN/CCYY"),
        ("%12.0fc", "dta", "%12.0fc", "%td"),
        ("%ty", "dta", "%ty", "%td"),
        ("%td row 7 is Ada", "dta", "", "%td"),
        ("DATE11", "xpt", "", "DATE11"),
        ("DATE12", "xpt", "", "DATE9"),
        ("BEST12", "xpt", "BEST12", "DATE9"),
        ("F4.0", "xpt", "F4", "DATE9"),
        ("MONTH9", "sav", "MONTH9", "DATE11"),
        ("MONTH9", "xpt", "", "MONTH9"),
    ],
)
def test_forms__of_one_program_stay_where_another_has_them(own: str, format: str, number: str, day: str) -> None:
    assert number_form(own, format) == number
    assert moment_form(own, format, days=True) == day
    for form, read_as in ((number, False), (day, True)):
        column = LabelledColumn("a", Variable(format=form), DAY_VALUES if read_as else np.array([1.5, 2.0]))
        data = labelled_bytes(planned_table([column], format), format)
        _, about = READERS[format](io.BytesIO(data), metadataonly=True)
        assert not form or about.original_variable_types["a"] == form
        assert read_file(data).beside == ()


@pytest.mark.parametrize(
    ("form", "number", "day"),
    [("%tm", 600, "2010-01-01"), ("%tq", 201, "2010-04-01"), ("%th", 101, "2010-07-01"), ("%tw", 2651, "2010-12-24"),
     ("%tm", -1, "1959-12-01"), ("%tw", -1, "1959-12-24")],
)  # fmt: skip
def test_periods__are_their_first_days_and_are_written_as_periods_again(
    form: str, number: int, day: str, tmp_path: Path
) -> None:
    pyreadstat.write_dta(pd.DataFrame({"a": [float(number), None]}), tmp_path / "t.dta", variable_format={"a": form})
    reading = read_table(tmp_path / "t.dta")
    assert str(reading.frame["a"][0].date()) == day
    assert "each is shown by its first day" in reading.problems[0].text
    column = LabelledColumn("a", reading.variables["a"], reading.frame["a"].to_numpy())
    data = labelled_bytes(planned_table([column], "dta"), "dta")
    frame, about = pyreadstat.read_dta(io.BytesIO(data), disable_datetime_conversion=True)
    assert (frame["a"][0], about.original_variable_types["a"]) == (number, form)
    assert read_file(data).beside == ()


def test_periods__that_are_not_whole_stay_numbers(tmp_path: Path) -> None:
    pyreadstat.write_dta(pd.DataFrame({"a": [600.5, 601.0]}), tmp_path / "t.dta", variable_format={"a": "%tm"})
    reading = read_table(tmp_path / "t.dta")
    assert reading.frame["a"].tolist() == [600.5, 601.0]
    assert "It stays numbers" in reading.problems[0].text


def test_forms_of_codes__have_room_for_each() -> None:
    assert code_form("F1.0", "sav", [1.0, 9.0]) == "F1.0"
    assert code_form("F1.0", "sav", [1.0, 10.0]) == "F2.0"
    assert code_form("DATE11", "sav", [1.0, -9.0]) == "F8.0"
    assert code_form("F3.1", "sav", [1.5]) == "F3.1"
    assert code_form("F1.0", "dta", [1.0]) == ""
    assert code_form("%8.0g", "dta", [1.0, ".a"]) == "%8.0g"


def labels_of(data: bytes) -> list[list[str]]:
    return CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_name("labels").to_python()


def test_a_workbook__has_a_sheet_of_labels(folder: Path) -> None:
    release, _ = release_of(folder)
    data = release.to_bytes("xlsx")
    assert data == release.to_bytes("xlsx")
    assert read_file(data).beside == ()
    head, *rows = labels_of(data)
    assert head == ["column", "what", "code", "label"]
    assert ["income", "variable label", "", "الدخل"] in rows
    assert ["answer", "variable label", "", "Zufriedenheit"] in rows
    assert ["answer", "value label", "1", "Never"] in rows
    assert ["answer", "missing value", "-9", "Refused"] in rows
    assert ["income_missing", "missing value", "-9", "Refused"] in rows
    assert all(isinstance(text, str) for row in rows for text in row)
    assert b"<f>" not in read_archive(data)[0][LABELS]
    again = read_in_child(data, name="release.xlsx")
    assert not again.questions
    assert again.options.sheet == "release"
    assert list(again.frame.columns) == list(release.frame().columns)
    bare = replace(release, columns=tuple(replace(one, variable=Variable()) for one in release.columns))
    assert LABELS not in read_archive(bare.to_bytes("xlsx"))[0]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (">Never<", ">Ada is row 7<", "labels of codes that no row has"),
        (">الدخل<", "><", None),
        (">code<", ">note<", "not written as releases are"),
        (">value label<", ">remark<", "not written as releases are"),
    ],
)
def test_a_sheet_of_labels__hides_nothing(before: str, after: str, words: str | None, folder: Path) -> None:
    members, _, _ = read_archive(release_of(folder)[0].to_bytes("xlsx"))
    sheet = members[LABELS].decode()
    place = sheet.rfind(before)
    changed = sheet[:place] + after + sheet[place + len(before) :]
    data = archive(members | {LABELS: changed.encode()})
    if words is None:
        with pytest.raises(ReadError, match="plain cells"):
            read_file(data)
    else:
        assert any(words in sentence for sentence in read_file(data).beside)


def test_rows_of_labels__stand_in_one_order(folder: Path) -> None:
    members, _, _ = read_archive(release_of(folder)[0].to_bytes("xlsx"))
    start, first, *rows, last = members[LABELS].decode().split("\n")
    for wrong in ([*rows[:-2], rows[-1], rows[-2]], [*rows, rows[-1]], []):
        sheet = "\n".join([start, first, *wrong, last]).encode()
        assert read_file(archive(members | {LABELS: sheet})).beside


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_with_more_in_it__is_not_in_order(format: str, folder: Path, tmp_path: Path) -> None:
    release, _ = release_of(folder)
    data = release.to_bytes(format)
    assert read_file(data + b"row 7 is Ada").beside
    at = {"sav": 20, "dta": data.find(b"<timestamp>") + 14, "xpt": 145}[format]
    assert read_file(data[:at] + b"7" + data[at + 1 :]).beside
    table = pd.DataFrame({"age": [1.0, 2.0]})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[format]
    write(table, str(tmp_path / "t"), file_label="row 7 is Ada")
    assert read_file((tmp_path / "t").read_bytes()).beside


def test_a_label_that_no_row_has__is_not_in_order(tmp_path: Path) -> None:
    table = pd.DataFrame({"sex": [1.0, 2.0, 1.0]})
    pyreadstat.write_sav(table, tmp_path / "t.sav", variable_value_labels={"sex": {1.0: "a", 2.0: "b", 3.0: "Ada"}})
    assert read_file((tmp_path / "t.sav").read_bytes()).beside == ("Column 'sex' has labels of codes that no row has.",)


def test_feather__hides_nothing_behind_missing_values() -> None:
    import pyarrow as pa

    values = pa.Array.from_buffers(pa.float64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1.0, 7.0]))], 1)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, pa.schema([("a", pa.float64())])) as writer:
        writer.write_batch(pa.record_batch([values], names=["a"]))
    assert read_file(sink.getvalue().to_pybytes()).beside


@pytest.mark.parametrize(
    ("format", "column", "words"),
    [
        ("sav", LabelledColumn("a b", Variable(), np.arange(3)), "no column 'a b'"),
        ("sav", LabelledColumn("by", Variable(), np.arange(3)), "no column 'by'"),
        ("xpt", LabelledColumn("a", Variable(), pd.Categorical(["x", None])), "last row"),
        ("dta", LabelledColumn("a" * 32, Variable(levels=(("x", 1.0),)), pd.Categorical(["x"])), "32 letters"),
        ("dta", LabelledColumn("a" * 33, Variable(), np.arange(3)), "names there"),
        ("xpt", LabelledColumn("größe", Variable(), np.arange(3)), "plain letters"),
        ("xpt", LabelledColumn("a", Variable(), pd.Categorical(["x" * 201])), "too long"),
        ("dta", LabelledColumn("a", Variable(), pd.Categorical([" x"])), "begins or ends"),
        ("sav", LabelledColumn("a", Variable(), np.array([2**60])), "as large as"),
        ("sav", LabelledColumn("a", Variable(), np.array([-LARGEST])), "as large or"),
        ("sav", LabelledColumn("a", Variable(), np.array([np.nextafter(-LARGEST, 0)])), "as large or"),
        ("dta", LabelledColumn("a", Variable(), np.array([2.0**1023])), "as large or"),
        ("dta", LabelledColumn("a", Variable(), np.array([-np.inf])), "as large or"),
        ("xpt", LabelledColumn("a", Variable(), np.array([2.0**249])), "as large or"),
        ("sav", LabelledColumn("a", Variable(), np.array(["2024-01-01T00:00:00.000001"], "datetime64[us]")), "exact"),
    ],
)
def test_what_a_format_has_no_place_for__is_refused(format: str, column: LabelledColumn, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        planned_table([column], format)


@pytest.mark.parametrize("format", FORMATS)
def test_a_number__is_read_back_as_it_is_however_large(format: str) -> None:
    most = SIZES[format][1]
    numbers = np.array([101, 127, 32_741, 32_767, 2_147_483_621, 2_147_483_647, 2.0**127, -most, most, 1.5])
    numbers = numbers[np.abs(numbers) <= most]
    for column in [numbers, numbers[:6].astype(np.int64), *numbers.reshape(-1, 1)]:
        data = labelled_bytes(planned_table([LabelledColumn("a", Variable(), column)], format), format)
        assert read_file(data).rows["a"].tolist() == column.tolist()


@pytest.mark.parametrize("format", ["sav", "dta"])
@pytest.mark.parametrize("code", [101.0, 2_147_483_618.0, 2_147_483_621.0, 2.0**53, LARGEST, -LARGEST, np.inf])
def test_a_code__means_its_level_alone_however_large(format: str, code: float) -> None:
    variable = Variable(levels=(("low", 1.0), ("high", code), ("Refused", -9.0)), missing=("Refused",))
    texts = ["low", "high", "Refused", "{low, high}"]
    plans = planned_table([LabelledColumn("a", variable, pd.Categorical(texts))], format, ["a"])
    again = read_labelled(labelled_bytes(plans, format), format, "t", stop=lambda rows, width: None)
    assert [cells(pd.Series(one.values)) for one in again] == [texts]


def test_a_number_with_a_label__is_read_back_however_large() -> None:
    numbers = np.array([1.0, 2.0, 3.0, 2_147_483_621.0])
    column = LabelledColumn("a", Variable(levels=(("far", 2_147_483_621.0),)), numbers)
    (again,) = read_labelled(
        labelled_bytes(planned_table([column], "dta"), "dta"), "dta", "t", stop=lambda rows, width: None
    )
    assert again.values.tolist() == numbers.tolist()
    assert again.variable.levels == ()


def test_a_long_label_of_a_variable__ends_with_an_ellipsis() -> None:
    column = LabelledColumn("a", Variable(label="x" * 100), np.arange(3))
    assert planned(column, "dta").variable.label == "x" * 77 + "…"
    assert planned(column, "sav").variable.label == "x" * 100
