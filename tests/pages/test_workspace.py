"""What a session keeps, and when it computes again."""

import gc
import weakref
from dataclasses import replace

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.errors import AnonymizerError
from anonymizer.flow import DEPENDS
from anonymizer.schema import Role, Schema
from tests.pages.test_data import SHELL
from tests.waiting import PATIENCE, wait_until
from ui.controls import plain, share, size
from ui.visit import FrameState, at_first
from ui.workspace import Workspace, sample_reading

TABLE = pd.DataFrame(
    {"age": [20 + n % 17 for n in range(200)], "sex": list("fm") * 100, "income": ["low", "high", "high", "low"] * 50}
)
SCHEMA = Schema.of(TABLE, quasi_identifying=["age", "sex"], sensitive=["income"])


@pytest.fixture
def ws() -> Workspace:
    return Workspace(reading=sample_reading("people", TABLE), schema=SCHEMA)


def test_stages__are_computed_once(ws: Workspace) -> None:
    assert ws.flow.release is ws.flow.release
    assert ws.flow.verification.passed
    assert ws.flow.after.smallest >= ws.k
    assert len(ws.flow.leaf) == len(TABLE)


def test_change_of_k__prunes_again_but_grows_nothing(ws: Workspace) -> None:
    tree, pruning = ws.flow.tree, ws.flow.pruning
    ws.set(k=40)
    assert not ws.ready("pruning")
    assert ws.flow.pruning is not pruning
    assert ws.flow.pruning.k == 40
    assert ws.flow.tree is tree
    ws.set(min_leaf=30)
    assert ws.flow.tree is not tree


def test_the_curves_of_every_k__are_those_of_any_k(ws: Workspace) -> None:
    frontier, by_k = ws.flow.frontier, ws.flow.by_k
    ws.set(k=40)
    assert ws.flow.frontier is frontier
    assert ws.flow.by_k is by_k
    ws.set(grouping="least")
    assert ws.flow.frontier is frontier
    assert ws.flow.by_k is not by_k
    ws.set(l=2)
    assert ws.flow.frontier is not frontier


def test_baselines__their_tree_depends_on_k_alone(ws: Workspace) -> None:
    ws.set(grouping="median-mondrian", criterion="gini")
    tree = ws.flow.tree
    assert tree.n[tree.is_leaf].min() >= ws.k
    assert ws.flow.pruning.n_steps == 0
    ws.set(min_leaf=30, weight=0.1, max_depth=1)
    assert ws.flow.tree is tree
    ws.set(k=40)
    assert ws.flow.tree.n[ws.flow.tree.is_leaf].min() >= 40
    assert ws.flow.verification.passed
    assert ws.flow.report.provenance.parameters["criterion"] is None


def test_writing__makes_the_release_again(ws: Workspace) -> None:
    release, tree = ws.flow.release, ws.flow.tree
    ws.set(writing="weighted", numbers="mean")
    assert ws.flow.release is not release
    assert (ws.flow.release.writing, ws.flow.release.numbers) == ("weighted", "mean")
    assert ws.flow.tree is tree
    assert ws.flow.verification.passed


def test_refine__keeps_the_limits_of_the_page(ws: Workspace) -> None:
    ws.set(k=4, l=2, generalizer="refine")
    assert ws.flow.verification["distinct l-diversity of income"].passed


def test_change_of_schema__encodes_again(ws: Workspace) -> None:
    encoded = ws.flow.encoded
    ws.set_schema(SCHEMA.with_column("age", role="insensitive"))
    assert not ws.ready("encoded")
    assert ws.flow.encoded.names == ("sex",)
    ws.set_schema(SCHEMA)
    assert ws.flow.encoded is not encoded
    assert ws.flow.encoded.names == encoded.names


def test_ready__computes_nothing(ws: Workspace) -> None:
    assert not any(ws.ready(stage) for stage in DEPENDS)
    ws.flow.compute("encoded")
    assert {stage for stage in DEPENDS if ws.ready(stage)} == {"treated", "encoded"}


def test_two_tables_with_equal_shape__are_told_apart(ws: Workspace) -> None:
    first = ws.flow.encoded
    other = TABLE.assign(age=TABLE["age"] + 1)
    ws._accept(sample_reading("people", other), None)
    ws.set_schema(SCHEMA)
    assert ws.flow.encoded is not first
    assert ws.flow.encoded.encodings[0].low[0] == first.encodings[0].low[0] + 1


def test_read_again__keeps_the_roles_of_the_same_columns() -> None:
    ws = Workspace()
    assert ws.bring(b"a;b;c\n1,5;x;NA\n2,5;y;z\n3,5;y;z\n", "t.csv")
    schema = Schema.of(ws.table, quasi_identifying=["a", "b"], sensitive=["c"])
    ws.set_schema(schema)
    used = ws.reading.options
    assert ws.read_again(type(used)(delimiter=";", decimal=",", missing=()))
    assert ws.schema == schema
    assert ws.read_again(type(used)(delimiter="|"))
    assert ws.schema is None


