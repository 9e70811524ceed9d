"""What several releases of one visit tell together, on the Release page: every figure counted again from the files."""

from typing import Any

import pandas as pd

from anonymizer.schema import Schema
from tests import naive_attacks as naive
from tests import naive_verify
from tests.naive_figures import percent
from tests.pages.test_data import session_of
from tests.pages.test_figures import charts_of, values_in
from tests.pages.test_release import open_page, plain_text, session
from tests.pages.test_twice import PEOPLE, QI
from ui.workspace import Workspace

SCHEMA = Schema.of(PEOPLE, quasi_identifying=QI, sensitive=["diagnosis"])


def test_attack__counts_candidates_and_values_over_all_releases() -> None:
    ws: Workspace = session(10, "pack", PEOPLE, SCHEMA)
    first = ws.flow
    of_first = first.release.frame(), first.release.order
    ws.taking()()
    ws.open({"k": 12})
    app = open_page(ws)
    ws = session_of(app)
    assert len(ws.flow.earlier) == 1
    of_second = ws.flow.release.frame(), ws.flow.release.order
    files, orders = zip(of_first, of_second, strict=True)
    boxes = naive_verify.joined(list(files), list(orders), QI, len(PEOPLE))
    classes = [list(pd.factorize(pd.Series(own, dtype=object))[0]) for own in zip(*boxes, strict=True)]
    sizes = naive.candidates_left(classes)
    below, alone = sum(one < 12 for one in sizes), sum(one == 1 for one in sizes)
    n, text = len(PEOPLE), plain_text(app)
    assert f"Both releases together leave {below:,} of {n:,} people fewer than 12 candidates." in text
    metrics = {item.label: item.value for item in app.metric}
    assert metrics["Fewer than 12 candidates"] == f"{percent(below / n)} of people"
    assert metrics["No other candidate"] == f"{percent(alone / n)} of people"
    parts = [naive.candidates_left([of]) for of in classes]
    fewest = min(parts, key=lambda own: (sum(one < 12 for one in own), sum(one < 24 for one in own)))
    ranges = ((1, 2), (2, 12), (12, 24), (24, n + 1))
    bars = charts_of(app)["candidates"]
    assert [bar["name"] for bar in bars] == ["1", "2 to 11", "12 to 23", "24 and more"]
    for bar, (low, high) in zip(bars, ranges, strict=True):
        assert values_in(bar["x"]) == [sum(low <= one < high for one in own) for own in (fewest, sizes)]
    values: list[Any] = PEOPLE["diagnosis"].tolist()
    sets = [own - {None} for own in naive.sets_left(classes, values)]
    room = naive.counting_left(classes, values)
    counting = [room[cell] for cell in zip(*classes, strict=True)]
    one = [max(sum(len(own) == 1 for own in naive.sets_left([of], values)) for of in classes)]
    assert f"leave one possible diagnosis for {people_text(sum(len(own) == 1 for own in sets))}, and counting" in text
    assert f"counting leaves one for {sum(len(own) == 1 for own in counting):,}; a single release" in text
    assert f"a single release leaves one for {one[0]:,}." in text


def people_text(number: int) -> str:
    return "1 person" if number == 1 else f"{number:,} people"


def test_attack__says_nothing_of_other_releases_where_there_are_none() -> None:
    app = open_page(session(10, "pack", PEOPLE, SCHEMA))
    assert "releases together leave" not in plain_text(app)
    assert "Candidates of a person" not in plain_text(app)
