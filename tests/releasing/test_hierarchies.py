"""Hierarchies and rounding: tree, boxes, loss and checker keep to them; and hierarchies to take away."""

import json
import math
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymizer.checking.verify import verify
from anonymizer.cli.main import main
from anonymizer.cuts import Cuts
from anonymizer.engines import anonymize_files
from anonymizer.errors import EncodeError, ParameterError, SchemaError
from anonymizer.flow import Flow
from anonymizer.growing.tree import goes_left
from anonymizer.hierarchy import Hierarchy
from anonymizer.measuring.utility import ncp_by_column
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.hierarchies import cut_hierarchy, public_hierarchy
from anonymizer.releasing.release import read_release
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from tests.sweeps import few
from tests.test_hierarchy import AGES, JOBS, slow_cover

OF_JOBS, OF_AGES = Hierarchy.from_csv(JOBS), Hierarchy.from_csv(AGES)


def people(seed: int = 0, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.choice([*OF_JOBS.values, ""], n)
    return pd.DataFrame({
        "age": np.where(rng.random(n) < 0.05, np.nan, rng.integers(0, 100, n)),
        "job": pd.Series(job).where(job != ""),
        "ill": np.where(rng.random(n) < 0.5, "x", np.where(job < "F", "y", "z")),
    })  # fmt: skip


def schema_of(table: pd.DataFrame, job: Cuts = Cuts(), age: Cuts = Cuts()) -> Schema:  # noqa: B008
    schema = Schema.of(table, quasi_identifying=["age", "job"], sensitive=["ill"])
    return schema.with_column("job", cuts=job).with_column("age", cuts=age)


BOTH = {"job": Cuts(hierarchy=OF_JOBS), "age": Cuts(hierarchy=OF_AGES)}


@settings(max_examples=few(20))
@given(st.integers(0, 10**6), st.sampled_from(sorted(GENERALIZERS)), st.sampled_from(["public", "range", "mean"]))
def test_release__says_the_smallest_groups_that_hold_everybody(seed: int, generalizer: str, numbers: str) -> None:
    table = people(seed, 120)
    numbers = "range" if generalizer == "tiered" and numbers == "mean" else numbers
    flow = Flow(table, schema_of(table, **BOTH), Settings(k=5, generalizer=generalizer, numbers=numbers))
    released = flow.released.astype(object).fillna("")
    for (_, row), at in zip(released.iterrows(), flow.release.order, strict=True):
        job, age = table["job"][at], table["age"][at]
        text = str(row["job"])
        inner = text.removeprefix("{").removesuffix(", missing}") if text.endswith("missing}") else text
        levels = [one[0] for one in OF_JOBS.rows if inner in one] if inner != "*" else OF_JOBS.values
        assert inner in ("", "*", *OF_JOBS.values, *OF_JOBS.words)
        assert job in levels or text == "*" or (pd.isna(job) and (text == "" or "missing" in text))
        text = str(row["age"])
        inner = text.removeprefix("{").removesuffix(", missing}") if text.endswith("missing}") else text
        if inner and inner != "*":
            low, high = (int(end) for end in (inner.strip("[]").split(", ") * 2)[:2])
            assert slow_cover(OF_AGES, low, high) == (low, high)
            assert np.isnan(age) or low <= age <= high
    failed = {check.name for check in flow.verification.failed}
    assert failed == set() or generalizer == "tiered" and failed == {"k-anonymity"}


def test_boxes__are_no_wider_than_they_have_to_be() -> None:
    table = people(3, 400)
    flow = Flow(table, schema_of(table, **BOTH), Settings(k=5, generalizer="refine"))
    class_of, place = flow.class_of, {value: at for at, value in enumerate(OF_JOBS.values)}
    for number in np.unique(class_of):
        rows = np.flatnonzero(class_of == number)
        codes = sorted(place[job] for job in table["job"][rows].dropna())
        cell = flow.release["job"].cells[flow.release["job"].index[np.flatnonzero(flow.release.order == rows[0])[0]]]
        if codes and not cell.withheld:
            first, last = slow_cover(OF_JOBS, codes[0], codes[-1])
            assert cell.levels == OF_JOBS.values[first : last + 1]
        elif codes:
            assert slow_cover(OF_JOBS, codes[0], codes[-1]) == (0, len(place) - 1)


@pytest.mark.parametrize("seed", range(4))
def test_tree__divides_no_group_as_long_as_it_can_part_groups(seed: int) -> None:
    table = people(seed, 600)
    flow = Flow(table, schema_of(table, **BOTH), Settings(k=5, grouping="error-risk"))
    tree, encoded = flow.tree, flow.encoded
    leaf, cuts = flow.leaf, 0
    for node in np.flatnonzero(tree.feature >= 0):
        j = int(tree.feature[node])
        encoding = encoded.encodings[j]
        inside = (leaf >= node) & (leaf < node + tree.size[node])
        codes = np.unique(encoded.codes.columns[j][inside])
        left = codes[goes_left(tree, encoding, int(node))[codes]]
        values = codes[codes < len(encoding.labels)]
        if len(values) < len(codes):  # missing is beside all values
            assert set(left) in (set(values), set(codes) - set(values))
            continue
        hierarchy, cuts = encoding.hierarchy, cuts + 1
        whole = slow_cover(hierarchy, int(values[0]), int(values[-1]))
        for side in (left, np.setdiff1d(values, left)):
            first, last = slow_cover(hierarchy, int(side[0]), int(side[-1]))
            others = np.setdiff1d(values, side)
            shared = ((others >= first) & (others <= last)).any()
            assert not shared or (first, last) == whole
        both = slow_cover(hierarchy, int(left[-1]), int(np.setdiff1d(values, left)[0]))
        assert both == whole, "neighbours of a cut are parted by the largest group"
    assert cuts > 3


def test_loss_of_nodes__is_that_of_their_cells() -> None:
    for cuts in (BOTH, {"age": Cuts(rounding=10)}, {"age": Cuts(rounding=0.5, top=50)}):
        table = people(5, 300)
        flow = Flow(table, schema_of(table, **cuts), Settings(k=10, generalizer="uniform", numbers="range"))
        cut = flow.pruning.cut()
        weights = flow.tree.n[cut] / flow.tree.n[cut].sum()
        by_column = ncp_by_column(flow.release, flow.encoded.encodings)
        assert list(by_column.values()) == pytest.approx(list(weights @ flow.node_ncp[cut]), abs=1e-12)


def slow_rounding(value: float, step: str) -> float:
    return float((Decimal(str(value)) / Decimal(step) + Decimal("0.5")).to_integral_value(ROUND_FLOOR) * Decimal(step))


@given(
    st.sampled_from(["5", "10", "0.5", "0.1", "1", "0.25", "7"]),
    st.integers(-(10**6), 10**6),
    st.sampled_from([1, 10, 100]),
)
def test_rounding__is_that_of_decimals(step: str, whole: int, parts: int) -> None:
    value = whole / parts
    (nearest,) = Cuts(rounding=float(step)).rounded(np.array([value]))
    assert nearest == slow_rounding(value, step)
    assert Cuts(rounding=float(step)).rounded(np.array([nearest]))[0] == nearest
    assert abs(nearest - value) <= float(step) / 2 + 1e-9


@settings(max_examples=few(20))
@given(
    st.integers(0, 10**6), st.sampled_from(sorted(GENERALIZERS)), st.sampled_from(["public", "range", "mean"]),
    st.sampled_from(
        [Cuts(rounding=5), Cuts(rounding=0.5), Cuts(rounding=10, top=80), Cuts(rounding=5, bottom=20, top=75)]
    ),
)  # fmt: skip
def test_rounded_release__says_multiples_alone(seed: int, generalizer: str, numbers: str, cuts: Cuts) -> None:
    table = people(seed, 120)
    numbers = "range" if generalizer == "tiered" and numbers == "mean" else numbers
    flow = Flow(table, schema_of(table, age=cuts), Settings(k=5, generalizer=generalizer, numbers=numbers))
    step = cuts.rounding or 1
    for cell, at in zip(flow.release["age"].index, flow.release.order, strict=True):
        box, age = flow.release["age"].cells[cell], table["age"][at]
        if np.isnan(age) or box.withheld:
            assert box.missing or box.withheld
            continue
        ends = [end for end in (box.low, box.high) if math.isfinite(end)]
        assert all(end % step == 0 for end in ends)
        assert box.low <= slow_rounding(age, str(step)) <= box.high or not all(map(math.isfinite, (box.low, box.high)))
        assert box.low - step / 2 <= age <= box.high + step / 2
    failed = {check.name for check in flow.verification.failed}
    assert failed == set() or generalizer == "tiered" and failed == {"k-anonymity"}


def test_boxes_from_one_open_end_to_the_other__share_one_cell() -> None:
    """One of them holds a missing value, another none: both are withheld, and a column has each cell once."""
    cuts = Cuts(rounding=5, bottom=20, top=75)
    settings = Settings(k=5, grouping="error-risk", generalizer="uniform")
    flow = Flow(people(0, 120), schema_of(people(0, 120), age=cuts), settings)
    texts = [cell.text() for cell in flow.release["age"].cells]
    assert texts == ["≤ 55", "*", "{≥ 60, missing}"]
    assert flow.verification.passed


def test_rounding__by_hand() -> None:
    table = pd.DataFrame({"age": [32.4, 32.5, 37.4, 37.5, 41, 42.4], "ill": list("xyxyxy")})
    schema = Schema.of(table, quasi_identifying=["age"], sensitive=["ill"]).with_column("age", cuts=Cuts(rounding=5))
    flow = Flow(table, schema, Settings(k=2, generalizer="refine", grouping="least"))
    cells = dict(zip(flow.release.order.tolist(), flow.released["age"].astype(str), strict=True))
    assert [cells[row] for row in range(6)] == ["[30, 35]"] * 3 + ["40"] * 3
    assert flow.report.notes == ("'age' is rounded to multiples of 5, halves to the one above.",)
    # The domain is 27.5 to 42.5: a number is 5 wide, and two are 10.
    assert flow.utility.gcp == pytest.approx((3 * 10 / 15 + 3 * 5 / 15) / 6)
    means = [one for one in flow.weighted.figures if "age" in str(one)]
    assert means[0].before.value == pytest.approx(table["age"].mean()), "before anything was rounded"
    wrong = flow.released.assign(age=flow.released["age"].astype(str).str.replace("40", "45"))
    check = verify(wrong, schema, k=2, original=table, order=flow.release.order)
    assert "containment" in {one.name for one in check.failed}
    odd = flow.released.assign(age=flow.released["age"].astype(str).str.replace("40", "41"))
    assert "public cuts" in verify(odd, schema, k=2)["cells"].sentence


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Technical", ""), ("Sales", ""), ("{Technical, missing}", ""), ("*", ""),
        ("{Sales, Exec-managerial}", "public hierarchy"), ("Army", "declared domain"), ("Juggler", "declared domain"),
        ("{Technical, Sales}", "declared domain"), ("Technical+Sales", "declared domain"),
    ],
)  # fmt: skip
def test_checker__reads_the_hierarchy_by_itself(text: str, wrong: str) -> None:
    released = pd.DataFrame({"age": ["[0, 99]"] * 4, "job": [text] * 4, "ill": list("xyxy")})
    schema = Schema.of(released, quasi_identifying=["age", "job"], sensitive=["ill"], kinds={"age": "numeric"})
    schema = schema.with_column("job", cuts=BOTH["job"])
    check = verify(released, schema, k=2)["cells"]
    assert check.passed is not bool(wrong)
    assert wrong in check.sentence


