"""A table, its roles and its release for tests that compute all figures again, and the sweep over what is said."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from anonymizer.flow import Flow
from anonymizer.gate.finding import ABOUT_SEVERAL
from anonymizer.reading.samples import hospital
from anonymizer.releasing.grid import public_parts
from anonymizer.schema import Kind, Schema
from tests import naive_sentences as words
from tests.conftest import ROOT
from tests.gate.test_who import visits
from tests.naive_attacks import slow_isolation
from tests.naive_figures import Naive, percent
from tests.texts_with_numbers import DIGIT, page_texts, parts_of
from tests.waiting import PATIENCE, wait_until
from ui.workspace import Workspace

ACCEPTS = 10
"""One chance in so many is accepted where nothing was said."""


class Maybe(str):
    """A text that may be said; others must be."""


def text_if(text: str, must: bool) -> str:
    """A text that must be said, or one that may be."""
    return text if must else Maybe(text)


@dataclass(eq=False)
class Case:
    """A table with its roles and settings. ``link``: the column that tells which released row is whose."""

    table: pd.DataFrame
    roles: dict[str, Any]
    link: str
    k: int
    target: str
    limits: dict[str, float] = field(default_factory=dict)

    @cached_property
    def content(self) -> bytes:
        return self.table.to_csv(index=False).encode()

    @cached_property
    def ws(self) -> Workspace:
        ws = Workspace()
        assert ws.bring(self.content, "people.csv")
        ws.set_schema(Schema.of(ws.table, **self.roles).with_target(self.target))
        ws.set(k=self.k, **self.limits)
        return ws

    @property
    def flow(self) -> Flow:
        return self.ws.flow

    def naive(self, flow: Flow) -> Naive:
        """The figures of the files of a release of this table."""
        return Naive(self.content, flow.release.to_bytes("csv"), flow.schema, self.k, self.link, flow)

    @cached_property
    def of(self) -> Naive:
        return self.naive(self.flow)

    @cached_property
    def singled_out(self) -> tuple[str, dict[str, str]]:
        """The steps of public ends are chosen before the release is made, as settings are."""
        public = public_parts(self.flow.encoded, self.flow.schema, self.k, "sets")
        alone = slow_isolation(self.of.table, self.of.released, self.of.schema, self.of.order, public)
        return words.singled_out(alone, self.of)

    @cached_property
    def right(self) -> float | None:
        """How often the target of people held out is guessed: it takes releases without them."""
        return self.flow.held_out if self.has_classes else None

    @property
    def has_classes(self) -> bool:
        return self.of.schema[self.of.schema.target].kind is Kind.CATEGORICAL

    @cached_property
    def pages(self) -> dict[str, AppTest]:
        """Ready and Release, with all that they work out: prices where they are few; :mod:`tests.whatif.test_price` has
        all of them."""
        with mock.patch("ui.gate.costs.seconds_of", lambda flow, _: 0.0 if flow.schema.person else 1e3):
            return self._draw()

    def _draw(self) -> dict[str, AppTest]:
        pages = {}
        for name in ("gate", "release"):
            app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=PATIENCE)
            app.session_state["workspace"] = self.ws
            app.run().switch_page(f"../pages/{name}.py").run()
            if "prices" in self.ws.jobs:
                wait_until(self.ws.jobs["prices"].done.is_set)
                app.run()
            assert not app.exception
            pages[name] = app
        return pages

    def cards(self, kind: str) -> int:
        """The cards of one severity on Ready."""
        ids = (str(getattr(node, "proto", "")) for node in parts_of(self.pages["gate"]._tree))
        return sum(bool(re.search(rf"finding-{kind}-\d", text)) for text in ids)


@cache
def case_of(name: str) -> Case:
    if name == "persons":
        table = visits()
        table["pay"] = np.random.default_rng(5).gamma(3, 700, len(table)).round(4)
        roles = {"person": "patient", "quasi_identifying": ["age", "sex", "town"], "sensitive": ["pay", "ill"]}
        return Case(table, roles, "pay", 5, "pay")
    roles = {
        "quasi_identifying": ["age", "sex", "marital_status", "admission_date"],
        "identifying": ["name", "email"],
        "sensitive": ["diagnosis", "cost"],
    }
    if name == "limits":
        table = hospital(200, 3).drop(columns="days_of_stay")
        return Case(table, roles, "cost", 6, "diagnosis", {"l": 2, "suppression": 0.1})
    return Case(hospital(200, 4), roles, "cost", 4, "diagnosis")


CASES = ("hospital", "limits", "persons")


def sweep(texts: Iterable[str], answers: Iterable[str], constants: Iterable[str]) -> None:
    """Every number of the texts is explained, and what must be said is. A sentence may stand among others, a figure
    only alone."""
    answers = [text for text in answers if DIGIT.search(text)]
    sentences = sorted((text for text in answers if text.endswith(".")), key=len, reverse=True)
    absent = {text for text in answers if not isinstance(text, Maybe)}
    loose = []
    for text in texts:
        rest = text
        for answer in [text] if text in answers else sentences:
            if answer in rest:
                absent.discard(answer)
                rest = rest.replace(answer, "")
        for constant in constants:
            rest = re.sub(constant, "", rest)
        if DIGIT.search(rest):
            loose.append(text if rest == text else f"{text}  ->  {rest}")
    assert not loose, "\n".join(loose)
    assert not absent, "\n".join(absent)


def of_several(case: Case) -> Iterable[str]:
    """Findings that say the same of several columns are one, which lists them."""
    lists = re.findall(r"Each of the \d+ columns\n((?:- .*\n?)+)", "\n".join(page_texts(case.pages["gate"])))
    for number in {one.strip().count("\n") + 1 for one in lists}:
        texts = [f"{number} columns", f"Each of the {number} columns", *ABOUT_SEVERAL.values()]
        yield from (Maybe(text.format(n=number)) for text in texts)


def of_one_row(case: Case, cells: "pd.DataFrame") -> str:
    """What is said of a row before and after, which must be a row of both files."""
    of, names = case.of, list(cells["column"])
    old, new = (dict(zip(names, cells[when], strict=True)) for when in ("original", "released"))
    texts = of.there[of.names].astype(object).where(of.there[of.names].notna(), "missing").astype(str)
    texts = texts.replace(r" 00:00:00$", "", regex=True).replace(r"\.0$", "", regex=True)
    boxes = of.released[of.names].where(of.released[of.names].notna(), "missing")
    alike = (boxes[names] == pd.Series(new)).all(axis=1)
    assert (alike & (texts[names] == pd.Series(old)).all(axis=1)).any()
    changed = sum(old[name] != new[name] for name in names)
    look = "1 other row looks" if alike.sum() == 2 else f"{alike.sum() - 1:,} other rows look"
    left = [column.name for column in of.schema.columns if column.name not in of.released]
    text = f"{changed} of {len(names)} quasi-identifiers changed. {look} the same. Left out of the file: "
    gone = f" {of.left_out} of {of.n} rows ({percent(of.left_out / of.n)}) were left out of the release."
    return f"{text}{', '.join(left)}.{gone * bool(of.left_out)}"
