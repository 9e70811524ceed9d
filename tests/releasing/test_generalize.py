"""Generalizers against their slow twins and against their promises, on random tables with missing values."""

import hmac
import itertools
import struct
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anonymizer.cells import parse_cell
from anonymizer.checking.linkage import class_sizes
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.groups.prune import prune
from anonymizer.groups.risk import annotate
from anonymizer.groups.secret import SPREAD
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.growing.records import descend
from anonymizer.pipeline import anonymize
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES, divide, generalize, release_of
from anonymizer.releasing.grid import grids_at, ladders_of
from anonymizer.releasing.key import KEY_FILE
from anonymizer.releasing.pack import SAMPLE
from anonymizer.releasing.tiers import Groups
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Limits
from anonymizer.values import value_text
from tests import naive_generalize as naive
from tests.naive_pack import slow_groups, slow_line
from tests.naive_refine import slow_pieces
from tests.sweeps import few

QUASI = ["age", "born", "city", "grade"]


def random_table(seed, n):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, rng.choice([3, 12, 60]), n).astype(float)
    born = pd.Timestamp("1980-01-01") + pd.to_timedelta(rng.integers(0, rng.choice([4, 500]), n), unit="D")
    city = rng.choice(list("abcdefghij")[: rng.integers(1, 11)], n).astype(object)
    grade = rng.choice(["low", "mid", "high"], n).astype(object)
    age[rng.random(n) < 0.1] = np.nan
    city[rng.random(n) < 0.1] = None
    table = pd.DataFrame({"age": age, "born": pd.Series(born).where(rng.random(n) > 0.1), "city": city, "grade": grade})
    noisy = (table["age"].fillna(5) > 4) ^ (city == "a") ^ (rng.random(n) < 0.3)
    table["class"] = np.where(noisy, "yes", "no")
    table["name"] = [f"person {row}" for row in range(n)]
    table["row"] = np.arange(n)
    return table


def schema_of(table):
    return Schema.of(
        table,
        quasi_identifying=QUASI,
        sensitive=["class"],
        identifying=["name"],
        ordered=["grade"],
        domains={"grade": ["low", "mid", "high"]},
    )


def grow_case(seed, n, k, criterion="least", min_leaf=1):
    table = random_table(seed, n)
    schema = schema_of(table)
    encoded = encode(table, schema)
    tree = grow(encoded, min_leaf=min_leaf)
    pruning = prune(tree, annotate(tree, encoded), criterion, k)
    return table, schema, encoded, pruning


trees = st.tuples(
    st.integers(0, 10**6), st.integers(12, 60), st.integers(1, 6), st.sampled_from(["least", "error-risk"])
)


@settings(max_examples=few(50))
@given(trees)
@example((0, 12, 6, "least"))  # the root is the only group
def test_boxes__agree_with_the_slow_twins_and_k_holds(case):
    table, schema, encoded, pruning = grow_case(*case)
    k = case[2]
    leaf, group = descend(pruning.tree, encoded), pruning.group_of_node()
    members = {
        "uniform": [set(np.flatnonzero(group[leaf] == group[t])) for t in leaf],
        "tiered": naive.tiered_boxes(pruning.tree, encoded, leaf, group, k),
        "tiered-strict": naive.strict_cells(pruning.tree, encoded, leaf, group, k),
        "refine": pieces_of(encoded, group[leaf], k),
        "pack": groups_of(encoded, group[leaf], k, np.random.default_rng(1)),
        **{
            method: parts_of(divide(encoded, pruning, method, k, leaf=leaf, rng=np.random.default_rng(1)))
            for method in ("polish", "pack-persons")
        },
    }
    assert set(members) == set(GENERALIZERS)
    for method, sets in members.items():
        release = generalize(table, schema, encoded, pruning, method, k, rng=np.random.default_rng(1))
        for j, name in enumerate(encoded.names):
            column = release[name]
            for place, row in enumerate(release.order):
                assert says(column.cells[column.index[place]], encoded.encodings[j]) == naive.hull(
                    encoded, sets[row], j
                )
        if GUARANTEES[method].strict:
            assert class_sizes(release.frame(), QUASI).min() >= k