def test_checker__sees_that_a_word_does_not_hold_a_value() -> None:
    table = pd.DataFrame({"job": ["Sales", "Sales", "Tech-support", "Craft-repair"], "ill": list("xyxy")})
    schema = Schema.of(table, quasi_identifying=["job"], sensitive=["ill"]).with_column("job", cuts=BOTH["job"])
    order = np.arange(4)
    right = table.assign(job=["Nontechnical", "Nontechnical", "Technical", "Technical"])
    assert verify(right, schema, k=2, original=table, order=order).passed
    wrong = verify(
        table.assign(job=["Other", "Other", "Technical", "Technical"]), schema, k=2, original=table, order=order
    )
    assert "containment" in {check.name for check in wrong.failed}


def test_hierarchy__is_in_what_a_recipient_checks_with() -> None:
    table = people(1)
    schema = schema_of(table, **BOTH)
    assert Schema.from_json(schema.to_json()) == schema
    flow = Flow(table, schema, Settings(k=5))
    described = json.loads(flow.report.to_recipient_json())["provenance"]["schema"]
    assert described["columns"][1]["cuts"]["hierarchy"][0] == ["Tech-support", "Technical", "*"]
    again = read_release(flow.release.to_bytes("csv"), schema)
    assert verify(again, Schema.from_json(json.dumps(described)), original=table, k=5).passed
    assert flow.report.notes[-1] == "'job' is said in the groups of a public hierarchy of 7 values in 2 levels."


