"""Codebooks as they come in: three formats that say the same, and hostile ones, each refused in one sentence."""

import json

import pytest

from anonymizer.errors import ReadError
from anonymizer.labelled.codebook import is_codebook, read_codebook
from anonymizer.labelled.description import Description
from anonymizer.reading.child import read_codebook_in_child

DDI = """<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><stdyDscr><citation><titlStmt><titl>x</titl></titlStmt></citation>
</stdyDscr><dataDscr>
<var name="age" intrvl="contin"><labl>Age in <emph>years</emph></labl><labl xml:lang="de">Alter</labl>
  <valrng><range min="0" max="120"/></valrng><invalrng><item VALUE="-9"/></invalrng>
  <notes type="role">quasi-identifying</notes></var>
<var name="sex"><labl>Sex</labl><catgry><catValu>1</catValu><labl>female</labl></catgry>
  <catgry><catValu>2</catValu><labl>male</labl></catgry>
  <catgry missing="Y"><catValu>9</catValu><labl>not told</labl></catgry></var>
</dataDscr></codeBook>"""
TABLE = "name,label,role,kind,domain\nage,Age in years,quasi-identifying,numeric,0..120\nsex,Sex,,,1=female|2=male\n"
FIELDS = {
    "fields": [
        {"name": "age", "title": "Age in years", "type": "integer", "role": "quasi-identifying",
         "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "sex", "title": "Sex", "type": "integer",
         "categories": [{"value": 1, "label": "female"}, {"value": 2, "label": "male"}]},
    ]
}  # fmt: skip
LEVELS = (("1", "female"), ("2", "male"))


def test_ddi() -> None:
    age, sex = read_codebook(DDI.encode())
    assert age == Description("age", "Age in years", "quasi-identifying", "numeric", (), ("0", "120"), False, ("-9",))
    assert sex == Description("sex", "Sex", "", "categorical", (*LEVELS, ("9", "not told")), (), False, ("9",))
    assert read_codebook(DDI.replace("?>", ' encoding="UTF-16"?>', 1).encode("utf-16")) == (age, sex)


def test_codebook__read_in_a_child_is_the_same_and_takes_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (DDI, TABLE, json.dumps(FIELDS)):
        assert read_codebook_in_child(text.encode(), fork=True) == read_codebook(text.encode())
    with pytest.raises(ReadError, match="damaged or cut off"):
        read_codebook_in_child(DDI.encode()[:-30], fork=True)
    monkeypatch.setenv("COPSE_READ_MEMORY", "60")
    with pytest.raises(ReadError, match="The codebook cannot be read: it takes more than the 62.9 MB of memory"):
        read_codebook_in_child(b"name\n" + b"," * (19 << 20), fork=True)


def test_csv_and_frictionless_say_the_same() -> None:
    age = Description("age", "Age in years", "quasi-identifying", "numeric", (), ("0", "120"))
    sex = Description("sex", "Sex", "", "categorical", LEVELS)
    assert read_codebook(json.dumps(FIELDS).encode()) == (age, sex)
    package = {"resources": [{"path": "a.csv", "schema": FIELDS}, {"path": "a.parquet"}]}
    assert read_codebook(json.dumps(package).encode()) == (age, sex)
    assert read_codebook(TABLE.encode("utf-8-sig")) == (age, Description("sex", "Sex", "", "", LEVELS))
    assert read_codebook(TABLE.replace(",", ";").encode())[0] == age


@pytest.mark.parametrize(
    ("domain", "kind", "levels", "ends"),
    [
        (r"a\|b|c\=d=is\\e|f", "", (("a|b", ""), ("c=d", r"is\e"), ("f", "")), ()),
        ("0..9", "categorical", (("0..9", ""),), ()),
        ("-1.5 .. 9", "", (), ("-1.5", "9")),
        ("a=b=c", "ordered", (("a", "b=c"),), ()),
        ("", "", (), ()),
    ],
)
def test_csv__domains(domain: str, kind: str, levels: object, ends: object) -> None:
    (column,) = read_codebook(f'name,kind,domain\nx,{kind},"{domain}"\n'.encode())
    assert (column.levels, column.ends, column.ordered) == (levels, ends, kind == "ordered")


BOMB = '<!DOCTYPE codeBook [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><codeBook>&b;</codeBook>'
FETCH = '<!DOCTYPE codeBook SYSTEM "http://127.0.0.1:9/x.dtd"><codeBook/>'
FILE = '<!DOCTYPE codeBook [<!ENTITY f SYSTEM "file:///etc/passwd">]><codeBook>&f;</codeBook>'


@pytest.mark.parametrize(
    "data",
    [
        BOMB, FETCH, FILE, "<!DOCTYPE codeBook><codeBook/>", "<codeBook>&f;</codeBook>", "<codeBook>", "<html/>",
        "<codeBook/>", "<codeBook>" + "<a>" * 200_000, DDI.replace('name="sex"', 'name="age"'), DDI[:-9],
        '<?xml version="1.0" encoding="cp037"?><codeBook/>', '<?xml version="1.0" encoding="nothing"?><codeBook/>',
        "", "{}", "[]", "[" * 100_000, '{"fields": [{"name": 3}]}', '{"fields": []}', '{"fields": [{"name": "a"}, 1]}',
        '{"resources": [{"schema": "http://127.0.0.1:9/s.json"}]}', '{"resources": [{}, {}]}',
        '{"fields": [{"name": "a", "constraints": {"enum": [[1]]}}]}', "name\n", "age,sex\n1,2\n", "name,name\na,b\n",
        "name,label\na\n", 'name,label\n"a', "name,label\n,b\n", "name\na\na\n",
    ],
)  # fmt: skip
def test_what_is_no_codebook_is_refused_in_a_sentence(data: str) -> None:
    with pytest.raises(ReadError) as error:
        read_codebook(data.encode())
    assert error.value.remedy
    assert "\n" not in str(error.value)


def test_other_letters_and_sizes_are_refused() -> None:
    for data in (b"name\n\xff\xfe", b'{"fields": [{"name": "\xff"}]}', b"\xff\xfe<", b"<codeBook>\xff</codeBook>",
                 b"name\n" + b"x" * (21 << 20)):  # fmt: skip
        with pytest.raises(ReadError):
            read_codebook(data)


def test_projects_are_told_apart() -> None:
    assert not is_codebook(b'\xef\xbb\xbf {"copse_project": 1, "fields": 2}')
    assert not is_codebook(b"{}")
    assert is_codebook(json.dumps(FIELDS).encode())
    assert is_codebook(b'name,label\n"copse_project",x\n')
    assert is_codebook(DDI.encode())