def pieces_of(encoded, group, k):
    """For every record the records of its piece of a group, cut where hulls lose least."""
    pieces = [piece for g in np.unique(group) for piece in slow_pieces(encoded, list(np.flatnonzero(group == g)), k)]
    home = {row: set(piece) for piece in pieces for row in piece}
    return [home[row] for row in range(len(group))]


def parts_of(parts):
    """For every record the records of its part; test_polish.py and test_persons.py answer for the parts."""
    return [set(np.flatnonzero(parts.part == part)) for part in parts.part]


def groups_of(encoded, region, k, rng):
    """For every record the records of its packed group, with the secret that a generator gives."""
    weight = np.exp(SPREAD * rng.standard_normal(len(encoded.names))).tolist()
    key = rng.bytes(32)
    number = [slow_number(encoded, row, key) for row in range(len(region))]
    order = np.array(sorted(range(len(region)), key=number.__getitem__))
    lines = [slow_line(encoded, order[region[order] == g].tolist(), weight, SAMPLE) for g in np.unique(region)]
    groups = [group for line in lines for group in slow_groups(encoded, line, k, weight)]
    home = {row: set(group) for group in groups for row in group}
    return [home[row] for row in range(len(region))]


def slow_number(encoded, row, key):
    """The number of a record: the exclusive or of a keyed digest of each of its values."""
    number = 0
    for encoding, code in zip(encoded.encodings, encoded.codes.matrix()[row].tolist(), strict=True):
        own = hmac.new(key, f"column {encoding.name}".encode(), "sha256").digest()
        text = b""
        if code < len(encoding.labels) and encoding.kind is Kind.CATEGORICAL:
            text = b"=" + encoding.labels[code].encode()
        elif code < len(encoding.labels):
            of_date = encoding.kind is Kind.DATE
            low = float(encoding.low[code])
            text = b"=" + (struct.pack("<q", int(low)) if of_date else struct.pack("<d", low))
        number ^= int.from_bytes(blake2b(text, digest_size=8, key=own).digest(), "little")
    return number


WAYS = [("concatenate", "range"), ("weighted", "mean"), ("weighted", "median"), ("sets", "mean")]


@settings(max_examples=few(120))
@given(trees, st.sampled_from(["uniform", "refine", "tiered-strict", "pack"]), st.sampled_from(WAYS))
@example((10456, 43, 4, "least"), "uniform", ("weighted", "mean"))  # a mean of 68 / 7 to 15 digits
def test_writings__agree_with_slow_twins_and_read_back(case, method, way):
    table, schema, encoded, pruning = grow_case(*case)
    writing, numbers = way
    rng = [np.random.default_rng(1) for _ in range(2)]
    plain = generalize(table, schema, encoded, pruning, method, case[2], rng=rng[0])
    release = generalize(table, schema, encoded, pruning, method, case[2], writing=writing, numbers=numbers, rng=rng[1])
    original = table.iloc[release.order].reset_index(drop=True)
    plain = plain.take(np.argsort(plain.order)[release.order])
    box = plain.frame()[QUASI].astype(object).fillna("(missing)").agg(tuple, axis=1)
    # Boxes that look alike are one to the reader; counts and means are those of each box, so compare per true box.
    group = pd.factorize(release_boxes(table, schema, encoded, pruning, method, case[2])[release.order])[0]
    for name in QUASI:
        cells = [release[name].cells[i] for i in release[name].index]
        for g in np.unique(group):
            rows = np.flatnonzero(group == g)
            assert len({cells[row] for row in rows}) == 1, "one box, one cell"
            assert len({box[row] for row in rows}) == 1
            expected = expected_text(original[name].iloc[rows], schema[name], writing, numbers, encoded)
            assert cells[rows[0]].text() == expected
            assert parse_cell(expected, schema[name].kind) == cells[rows[0]]
    assert class_sizes(release.frame(), QUASI).min() >= case[2]
    assert release.writing == writing
    assert release.numbers == numbers


def release_boxes(table, schema, encoded, pruning, method, k):
    leaf, group = descend(pruning.tree, encoded), pruning.group_of_node()
    return GENERALIZERS[method](Groups(pruning.tree, encoded, leaf, group), k, np.random.default_rng(1)).part