def test_what_a_hierarchy_lacks__is_counted_and_not_named() -> None:
    table = people(1).assign(job=["Spy", "Thief", *["Sales"] * 198])
    with pytest.raises(
        EncodeError, match="2 different values of 'job' are not in its public hierarchy, which has 7"
    ) as error:
        Flow(table, schema_of(table, **BOTH)).encoded  # noqa: B018
    assert "Spy" not in str(error.value)
    odd = people(1).assign(age=[34.5, *[30] * 199])
    with pytest.raises(EncodeError, match="1 value of 'age' is not in its public hierarchy"):
        Flow(odd, schema_of(odd, **BOTH)).encoded  # noqa: B018
    with pytest.raises(SchemaError, match="1 of the declared domain of 'job' are not in its hierarchy"):
        schema_of(people()).with_column("job", domain=("Sales", "Spy")).with_column("job", cuts=BOTH["job"])
    with pytest.raises(SchemaError, match="no numbers"):
        schema_of(people()).with_column("age", cuts=BOTH["job"])
    with pytest.raises(ParameterError, match="public cuts takes one table in memory"):
        anonymize_files("none.parquet", schema_of(people(), **BOTH), "out")


@pytest.mark.parametrize(
    "cuts",
    [{"rounding": 0}, {"rounding": -5}, {"rounding": np.inf}, {"rounding": 5, "top": 83},
     {"rounding": 5, "bands": (0, 5)}, {"rounding": 5, "hierarchy": OF_AGES}, {"top": 5, "hierarchy": OF_AGES}],
)  # fmt: skip
def test_cuts_that_do_not_go_together__are_refused(cuts: dict) -> None:
    with pytest.raises(SchemaError):
        Cuts(**cuts)


