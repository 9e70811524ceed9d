"""Trees of other programs: what they assess to, round trips, and what is refused in one sentence."""

import io
import json
import random
import zipfile
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from anonymizer.disclosure.brought import Brought, read_tree, sketch_from, sketch_of
from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.exposure import assess, figures_of
from anonymizer.disclosure.formats import from_skops
from anonymizer.disclosure.outline import KeyedTree, Keys, keys_of
from anonymizer.disclosure.pmml import to_pmml
from anonymizer.disclosure.publish import publish, to_json
from anonymizer.errors import AnonymizerError, ParameterError, ReadError
from anonymizer.growing.encode import encode
from anonymizer.schema import Schema
from tests.disclosure.trees import TREES, grow_tree


def people(n: int = 300, seed: int = 3) -> pd.DataFrame:
    """Numbers and letters, and a class that follows them mostly."""
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(18, 80, n).astype(float), rng.integers(0, 40, n) / 4
    town = rng.choice(["Ulm", "Bonn", "Bad Urach"], n)
    risk = (age > 50).astype(int) + (town == "Ulm") + (pay > 6)
    noise = rng.random(n) < 0.15
    classes = np.array(["low", "mid", "high", "high"])[np.where(noise, rng.integers(0, 4, n), risk)]
    return pd.DataFrame({"age": age, "pay": pay, "town": town, "y": classes})


def keys_for(table: pd.DataFrame, names: list[str]) -> Keys:
    return keys_of(encode(table, Schema.of(table, quasi_identifying=names, sensitive=["y"])))


def leaves_agree(tree: KeyedTree, apply: Any, table: pd.DataFrame, names: list[str]) -> None:
    """Two records share a leaf here exactly when they do in the program that made the tree."""
    values = pd.DataFrame(
        [
            [encoding.text(code) for code, encoding in zip(row, tree.keys.encodings, strict=True)]
            for row in tree.keys.codes
        ],
        columns=names,
    )
    for name in names:
        values[name] = values[name].astype(table[name].dtype)
    theirs = apply(values[names])
    pairs = set(zip(tree.leaf_of_key.tolist(), np.asarray(theirs).tolist(), strict=True))
    assert len(pairs) == len({ours for ours, _ in pairs}) == len({other for _, other in pairs})


def test_a_tree__read_apart_is_the_same() -> None:
    from tests.fuzz.trees import keys_of_form, whole_file

    for form in ("PMML", "rpart", "skops", "ONNX"):
        with suppress(ImportError):
            content = whole_file(form)
            sketch = sketch_of(content)
            assert sketch_from(json.loads(json.dumps(asdict(sketch)))) == sketch
            one, other = (read_tree(content, keys_of_form(form), apart=apart, fork=True) for apart in (False, True))
            assert to_json(publish(one.tree, one.knowledge)) == to_json(publish(other.tree, other.knowledge))
    with pytest.raises(ReadError, match="holds no tree that can be assessed"):
        read_tree(whole_file("PMML").replace(b"TreeModel", b"OtherModel"), keys_of_form("PMML"), apart=True, fork=True)


def same_as_json(brought: Brought, keys: Keys) -> None:
    """The tree says the same of everybody as it does when it is published as JSON and read again."""
    again = read_tree(to_json(publish(brought.tree, Knowledge(brought.knowledge.rates))).encode(), keys)
    one, other = (assess(item.tree, brought.knowledge).figures for item in (brought, again))
    np.testing.assert_allclose(one.highest, other.highest, rtol=1e-12)
    assert one.mean_divergence == pytest.approx(other.mean_divergence)
    assert one.accuracy == other.accuracy


@pytest.mark.parametrize(("seed", "splits", "measure"), TREES)
@pytest.mark.parametrize("missing", [False, True])
def test_pmml__what_copse_wrote_is_the_same_tree(seed: int, splits: str, measure: str, missing: bool) -> None:
    tree, rule = grow_tree(seed, splits, measure, missing=missing)
    for knowledge in (Knowledge(False), Knowledge(True, True, rule)):
        document = publish(tree, knowledge)
        for text in (to_json(document), to_pmml(document)):
            again = read_tree(text.encode(), tree.keys)
            assert again.knowledge == knowledge
            assert again.tree.keys.codes.tolist() == tree.keys.codes.tolist()
            assert again.tree.leaf_of_key.tolist() == tree.leaf_of_key.tolist()
            assert again.tree.label.tolist() == tree.label.tolist()
            np.testing.assert_array_equal(again.tree.outline.threshold, tree.outline.threshold)
            assert not again.shares