def expected_text(values, column, writing, numbers, encoded):
    """A cell of the original values of one box, in plain Python."""
    present = values.dropna()
    absent = len(present) < len(values)
    if column.name in ("city", "grade"):
        encoding = next(e for e in encoded.encodings if e.name == column.name)
        labels = [str(level) for level in encoding.labels if (present == level).any()]
        counts = [int((present == level).sum()) for level in labels]
        if absent:
            labels, counts = [*labels, "missing"], [*counts, len(values) - len(present)]
        if writing == "weighted":
            return "+".join(f"{level}:{count}" for level, count in zip(labels, counts, strict=True))
        if labels == ["missing"]:
            return None
        if writing == "concatenate":
            return "+".join(labels)
        if len(labels) == encoding.n_codes >= 2:
            return "*"
        return labels[0] if len(labels) == 1 else "{" + ", ".join(labels) + "}"
    if not len(present):
        return None
    low, high = (value_text(end) for end in (present.min(), present.max()))
    if low == high:
        text = low
    elif numbers == "range":
        text = f"[{low}, {high}]"
    elif column.name == "age":
        text = "~" + value_text(float(f"{getattr(present, numbers)():.15g}"))
    else:
        day = (present - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        text = "~" + value_text(pd.Timestamp("1970-01-01") + pd.Timedelta(days=round(getattr(day, numbers)())))
    return "{" + text + ", missing}" if absent else text


def test_concatenate__is_short_for_uniform_written_that_way():
    case = grow_case(1, 60, 3)
    rng = [np.random.default_rng(7) for _ in range(2)]
    short = generalize(*case, "concatenate", 3, rng=rng[0])
    long = generalize(*case, "uniform", 3, writing="concatenate", rng=rng[1])
    pd.testing.assert_frame_equal(short.frame(), long.frame())
    assert short.method == "uniform"
    assert short.writing == "concatenate"


@pytest.mark.parametrize("way", [{"writing": "weighted"}, {"numbers": "mean"}, {"numbers": "median"}])
def test_tiered__shares_records_and_so_has_no_counts_or_means(way):
    with pytest.raises(ParameterError, match="twice"):
        generalize(*grow_case(1, 60, 3), "tiered", 3, **way)


@pytest.mark.parametrize("unknown", [{"writing": "words"}, {"numbers": "mode"}])
def test_unknown_writings__are_refused(unknown):
    with pytest.raises(ParameterError, match="Choose one of"):
        generalize(*grow_case(1, 60, 3), "uniform", 3, **unknown)


def test_the_dictionary__says_what_cells_may_be():
    case = grow_case(1, 60, 3)
    release = generalize(*case, "uniform", 6, writing="weighted", numbers="median")
    cells = {entry["name"]: entry["cells"] for entry in release.dictionary()}
    assert "median" in cells["age"]
    assert "not the value itself" in cells["born"]
    assert "a:4+b:1" in cells["city"]


def test_refine__keeps_limits_in_every_part():
    table, schema, encoded, pruning = grow_case(11, 60, 6)
    limits = Limits(k=3, l=2)
    pruning = prune(pruning.tree, annotate(pruning.tree, encoded), limits=limits, encoded=encoded)
    free = generalize(table, schema, encoded, pruning, "refine", 3)
    release = generalize(table, schema, encoded, pruning, "refine", 3, limits=limits)

    def count_mixed(release):
        frame = release.frame()
        return frame.groupby([frame[name].astype(object).fillna("") for name in QUASI])["class"].nunique().min()

    assert count_mixed(free) == 1
    assert count_mixed(release) == 2


def says(cell, encoding):
    """A cell as the slow twin writes hulls."""
    if cell.withheld:
        return [str(level) for level in encoding.labels], encoding.missing
    if encoding.is_interval:
        return (np.inf, -np.inf, True) if cell.low is None else (cell.low, cell.high, cell.missing)
    return list(cell.levels), cell.missing


@settings(max_examples=few(60))
@given(trees, st.sampled_from(sorted(GENERALIZERS)))
def test_every_cell__holds_its_original_value_and_kept_values_travel_with_their_row(case, method):
    table, schema, encoded, pruning = grow_case(*case)
    release = generalize(table, schema, encoded, pruning, method, case[2])
    assert sorted(release.order) == list(range(len(table)))
    original = table.iloc[release.order].reset_index(drop=True)
    frame = release.frame()
    assert list(frame.columns) == [name for name in table.columns if name != "name"]
    pd.testing.assert_series_equal(frame["row"], original["row"])
    assert frame["class"].astype(object).tolist() == original["class"].tolist()
    for column in release.generalized:
        for cell, value in zip([column.cells[i] for i in column.index], original[column.name], strict=True):
            text = None if pd.isna(value) else value_text(value)
            number = None
            if column.name == "age" and text is not None:
                number = float(value)
            elif column.name == "born" and text is not None:
                number = pd.Timestamp(value).as_unit("us").value / 1000
            assert cell.admits(text, number)


@settings(max_examples=few(30))
@given(trees)
def test_tiered__depends_on_the_unpruned_tree_only(case):
    seed, n, k, _ = case
    answers = []
    for criterion in ("least", "error-risk"):
        table, schema, encoded, pruning = grow_case(seed, n, k, criterion)
        release = generalize(table, schema, encoded, pruning, "tiered", k)
        answers.append(release.frame().iloc[np.argsort(release.order)].astype(object).to_numpy().tolist())
    assert str(answers[0]) == str(answers[1])


def test_release__is_the_same_with_what_is_remembered_of_the_last():
    table, schema, encoded, pruning = grow_case(5, 400, 3)
    ladders, memory = ladders_of(encoded, schema), {}
    for k, writing, numbers in itertools.product((3, 9, 3), ("sets", "groups", "concatenate"), ("public", "range")):
        parts = divide(encoded, prune(pruning.tree, annotate(pruning.tree, encoded), "least", k), "uniform", k)
        of = table, schema, encoded, parts, writing, numbers, grids_at(ladders, k)
        sequence = np.random.default_rng(k).permutation(len(table))
        fresh, again = (release_of(*of, sequence, memory=m) for m in (None, memory))
        pd.testing.assert_frame_equal(again.frame(), fresh.frame())
        for column, same in zip(again.columns, fresh.columns, strict=True):
            assert column.cells == same.cells
            assert column.domain == same.domain


def test_shuffling__follows_from_the_key_unless_a_generator_is_given(monkeypatch, tmp_path):
    case = grow_case(1, 60, 3)
    orders = [generalize(*case, "uniform", 3).order for _ in range(2)]
    np.testing.assert_array_equal(*orders)
    (tmp_path / "key").write_bytes(bytes(32))
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))
    orders += [generalize(*case, "uniform", 3, rng=np.random.default_rng(seed)).order for seed in (7, 8)]
    assert len({tuple(order) for order in [*orders, generalize(*case, "uniform", 3).order]}) == 4
    seeded = [generalize(*case, "uniform", 3, rng=np.random.default_rng(7)).order for _ in range(2)]
    np.testing.assert_array_equal(*seeded)


