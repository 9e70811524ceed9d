"""Letters beyond ASCII in a file that is not UTF-8: one reading, or a question with the words under each."""

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from anonymizer.errors import ReadError
from anonymizer.reading import delimited as encodings
from anonymizer.reading.delimited import codec_of
from anonymizer.reading.files import ReadOptions, read_table
from tests.reading.texts import notes, read

TEXTS = {
    "cp1250": "miasto,n\nŁódź,1\nKraków,2\nToruń,3\n",
    "cp1251": "город,n\nМосква,1\nКазань,2\n",
    "gb18030": "城市,n\n北京,1\n上海,2\n",
    "shift_jis": "都市,n\n東京,1\n大阪,2\n",
}


@pytest.mark.parametrize("encoding", list(TEXTS))
def test_other_encodings__are_asked_with_the_words_under_each(encoding: str) -> None:
    data = TEXTS[encoding].encode(encoding)
    reading = read_table(data)
    (question,) = reading.questions
    answers = {answer.label: answer for answer in question.answers}
    assert encoding in answers
    assert len(answers) > 1
    word = TEXTS[encoding].split("\n")[1].split(",")[0]
    assert word in [text for _, text in answers[encoding].sample]
    assert any(problem.level == "warning" and "encoding" in problem.text for problem in reading.problems)
    answered = read_table(data, options=answers[encoding].apply(reading.options))
    assert answered.frame.iloc[0, 0] == word
    assert not answered.questions


def test_polish__is_not_taken_for_western() -> None:
    assert read_table(TEXTS["cp1250"].encode("cp1250")).options.encoding == "cp1250"


def test_german__is_not_asked() -> None:
    reading = read_table("stadt,n\nKöln,1\nGroß Gerau,2\n".encode("cp1252"))
    assert reading.options.encoding == "cp1252"
    assert not reading.questions


def test_a_chosen_encoding__is_not_asked() -> None:
    assert not read_table(TEXTS["cp1251"].encode("cp1251"), options=ReadOptions(encoding="cp1251")).questions


@pytest.mark.parametrize(
    ("encoding", "used"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"),
     ("utf-16-be", "utf-16-be"), ("utf-32", "utf-32"), ("cp1252", "cp1252")],
)  # fmt: skip
def test_read__encoding_is_found(encoding: str, used: str) -> None:
    reading = read("städte,n\nKöln,1\nLüneburg,2\n".encode(encoding))
    assert reading.frame.columns[0] == "städte"
    assert reading.frame["städte"].tolist() == ["Köln", "Lüneburg"]
    assert reading.options.encoding == used
    assert ("cp1252" in notes(reading)) == (encoding == "cp1252")


def test_read__encoding_can_be_corrected() -> None:
    data = "имя,n\nАнна,1\n".encode("cp1251")
    assert read(data, encoding="cp1251").frame["имя"][0] == "Анна"


@pytest.mark.parametrize("encoding", ["rot13", "hex", "nonsense", "unicode_escape", "idna"])
def test_read__only_encodings_of_text_are_known(encoding: str) -> None:
    with pytest.raises(ReadError, match="not known"):
        read("a,b\n1,2\n", encoding=encoding)


def test_read__bad_byte_is_located() -> None:
    with pytest.raises(ReadError, match="Line 3, character 4: byte 0xE9") as raised:
        read("a,b\né,1\n".encode() + b"abc\xe9,2\n")
    assert raised.value.row == 2


def test_read__bad_byte_behind_a_block_border_is_located(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "BLOCK", 16)
    with pytest.raises(ReadError, match="Line 10, character 1: byte 0xFF"):
        read(b"a,b\n" + "ééé,12\n".encode() * 8 + b"\xff,2\n")


@pytest.mark.parametrize(
    ("name", "codec"),
    [("ansi", "cp1252"), ("UTF8", "utf-8"), ("utf-8 with BOM", "utf-8-sig"), ("Windows 1252", "cp1252"),
     ("latin1", "iso8859-1"), ("ISO_8859-15", "iso8859-15"), ("macintosh", "mac-roman"),
     ("iso-8859-2", "iso8859-2"), ("Unicode", "utf-16")],
)  # fmt: skip
def test_names_of_encodings__are_those_that_programs_use(name: str, codec: str) -> None:
    assert codec_of(name) == codec
    assert read("city\nKöln\n".encode(codec), encoding=name).frame["city"].tolist() == ["Köln"]


@pytest.mark.parametrize("name", ["rot13", "base64", "idna", "unicode_escape", "utf-7", "undefined", "x\x00y", "hex"])
@pytest.mark.parametrize("ending", ["csv", "sav"])
def test_what_is_no_encoding_of_a_file__is_refused_by_name(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_text("a\n1\n")
    if ending == "sav":
        pyreadstat.write_sav(pd.DataFrame({"a": [1.0, 2.0]}), path)
    with pytest.raises(ReadError, match="not known here"):
        read_table(path, options=ReadOptions(encoding=name))


@pytest.mark.parametrize("name", [None, "latin-1", "ansi", "utf-8", "cp850", "euc_jp", "macintosh"])
@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_a_statistician_s_file__is_read_in_any_encoding_that_fits(
    name: str | None, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"t.{ending}"
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[ending]
    write(pd.DataFrame({"age": [20.0, 30.0], "sex": ["m", "f"]}), path)
    assert read_table(path, options=ReadOptions(encoding=name)).frame["sex"].tolist() == ["m", "f"]


def test_text_that_is_not_in_the_encoding_its_file_names__is_read_and_said(tmp_path: Path) -> None:
    pyreadstat.write_sav(pd.DataFrame({"age": [20.0, 30.0], "city": ["Kxln", "Ulm"]}), tmp_path / "t.sav")
    data = (tmp_path / "t.sav").read_bytes().replace(b"Kxln", b"K\xf6ln")
    reading = read_table(data, name="t.sav")
    assert reading.frame["city"].tolist() == ["Köln", "Ulm"]
    assert any("is not in the encoding that the file names" in problem.text for problem in reading.problems)
    with pytest.raises(ReadError, match="is not in the encoding"):
        read_table(data, name="t.sav", options=ReadOptions(encoding="utf-8"))
