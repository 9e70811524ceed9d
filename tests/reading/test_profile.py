"""Facts of columns are exact; suggestions are sensible on real tables and give their reasons."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import SchemaError
from anonymizer.labelled.variable import Variable
from anonymizer.reading.facts import profile
from anonymizer.reading.files import read_table
from anonymizer.reading.patterns import is_card, is_iban, luhn, meanings_of, natural_order, pattern_of, shape_of
from anonymizer.reading.profile import household_columns, suggest
from anonymizer.reading.samples import SAMPLES, hospital
from anonymizer.schema import Kind, Role

QUASI, SENSITIVE, IDENTIFYING = Role.QUASI_IDENTIFYING, Role.SENSITIVE, Role.IDENTIFYING


def one(name: str, values: Any) -> Any:
    return suggest(pd.DataFrame({name: values}))[name]


def test_profile__counts_are_exact() -> None:
    table = pd.DataFrame(
        {
            "age": [30, 31, 31, 40],
            "score": [1.5, np.nan, 2.5, 2.5],
            "town": pd.Categorical(["B", "A", "B", None], categories=["A", "B", "C"]),
            "seen": pd.to_datetime(["2024-01-02", None, "2024-01-01", "2024-01-02 12:30"], format="ISO8601"),
        }
    )
    age, score, town, arrival = profile(table)
    assert (age.kind, age.records, age.missing, age.distinct, age.unique) == (Kind.NUMERIC, 4, 0, 3, 2)
    assert (age.low, age.high, age.summary) == ("30", "40", "30 to 40")
    assert (score.missing, score.present, score.distinct, score.unique) == (1, 3, 2, 1)
    assert score.distinct_share == pytest.approx(2 / 3)
    assert (town.kind, town.missing, town.distinct, town.unique) == (Kind.CATEGORICAL, 1, 2, 1)
    assert town.top == (("B", 2), ("A", 1))
    assert (arrival.kind, arrival.low, arrival.high) == (Kind.DATE, "2024-01-01", "2024-01-02 12:30:00")
    assert town.to_dict()["Missing"] == 1


def test_profile__agrees_with_pandas() -> None:
    table = hospital(3000, 5)
    for fact in profile(table):
        values = table[fact.name]
        counts = values.value_counts()
        counts = counts[counts > 0]
        assert fact.distinct == len(counts)
        assert fact.unique == int((counts == 1).sum())
        assert fact.missing == int(values.isna().sum())


def test_profile__column_without_values() -> None:
    (fact,) = profile(pd.DataFrame({"x": pd.Series([None, None], dtype="str")}))
    assert (fact.distinct, fact.missing, fact.distinct_share, fact.summary) == (0, 2, 0.0, "no value")


def test_suggest__doubled_names_are_an_error() -> None:
    with pytest.raises(SchemaError):
        suggest(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_suggest__adult(data: Any) -> None:
    schema = suggest(read_table(data("adult.csv.gz")).frame)
    assert schema.target == "income"
    assert set(schema.sensitive) == {"income", "capital-gain", "capital-loss"}
    assert schema.identifying == ("fnlwgt",)
    assert {"age", "sex", "race", "education", "native-country", "hours-per-week"} <= set(schema.quasi_identifying)
    assert "survey weight" in schema["fnlwgt"].reason
    assert schema.only(Role.WEIGHT) == "fnlwgt"
    numeric = {column.name for column in schema.columns if column.kind is Kind.NUMERIC}
    assert numeric == {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}


def test_suggest__one_column_is_the_weight() -> None:
    table = pd.DataFrame({"age": range(40), "weight_sample": [3.0] * 20 + [5.0] * 20, "finalwgt": [1.5, 2.5] * 20})
    schema = suggest(table)
    assert schema.only(Role.WEIGHT) == "weight_sample"
    assert schema["finalwgt"].role is Role.INSENSITIVE
    assert suggest(table.assign(weight_sample=table["weight_sample"].mask(table["age"] == 3))).only(Role.WEIGHT) == (
        "finalwgt"
    )


def test_suggest__contraceptive(data: Any) -> None:
    schema = suggest(read_table(data("contraceptive.csv.gz")).frame)
    assert schema.target == "contraceptive_method"
    assert schema["contraceptive_method"].kind is Kind.CATEGORICAL
    assert schema["wife_religion"].role is SENSITIVE
    assert schema["wife_age"].kind is schema["num_children"].kind is Kind.NUMERIC
    assert {"wife_age", "wife_edu", "husband_occupation", "media_exposure"} <= set(schema.quasi_identifying)


def test_suggest__german_credit(data: Any) -> None:
    schema = suggest(read_table(data("german_credit.csv.gz")).frame)
    assert schema.target == "class"
    assert {"credit_amount", "credit_history", "savings_status", "class"} <= set(schema.sensitive)
    assert {"age", "personal_status", "job", "housing", "foreign_worker"} <= set(schema.quasi_identifying)
    assert schema.identifying == ()


def test_suggest__hospital() -> None:
    schema = suggest(hospital())
    assert schema.identifying == ("name", "email")
    assert schema.sensitive == ("diagnosis", "days_of_stay", "cost")
    assert schema.target == "diagnosis"
    assert schema["postcode"].kind is Kind.CATEGORICAL
    assert schema["admission_date"].kind is Kind.DATE


@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample.synthetic])
def test_suggest__every_sample_has_roles_and_reasons(name: str) -> None:
    schema = suggest(SAMPLES[name].load())
    assert schema.quasi_identifying
    assert schema.sensitive
    assert all(column.reason.endswith(".") for column in schema.columns)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a", [f"p{i}@example.org" for i in range(30)]),
        ("a", [f"+49 30 1234{i:03}" for i in range(30)]),
        ("a", [f"(030) 555-{i:04}" for i in range(30)]),
        ("a", [f"123-{i + 10}-4567" for i in range(30)]),
        ("a", ["DE89370400440532013000", "GB82WEST12345698765432"] * 5),
        ("a", ["4111 1111 1111 1111", "5500005555555559", "340000000000009"] * 4),
        ("a", [f"192.168.0.{i}" for i in range(30)]),
        ("a", [f"https://example.org/{i}" for i in range(30)]),
        ("a", [f"123e4567-e89b-12d3-a456-4266141740{i:02}" for i in range(30)]),
        ("a", [f"{a} {b}" for a in ("Ada", "Jean-Luc", "Zoë") for b in ("O'Neill", "Müller", "Silva", "Abe")] * 2),
        ("a", [f"X{i * 7919:06}Q" for i in range(60)]),
        ("patient_id", [i * 17 % 1009 for i in range(60)]),
        ("anything", list(range(1, 61))),
        ("Nachname", [f"Meier{i % 40}" for i in range(60)]),
        ("notes", ["The patient reports that " + "pain " * 12 + str(i % 40) for i in range(60)]),
    ],
)
def test_suggest__identifying(name: str, values: list[Any]) -> None:
    column = one(name, values)
    assert column.role is IDENTIFYING, column
    assert column.reason


@pytest.mark.parametrize(
    ("name", "values", "role", "kind"),
    [
        ("Geschlecht", ["m", "w"] * 10, QUASI, Kind.CATEGORICAL),
        ("sexe", [1, 2] * 10, QUASI, Kind.CATEGORICAL),
        ("PLZ", [10115, 80331, 50667] * 10, QUASI, Kind.CATEGORICAL),
        ("Date of Birth", pd.to_datetime(["1980-01-01", "1990-05-05"] * 10), QUASI, Kind.DATE),
        ("estado civil", ["casado", "soltero"] * 10, QUASI, Kind.CATEGORICAL),
        ("class-of-worker", ["a", "b"] * 10, QUASI, Kind.CATEGORICAL),
        ("own_telephone", ["yes", "no"] * 10, QUASI, Kind.CATEGORICAL),
        ("product_name", ["hammer", "nail", "saw"] * 30, QUASI, Kind.CATEGORICAL),
        ("monthlyIncome", list(range(100, 130)), SENSITIVE, Kind.NUMERIC),
        ("Gehalt", [1.5, 2.5] * 10, SENSITIVE, Kind.NUMERIC),
        ("HIV test result", ["positive", "negative"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("class", [1, 2, 3] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("religion", ["a", "b"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("flag", ["x"] * 20, Role.INSENSITIVE, Kind.CATEGORICAL),
        ("nothing", pd.Series([None] * 20, dtype="str"), Role.INSENSITIVE, Kind.CATEGORICAL),
        ("survey weight", [1, 2] * 50, Role.WEIGHT, Kind.CATEGORICAL),
        ("finalwgt", [1.5, 2.5] * 50, Role.WEIGHT, Kind.NUMERIC),
        ("PONDERA", list(range(90, 120)), Role.WEIGHT, Kind.NUMERIC),
        ("sampling weight", [0, 2] * 50, Role.INSENSITIVE, Kind.NUMERIC),
        ("measure", [i / 7 for i in range(50)], QUASI, Kind.NUMERIC),
        ("RAC3P", [1, 2, 3, 5, 8, 9] * 20, QUASI, Kind.CATEGORICAL),
        ("something", [10, 20, 31, 32, 77] * 20, QUASI, Kind.CATEGORICAL),
        ("priors_count", [0, 1, 2, 3, 5, 8] * 20, SENSITIVE, Kind.NUMERIC),
        ("age", list(range(15, 23)) * 20, QUASI, Kind.NUMERIC),
        ("points", list(range(1, 17)) * 20, QUASI, Kind.NUMERIC),
        ("case", [f"01-{i % 70:04}-{i % 50:02}" for i in range(700)], QUASI, Kind.CATEGORICAL),
        ("Latitude", [52 + i / 777 for i in range(60)], QUASI, Kind.NUMERIC),
        ("lon", [13 + i / 777 for i in range(60)], QUASI, Kind.NUMERIC),
        ("readmitted", ["NO", "<30", ">30"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("Hauptdiagnose", ["I50", "J18"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("Schweregrad", ["leicht", "schwer"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("décès", ["oui", "non"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("fallecimiento", ["si", "no"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("esito", ["guarito", "deceduto"] * 10, SENSITIVE, Kind.CATEGORICAL),
        ("óbito", [1, 2] * 10, SENSITIVE, Kind.CATEGORICAL),
    ],
)
def test_suggest__role_and_kind(name: str, values: Any, role: Role, kind: Kind) -> None:
    column = one(name, values)
    assert (column.role, column.kind) == (role, kind), column.reason


def test_suggest__ordered_levels() -> None:
    column = one("risk", ["High", "Low", "Medium", "Low"] * 5)
    assert column.ordered
    assert column.domain == ("Low", "Medium", "High")


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (["vhigh", "med", "low", "high"], ("low", "med", "high", "vhigh")),
        (["60+", "<18", "18-39", "40-59"], ("<18", "18-39", "40-59", "60+")),
        (["100-199", "20-99", "0-19"], ("0-19", "20-99", "100-199")),
        (["Mar", "Jan", "Feb"], ("Jan", "Feb", "Mar")),
        (["[90-100)", "[0-10)", "[10-20)"], ("[0-10)", "[10-20)", "[90-100)")),
        (["25 - 45", "Greater than 45", "Less than 25"], ("Less than 25", "25 - 45", "Greater than 45")),
        (["45 to 54 years", "35 to 44 years", "9 to 34 years"], ("9 to 34 years", "35 to 44 years", "45 to 54 years")),
        (["A1-2", "B3-4", "C5-6"], None),
        (["yes", "no"], None),
        (["low", "high", "purple"], None),
        (["low", "Low", "high"], None),
        (["5-3", "6-9", "10-11"], None),
    ],
)
def test_natural_order(levels: list[str], expected: tuple[str, ...] | None) -> None:
    assert natural_order(levels) == expected


def test_check_digits__one_wrong_digit_is_noticed() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")
    assert is_card("4111-1111-1111-1111")
    assert not is_card("4111-1111-1111-1112")
    assert is_iban("DE89 3704 0044 0532 0130 00")
    assert not is_iban("DE88 3704 0044 0532 0130 00")


@pytest.mark.parametrize(
    "texts",
    [["2024-01-02"], ["02139"], ["1234567"], ["7590-00012"], ["12.5"], ["Married"], ["2019-2020"], ["1/12/2024"], []],
)
def test_pattern_of__ordinary_values_have_none(texts: list[str]) -> None:
    assert pattern_of(texts) == ""


def test_meanings_of__a_seat_in_a_car_is_not_work() -> None:
    assert "work" not in [meaning.what for meaning in meanings_of("seat_position")]
    assert meanings_of("Position")[0].what == "work"


def test_suggest__a_scale_of_whole_numbers_has_an_order() -> None:
    assert one("JobLevel", [1, 2, 3, 4, 5] * 20).ordered
    assert not one("JobLevel", [1, 2, 3, 4, 9] * 20).ordered, "9 may stand for no answer"
    assert not one("race", [1, 2, 3, 4, 5] * 20).ordered


def test_shape_of__codes() -> None:
    assert shape_of(["A11", "A12", "B99"]) == "A99"
    assert shape_of(["red", "blue"]) == ""


def test_meanings_of__words_are_matched_whole() -> None:
    for header in ("Average", "example", "customer_type"):
        assert [meaning.what for meaning in meanings_of(header)] == []
    assert meanings_of("date-of-birth")[0].what == "a birth date"
    assert meanings_of("Größe")[0].what == "bodily features"
    assert meanings_of("🚀<b>") == []


def roles_of(table: pd.DataFrame, variables: dict[str, Variable] | None = None) -> dict[str, Role]:
    return {column.name: column.role for column in suggest(table, variables).columns}


def test_suggest__columns_with_the_same_answers_have_one_role() -> None:
    rng = np.random.default_rng(3)
    doses = {name: rng.choice(["No", "Steady", "Up", "Down"], 400) for name in ("insulin", "glipizide", "acarbose")}
    rare = {"tolazamide": rng.choice(["No", "Steady"], 400), "paid": rng.choice(["No", "Yes"], 400)}
    likes = {name: rng.choice(["never", "seldom", "often"], 400) for name in ("theatre", "opera", "museum")}
    table = pd.DataFrame({**doses, **rare, **likes, "age": rng.integers(18, 90, 400)})
    table["admission_type"] = rng.integers(1, 9, 400)  # codes that are numbers are no answers
    roles = roles_of(table)
    assert [roles[name] for name in (*doses, "tolazamide")] == [SENSITIVE] * 4
    assert {roles[name] for name in likes} == {QUASI}  # nothing says that any of them is private
    assert roles["paid"] is QUASI
    assert suggest(table)["acarbose"].reason == "Has the same answers as insulin: a private matter."
    split = table.rename(columns={"acarbose": "region"})  # a name of its own says otherwise
    assert roles_of(split)["region"] is roles_of(split)["glipizide"] is QUASI


def test_suggest__two_answers_beside_private_matters_are_private() -> None:
    rng = np.random.default_rng(3)
    answers = ("cancer", "pregnancy", "overdose", "CEBVD", "insurance")
    table = pd.DataFrame({name: rng.choice(["N", "Y"], 400) for name in answers})
    table["SUTAB"] = rng.choice([1, 2], 400)
    assert roles_of(table)["CEBVD"] is QUASI, "a column with the same answers is something else"
    assert roles_of(table.drop(columns="insurance"))["CEBVD"] is SENSITIVE
    assert roles_of(table)["SUTAB"] is QUASI, "three private matters are too few"
    for name in ("diagnosis", "income"):
        table[name] = rng.integers(0, 90, 400)
    roles = roles_of(table)
    assert [roles[name] for name in ("SUTAB", "CEBVD", "insurance")] == [SENSITIVE, SENSITIVE, QUASI]


def test_suggest__amounts_beside_money_are_private() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x1": rng.lognormal(7, 1, 400).round(2), "x2": rng.integers(0, 90, 400)})
    table["x3"] = -table["x1"]
    assert set(roles_of(table).values()) == {QUASI}
    table["income"] = rng.integers(1000, 9000, 400)
    assert roles_of(table) == {"x1": SENSITIVE, "x2": QUASI, "x3": QUASI, "income": SENSITIVE}


def test_suggest__dates_are_quasi_identifying_whatever_they_are_of() -> None:
    days = pd.Series(pd.date_range("2024-01-01", periods=60)).sample(400, replace=True, random_state=1)
    assert one("diagnosis_date", days.reset_index(drop=True)).role is QUASI
    assert one("tax_year", [2019, 2020, 2021, 2022] * 20).role is QUASI


def test_suggest__a_label_speaks_where_the_name_does_not() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({name: rng.integers(0, 60, 500) for name in ("q12", "v025", "income")})
    variables = {"q12": Variable(label="Monthly income of the household"), "v025": Variable(label="Age in years")}
    assert roles_of(table) == {"q12": QUASI, "v025": QUASI, "income": SENSITIVE}
    assert roles_of(table, variables) == {"q12": SENSITIVE, "v025": QUASI, "income": SENSITIVE}
    assert suggest(table, variables)["v025"].reason == "Speaks of age: others may know it."


def test_household_columns__by_name_label_and_runs_and_never_a_weight() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 6, 300)
    home = np.repeat(rng.permutation(300) + 1000, sizes)
    n = len(home)
    table = pd.DataFrame(
        {
            "q1": home,
            "weight": home / 7.0,
            "hhweight": home,
            "wgt": home,
            "age": home,
            "town": rng.integers(0, 300, n),
            "v001": rng.integers(0, 300, n),
            "hhid": rng.integers(0, 300, n),
        }
    )
    variables = {"v001": Variable(label="Household number")}
    facts = profile(table)
    assert household_columns(table, facts, variables) == ("hhid", "v001", "q1")
    assert household_columns(None, facts, variables) == ("hhid", "v001")
    assert household_columns(table.sample(frac=1, random_state=1), facts, {}) == ("hhid",)
    assert household_columns(table[["weight", "age"]], profile(table[["weight", "age"]]), {}) == ()
