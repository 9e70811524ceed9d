"""Different persons of every node, against counting them by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.errors import SchemaError
from anonymizer.groups.limits import margins
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow, grow_with_leaves
from anonymizer.growing.records import descend
from anonymizer.schema import Schema
from anonymizer.settings import Limits
from tests.sweeps import few


def visits(seed: int, n: int, missing: float = 0.1) -> tuple[pd.DataFrame, Schema]:
    """Visits of fewer people than there are rows; of some rows nobody knows whose they are."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "patient": rng.integers(0, max(2, n // 3), n).astype(str).astype(object),
            "age": rng.integers(0, 40, n),
            "ward": rng.choice(list("abc"), n),
            "ill": rng.choice(list("xyz"), n, p=[0.6, 0.3, 0.1]),
            "drug": rng.choice(list("pq"), n),
        }
    )
    table.loc[rng.random(n) < missing, "patient"] = None
    return table, Schema.of(
        table, person="patient", quasi_identifying=["age", "ward"], sensitive=["ill", "drug"], kinds={"age": "numeric"}
    )


@settings(max_examples=few(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 120))
def test_nodes__count_each_person_once(seed: int, n: int) -> None:
    table, schema = visits(seed, n)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=1)
    leaf = descend(tree, encoded)
    assert encoded.n_persons == table.patient.nunique() == tree.persons.n[0]
    for t in range(tree.n_nodes):
        inside = table[(leaf >= t) & (leaf < t + tree.size[t])]
        assert tree.n[t] == len(inside)
        assert tree.persons.n[t] == inside.patient.nunique()
        assert tree.persons.most[t] == max(inside.patient.value_counts(), default=0)
        for target, sums in zip(
            (encoded.target, *encoded.others), (tree.persons.sums, *tree.persons.others), strict=True
        ):
            by_value = inside.groupby(target.name).patient.nunique()
            assert sums[t].tolist() == [by_value.get(label, 0) for label in target.labels]


def test_nodes__are_counted_by_rows_where_every_row_is_a_person() -> None:
    table, schema = visits(1, 50)
    tree = grow(encode(table, schema.with_column("patient", role="identifying")), min_leaf=1)
    assert tree.persons.n is tree.n
    assert tree.persons.sums is tree.sums


@settings(max_examples=few(40), deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(10, 120),
    st.sampled_from(["least", "error-risk"]),
    st.sampled_from(
        [
            Limits(k=4),
            Limits(k=3, l=2),
            Limits(k=2, t=0.3),
            Limits(k=2, entropy_l=1.5),
            Limits(k=2, share_max=0.3),
        ]
    ),
)
def test_pruned_groups__hold_enough_persons(seed: int, n: int, criterion: str, limits: Limits) -> None:
    table, schema = visits(seed, n)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=1)
    risk = annotate(tree, encoded)
    pruning = prune(tree, risk, criterion, limits=limits, encoded=encoded)
    assert pruning.satisfied == all(margin.passes[0] for margin in margins(tree, risk, encoded, limits))
    if not pruning.satisfied:
        return
    group = pruning.group_of_node()[descend(tree, encoded)]
    groups = table.groupby(group)
    assert groups.patient.nunique().min() >= limits.k
    for _, inside in groups:
        assert inside.patient.value_counts().max() <= (limits.share_max or 1) * len(inside) + 1e-9
    pairs = table.dropna(subset="patient").assign(group=group[table.patient.notna()])
    for name in ("ill", "drug"):
        one = pairs.drop_duplicates(["group", "patient", name])
        counts = one.groupby(["group", name]).size().unstack(fill_value=0)
        shares = counts.div(counts.sum(axis=1), axis=0)
        assert (counts > 0).sum(axis=1).min() >= (limits.l or 0)
        effective = np.exp(-(shares * np.log(shares.where(shares > 0, 1))).sum(axis=1))
        assert effective.min() >= (limits.entropy_l or 0) - 1e-9
        whole = pairs.drop_duplicates(["patient", name]).groupby(name).size()
        away = shares.sub(whole / whole.sum(), axis=1).abs().sum(axis=1) / 2
        assert away.max() <= (limits.t or 1) + 1e-9


def test_icr__is_of_persons() -> None:
    table, schema = visits(3, 60, missing=0.0)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=1)
    np.testing.assert_allclose(annotate(tree, encoded).icr, np.log2(tree.persons.n))


def test_rows_of_nobody__are_told_and_count_for_nobody() -> None:
    table, schema = visits(2, 40, missing=0.0)
    table.loc[:4, "patient"] = None
    encoded = encode(table, schema)
    assert any("5 rows have no 'patient'" in note for note in encoded.notes)
    assert encoded.n_persons == table.patient.nunique()


def test_schema__has_one_person_column_that_never_leaves() -> None:
    table, schema = visits(0, 10)
    assert schema.person == "patient"
    assert schema.identifying == ("patient",)
    assert "patient" not in schema.released
    assert Schema.from_json(schema.to_json()) == schema
    with pytest.raises(SchemaError, match="said to be the person of a row"):
        schema.with_column("ward", role="person")


def test_nodes_that_are_divided_from_histograms__count_each_person_once() -> None:
    """Where the records of such a node lie is not known, only where those of leaves do."""
    table, schema = visits(3, 20_000)
    table["age"] = np.random.default_rng(3).integers(0, 900, len(table))
    encoded = encode(table, schema)
    tree, leaf = grow_with_leaves(encoded)
    assert encoded.person is not None
    pairs = pd.DataFrame({"node": leaf.astype(np.int64), "person": encoded.person}).query("person >= 0")
    counts = np.zeros(tree.n_nodes, np.int64)
    for depth in range(int(tree.depth.max()), -1, -1):
        pairs = pairs.drop_duplicates()
        here = tree.depth[pairs["node"]] == depth
        counts += np.bincount(pairs["node"][here], minlength=tree.n_nodes)
        pairs["node"] = np.where(here, tree.parent[pairs["node"]], pairs["node"])
        pairs = pairs[pairs["node"] >= 0]
    assert tree.persons.n.tolist() == counts.tolist()