@pytest.mark.parametrize("method", sorted(GENERALIZERS))
def test_permuting_the_input__changes_no_box_of_uniform_and_only_ties_of_the_others(method):
    table, schema, _, _ = grow_case(3, 60, 3)
    frames = []
    for order in (np.arange(60), np.random.default_rng(0).permutation(60)):
        mixed = table.iloc[order].reset_index(drop=True)
        encoded = encode(mixed, schema)
        tree = grow(encoded, min_leaf=1)
        release = generalize(mixed, schema, encoded, prune(tree, annotate(tree, encoded), "least", 3), method, 3)
        frames.append(release.frame().sort_values("row", ignore_index=True).astype(object))
    if method == "uniform":
        pd.testing.assert_frame_equal(*frames)
    assert frames[0]["class"].tolist() == frames[1]["class"].tolist()


@pytest.mark.parametrize("method", sorted(GENERALIZERS))
def test_guarantees__are_said_for_every_generalizer(method):
    assert GUARANTEES[method].gives
    assert GUARANTEES[method].does_not


def test_tiered__is_never_called_strict():
    assert not GUARANTEES["tiered"].strict
    assert "not k-anonymous" in GUARANTEES["tiered"].does_not


@pytest.mark.parametrize("method", ["tiered", "tiered-strict"])
def test_a_group_below_k__is_refused(method):
    table, schema, encoded, pruning = grow_case(2, 40, 3)
    with pytest.raises(GuaranteeError) as caught:
        generalize(table, schema, encoded, pruning, method, 41)
    assert "41" in str(caught.value)
    with pytest.raises(GuaranteeError):
        generalize(table, schema, encoded, pruning, method, 3, after=0)


