"""The checker: every model against brute force, known numbers, and words that never promise too much."""

import json
import math
import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymizer.cells import Cell
from anonymizer.checking.consistency import consistency
from anonymizer.checking.evidence import class_histograms
from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.verify import MODELS, Check, Verification, prepare, verify
from anonymizer.errors import ParameterError, SchemaError
from anonymizer.pipeline import anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.schema import Schema
from anonymizer.values import share
from tests import naive_verify as naive

AGES = st.sampled_from(["[20, 30]", "[20, 40]", "31", None])
SEXES = st.sampled_from(["*", "F", "{F, M}", None])
PAY = st.sampled_from([10, 20, 35, 35.5, None])
ILLNESS = st.sampled_from(["flu", "cold", "gout", None])


@st.composite
def releases(draw: st.DrawFn) -> pd.DataFrame:
    n = draw(st.integers(1, 14))
    return pd.DataFrame(
        {
            "age": pd.Series(draw(st.lists(AGES, min_size=n, max_size=n)), dtype=object),
            "sex": pd.Categorical(draw(st.lists(SEXES, min_size=n, max_size=n)), categories=["*", "F", "{F, M}"]),
            "pay": pd.Series(draw(st.lists(PAY, min_size=n, max_size=n)), dtype=float),
            "illness": pd.Series(draw(st.lists(ILLNESS, min_size=n, max_size=n)), dtype=object),
            "grade": pd.Series(draw(st.lists(st.sampled_from(["low", "mid", "top"]), min_size=n, max_size=n))),
        }
    )


def schema_of(table: pd.DataFrame) -> Schema:
    return Schema.of(
        table,
        quasi_identifying=["age", "sex"],
        sensitive=["pay", "illness", "grade"],
        kinds={"age": "numeric", "pay": "numeric"},
        domains={"grade": ["low", "mid", "top"]},
        ordered=["grade"],
    )


@given(releases(), st.integers(1, 5))
def test_every_figure_agrees_with_brute_force(released: pd.DataFrame, k: int) -> None:
    verification = verify(released, schema_of(released), k=k)
    plain = released.astype(object).where(released.notna(), None)
    rows = list(zip(plain["age"], plain["sex"], strict=True))
    sizes = naive.class_sizes(released, ["age", "sex"])
    assert verification["k-anonymity"].achieved == min(sizes)
    assert verification.k_anonymous == verification["k-anonymity"].passed == (min(sizes) >= k)
    assert verification["unique rows"].achieved == sizes.count(1)
    orders = {
        "pay": [v for v in [10, 20, 35, 35.5, None] if v in set(plain["pay"])],
        "illness": None,
        "grade": [v for v in ["low", "mid", "top"] if v in set(plain["grade"])],
    }
    for name, order in orders.items():
        values = list(plain[name])
        assert verification[f"distinct l-diversity of {name}"].achieved == naive.distinct_l(rows, values)
        entropy = verification[f"entropy l-diversity of {name}"].achieved
        effective = naive.entropy_l(rows, values)
        assert entropy == (None if effective is None else pytest.approx(effective, rel=1e-9))
        distance = verification[f"t-closeness of {name}"].achieved
        assert distance == pytest.approx(naive.closeness(rows, values, order), abs=1e-9)
        assert verification[f"homogeneity of {name}"].achieved == naive.homogeneous(rows, values)[1]


