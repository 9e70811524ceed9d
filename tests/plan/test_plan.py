"""The plan: what is written is read again, whatever columns are called; what does not fit is said with its place."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonymizer as an
from anonymizer import abilities
from anonymizer.cuts import Cuts
from anonymizer.errors import ReadError, SchemaError
from anonymizer.hierarchy import Hierarchy
from anonymizer.plan import sections
from anonymizer.plan.difference import differences
from anonymizer.plan.plan import Plan, stated_reading
from anonymizer.plan.sections import SECTIONS
from anonymizer.plan.toml_text import Source
from anonymizer.reading.options import ReadOptions
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import SETTINGS, Settings, names_of

TABLE = hospital(300, 6)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEVELS = st.lists(TEXTS, min_size=1, max_size=4, unique=True).map(tuple)
HEAD = "layout = 1\n"
AGE = '[columns.age]\nrole = "quasi-identifying"\n'


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    """A column of any role, kind and declared domain."""
    kind = draw(st.sampled_from(list(Kind)))
    role = draw(st.sampled_from([Role.QUASI_IDENTIFYING, Role.SENSITIVE, Role.INSENSITIVE, Role.IDENTIFYING]))
    column = Column(name, role, kind, own_reason=draw(TEXTS), importance=draw(st.sampled_from([1, 0.5, 3])))
    if kind is Kind.CATEGORICAL:
        levels = draw(LEVELS)
        own = {"domain": levels, "ordered": draw(st.booleans()), "groups": draw(st.sampled_from([None, (levels,)]))}
        column = replace(column, **draw(st.sampled_from([{}, own, {"harmless": levels, "nobody": levels}])))
    elif kind is Kind.DATE:
        own = {"domain": ("1990-01-31", "2020-12-31"), "grid": ("month", 0.0)}
        column = replace(column, **draw(st.sampled_from([{}, own])))
    else:
        cuts = draw(st.sampled_from([Cuts(), Cuts((0, 18, 65.5)), Cuts(bottom=0, top=90), Cuts(rounding=5)]))
        column = replace(column, domain=draw(st.sampled_from([None, (-1.5, 1e20)])), cuts=cuts, grid=(2.0, 0.0))
    return column


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A plan with anything in it."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    schema = Schema(tuple(draw(columns(name)) for name in names))
    settings = {"k": draw(st.integers(1, 99)), "l": draw(st.none() | st.integers(1, 9)),
                "generalizer": draw(st.sampled_from(names_of("generalizer"))), "suppression": 0.25}  # fmt: skip
    reading = draw(st.sampled_from([{}, {"delimiter": "\t", "missing": (), "header": False, "skip": 3}]))
    answers = draw(st.dictionaries(NAMES, st.just("nobody lives\nhere 'now'"), max_size=2))
    release = draw(st.sampled_from([{}, {"input": "a b.csv", "out": "ü.csv", "earlier": ("x",), "keep_earlier": True}]))
    return Plan.of_decisions(
        schema, settings, reading=reading, answers=answers, release=release, texts={"purpose": draw(TEXTS)}
    )


@given(plans())
def test_text__is_read_again_as_the_same_plan(plan: Plan) -> None:
    again = Plan.from_text(plan.text)
    assert again == Plan.from_text(again.text)
    assert again.sections == plan.sections
    assert list(tomllib.loads(plan.text)) == [name for name in SECTIONS if name in plan.sections]
    assert again.text == plan.text, "what did not change is not written otherwise"
    assert not differences(plan, again)


@given(plans(), plans())
def test_text__of_a_plan_that_changed_keeps_comments(before: Plan, after: Plan) -> None:
    comment = "# said by the board of ethics"
    text = f"{comment}\n{before.text}\n{comment}\n"
    changed = after.but(source=Source("copse.toml", text)).text
    assert tomllib.loads(changed) == tomllib.loads(after.text)
    assert changed.startswith(comment)
    assert bool(differences(before, after)) is (before.sections != after.sections)


def test_text__keeps_comments_where_values_change() -> None:
    text = (
        f"{HEAD}\n# Why not 5: see the minutes.\n[limits]\nk = 10 # minutes of May\n\n{AGE}range = [0,\n 120] # old\n"
    )
    plan = Plan.from_text(text)
    changed = plan.but(settings={**plan.settings, "k": 20}).text
    assert "# Why not 5: see the minutes." in changed
    assert "k = 20 # minutes of May" in changed
    assert "range = [0,\n 120] # old" in changed
    assert differences(plan, Plan.from_text(changed)) == ("k is 20; it was 10.",)


def test_engines__are_all_that_there_are() -> None:
    assert set(sections.ENGINES) == set(abilities.ENGINES)


def test_plan__says_k_roles_and_method_always() -> None:
    text = Plan.of_decisions(suggest(TABLE), {}).text
    described = tomllib.loads(text)
    assert described["limits"] == {"k": 10}
    assert described["method"] == {"grouping": "regions", "generalizer": "pack", "criterion": "detail"}
    assert all("role" in column for column in described["columns"].values())
    assert set(described["columns"]) == set(TABLE.columns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "copse.toml: layout: a plan begins with layout = 1."),
        ("layout = 2", "line 1, column 1: layout: a whole number from 1 to 1 was expected, not 2."),
        (HEAD + "[limit]\nk = 3", "line 2, column 1: limit: there is no such key here; did you mean limits."),
        (HEAD + "[limits]\nkk = 3", "line 3, column 1: limits.kk: there is no such key here; did you mean k."),
        (HEAD + "[limits]\nk = 0", "line 3, column 1: limits.k: a whole number from 1 to"),
        (HEAD + "[limits]\nk = true", "line 3, column 1: limits.k: a whole number"),
        (HEAD + "[limits]\ngeneralizer = 'pack'", "line 3, column 1: limits.generalizer: it stands in [method]."),
        (HEAD + "[method]\ngeneralizer = 'packed'", "line 3, column 1: method.generalizer: one of"),
        (HEAD + "limits = 3", "line 2, column 1: limits: a table was expected, not 3."),
        (HEAD + "[[columns]]\nname = 'x'", "line 2"),
        (HEAD + "columns.'a.b'.role = 'quasi'", "line 2, column 1: columns.'a.b'.role: 'quasi' is none of"),
        (HEAD + "[columns.age]\nkind = 'numeric'", "line 2, column 1: columns.age: a column needs a role."),
        (HEAD + "[columns.'']\nrole = 'sensitive'", "line 2, column 1: columns.'': a column needs a name."),
        (HEAD + AGE + AGE, "line 4, column 13: cannot declare"),
        (HEAD + AGE + "role = 'sensitive'", "line 4"),
        (HEAD + AGE + "range = [5, 1]", "line 2, column 1: The domain of 'age' must be two ends"),
        (HEAD + AGE + "range = [1]", "line 4, column 1: columns.age.range: a list of 2 to 2 was expected"),
        (HEAD + AGE + "range = [0, true]", "line 4, column 13: columns.age.range 2: a number was expected, not True."),
        (HEAD + AGE + "levels = ['a']\nkind = 'numeric'", "Column 'age' is numeric, so it has no levels."),
        (HEAD + AGE + "top = inf", "line 4, column 1: columns.age.top: a number was expected, not inf."),
        (HEAD + AGE + "top = 90\nbands = [0, 5]", "line 2, column 1: A column has bands or a top"),
        (HEAD + "columns = {a = {role='person'}, b = {role='person'}}", "line 2, column 38: columns.b.role: another"),
        (HEAD + "target = 'age'\n" + AGE, "line 2, column 1: target: the target is one of the sensitive columns."),
        (HEAD + "[reading]\ndelimiter = 'xx'", "line 2, column 1: The delimiter 'xx' cannot be used."),
        (HEAD + "[reading]\nmissing = 'x'", "line 3, column 1: reading.missing: a list of 0 to"),
        (HEAD + "[answers]\n'known: age' = 'no'", "line 3, column 1: answers.'known: age': it says too little"),
        (HEAD + "[release]\nearlier = [1]", "line 3, column 12: release.earlier 1: a text was expected, in quotes"),
        (HEAD + "[release]\nengine = 'far'", "line 3, column 1: release.engine: 'far' is none of memory, local, dask."),
        (HEAD + "[release]\ninput = \"a\\u0000\"", "line 3, column 1: release.input: it holds characters"),
        (HEAD + "[report]\npurpose = 3", "line 3, column 1: report.purpose: a text was expected"),
        (HEAD + "[answers]\n'known: age' = \"a b c \\u001b[2J\"", "line 3, column 1: answers.'known: age': it holds"),
        ("layout = 1979-05-27", "line 1, column 1: layout: a whole number"),
    ],
)  # fmt: skip
def test_what_does_not_fit__is_said_in_one_sentence_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ReadError) as error:
        Plan.from_text(text)
    assert words in str(error.value)
    assert str(error.value).startswith("copse.toml")
    assert "\n" not in str(error.value)


@given(st.text("[]{}=.,\"'\n#a1 ", max_size=30), st.integers(0, 900))
def test_a_damaged_plan__is_a_plan_or_one_sentence(damage: str, at: int) -> None:
    text = Plan.of_decisions(suggest(TABLE), Settings(), reading={"missing": ("x",)}).text
    sentence = ""
    try:
        Plan.from_text(text[:at] + damage + text[at + len(damage) :])
    except ReadError as error:
        sentence = str(error)
    assert "\n" not in sentence


def test_read__of_a_file_a_folder_and_a_report(tmp_path: Path) -> None:
    plan = Plan.of_decisions(suggest(TABLE), Settings(k=7))
    plan.write(tmp_path / "copse.toml")
    (tmp_path / "report.json").write_text(json.dumps({"plan": plan.text}), "utf-8")
    for path in (tmp_path, tmp_path / "copse.toml", str(tmp_path / "report.json")):
        assert Plan.read(path) == Plan.from_text(plan.text)
    for path in (tmp_path / "nothing", tmp_path / "nothing" / "copse.toml"):
        with pytest.raises(ReadError, match="cannot be opened"):
            Plan.read(path)


# A plan and a table.


def test_schema_for__is_the_schema_that_was_decided() -> None:
    suggested = suggest(TABLE)
    schema = suggested.with_column("age", domain=(0, 120), own_reason="of the register", importance=2)
    schema = schema.with_column("marital_status", ordered=True).with_column("cost", treat="round:100")
    hierarchy = Hierarchy(tuple((value, value[:2], "*") for value in sorted(TABLE["postcode"].unique())))
    schema = schema.with_column("postcode", cuts=Cuts(hierarchy=hierarchy), domain=None)
    plan = Plan.from_text(Plan.of_decisions(schema, Settings(), suggested).text)
    again = plan.schema_for(TABLE)
    assert again == schema
    assert [column.ordered for column in again.columns] == [column.ordered for column in schema.columns]
    assert plan.take_over(TABLE)[1] == ()


def test_take_over__says_what_is_new_and_where_what_is_gone_was_decided() -> None:
    suggested = suggest(TABLE).with_roles({"email": Role.PERSON})
    plan = Plan.from_text(Plan.of_decisions(suggested, Settings()).text)
    table = TABLE.drop(columns=["cost"]).assign(patient_id=[f"p{n // 3}" for n in range(300)], ward=7)
    schema, changes = plan.take_over(table)
    texts = [change.sentence for change in changes]
    assert any(text.startswith("'cost', which was sensitive, is no longer there (copse.toml, line ") for text in texts)
    assert any(text.startswith("'ward' is new; its role is suggested: ") for text in texts)
    assert schema["patient_id"].role is Role.IDENTIFYING, "somebody else is the person already"
    assert schema.person == "email"


def test_take_over__of_decisions_that_do_not_fit_the_table_names_the_place() -> None:
    text = f"{HEAD}{AGE}levels = ['a']\n[columns.sex]\nrole = 'sensitive'\n"
    plan = Plan.from_text(text)
    with pytest.raises(
        SchemaError, match="copse.toml, line 2, column 1: Column 'age' is numeric, so it has no levels."
    ):
        plan.schema_for(TABLE[["age", "sex"]])


def test_hierarchy__of_a_file_beside_the_plan_alone(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("female;*\nmale;*\n", "utf-8")
    text = f"{HEAD}[columns.sex]\nrole = 'quasi-identifying'\nkind = 'categorical'\nhierarchy = 'sex.csv'\n"
    (tmp_path / "copse.toml").write_text(text, "utf-8")
    column = Plan.read(tmp_path).schema_for(TABLE[["sex"]])["sex"]
    assert column.cuts.hierarchy is not None
    assert column.cuts.hierarchy.values == ("female", "male")
    with pytest.raises(ReadError, match="comes from no folder"):
        Plan.from_text(text).schema_for(TABLE[["sex"]])
    (tmp_path / "sex.csv").unlink()
    with pytest.raises(ReadError, match="'sex.csv' cannot be opened"):
        Plan.read(tmp_path).schema_for(TABLE[["sex"]])


def test_canary__no_value_of_a_row_is_in_a_plan() -> None:
    """Levels and ends that were only read from the table are no decision."""
    table = pd.DataFrame(
        {"name": [f"Zebulon{n}" for n in range(60)], "city": [f"Qcity{n % 9}" for n in range(60)],
         "age": [1_000.125 + n for n in range(60)], "class": [["low", "medium", "high"][n % 3] for n in range(60)],
         "income": ["poorcanary", "richcanary"] * 30}
    )  # fmt: skip
    plan = Plan.of_decisions(suggest(table), Settings(), suggest(table))
    texts = plan.text + plan.commented(suggest(table))
    for value in {str(value) for name in table for value in table[name]}:
        assert value not in texts.replace("Low", ""), value


# A plan and what was read or run.


def test_read_options__are_those_that_were_stated() -> None:
    options = ReadOptions(delimiter=";", missing=("", "none"), keep=("none",), header=False, as_text=("a",), skip=2)
    plan = Plan.from_text(Plan.of_decisions(suggest(TABLE), {}, reading=stated_reading(options)).text)
    assert plan.read_options == options


@pytest.mark.parametrize("name", [name for name in SETTINGS if SETTINGS[name].kind != "text"])
def test_every_setting__is_said_and_read(name: str) -> None:
    setting = SETTINGS[name]
    value = (
        names_of(name)[-1] if setting.kind == "name" else {"count": 3, "number": min(0.25, setting.most)}[setting.kind]
    )
    value = max(value, setting.least) if setting.kind != "name" else value
    plan = Plan.from_text(Plan.of_decisions(suggest(TABLE), {name: value}).text)
    assert plan.settings[name] == value
    sentences = differences(Plan.of_decisions(suggest(TABLE), {}), plan)
    with_it = 2 if name in ("grouping", "criterion") else 1  # each of the two says what suits the other
    assert len(sentences) == (0 if value in (setting.default, "detail") else with_it)
    assert all("it was" in sentence for sentence in sentences)


def test_anonymize__by_a_plan_is_the_run_that_it_says(tmp_path: Path) -> None:
    table = TABLE[["name", "age", "sex", "diagnosis"]].head(90)
    first = an.anonymize(table, suggest(table), k=5, l=2, reasons={"known: sex": "nobody knows it"})
    plan = an.Plan.of(first)
    plan.write(tmp_path / "copse.toml")
    again = an.anonymize(table, an.Plan.read(tmp_path))
    pd.testing.assert_frame_equal(again.release.frame(), first.release.frame())
    assert again.schema == first.schema
    assert an.Plan.of(again) == plan
    assert json.loads(again.report.to_json())["plan"] == plan.text
    assert "plan" not in json.loads(again.report.to_recipient_json())
    assert an.anonymize(table, plan, k=9).report.provenance.parameters["k"] == 9
    assert plan.but(population={"fraction": 0.1}).population_data().fraction == 0.1


def test_plan_of_a_result__makes_the_same_release_where_no_role_was_suggested() -> None:
    """Columns that are named in a call have no suggested order; a plan says that they have none."""
    table = TABLE.head(90).assign(level=[("low", "medium", "high")[n % 3] for n in range(90)])
    names = ["age", "sex", "level", "marital_status"]
    schema = Schema.of(table, quasi_identifying=names, sensitive=["diagnosis"], identifying=["name", "email"])
    assert suggest(table)["level"].ordered
    first = an.anonymize(table, schema, k=5)
    again = an.anonymize(table, an.Plan.from_text(an.Plan.of(first).text))
    pd.testing.assert_frame_equal(again.release.frame(), first.release.frame())


def test_differences__say_what_changed() -> None:
    suggested = suggest(TABLE)
    before = Plan.of_decisions(suggested, Settings(k=5), answers={"a": "nobody lives here", "b": "nobody lives here"})
    schema = (
        suggested.with_column("age", cuts=Cuts(top=90))
        .with_column("marital_status", ordered=True)
        .with_roles({"sex": Role.SENSITIVE})
        .with_target("cost")
    )
    schema = Schema(tuple(column for column in schema.columns if column.name != "name"), "cost")
    after = Plan.of_decisions(schema, Settings(k=10), answers={"a": "others live here", "c": "nobody lives here"},
                              release={"to": "the ministry"})  # fmt: skip
    assert differences(before, after) == (
        "Column 'name' is gone; it was identifying.",
        "The top of 'age' is 90; it was not said.",
        "The role of 'sex' is sensitive; it was quasi-identifying.",
        "The natural order of 'marital_status' is on; it was off.",
        "The target is cost; it was diagnosis.",
        "k is 10; it was 5.",
        "'a' is answered in other words: others live here",
        "'b' is no longer answered.",
        "'c' is answered: nobody lives here",
        "What [release] says of to is the ministry; it was not said.",
    )


def test_differences__name_a_finding_once_where_its_key_alone_changed() -> None:
    schema = suggest(TABLE)
    pairs = {
        "unchanged: age, cost": "unchanged: age, cost, sex", "together: 4 of 9 below 5 with b": "together:below",
        "known: sex": "known:sex", "computed: cost, age": "computed:cost", "repeats name: sex": 'repeats:sex,name',
        "levels of one person: age, sex": "levels-of-one-person",
        "levels of one person: age": "levels-of-one-person:age",
        "a word": "a word", "known: nowhere": "known: nowhere",
    }  # fmt: skip
    before, after = (
        Plan.of_decisions(schema, {}, answers=dict.fromkeys(own, "nobody lives here"))
        for own in (pairs, pairs.values())
    )
    assert differences(before, after) == ()
    other = after.but(answers={"unchanged: cost, sex": "others live there"})
    assert differences(before.but(answers={"unchanged: age": "nobody lives here"}), other) == (
        "'unchanged' is answered in other words: others live there",
    )