def test_wrong_parameters__are_refused():
    table, schema, encoded, pruning = grow_case(2, 40, 3)
    with pytest.raises(ParameterError):
        generalize(table, schema, encoded, pruning, "none", 3)
    with pytest.raises(ParameterError):
        generalize(table, schema, encoded, pruning, "uniform", 0)
    with pytest.raises(ParameterError):
        generalize(table.iloc[:-1], schema, encoded, pruning, "uniform", 3)


def test_shared_codes__still_give_exact_intervals():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.permutation(3000) * 7 + 2**53, "class": rng.choice(["a", "b"], 3000)})
    schema = Schema.of(table, quasi_identifying=["x"], sensitive=["class"])
    encoded = encode(table, schema, max_codes=100)
    tree = grow(encoded)
    pruning = prune(tree, annotate(tree, encoded), "least", 10)
    release = generalize(table, schema, encoded, pruning, "tiered-strict", 10)
    frame = release.frame().assign(original=table["x"].to_numpy()[release.order])
    for text, rows in frame.groupby("x", observed=True)["original"]:
        assert text == f"[{rows.min()}, {rows.max()}]"


def test_wide_categories__need_more_than_one_word_of_bits():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"zip": rng.integers(0, 500, 4000).astype(str), "class": rng.choice(["a", "b"], 4000)})
    schema = Schema.of(table, quasi_identifying=["zip"], sensitive=["class"], kinds={"zip": "categorical"})
    encoded = encode(table, schema)
    tree = grow(encoded)
    pruning = prune(tree, annotate(tree, encoded), "least", 10)
    leaf = descend(tree, encoded)
    release = generalize(table, schema, encoded, pruning, "uniform", 10, leaf=leaf)
    group = pruning.group_of_node()[leaf][release.order]
    original = table["zip"].to_numpy()[release.order]
    column = release["zip"]
    for g in np.unique(group):
        cell = column.cells[column.index[np.flatnonzero(group == g)[0]]]
        expected = set(original[group == g])
        assert cell.withheld if len(expected) == 500 else set(cell.levels) == expected


def test_kept_columns__carry_nothing_of_their_past():
    table, _, _, _ = grow_case(5, 40, 3)
    first_seen = pd.CategoricalDtype(["z-unused", *table["class"].unique()[::-1]])
    table = table.assign(note=pd.Series(table["class"], dtype=first_seen))
    table["mixed"] = pd.Series([2.5, "a", True, None] * 10, dtype=object)
    table.attrs["secret"] = "do not leak"
    table["note"].attrs["secret"] = "do not leak"
    schema = schema_of(table)
    encoded = encode(table, schema)
    tree = grow(encoded)
    release = generalize(table, schema, encoded, prune(tree, annotate(tree, encoded), "least", 3), "uniform", 3)
    frame = release.frame()
    assert list(frame["note"].cat.categories) == ["no", "yes"]
    assert not frame.attrs
    assert not frame["note"].attrs
    assert set(frame["mixed"].dropna()) == {"2.5", "a", "true"}
    assert b"leak" not in release.to_bytes("parquet")
    assert list(frame.index) == list(range(40))


def test_groups__hold_what_generalizers_need():
    _, _, encoded, pruning = grow_case(2, 40, 3)
    groups = Groups(pruning.tree, encoded, descend(pruning.tree, encoded), pruning.group_of_node())
    for make in GENERALIZERS.values():
        parts = make(groups, 3, np.random.default_rng(1))
        assert sorted(np.unique(parts.part)) == list(range(parts.n_parts))


@pytest.mark.sweep(1)
@pytest.mark.parametrize("method", ["refine", "pack", "polish"])
def test_limits_on_numbers__are_left_to_the_checker_and_the_guarantee_says_so(method):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(20, 60, 80), "pay": rng.choice([1.0, 2.0], 80, p=[0.9, 0.1])})
    table["illness"] = rng.choice(["a", "b", "c"], 80)
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["illness", "pay"])
    verification = anonymize(table, schema, k=3, l=2, generalizer=method).verification
    assert verification["distinct l-diversity of illness"].passed is True
    assert verification["distinct l-diversity of pay"].passed is False
    assert "Only the checker judges l and t of numbers" in GUARANTEES[method].gives