def test_public_hierarchies__by_hand() -> None:
    schema = schema_of(people())
    with pytest.raises(SchemaError, match="neither public cuts nor public groups"):
        public_hierarchy(schema["age"])
    with pytest.raises(SchemaError, match="values of 'age' are those of the table"):
        public_hierarchy(schema.with_column("age", cuts=Cuts((0, 18, 65)))["age"])
    ages = schema.with_column("age", domain=(0, 4))
    csv = public_hierarchy(ages.with_column("age", cuts=Cuts((0, 2, 4)))["age"]).to_csv().decode()
    assert csv.split() == ["0;[0,", "1];*", "1;[0,", "1];*", "2;[2,", "3];*", "3;[2,", "3];*", "4;4;*"]
    rounded = public_hierarchy(ages.with_column("age", cuts=Cuts(rounding=2, top=4))["age"])
    assert rounded.rows == (
        ("0", "0", "*"),
        ("1", "about 2", "*"),
        ("2", "about 2", "*"),
        ("3", "≥ 4", "*"),
        ("4", "≥ 4", "*"),
    )
    jobs = schema.with_column("job", domain=("a", "b", "c"), groups=(("a", "c"),))
    assert public_hierarchy(jobs["job"]).rows == (("a", "{a, c}", "*"), ("c", "{a, c}", "*"), ("b", "b", "*"))
    assert public_hierarchy(schema_of(people(), **BOTH)["job"]) == OF_JOBS