@given(releases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(released: pd.DataFrame, random) -> None:
    schema = schema_of(released)
    order = list(range(len(released)))
    random.shuffle(order)
    figures = [(c.name, c.achieved) for c in verify(released, schema, k=2).checks]
    shuffled = [(c.name, c.achieved) for c in verify(released.iloc[order], schema, k=2).checks]
    assert [name for name, _ in figures] == [name for name, _ in shuffled]
    assert [value for _, value in figures] == pytest.approx([value for _, value in shuffled], abs=1e-12)


def test_t_closeness_of_the_salaries_of_li_and_others() -> None:
    """Li, Li and Venkatasubramanian 2007, section 4: the two classes of their salary example."""
    salaries = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    classes = ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    released = pd.DataFrame({"zip": classes, "salary": [s * 1000 for s in salaries]})
    schema = Schema.of(released, quasi_identifying=["zip"], sensitive=["salary"])
    check = verify(released, schema, k=3, t=0.3)["t-closeness of salary"]
    assert check.achieved == pytest.approx(0.375)
    assert check.passed is False
    assert check.worst == "zip a"
    assert "at most 0.3 was allowed" in check.sentence
    codes, sizes = np.repeat(np.arange(3), 3), np.full(3, 3)
    distances = class_histograms(released["salary"], schema["salary"], codes, sizes).distances()
    assert distances[1] == pytest.approx(0.1667, abs=1e-4)


def test_requirements_pass_at_equality_and_are_reported_without() -> None:
    released = pd.DataFrame({"zip": ["a"] * 4 + ["b"] * 4, "illness": ["x", "y"] * 4})
    schema = Schema.of(released, quasi_identifying=["zip"], sensitive=["illness"])
    strict = verify(released, schema, k=4, l=2, entropy_l=2, t=0)
    assert strict.passed
    assert {c.name for c in strict.checks if c.passed} >= {
        "k-anonymity",
        "distinct l-diversity of illness",
        "entropy l-diversity of illness",
        "t-closeness of illness",
    }
    plain = verify(released, schema, k=4)
    for name in ("distinct l-diversity of illness", "entropy l-diversity of illness", "t-closeness of illness"):
        assert plain[name].passed is None
        assert plain[name].required is None
    missed = verify(released, schema, k=5, l=3, entropy_l=2.1)
    assert [c.name for c in missed.failed] == [
        "k-anonymity",
        "distinct l-diversity of illness",
        "entropy l-diversity of illness",
    ]
    assert not missed.passed


def test_missing_is_not_withheld() -> None:
    released = pd.DataFrame({"level": ["*", "*", None, None, "missing"]})
    schema = Schema.of(released, quasi_identifying=["level"])
    verification = verify(released, schema, k=2)
    assert verification["unique rows"].achieved == 1
    assert verification["unique rows"].worst == "level missing"
    both = verify(released.iloc[2:4], schema, k=2)
    assert both.k_anonymous
    assert both["k-anonymity"].worst == "level (missing)"


def make_tiered() -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """A lone record beside six, k = 3: (3,3) and globally (1,3), but not 3-anonymous."""
    original = pd.DataFrame({"x": [0, 10, 11, 12, 13, 14, 15]})
    ends = [(0, 11), (0, 15), (0, 15), *[(10, 15)] * 4]
    released = pd.DataFrame({"x": [Cell.interval(str(a), str(b)).text() for a, b in ends]})
    return released, original, Schema.of(original, quasi_identifying=["x"])


def test_a_tiered_release_is_never_called_k_anonymous() -> None:
    released, original, schema = make_tiered()
    for verification in (verify(released, schema, k=3), verify(released, schema, k=3, original=original)):
        assert not verification.k_anonymous
        assert not verification.passed
        text = " ".join([verification.describe(), *(c.sentence for c in verification.checks)])
        assert "not 3-anonymous" in text
        assert "is 3-anonymous" not in text
    assert "It is (3,3)-anonymous" in text
    assert "globally (1,3)-anonymous" in text
    assert "does not promise that a person is linked to a row with a chance of at most 1 in 3" in text
    assert "is 0.6" in text
    assert "only be said with the original" in verify(released, schema, k=3).describe()
    assert "globally" not in verify(released, schema, k=4, original=original).describe().replace("not globally", "")


def test_a_strict_release_says_what_it_is() -> None:
    released = pd.DataFrame({"x": ["[0, 11]"] * 3 + ["[12, 15]"] * 4})
    original = pd.DataFrame({"x": [0, 10, 11, 12, 13, 14, 15]})
    schema = Schema.of(original, quasi_identifying=["x"])
    verification = verify(released, schema, k=3, original=original)
    assert verification.passed
    assert verification.k_anonymous
    assert verification.describe().startswith(
        "This release is 3-anonymous: every row looks the same as at least 2 others"
    )
    assert verification["linking posterior"].achieved == pytest.approx(1 / 3)
    assert verification["k-anonymity"].sentence == (
        "Every released row looks the same as at least 2 others (smallest class: 3 rows)."
    )


def test_what_is_too_large_is_said_and_bounded_by_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    released = pd.DataFrame({"x": ["[0, 11]"] * 3 + ["[12, 15]"] * 4})
    original = pd.DataFrame({"x": [0, 10, 11, 12, 13, 14, 15]})
    schema = Schema.of(original, quasi_identifying=["x"])
    module = sys.modules["anonymizer.checking.verify"]
    monkeypatch.setattr(module, "consistency", partial(consistency, max_pairs=1))
    blind = verify(released, schema, k=3, original=original)
    for name in ("containment", "(1,k)", "(k,1)", "(k,k)", "global (1,k)", "linking posterior"):
        assert blind[name].passed is None
        assert blind[name].achieved is None
        assert "not computed" in blind[name].sentence
        assert "more than this check does" in blind[name].sentence
    verification = verify(released, schema, k=3, original=original, order=np.arange(7))
    assert verification["containment"].passed is True
    for name in ("(1,k)", "(k,1)", "(k,k)", "global (1,k)"):
        assert verification[name].passed is True
        assert verification[name].achieved == 3
        assert "lower bound" in verification[name].sentence
    assert verification["linking posterior"].achieved == pytest.approx(1 / 3)
    assert "at most 0.333" in verification["linking posterior"].sentence
    loose = verify(released, schema, k=4, original=original, order=np.arange(7))
    assert loose["global (1,k)"].passed is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.assign(x=["[1, 11]", *r["x"][1:]]), "left without a person"),
        (lambda r: r.assign(pay=[9, *r["pay"][1:]]), "left without a person"),
        (lambda r: r.iloc[1:], "6 rows, the original 7"),
    ],
)
def test_a_spoiled_release_does_not_fit(change: Callable[[pd.DataFrame], pd.DataFrame], words: str) -> None:
    original = pd.DataFrame({"x": [0, 10, 11, 12, 13, 14, 15], "pay": [1, 2, 3, 4, 5, 6, 7]})
    released = pd.DataFrame({"x": ["[0, 11]"] * 3 + ["[12, 15]"] * 4, "pay": original["pay"]})
    schema = Schema.of(original, quasi_identifying=["x"], sensitive=["pay"])
    assert verify(released, schema, k=3, original=original).passed
    verification = verify(change(released), schema, k=2, original=original)
    assert verification["containment"].passed is False
    assert not verification.passed
    assert words in verification["containment"].sentence
    assert verification["containment"].sentence in verification.describe()