def test_skops__numbers_by_name() -> None:
    sio = pytest.importorskip("skops.io", reason="skops is needed to write the file")
    table, names = people(), ["age", "pay"]
    model = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(table[names], table["y"])
    keys = keys_for(table, names)
    brought = read_tree(sio.dumps(model), keys)
    assert (brought.form, brought.shares, brought.knowledge) == ("scikit-learn", True, Knowledge(True))
    leaves_agree(brought.tree, model.apply, table, names)
    same_as_json(brought, keys)
    shares = figures_of(
        brought.tree, brought.tree.sums[brought.tree.leaf_of_key] / brought.tree.n[brought.tree.leaf_of_key][:, None]
    )
    assert brought.by_shares is not None
    assert brought.by_shares.highest_posterior == shares.highest_posterior
    assert brought.by_shares.mean_divergence <= assess(brought.tree, Knowledge(True)).figures.mean_divergence


def test_skops__levels_as_columns_of_their_own() -> None:
    sio = pytest.importorskip("skops.io", reason="skops is needed to write the file")
    table, names = people(), ["age", "pay", "town"]
    wide = pd.get_dummies(table[names], columns=["town"])
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=4, random_state=0).fit(wide, table["y"])
    keys = keys_for(table, names)
    brought = read_tree(sio.dumps(model), keys)
    assert "town" in {keys.encodings[column].name for column in brought.tree.outline.feature if column >= 0}

    def apply(values: pd.DataFrame) -> Any:
        return model.apply(pd.get_dummies(values, columns=["town"])[wide.columns])

    leaves_agree(brought.tree, apply, table, names)
    same_as_json(brought, keys)


def test_skops__missing_numbers_go_where_the_tree_sends_them() -> None:
    sio = pytest.importorskip("skops.io", reason="skops is needed to write the file")
    table, names = people(), ["age", "pay"]
    table.loc[::7, "age"] = np.nan
    table.loc[::7, "y"] = "low"
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(table[names], table["y"])
    brought = read_tree(sio.dumps(model), keys_for(table, names))
    leaves_agree(brought.tree, model.apply, table, names)


def test_skops__columns_without_names_by_their_place() -> None:
    sio = pytest.importorskip("skops.io", reason="skops is needed to write the file")
    table, names = people(), ["age", "pay"]
    model = DecisionTreeClassifier(max_depth=3).fit(table[names].to_numpy(), table["y"].to_numpy(object))
    brought = read_tree(sio.dumps(model), keys_for(table, names))
    leaves_agree(brought.tree, lambda values: model.apply(values.to_numpy()), table, names)
    with pytest.raises(ReadError, match="2 columns without names, and there are 3"):
        read_tree(sio.dumps(model), keys_for(table, [*names, "town"]))


def test_skops__what_is_no_such_tree_is_refused() -> None:
    sio = pytest.importorskip("skops.io", reason="skops is needed to write the file")
    table, names = people(), ["age", "pay"]
    keys = keys_for(table, names)
    numbers = DecisionTreeRegressor(max_depth=2).fit(table[names], table["pay"])
    with pytest.raises(ReadError, match="DecisionTreeRegressor"):
        read_tree(sio.dumps(numbers), keys)
    first = ColumnTransformer([("town", OneHotEncoder(), ["town"])], remainder="passthrough")
    changed = make_pipeline(first, DecisionTreeClassifier(max_depth=2)).fit(table[[*names, "town"]], table["y"])
    with pytest.raises(ReadError, match="changes the columns"):
        read_tree(sio.dumps(changed), keys)
    model = DecisionTreeClassifier(max_depth=2).fit(table[names], table["y"])
    other = table.assign(y=np.roll(table["y"].to_numpy(), 7))
    with pytest.raises(ParameterError, match="not made from this table"):
        read_tree(sio.dumps(model), keys_for(other, names))
    with pytest.raises(ReadError, match="'pay', which is no quasi-identifying column"):
        read_tree(sio.dumps(model), keys_for(table.assign(town="Ulm"), ["age", "town"]))