def test_groups_of_a_tree__are_values_that_no_split_tells_apart() -> None:
    table = people(2, 500)
    schema = schema_of(table).with_column("age", domain=(0, 99)).with_column("job", domain=OF_JOBS.values)
    flow = Flow(table, schema, Settings(k=40))
    for name in ("age", "job"):
        hierarchy = cut_hierarchy(schema[name], flow.pruning, flow.encoded.encodings)
        j = flow.encoded.names.index(name)
        encoding = flow.encoded.encodings[j]
        inner = [t for t in np.flatnonzero(flow.tree.feature == j) if flow.pruning.group_of_node()[t] < 0]
        place = {str(encoding.text(code)): code for code in range(len(encoding.labels))}
        sides = {value: tuple(bool(goes_left(flow.tree, encoding, int(t))[place[value]]) for t in inner)
                 for value in hierarchy.values if value in place}  # fmt: skip
        word = {row[0]: row[1] for row in hierarchy.rows}
        for one in sides:
            for two in sides:
                assert (sides[one] == sides[two]) == (word[one] == word[two])
        assert sorted(hierarchy.values) == sorted(str(v) for v in (range(100) if name == "age" else OF_JOBS.values))


def test_command__brings_rounds_and_takes_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, jobs, out = tmp_path / "people.csv", tmp_path / "jobs.csv", tmp_path / "out.csv"
    people(4, 300).to_csv(table, index=False)
    jobs.write_bytes(JOBS)
    roles = ["--quasi-identifying", "age,job", "--sensitive", "ill"]
    cuts = ["--hierarchy", f"job={jobs}", "--round", "age=10"]
    report = tmp_path / "report.json"
    make = ["anonymize", str(table), *roles, *cuts, "--k", "5", "--out", str(out), "--report", str(report)]
    assert main(make) == 0
    assert main(["verify", str(out), "--report", str(report), "--original", str(table), "--k", "5"]) == 0
    cells = set(pd.read_csv(out, dtype=str)["job"].dropna())
    assert cells & {"Technical", "Nontechnical", "Other", "*"}
    away = tmp_path / "away.csv"
    assert main(["hierarchy", str(table), *roles, *cuts, "--column", "job", "--out", str(away)]) == 0
    assert Hierarchy.from_csv(away.read_bytes()) == OF_JOBS
    assert main(["hierarchy", str(table), *roles, *cuts, "--column", "job", "--of", "tree", "--out", str(away)]) == 0
    assert set(Hierarchy.from_csv(away.read_bytes()).values) == set(OF_JOBS.values)
    capsys.readouterr()
    for more, words in {
        ("--hierarchy", "job=none.csv"): "'none.csv' cannot be opened",
        ("--hierarchy", f"age={jobs}"): "no numbers",
        ("--round", "age=x"): "--round age=x cannot be read",
        ("--round", "job=5"): "'job' has no numbers to cut",
    }.items():
        assert main(["anonymize", str(table), *roles, *more, "--check"]) == 2
        assert words in capsys.readouterr().err
