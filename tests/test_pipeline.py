"""The whole flow: groupings that do not prune, other ways to write, what is refused, and what does not matter."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.errors import AnonymizerError, EncodeError, GuaranteeError, ParameterError, SchemaError
from anonymizer.groups.mondrian import MONDRIAN, grow_mondrian
from anonymizer.growing.encode import encode
from anonymizer.pipeline import anonymize
from anonymizer.releasing.generalize import INTERVALS, NUMBERS, WRITINGS
from anonymizer.releasing.release import read_release
from tests.runs import K, classes_of, keys_of, make_table, table_of


@pytest.mark.parametrize(
    ("name", "grouping", "says"),
    [
        ("customers", "error-digression", "numeric sensitive column"),
        ("customers", "regression-mondrian", "regression-mondrian needs a numeric sensitive column as its target"),
        ("employees", "infogain-mondrian", "infogain-mondrian needs a categorical sensitive column as its target"),
    ],
)
def test_a_grouping_that_does_not_fit_the_target(name: str, grouping: str, says: str) -> None:
    table, schema = table_of(name)
    with pytest.raises(ParameterError, match=says) as caught:
        anonymize(table, schema, grouping=grouping, k=3)
    assert caught.value.remedy


@pytest.mark.parametrize("grouping", MONDRIAN)
def test_mondrian__its_leaves_are_the_groups(grouping: str) -> None:
    table, schema = make_table()
    schema = schema.with_target("cost" if grouping == "regression-mondrian" else "diagnosis")
    result = anonymize(
        table, schema, grouping=grouping, generalizer="uniform", k=K, min_leaf=50, max_depth=1, criterion="blend"
    )
    alone = grow_mondrian(encode(table, schema), K, grouping)
    assert result.pruning.n_steps == 0
    assert np.array_equal(result.tree.feature, alone.feature)
    assert np.array_equal(result.tree.n, alone.n)
    assert result.report.after.groups <= alone.is_leaf.sum()
    used = result.report.provenance.parameters
    assert used["grouping"] == grouping
    assert {used[name] for name in ("criterion", "min_leaf", "max_depth", "weight")} == {None}


@pytest.mark.parametrize("grouping", ["least", "median-mondrian"])
def test_finer_groups__lose_no_more(grouping: str) -> None:
    table, schema = make_table()
    whole = anonymize(table, schema, grouping=grouping, generalizer="uniform", k=K)
    for generalizer in ("refine", "pack"):
        finer = anonymize(table, schema, grouping=grouping, generalizer=generalizer, k=K)
        assert finer.utility.gcp <= whole.utility.gcp + 1e-12


@pytest.mark.sweep(3)
@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_writing__cells_change_and_groups_stay(writing: str, numbers: str) -> None:
    table, schema = make_table()
    uniform = {"generalizer": "uniform", "k": K, "grouping": "error-risk"}
    plain = anonymize(table, schema, **uniform)
    result = anonymize(table, schema, **uniform, writing=writing, numbers=numbers)
    released = read_release(result.release.to_bytes(), schema)
    assert sorted(map(len, classes_of(released, schema))) == sorted(
        map(len, classes_of(read_release(plain.release.to_bytes(), schema), schema))
    )
    cells = set(released["sex"].astype(str))
    assert any("+" in cell for cell in cells) == (writing in ("concatenate", "weighted"))
    assert any(":" in cell for cell in cells) == (writing == "weighted")
    ages = set(released["age"].astype(str))
    assert any(age.startswith("~") for age in ages) == (numbers not in INTERVALS)
    ways = result.report.to_dict()["method"]["cells"]
    assert [way["title"] for way in ways] == [WRITINGS[writing].title, NUMBERS[numbers].title]
    assert result.verification.passed


def test_concatenate__is_uniform_written_that_way() -> None:
    table, schema = make_table()
    used = anonymize(table, schema, generalizer="concatenate", k=K).report.provenance.parameters
    assert (used["generalizer"], used["writing"]) == ("uniform", "concatenate")


@pytest.mark.parametrize(
    ("changes", "kind", "says"),
    [
        ({"k": 0}, ParameterError, "k cannot be 0"),
        ({"k": 15}, GuaranteeError, "14 rows, fewer than k = 15"),
        ({"grouping": "nearest"}, ParameterError, "least, regions, error-risk"),
        ({"generalizer": "nearest"}, ParameterError, "uniform"),
        ({"criterion": "nearest"}, ParameterError, "entropy"),
        ({"criterion": "sse"}, ParameterError, "does not fit the target"),
        ({"min_leaf": 0}, ParameterError, "min_leaf"),
        ({"max_depth": -1}, ParameterError, "max_depth"),
        ({"criterion": "blend", "weight": 1.5}, ParameterError, "from 0 to 1"),
        ({"t": 1.5}, ParameterError, "from 0 to 1"),
        ({"l": 0}, ParameterError, "l cannot be 0"),
        ({"significance": 0.05, "tested": "roots"}, ParameterError, "inner, leaves"),
    ],
)
def test_bad_parameters(changes: dict[str, Any], kind: type[AnonymizerError], says: str) -> None:
    table, schema = table_of("customers")
    with pytest.raises(kind, match=says):
        anonymize(table, schema, **({"k": 3} | changes))


def test_bad_tables() -> None:
    table, schema = table_of("customers")
    with pytest.raises(SchemaError, match="lacks"):
        anonymize(table.drop(columns="Age"), schema, k=3)
    with pytest.raises(EncodeError, match="no rows"):
        anonymize(table.iloc[:0], schema, k=3)
    with pytest.raises(EncodeError, match="infinite"):
        anonymize(table.assign(Age=[*range(13), float("inf")]), schema, k=3)


def test_nothing_given_is_changed_and_rows_are_shuffled_by_the_key() -> None:
    table, schema = table_of("hospital")
    before = table.copy(deep=True)
    first, second = (anonymize(table, schema, k=K, generalizer="uniform", order="secret") for _ in range(2))
    pd.testing.assert_frame_equal(table, before)
    assert first.release.to_bytes() == second.release.to_bytes()
    assert not np.array_equal(first.release.order, np.arange(len(table)))
    assert first.utility.ncp_by_column == pytest.approx(second.utility.ncp_by_column)
    assert first.utility.discernibility == second.utility.discernibility
    assert sorted(keys_of(first.release.frame(), schema.released)) == sorted(
        keys_of(second.release.frame(), schema.released)
    )


def test_the_same_rng_gives_the_same_file() -> None:
    table, schema = table_of("hospital")
    files = [anonymize(table, schema, k=K, rng=np.random.default_rng(3)).release.to_bytes() for _ in range(2)]
    assert files[0] == files[1]


def test_the_order_of_rows_does_not_matter() -> None:
    table, schema = table_of("hospital")
    turned = table.iloc[::-1].reset_index(drop=True)
    first, second = (anonymize(rows, schema, k=K, generalizer="uniform") for rows in (table, turned))
    assert sorted(keys_of(first.release.frame(), schema.released)) == sorted(
        keys_of(second.release.frame(), schema.released)
    )


def test_progress_goes_from_0_to_1() -> None:
    table, schema = table_of("customers")
    heard: list[tuple[float, str]] = []
    anonymize(table, schema, k=3, progress=lambda share, what: heard.append((share, what)))
    shares = [share for share, _ in heard]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert all(what for _, what in heard)


def test_without_the_original__the_checker_says_less_and_nothing_weaker() -> None:
    table, schema = table_of("hospital")
    result = anonymize(table, schema, generalizer="tiered", k=K, against_original=False)
    assert result.verification.get("containment") is None
    assert "can only be said with the original" in result.verification.describe()


def test_a_single_group() -> None:
    table, schema = table_of("customers")
    result = anonymize(table, schema, k=14)
    assert result.report.after.groups == 1
    assert result.utility.discernibility == 14 * 14
    assert set(result.release.frame()["Gender"]) == {"*"}
    one = anonymize(table, schema, k=1, min_leaf=1)
    assert one.report.after.smallest >= 1