def test_columns_that_must_not_leave_are_found() -> None:
    released = pd.DataFrame({"name": ["Ann", "Bob"], "x": ["1", "1"], "row": [0, 1]})
    schema = Schema.of(released[["name", "x"]], quasi_identifying=["x"], identifying=["name"])
    verification = verify(released, schema, k=2)
    assert not verification.passed
    assert verification["columns"].achieved == 2
    assert verification["columns"].worst == "name, row"
    assert "identifying columns: name" in verification["columns"].sentence
    assert "does not know: row" in verification["columns"].sentence
    assert verify(released[["x"]], schema, k=2).passed


def test_a_report_is_plain_json() -> None:
    released, original, schema = make_tiered()
    described = verify(released, schema, k=3, original=original).to_dict()
    again = json.loads(json.dumps(described, allow_nan=False))
    assert again == described
    assert set(again) == {"passed", "k", "rows", "left_out", "k_anonymous", "description", "checks"}
    assert again["k_anonymous"] is False


@pytest.mark.parametrize("model", MODELS)
def test_contract_of_every_model(model: str) -> None:
    released, original, schema = make_tiered()
    released["pay"] = original["pay"] = [1, 1, 2, 2, 3, 3, 3]
    original["who"] = list("abcdefg")
    released["shoe"] = original["shoe"] = [1, 1, 2, 2, 3, 3, 3]
    visits = Schema.of(original, quasi_identifying=["x"], sensitive=["pay"], person="who")
    rows = visits.with_column("who", role="identifying")
    names = []
    order = np.arange(len(released))
    for schema, beside in ((rows, None), (rows, original), (visits, original)):
        verification = verify(
            released, schema, k=3, l=1, t=1, risk_max=1, original=beside, order=None if beside is None else order
        )
        mine = [check for check in verification.checks if check.name == model or check.name.startswith(f"{model} of ")]
        names += [check.name for check in mine]
        for check in mine:
            assert isinstance(check, Check)
            assert check.sentence
            assert check.sentence[0].isupper() or check.sentence[0].isdigit() or check.sentence[0] == "("
            assert check.sentence.endswith((".", ".)"))
            for figure in (check.required, check.achieved):
                assert figure is None or (type(figure) in (int, float) and math.isfinite(figure))
            assert check.passed in (True, False, None)
            if check.required is None and check.name != "containment":
                assert check.passed is None
    assert names, f"{model} gave no check"


@pytest.mark.parametrize("wrong", [{"k": 0}, {"k": 2.5}, {"k": True}, {"k": 2, "l": 0}, {"k": 2, "t": 1.5}])
def test_impossible_requirements_are_refused(wrong: dict[str, float]) -> None:
    released = pd.DataFrame({"x": ["1", "1"]})
    with pytest.raises(ParameterError, match="cannot be"):
        verify(released, Schema.of(released, quasi_identifying=["x"]), **wrong)