def test_skops__hostile_arrays_are_refused() -> None:
    sio = pytest.importorskip("skops.io", reason="skops is needed to write the file")
    table, names = people(), ["age", "pay"]
    content = sio.dumps(DecisionTreeClassifier(max_depth=3).fit(table[names], table["y"]))
    keys = keys_for(table, names)

    def with_nodes(change: Any) -> bytes:
        packed, out = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
        with zipfile.ZipFile(out, "w") as changed:
            for name in packed.namelist():
                part = packed.read(name)
                if b"left_child" in part[:400]:
                    nodes = np.load(io.BytesIO(part)).copy()
                    change(nodes)
                    saved = io.BytesIO()
                    np.save(saved, nodes)
                    part = saved.getvalue()
                changed.writestr(name, part)
        return out.getvalue()

    def loop(nodes: Any) -> None:
        nodes["left_child"][1] = 0

    def far(nodes: Any) -> None:
        nodes["right_child"][0] = 10**12

    def strange(nodes: Any) -> None:
        nodes["feature"][0] = -9

    assert read_tree(with_nodes(lambda nodes: None), keys).tree.n_keys
    for change in (loop, far, strange):
        with pytest.raises(ReadError):
            read_tree(with_nodes(change), keys)
    long = (
        b"\x93NUMPY\x01\x00v\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }".ljust(117)
        + b"\n"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as out:
        for name in zipfile.ZipFile(io.BytesIO(content)).namelist():
            out.writestr(name, long if name.endswith("npy") else zipfile.ZipFile(io.BytesIO(content)).read(name))
    with pytest.raises(ReadError, match="not as long as it says"):
        from_skops(packed.getvalue())
    open_bracket = long.replace(b"(99999999999,)", b"(99999999999,") + bytes(64)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as out:
        for name in zipfile.ZipFile(io.BytesIO(content)).namelist():
            part = zipfile.ZipFile(io.BytesIO(content)).read(name)
            out.writestr(name, open_bracket if name.endswith("npy") else part)
    with pytest.raises(ReadError, match="array of this skops file cannot be read"):
        from_skops(packed.getvalue())


@pytest.mark.parametrize("classes", [["low", "mid", "high"], ["low", "high"]])
def test_onnx__a_tree_of_scikit_learn(classes: list[str]) -> None:
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is needed to write the file")
    table, names = people(), ["age", "pay"]
    table = table[table["y"].isin(classes)].reset_index(drop=True)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(table[names].to_numpy(np.float32), table["y"])
    kind = skl2onnx.common.data_types.FloatTensorType([None, 2])
    content = skl2onnx.to_onnx(model, initial_types=[("X", kind)]).SerializeToString()
    keys = keys_for(table, names)
    brought = read_tree(content, keys)
    assert (brought.form, brought.shares) == ("ONNX", True)
    leaves_agree(brought.tree, lambda values: model.apply(values.to_numpy(np.float32)), table, names)
    same_as_json(brought, keys)
    with pytest.raises(ReadError, match="2 columns without names"):
        read_tree(content, keys_for(table, [*names, "town"]))
    many = skl2onnx.to_onnx(
        RandomForestClassifier(3, max_depth=2).fit(table[names], table["y"]),
        initial_types=[("X", kind)],
    ).SerializeToString()
    with pytest.raises(ReadError, match="several trees"):
        read_tree(many, keys)


RPART = """n= 8

node), split, n, loss, yval, (yprob)
      * denotes terminal node

1) root 8 3 high (0.62500000 0.37500000)
  2) age>=45.5 5 1 high (0.80000000 0.20000000)
    4) town=Bonn,Bad Urach 3 0 high (1.00000000 0.00000000) *
    5) town=Ulm 2 1 high (0.50000000 0.50000000) *
  3) age< 45.5 3 1 low (0.33333333 0.66666667) *
"""


def eight() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [50, 60, 70, 46, 47, 20, 30, 45],
            "town": ["Bonn", "Bad Urach", "Bonn", "Ulm", "Ulm", "Ulm", "Bonn", "Bonn"],
            "y": ["high", "high", "high", "high", "low", "low", "low", "high"],
        }
    )


def test_rpart__the_text_that_print_gives() -> None:
    keys = keys_for(eight(), ["age", "town"])
    brought = read_tree(RPART.encode(), keys)
    tree = brought.tree
    leaves = tree.outline.leaves
    assert sorted(zip(tree.n[leaves].tolist(), tree.error[leaves].tolist(), strict=True)) == [(2, 1), (3, 0), (3, 1)]
    assert {keys.labels[code] for code in tree.label[leaves]} == {"high", "low"}
    same_as_json(brought, keys)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(", (yprob)", "").replace("loss", "deviance"), "predicts a number"),
        (lambda text: text.replace("town=Ulm", "city=Ulm"), "question of node 2 is not understood"),
        (lambda text: text.replace("age", "size"), "'size', which is no quasi-identifying column"),
        (lambda text: text.replace("3) age", "3) ages"), "question of node 1 is not understood"),
        (lambda text: text.replace(" low (", " middling ("), "'middling', which no row has"),
        (lambda text: text.replace("45.5", "4x"), "'4x' is no number"),
        (lambda text: text.replace("*\n", "\n", 1).replace("8 3 high", "eight"), "a line is not understood"),
    ],
)
def test_rpart__what_is_not_understood_is_said(change: Any, says: str) -> None:
    with pytest.raises(ReadError) as raised:
        read_tree(change(RPART).encode(), keys_for(eight(), ["age", "town"]))
    assert says in str(raised.value)


