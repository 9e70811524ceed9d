"""The Roles page without a browser: empty, and with a table whose roles are changed."""

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.checking.linkage import linkage_risk, singling_out
from anonymizer.cuts import Cuts
from anonymizer.reading.samples import visits
from anonymizer.schema import Kind, Role, Schema
from tests.pages.test_data import SHELL, session_of, texts
from tests.waiting import PATIENCE
from ui.controls import JOINER, ROLE_LABELS, ROLE_NAMES, share
from ui.roles.one_row import EVENT, HOUSEHOLD, PERSON
from ui.roles.roles_table import edited_column, edited_schema, rows
from ui.roles.state import RolesState
from ui.workspace import Workspace, sample_reading

TABLE = pd.DataFrame(
    {
        "name": [f"person {number}" for number in range(12)],
        "age": [20, 20, 20, 31, 31, 31, 44, 44, 44, 58, 58, 59],
        "sex": list("ffmmffmmffmm"),
        "stage": ["low", "high", "medium"] * 4,
        "income": ["<=50K", ">50K"] * 6,
    }
)
ENDS = ("Earliest date", "Latest date")
SCHEMA = Schema.of(TABLE, identifying=["name"], quasi_identifying=["age", "sex"], sensitive=["income"])


def session(table: pd.DataFrame = TABLE, schema: Schema | None = SCHEMA) -> Workspace:
    """A session in which a table has been brought."""
    return Workspace(reading=sample_reading("twelve", table), schema=schema)