def test_nothing_to_verify_is_refused() -> None:
    released = pd.DataFrame({"x": ["1", "1"]})
    schema = Schema.of(released, quasi_identifying=["x"])
    with pytest.raises(ParameterError, match="no rows"):
        verify(released.iloc[:0], schema, k=2)
    with pytest.raises(SchemaError, match="no column 'x'"):
        verify(released.rename(columns={"x": "y"}), schema, k=2)
    with pytest.raises(SchemaError, match="quasi-identifying"):
        verify(released, Schema.of(released, quasi_identifying=[]), k=2)


def test_checks_are_found_by_name() -> None:
    verification = Verification((Check("a", None, 1, None, "", "One."),), 2, 3)
    assert verification["a"].achieved == 1
    assert verification.get("b") is None
    with pytest.raises(KeyError):
        verification["b"]


@pytest.mark.sweep(1)
@pytest.mark.parametrize("generalizer", ["uniform", "tiered", "refine"])
def test_an_original_prepared_once_and_known_classes_change_no_figure(generalizer: str) -> None:
    table = hospital(300).assign(cost=np.where(np.arange(300) % 7, np.arange(300) % 40, np.nan))
    schema = suggest(table).with_column("cost", role="insensitive")
    prepared = prepare(table, schema)
    for k in (2, 5):
        release = anonymize(table, schema, generalizer=generalizer, k=k).release
        released = release.frame()
        plain = verify(released, schema, k=k, original=table, order=release.order)
        classes = look_alikes(released, schema.quasi_identifying)
        again = verify(released, schema, k=k, original=prepared, order=release.order, classes=classes)
        assert again.to_dict() == plain.to_dict()
        assert plain["containment"].passed
        changed = released.assign(cost=released["cost"].fillna(-1.0))
        for original in (table, prepared):
            assert verify(changed, schema, k=k, original=original, order=release.order)["containment"].passed is False
            assert verify(changed, schema, k=k, original=original)["containment"].passed is False


def test_an_original_of_another_schema_is_refused() -> None:
    table = hospital(60)
    schema = suggest(table)
    other = schema.with_column(schema.quasi_identifying[0], role="insensitive")
    with pytest.raises(ParameterError, match="another schema"):
        verify(table, other, k=2, original=prepare(table, schema))


def test_columns_that_leave_as_they_are__are_looked_up_alone_and_with_the_box() -> None:
    rng = np.random.default_rng(3)
    released = pd.DataFrame({"x": rng.choice(["[1, 2]", "[3, 4]"], 60), "shoe": rng.integers(0, 30, 60)})
    released["hat"] = rng.integers(0, 2, 60)
    schema = Schema.of(released, quasi_identifying=["x"], kinds={"x": "numeric"})
    check = verify(released, schema, k=2)["columns as they are"]
    alone = (released.groupby(["shoe", "hat"]).size() == 1).sum()
    beside = (released.groupby(["x", "shoe", "hat"]).size() == 1).sum()
    assert 0 < alone < beside < 60
    assert check.achieved == beside
    assert check.passed is None
    assert f"finds {share(alone / 60)} of the rows, and {share(beside / 60)} beside the box" in check.sentence
    everything = schema.with_column("shoe", role="sensitive").with_column("hat", role="sensitive")
    assert verify(released, everything, k=2)["columns as they are"] == check


def test_a_small_share_of_rows__is_not_none_of_them() -> None:
    rows = pd.DataFrame({"age": ["[1, 2]"] * 5000 + ["[3, 4]"] * 2, "ill": ["yes", "no"] * 2500 + ["yes", "yes"]})
    schema = Schema.of(rows, quasi_identifying=["age"], sensitive=["ill"])
    says = verify(rows, schema, k=2)["homogeneity of ill"].sentence
    assert says == "2 rows (< 0.1%) are in 1 class where all have the same ill."


@pytest.mark.parametrize(
    ("cell", "excerpt"),
    [
        ("[1, x]", "'[1, x]'"),
        (f"[1, {'x' * 55}]", f"'[1, {'x' * 55}]'"),
        (f"[1, {'x' * 56}]", f"'[1, {'x' * 53}...'"),
    ],
)
def test_a_cell_that_is_none__is_named_and_a_long_one_cut(cell: str, excerpt: str) -> None:
    rows = pd.DataFrame({"age": [cell, "[1, 2]"] * 3})
    check = verify(rows, Schema.of(rows, quasi_identifying=["age"], kinds={"age": "numeric"}), k=1)["cells"]
    assert check.passed is False
    assert f"3 rows of age ({excerpt}: a finite number" in check.sentence