PMML = """<PMML version="4.2" xmlns="http://www.dmg.org/PMML-4_2"><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/></DataDictionary>
<TreeModel functionName="classification"><MiningSchema/>
<Node score="high"><True/>
<Node score="high" recordCount="5"><CompoundPredicate booleanOperator="surrogate">
<SimplePredicate field="age" operator="greaterOrEqual" value="45.5"/>
<SimplePredicate field="town" operator="equal" value="Ulm"/></CompoundPredicate>
<Node><SimplePredicate field="town" operator="notEqual" value="Ulm"/>
<ScoreDistribution value="high" recordCount="3"/><ScoreDistribution value="low" recordCount="0"/></Node>
<Node score="high"><SimpleSetPredicate field="town" booleanOperator="isIn"><Array n="1" type="string">"Ulm"</Array>
</SimpleSetPredicate></Node></Node>
<Node score="low"><SimplePredicate field="age" operator="lessThan" value="45.5"/></Node></Node></TreeModel></PMML>"""


def test_pmml__as_r_writes_it() -> None:
    keys = keys_for(eight(), ["age", "town"])
    brought, text = read_tree(PMML.encode(), keys), read_tree(RPART.encode(), keys)
    assert brought.tree.leaf_of_key.tolist() == text.tree.leaf_of_key.tolist()
    assert brought.tree.label.tolist() == text.tree.label.tolist()
    assert brought.shares


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: '<!DOCTYPE x [<!ENTITY a "b">]>' + text, "declares a document type"),
        (lambda text: text.replace("TreeModel", "MiningModel"), "MiningModel, and one TreeModel"),
        (lambda text: text.replace("classification", "regression"), "predicts a number"),
        (lambda text: text.replace('value="45.5"', 'value="nan"', 1), "'nan' is no number"),
        (lambda text: text.replace("surrogate", "xor"), "a predicate is not understood"),
        (lambda text: text[:-30], "no well-formed XML"),
        (lambda text: "<a>" * 2000 + "</a>" * 2000, "too deep"),
        (lambda text: text.replace('"age" operator="lessT', '"town" operator="lessT'), "several columns at once"),
        (lambda text: text.replace('"greaterOrEqual" value="45.5"', '"greaterOrEqual" value="40"'), "no cut in two"),
    ],
)  # fmt: skip
def test_pmml__what_is_not_understood_is_said(change: Any, says: str) -> None:
    with pytest.raises(ReadError) as raised:
        read_tree(change(PMML).encode(), keys_for(eight(), ["age", "town"]))
    assert says in str(raised.value)


@pytest.mark.parametrize("form", ["pmml", "rpart", "json", "skops", "onnx"])
def test_damaged_files__end_in_one_sentence_or_in_a_tree(form: str) -> None:
    table, names = eight(), ["age", "town"]
    keys = keys_for(table, names)
    if form in ("skops", "onnx"):
        writer = pytest.importorskip("skops.io" if form == "skops" else "skl2onnx", reason=f"{form} must be written")
        keys = keys_for(table, ["age"])
        model = DecisionTreeClassifier(max_depth=2).fit(table[["age"]].to_numpy(np.float32), table["y"])
        content = (
            writer.dumps(model)
            if form == "skops"
            else writer.to_onnx(model, table[["age"]].to_numpy(np.float32)[:1]).SerializeToString()
        )
    else:
        whole = read_tree(RPART.encode(), keys).tree
        content = {"pmml": PMML, "rpart": RPART, "json": to_json(publish(whole, Knowledge()))}[form].encode()
    rng = random.Random(7)
    read_tree(content, keys)
    for _ in range(100):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.choice([0, 1, 1, 3])] = rng.randbytes(rng.choice([0, 1, 1, 2]))
        with suppress(AnonymizerError):  # nothing else may be raised
            assert read_tree(bytes(damaged), keys).tree.n_keys


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"{", b"<", b"\x08", b"hello", b"\xff" * 50, json.dumps([1]).encode()]
)
def test_no_tree_at_all(content: bytes) -> None:
    with pytest.raises(ReadError):
        read_tree(content, keys_for(eight(), ["age", "town"]))