def open_page(ws: Workspace | None = None) -> AppTest:
    """The dashboard, opened on the Roles page."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run().switch_page("../pages/roles.py").run()


def edit(app: AppTest, row: int, **changes: object) -> AppTest:
    """Cells changed in the roles table."""
    ws = session_of(app)
    if not ws.state(RolesState).is_table:
        app.toggle(key="roles as a table").set_value(True).run()
    app.session_state[f"roles {ws.edition} {ws.version}"] = {
        "edited_rows": {row: changes},
        "added_rows": [],
        "deleted_rows": [],
    }
    return app.run()


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click()
    return app.run()


def metric(app: AppTest, label: str) -> str:
    return next(item.value for item in app.metric if item.label == label)


def test_empty__leads_to_the_data_page() -> None:
    app = open_page()
    assert not app.exception
    assert "no table yet" in app.header[0].value
    assert not app.metric


def test_suggestions__are_taken_when_the_page_is_opened_first() -> None:
    app = open_page(session(schema=None))
    assert not app.exception
    assert session_of(app).schema == session_of(app).suggest()


def test_risk_before__is_that_of_the_chosen_columns() -> None:
    app = open_page(session())
    assert not app.exception
    risk = linkage_risk(TABLE, ["age", "sex"])
    assert 0 < risk.unique < len(TABLE)
    assert metric(app, "Rows that fit one person only") == str(risk.unique)
    assert metric(app, "Groups") == str(risk.groups)
    above = risk.share_above(1 / session_of(app).settings.prosecutor_limit)
    assert metric(app, "Rows above your limit") == f"{round(above * len(TABLE)):,}"
    assert metric(app, "Marketer risk") == share(risk.marketer)
    assert "Counted on the 2 quasi-identifiers." in texts(app)
    singles = singling_out(TABLE, ["age", "sex"])
    bars = json.loads(next(iter(app.get("plotly_chart"))).proto.spec)["data"][0]
    assert dict(zip(bars["y"], bars["text"], strict=True)) == {name: str(n) for name, n in singles.items()}


def test_edit__a_role_changes_the_schema_and_the_risk() -> None:
    app = edit(open_page(session()), 1, Role=ROLE_LABELS[Role.INSENSITIVE])
    assert not app.exception
    assert session_of(app).schema.quasi_identifying == ("sex",)
    assert metric(app, "Rows that fit one person only") == "0"


def test_edit__order_of_a_number_is_not_ticked_in_vain() -> None:
    app = open_page(session())
    version = session_of(app).version
    app = edit(app, 1, Ordered=True)
    assert not app.exception
    assert session_of(app).version == version + 1, "the table is drawn afresh, without the tick"
    assert not session_of(app).schema["age"].ordered
    assert "have an order already" in app.toast[0].value
    assert session_of(edit(app, 2, Ordered=True)).schema["sex"].ordered


def test_edit__outlives_a_change_of_page_and_can_go_on() -> None:
    app = edit(open_page(session()), 1, Role=ROLE_LABELS[Role.INSENSITIVE])
    app.switch_page("../pages/data.py").run()
    app.switch_page("../pages/roles.py").run()
    assert session_of(app).schema.quasi_identifying == ("sex",)
    app = edit(app, 3, Role=ROLE_LABELS[Role.QUASI_IDENTIFYING])
    assert session_of(app).schema.quasi_identifying == ("sex", "stage")


def test_edit__no_quasi_identifier_is_one_clear_message() -> None:
    app = open_page(session(schema=Schema.of(TABLE, quasi_identifying=["age"], sensitive=["income"])))
    app = edit(app, 1, Role=ROLE_LABELS[Role.INSENSITIVE])
    assert not app.exception
    assert len(app.error) == 1
    assert "nothing to generalize" in app.error[0].value
    app = press(app, "Make the rest quasi-identifiers")
    assert not app.error
    assert session_of(app).schema.quasi_identifying == ("name", "age", "sex", "stage")


def test_edit__a_text_column_cannot_become_a_number() -> None:
    app = edit(open_page(session()), 2, Kind="number")
    assert not app.exception
    assert len(app.error) == 1
    assert "sex" in app.error[0].value
    app = edit(app, 2, Kind="category")
    assert not app.error


def test_quick__all_others_keep_the_identifying_and_sensitive_ones() -> None:
    app = press(open_page(session()), "Make the rest quasi-identifiers")
    assert session_of(app).schema.identifying == ("name",)
    assert session_of(app).schema.quasi_identifying == ("age", "sex", "stage")
    assert session_of(app).schema.sensitive == ("income",)


def test_quick__suggestions_can_be_taken_again() -> None:
    app = press(open_page(session()), "Accept suggestions")
    assert session_of(app).schema == session_of(app).suggest()


def test_target__is_one_of_the_sensitive_columns() -> None:
    app = edit(open_page(session()), 3, Role=ROLE_LABELS[Role.SENSITIVE])
    box = next(box for box in app.selectbox if "errors counted" in box.label)
    assert box.options == ["stage", "income"]
    assert box.value == "income"
    box.set_value("stage").run()
    assert session_of(app).schema.target == "stage"
    app = edit(app, 3, Role=ROLE_LABELS[Role.INSENSITIVE])
    assert session_of(app).schema.target == "income"


def test_levels__are_put_in_order_by_hand() -> None:
    app = edit(open_page(session()), 3, Role=ROLE_LABELS[Role.QUASI_IDENTIFYING])
    next(box for box in app.selectbox if box.label == "Column").set_value("stage").run()
    app.text_area[0].set_value("low\nmedium\nhigh")
    app.checkbox[0].check()
    app = press(app, "Declare this domain")
    assert not app.error
    column = session_of(app).schema["stage"]
    assert (column.domain, column.ordered) == (("low", "medium", "high"), True)
    assert session_of(app).schema.target == "income"
    app = press(app, "Read it from the data")
    assert session_of(app).schema["stage"].domain is None


@pytest.mark.parametrize(("ends", "wrong"), [((0.0, 120.0), False), ((30.0, 120.0), True), ((120.0, 0.0), True)])
def test_domain__of_a_number_must_hold_the_data(ends: tuple[float, float], wrong: bool) -> None:
    app = open_page(session())
    fields = [box for box in app.number_input if not box.label.startswith("Highest risk")]
    for box, end in zip(fields, ends, strict=True):
        box.set_value(end)
    app = press(app, "Declare this domain")
    assert not app.exception
    assert len(app.error) == wrong
    assert session_of(app).schema["age"].domain == (None if wrong else ends)


def test_domain__what_was_typed_is_forgotten_when_it_is_read_from_the_data() -> None:
    app = open_page(session())
    app.number_input[0].set_value(5)
    app = press(app, "Read it from the data")
    assert app.number_input[0].value == 20
    assert session_of(app).schema["age"].domain is None


def test_step__of_public_ends_is_declared_alone() -> None:
    app = open_page(session())
    step = next(box for box in app.text_input if box.label.startswith("Round ends"))
    step.set_value("5")
    app = press(app, "Declare this domain")
    assert not app.error
    assert (session_of(app).schema["age"].domain, session_of(app).schema["age"].grid) == (None, (5.0, 0.0))
    for wrong in ("five", "-1", "nan"):
        next(box for box in app.text_input if box.label.startswith("Round ends")).set_value(wrong)
        app = press(app, "Declare this domain")
        assert not app.exception
        assert len(app.error) == 1
    app = press(app, "Read it from the data")
    assert session_of(app).schema["age"].grid is None


def test_public_cuts__of_a_column_are_declared_alone() -> None:
    def field(label: str) -> object:
        return next(box for box in app.text_input if box.label.startswith(label))

    app = open_page(session())
    field("Public bands").set_value("0, 30, 60")
    app = press(app, "Declare this domain")
    column = session_of(app).schema["age"]
    assert (column.cuts, column.domain) == (Cuts((0, 30, 60)), None)
    assert edited_column(column, Kind.NUMERIC, False).cuts == column.cuts
    assert not edited_column(column, Kind.CATEGORICAL, False).cuts
    for label, wrong in (("Public bands", "0, x"), ("Public bands", "60, 30"), ("Top code", "60"), ("Top code", "1,2")):
        field(label).set_value(wrong)
        app = press(app, "Declare this domain")
        assert not app.exception
        assert len(app.error) == 1
        assert session_of(app).schema["age"].cuts == column.cuts
        field("Public bands").set_value("0,30,60")
        field("Top code").set_value("")
    field("Public bands").set_value("")
    field("Top code").set_value("60")
    app = press(app, "Declare this domain")
    assert session_of(app).schema["age"].cuts == Cuts(top=60)
    app = press(app, "Read it from the data")
    assert not session_of(app).schema["age"].cuts


def test_step__of_a_date_is_a_part_of_the_calendar() -> None:
    table = TABLE.assign(age=pd.date_range("2020-01-01", periods=len(TABLE)))
    app = open_page(session(table, Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["income"])))
    next(box for box in app.selectbox if box.label.startswith("Round ends")).set_value("month")
    app = press(app, "Declare this domain")
    assert session_of(app).schema["age"].grid == ("month", 0.0)
    column = session_of(app).schema["age"]
    assert edited_column(column, Kind.DATE, False).grid == ("month", 0.0)
    assert edited_column(column, Kind.CATEGORICAL, False).grid is None


def test_domain__of_a_date_must_be_dates() -> None:
    table = TABLE.assign(age=pd.date_range("2020-01-01", periods=len(TABLE)))
    schema = Schema.of(table, quasi_identifying=["age", "sex"], sensitive=["income"])
    app = open_page(session(table, schema))
    earliest, latest = (next(b for b in app.text_input if b.label == label) for label in ENDS)
    assert [earliest.value, latest.value] == ["2020-01-01", "2020-01-12"]
    earliest.set_value("some time ago")
    app = press(app, "Declare this domain")
    assert not app.exception
    assert "1990" in app.error[0].value
    next(box for box in app.text_input if box.label == ENDS[0]).set_value("2019-12-31")
    app = press(app, "Declare this domain")
    assert not app.error
    assert session_of(app).schema["age"].domain == ("2019-12-31T00:00:00", "2020-01-12T00:00:00")


def test_limits__are_kept_and_judged() -> None:
    app = open_page(session())
    slider = next(item for item in app.select_slider if item.key == "prosecutor limit")
    slider.set_value(1).run()
    assert session_of(app).settings.prosecutor_limit == 1
    assert metric(app, "Rows above your limit") == "0"
    app.switch_page("../pages/data.py").run()
    app.switch_page("../pages/roles.py").run()
    assert session_of(app).settings.prosecutor_limit == 1


def test_rows__and_back_are_the_same_schema() -> None:
    ws = session(schema=SCHEMA.with_column("stage", domain=("low", "medium", "high"), ordered=True))
    table = rows(ws.schema, ws.facts())
    assert edited_schema(ws.schema, table, ws.schema.target) == ws.schema
    table.loc[3, "Kind"] = "number"
    changed = edited_schema(ws.schema, table, None)["stage"]
    assert (changed.kind, changed.domain, changed.ordered) == (Kind.NUMERIC, None, False)


def test_an_accepted_risk_of_a_project__is_shown_though_it_is_not_offered() -> None:
    ws = session()
    ws.set(prosecutor_limit=7)
    app = open_page(ws)
    assert not app.exception
    slider = next(item for item in app.select_slider if item.key == "prosecutor limit")
    assert slider.value == 7
    assert ws.settings.prosecutor_limit == 7


def open_visits(schema: Schema | None = None) -> AppTest:
    """The page with a table whose rows are visits, in the suggested roles or these."""
    table = visits(60)
    return open_page(session(table, schema))


def test_one_row__a_person_column_is_suggested_where_values_repeat() -> None:
    app = open_visits()
    table, schema = session_of(app).table, session_of(app).schema
    assert not app.exception
    assert schema.person == "patient_id"
    assert f"{len(table)} rows of {table.patient_id.nunique()} persons" in texts(app)
    assert metric(app, "Smallest group") == "1"


def answer(app: AppTest, words: str) -> AppTest:
    """An answer to the first question."""
    return next(group for group in app.button_group if group.label == "What is one row?").set_value(words).run()


def test_one_row__warns_where_a_row_may_not_be_a_person() -> None:
    app = answer(open_visits(), PERSON)
    schema = session_of(app).schema
    assert schema.person is None
    assert schema["patient_id"].role is Role.IDENTIFYING
    assert "a group of k rows can be one person's" in texts(app)
    app = answer(app, EVENT)
    assert session_of(app).schema.person == "patient_id"
    assert not app.exception


def test_one_row__a_household_is_protected_as_a_whole() -> None:
    table = visits(60).assign(household_id=lambda t: t.patient_id.str[-2:])
    app = answer(open_page(session(table, None)), HOUSEHOLD)
    schema = session_of(app).schema
    assert not app.exception
    assert schema.person == "household_id"
    assert f"{len(table)} rows of {table.household_id.nunique()} households" in texts(app)


def test_one_row__asks_for_the_household_where_none_is_found() -> None:
    app = answer(open_page(session(visits(60), None)), HOUSEHOLD)
    assert not app.exception
    assert session_of(app).schema.person is None
    box = next(box for box in app.selectbox if box.label == "Rows with the same value belong to one household")
    assert box.value is None
    assert box.set_value("postcode").run().selectbox
    assert session_of(app).schema.person == "postcode"


def test_one_row__the_latest_of_two_person_columns_counts() -> None:
    app = open_visits()
    row = list(session_of(app).table.columns).index("postcode")
    app = edit(app, row, Role=ROLE_LABELS[Role.PERSON])
    assert not app.exception
    schema = session_of(app).schema
    assert schema.person == "postcode"
    assert schema["patient_id"].role is Role.IDENTIFYING


def wide() -> pd.DataFrame:
    """A table with a block of alike columns."""
    rng = np.random.default_rng(5)
    drugs = {f"drug_{number:02}": rng.choice(["yes", "no"], 60) for number in range(1, 13)}
    return pd.DataFrame({"age": rng.integers(20, 60, 60), **drugs, "diagnosis": rng.choice(list("abc"), 60)})


def card_role(app: AppTest, title: str) -> Any:
    """The list of roles of the card with this title."""
    return next(box for box in app.selectbox if re.fullmatch(rf"Role of {title}.*", box.label))


def test_cards__one_act_gives_a_role_to_all_alike_columns() -> None:
    app = open_page(session(wide(), None))
    app = card_role(app, "drug").set_value(Role.INSENSITIVE).run()
    assert not app.exception
    schema = session_of(app).schema
    assert len(schema.insensitive) == 12
    assert "You changed 12 of 14 columns" in texts(app)
    unique = linkage_risk(session_of(app).table, list(schema.insensitive)).unique
    assert any(f"With these alone {unique} of 60 rows" in item.proto.help for item in app.caption)
    press(app, "Make all sensitive")
    assert len(session_of(app).schema.sensitive) == 13


def test_cards__chosen_columns_alone_get_the_role() -> None:
    app = open_page(session(wide(), None))
    pills = next(group for group in app.button_group if "drug" in group.label)
    pills.set_value(["drug_02", "drug_03"]).run()
    bar = next(group for group in app.button_group if group.label == "Role of the selected columns")
    assert bar.value == Role.SENSITIVE, "the role that they have"
    app = bar.set_value(Role.QUASI_IDENTIFYING).run()
    assert session_of(app).schema.quasi_identifying == ("age", "drug_02", "drug_03")
    assert not next(group for group in app.button_group if "drug" in group.label).value
    assert card_role(app, "drug").value is None, "the card has several roles now"
    app = press(app, "… 4 more")
    assert len(next(group for group in app.button_group if "drug" in group.label).options) == 12


def test_bar__says_what_the_other_role_would_do_to_the_first_figure() -> None:
    """By persons, as the panel counts: the sentence is what stands there once the role is given."""
    app = open_visits()
    now = metric(app, "Rows that fit one person only")
    pills = next(group for group in app.button_group if "age" in " ".join(group.options))
    app = pills.set_value(["age", "sex"]).run()
    sentence = next(item.value for item in app.caption if item.value.startswith("If sensitive"))
    bar = next(group for group in app.button_group if group.label == "Role of the selected columns")
    app = bar.set_value(Role.SENSITIVE).run()
    then = metric(app, "Rows that fit one person only")
    assert sentence == f"If sensitive: {then} rows fit one person only, now {now}."
    assert then != now


def test_changes__a_reason_is_kept_and_goes_with_the_role() -> None:
    app = card_role(open_page(session(wide(), None)), "drug").set_value(Role.INSENSITIVE).run()
    box = next(box for box in app.text_input if box.label.startswith("Your reason"))
    app = box.set_value("a leaflet lists them").run()
    schema = session_of(app).schema
    assert {schema[name].why for name in schema.insensitive} == {"a leaflet lists them"}
    assert next(button.label for button in app.button if button.key == "undo").startswith("Undo: drug")
    app = card_role(app, "drug").set_value(Role.QUASI_IDENTIFYING).run()
    assert session_of(app).schema["drug_01"].why == "Set by the steward."
    app = press(app, "Revert")
    assert session_of(app).schema["drug_01"].why == session_of(app).suggest()["drug_01"].reason
    assert "You changed 0 of 14 columns" in texts(app)


def test_undo__says_what_it_takes_back_and_where() -> None:
    app = card_role(open_page(session(wide(), None)), "drug").set_value(Role.INSENSITIVE).run()
    undo = next(button for button in app.button if button.key == "undo")
    words = "Undo: drug_01 and 11 more back to sensitive (Roles)"
    assert undo.label.replace("\\", "").replace(JOINER, "") == words
    app = undo.click().run()
    assert session_of(app).schema == session_of(app).suggest()


def test_secrets__are_named_in_one_list() -> None:
    app = open_page(session())
    box = next(box for box in app.multiselect if box.label == "Sensitive columns")
    app = box.set_value(["stage"]).run()
    assert session_of(app).schema.sensitive == ("stage",)
    assert session_of(app).schema["income"].role is Role.QUASI_IDENTIFYING


def test_labels__no_role_has_the_word_of_another_within_it() -> None:
    """Who types a name into a cell must not get another role."""
    for role, label in ROLE_LABELS.items():
        assert [r for r in Role if ROLE_NAMES[role].lower() in ROLE_LABELS[r].lower()] in ([role], [])
        assert label.endswith(ROLE_NAMES[role])


def test_hierarchy__is_brought_seen_taken_away_and_taken_off() -> None:
    def bring(app: AppTest, text: str) -> AppTest:
        uploader = next(one for one in app.get("file_uploader") if "Hierarchy" in one.proto.label)
        uploader.set_value(("stages.csv", text.encode(), "text/csv"))
        return app.run()

    schema = SCHEMA.with_roles({"stage": Role.QUASI_IDENTIFYING})
    app = open_page(session(schema=schema))
    next(box for box in app.selectbox if box.label == "Column").set_value("stage").run()
    app = bring(app, "low;early\nmedium;early\n")
    assert not app.exception
    assert "1 value of 'stage' is not in its public hierarchy" in texts(app).replace("\\", "").replace(JOINER, "")
    assert not session_of(app).schema["stage"].cuts
    app = bring(app, "low;early;*\nmedium;early;*\nhigh;late;*\n")
    assert not app.exception
    column = session_of(app).schema["stage"]
    assert column.cuts.hierarchy.words == {"early": (0, 1)}
    assert column.domain == ("low", "medium", "high")
    levels = next(item.value for item in app.dataframe if "Level" in item.value.columns)
    assert levels["Such as"].tolist() == ["early, late", "*"]
    assert any(one.proto.label == "Hierarchy (ARX's CSV)" for one in app.get("download_button"))
    assert Schema.from_json(session_of(app).schema.to_json()) == session_of(app).schema
    app = press(app, "Take the hierarchy off")
    assert not session_of(app).schema["stage"].cuts
    assert session_of(app).schema["stage"].domain is None


def test_hierarchy__is_named_in_a_table() -> None:
    def named(app: AppTest, *groups: str, more: tuple[dict[str, str], ...] = ()) -> AppTest:
        ws = session_of(app)
        app.session_state[f"groups of {ws.edition} {ws.state(RolesState).hierarchies} stage"] = {
            "edited_rows": {row: {"Group": group} for row, group in enumerate(groups) if group},
            "added_rows": list(more),
            "deleted_rows": [],
        }
        return app.run()

    schema = SCHEMA.with_roles({"stage": Role.QUASI_IDENTIFYING})
    app = open_page(session(schema=schema))
    next(box for box in app.selectbox if box.label == "Column").set_value("stage").run()
    use = next(button for button in app.button if button.label == "Use these groups")
    assert use.disabled
    labels = list(session_of(app).encoding(session_of(app).schema["stage"]).labels)
    place = labels.index("high")
    app = press(
        named(app, *("high" if at == (place + 1) % len(labels) else "" for at in range(len(labels)))),
        "Use these groups",
    )
    assert not app.exception
    assert "two different groups" in texts(app), "a group may not be called like a level outside it"
    groups = ["" if label == "high" else "below" for label in labels]
    app = press(named(app, *groups, more=({"Level": "severe", "Group": ""},)), "Use these groups")
    assert not app.exception
    hierarchy = session_of(app).schema["stage"].cuts.hierarchy
    assert set(hierarchy.values) == {*labels, "severe"}
    assert {row[0]: row[1:] for row in hierarchy.rows} == {
        label: ("below" if label in ("low", "medium") else label, "*") for label in hierarchy.values
    }
    released = session_of(app).flow.but(k=5).released["stage"].unique()
    assert set(map(str, released)) <= {*labels, "below", "*"}


def test_rounding__is_declared_beside_the_domain() -> None:
    app = open_page(session())
    next(box for box in app.text_input if box.label.startswith("Rounded")).set_value("10")
    app = press(app, "Declare this domain")
    assert session_of(app).schema["age"].cuts == Cuts(rounding=10)
    assert set(session_of(app).flow.encoded.encodings[0].labels) == {20, 30, 40, 60}


def test_plan_ahead__counts_the_columns_of_a_later_release_twice() -> None:
    app = open_page(session())
    (question,) = (one for one in app.multiselect if one.label.startswith("Will another release"))
    assert (question.options, question.value) == (["age", "sex"], [])
    assert "counts twice" not in texts(app)
    app = question.set_value(["sex"]).run()
    assert not app.exception
    schema = session_of(app).schema
    assert (schema["age"].importance, schema["sex"].importance) == (1, 2)
    assert "counts twice" in texts(app)
    (question,) = (one for one in app.multiselect if one.label.startswith("Will another release"))
    assert question.value == ["sex"]
    app = question.set_value([]).run()
    assert session_of(app).schema == SCHEMA