def test_read_again__suggests_anew_what_nobody_chose() -> None:
    rows = "".join(f"{number},5;{'ab'[number % 2]}\n" for number in range(60))
    ws = Workspace()
    assert ws.bring(("size;city\n" + rows).encode(), "t.csv")
    right = ws.reading.options
    assert ws.read_again(replace(right, decimal="."))
    ws.set_schema(ws.suggest().with_column("city", role=Role.SENSITIVE))
    assert ws.schema["size"].kind == "categorical"
    assert ws.schema["size"].role is Role.QUASI_IDENTIFYING  # it is mostly numbers
    assert ws.read_again(replace(right, decimal=","))
    assert ws.schema["size"] == ws.suggest()["size"]
    assert (ws.schema["size"].kind, ws.schema["size"].role) == ("numeric", Role.QUASI_IDENTIFYING)
    assert ws.schema["city"].role is Role.SENSITIVE
    ws.set_schema(ws.schema.with_column("size", domain=(0, 100)))
    assert ws.read_again(replace(right, missing=("59,5",)))
    assert ws.schema["size"].domain == (0, 100)


def test_another_table__begins_with_the_usual_choices(ws: Workspace) -> None:
    ws.set(k=25, l=2)
    assert ws.bring(b"a,b\n1,2\n3,4\n", "other.csv")
    assert ws.settings == type(ws.settings)()


def test_steps__stay_ticked_once_they_are_done(ws: Workspace) -> None:
    """AppTest does not show the line of steps, so what it is drawn from is looked at."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    app.run()
    ticked = []
    for page in ("roles", "tree", "release"):
        app.switch_page(f"../pages/{page}.py").run()
        assert not app.exception
        ticked.append(app.session_state["workspace"].state(FrameState).steps)
    assert ticked == [{"data", "roles"}, {"data", "roles", "tree"}, {"data", "roles", "tree", "gate", "release"}]
    ws.open({"k": 20})
    app.run()
    assert app.session_state["workspace"].state(FrameState).steps == ticked[-1]


def test_bad_file__leaves_everything_but_the_message(ws: Workspace) -> None:
    table, edition = ws.table, ws.edition
    assert not ws.bring(b"", "empty.csv")
    assert isinstance(ws.failure, AnonymizerError)
    assert ws.table is table
    assert ws.schema == SCHEMA
    assert ws.edition == edition + 1


def test_no_table__is_an_error_with_a_remedy() -> None:
    with pytest.raises(AnonymizerError, match="Data page"):
        Workspace().flow.compute("encoded")


@pytest.mark.parametrize(
    ("part", "text"),
    [(0, "0%"), (1, "100%"), (0.5, "50%"), (0.00001, "< 0.1%"), (0.99999, "> 99.9%"), (1 / 3, "33.3%")],
)
def test_share__never_rounds_a_few_to_none_or_most_to_all(part: float, text: str) -> None:
    assert share(part) == text


def test_share__is_the_same_text_for_figures_that_differ_in_their_last_bits() -> None:
    assert share(0.5255) == share(0.5255000000000001) == share(0.52549999999999997)
    assert share(1 - 1e-16) == "100%"
    for part in (0.8815, 0.125, 0.0625, 0.3335):
        assert share(part) == f"{part:.1%}", "as the sentences of charts round it"


def test_size__in_fitting_units() -> None:
    assert [size(n) for n in (0, 999, 1500, 5_300_000, 2.5e9)] == ["0 B", "999 B", "1.5 kB", "5.3 MB", "2.5 GB"]


def test_plain__leaves_no_live_markdown() -> None:
    text = "![i](http://x.y) [l](z) :red[r] :material/home: <b> `c` $a$ www.x.y a@b.c **s** # h\n- l"
    escaped = plain(text)
    assert "](" not in escaped
    assert "://" not in escaped
    assert "\n" not in escaped
    for mark in "*_`[]<>$#!":
        assert escaped.count(mark) == escaped.count("\\" + mark)


def test_panels__are_told_once_a_visit_whether_they_are_open(ws: Workspace) -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    app.run().switch_page("../pages/tree.py").run()
    visited = app.session_state["workspace"]
    assert at_first(visited, "groups", False) == at_first(visited, "groups", True), "or it would shut while it is read"
    app.switch_page("../pages/roles.py").run()
    assert not at_first(visited, "groups", False)
    app.switch_page("../pages/data.py").run()
    assert at_first(visited, "groups", True)


def test_forget__leaves_nothing_of_the_table_in_memory() -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run()
    app.button(key="sample hospital").click().run()
    for page in ("roles", "tree", "gate", "release", "what_if", "disclosure"):
        app.switch_page(f"../pages/{page}.py").run()
        assert not app.exception
    ws = app.session_state["workspace"]
    references: dict[str, weakref.ref[object]] = {
        what: weakref.ref(getattr(ws.flow, what)) for what in ("encoded", "tree", "release", "report")
    }
    references["table"] = weakref.ref(ws.table)
    references["finding"] = weakref.ref(next(one for one in ws.flow.judgement.findings if one.repairs))
    references["flow"] = weakref.ref(ws.flow)
    del ws
    next(button for button in app.button if button.label == "Remove table").click().run()
    gc.unfreeze()

    def left() -> list[str]:
        gc.collect()
        return [what for what, of in references.items() if of() is not None]

    assert app.session_state["workspace"].reading is None
    wait_until(lambda: not left())  # work in the background ends when it sees that nobody waits for it
