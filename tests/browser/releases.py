"""Small releases of every kind with their reports, and what somebody could have done to them since."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.cuts import Cuts
from anonymizer.digests import digest
from anonymizer.flow import Flow
from anonymizer.hierarchy import Hierarchy
from anonymizer.provenance.report import schema_digest
from anonymizer.releasing.release import Release
from anonymizer.schema import Column, Kind, Role, Schema
from anonymizer.settings import Settings

ODD_CELLS = (
    "", "*", "missing", "[1, 2]", "[2, 1]", "[30, 30]", "{a, b}", "{b, a}", "{a, missing}", "{[20, 40], missing}",
    "≥ 70", "≤ 20", "~41.5", "a+b", "a:4+b:1", '"a"', '"a,b"', '{"a,b", c}', "=1+1", "1e3", "01", "1.50", "-0",
    "2024-02-30", "[2001-01-01, 2003-12-31]", "2001-05-17T10:00:00", "{", "{a", "[", "a:", " a", "1e400", "[0-10)",
    "{A: 13 levels}", "Σίσυφος", "\u200b", "70+", "[70-80)", "😀", "nan", "-7", "{North, South}", "East",
)  # fmt: skip
"""Cells as nobody, or somebody else, would write them."""
WAYS = ("least", "error-risk", "median-mondrian")


@dataclass(frozen=True)
class Case:
    """A released file and its report, JSON-ready, as somebody gets them; ``what`` was done to them."""

    what: str
    content: bytes
    report: dict[str, Any]

    @property
    def report_bytes(self) -> bytes:
        return json.dumps(self.report, ensure_ascii=False, indent=2).encode()


def people(n: int = 240, seed: int = 1) -> pd.DataFrame:
    """A made-up table with columns of every kind."""
    rng = np.random.default_rng(seed)
    towns = rng.choice(["North", "South", "East", "West", "Old, town", "=Hill"], n)
    return pd.DataFrame({
        "age": rng.integers(18, 90, n).astype(object),
        "weight": np.round(rng.normal(70, 12, n), 1),
        "town": towns,
        "band": rng.choice(["0-9", "10-19", "20-29", "30-39", "40+"], n),
        "work": rng.choice(["clerk", "judge", "baker", "miner"], n),
        "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), "D"),
        "hours": rng.integers(0, 80, n),
        "illness": rng.choice(["flu", "asthma", "H.I.V.", "hiv", "gout", "Straße"], n),
        "cost": np.round(rng.gamma(2, 300, n), 2),
        "stage": rng.choice(["low", "middle", "high"], n),
        "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9, n), "D"),
        "note": rng.choice(["a", "b", '"c"'], n),
    }).mask(rng.random((n, 12)) < 0.02)  # fmt: skip


def columns() -> dict[str, Column]:
    """What is said of each column of the table."""
    quasi, numeric, levels = Role.QUASI_IDENTIFYING, Kind.NUMERIC, Kind.CATEGORICAL
    words = (("clerk", "office", "*"), ("judge", "office", "*"), ("baker", "hand", "*"), ("miner", "hand", "*"))
    every = (
        Column("age", quasi, numeric, domain=(0, 120), grid=(5.0, 0.0), importance=2),
        Column("weight", quasi, numeric),
        Column("town", quasi, levels),
        Column("band", quasi, levels, domain=("0-9", "10-19", "20-29", "30-39", "40+"), ordered=True),
        Column("work", quasi, levels, cuts=Cuts(hierarchy=Hierarchy(words))),
        Column("born", quasi, Kind.DATE, grid=("quarter", 0.0)),
        Column("hours", quasi, numeric, cuts=Cuts(bottom=10, top=60)),
        Column("illness", Role.SENSITIVE, levels, harmless=("gout",)),
        Column("cost", Role.SENSITIVE, numeric),
        Column("stage", Role.SENSITIVE, levels, domain=("low", "middle", "high"), ordered=True),
        Column("seen", Role.SENSITIVE, Kind.DATE),
        Column("note", Role.INSENSITIVE, levels),
    )
    return {column.name: column for column in every}


CHOICES: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("age", "town", "illness", "cost"), {"k": 5, "l": 2, "t": 0.9}),
    (("weight", "band", "stage", "seen"), {"k": 4, "entropy_l": 1.2, "numbers": "range"}),
    (("work", "hours", "cost", "note"), {"k": 5, "spread_min": 0.05, "rsd_min": 0.01}),
    (("born", "town", "band", "illness"), {"k": 3, "writing": "concatenate", "grouping": "least"}),
    (("age", "town", "work", "cost"), {"k": 6, "writing": "weighted", "grouping": "median-mondrian"}),
    (("weight", "born", "illness"), {"k": 5, "numbers": "median"}),
    (("town", "age", "note", "stage"), {"k": 5, "generalizer": "uniform", "order": "secret"}),
    (("age", "weight", "band", "work", "seen"), {"k": 8, "suppression": 0.1}),
)
"""Columns and settings of releases."""


@cache
def release(number: int, seed: int = 1) -> tuple[Release, Case]:
    """A release by the number of its choice, and the same as a case to which nothing was done."""
    names, settings = CHOICES[number]
    own = columns()
    schema = Schema(tuple(own[name] for name in names))
    flow = Flow(people(seed=seed)[list(names)], schema, Settings(**settings))
    flow = flow.but(reasons={finding.key: "these people are made up" for finding in flow.judgement.findings})
    content = flow.leaving.to_bytes("csv")
    text = flow.report.with_output({"csv": digest(content)}, "").to_recipient_json()
    return flow.leaving, Case("nothing", content, json.loads(text))


# What is done to them.


def lines_of(content: bytes) -> list[str]:
    return content.decode().splitlines(keepends=True)


def cells_of(line: str) -> list[str]:
    """The cells of a line, as they stand there: commas within quotation marks are no ends."""
    cells, inside = [""], False
    for letter in line.rstrip("\r\n"):
        inside ^= letter == '"'
        if letter == "," and not inside:
            cells.append("")
        else:
            cells[-1] += letter
    return cells


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if text else ""


def with_cell(case: Case, rng: np.random.Generator, text: str, whole: bool = True) -> bytes:
    """The file with another text in one cell; ``whole``: in all cells of its column that hold the same."""
    lines = lines_of(case.content)
    at, row = int(rng.integers(len(cells_of(lines[0])))), int(rng.integers(1, len(lines)))
    before = cells_of(lines[row])[at]
    for place in range(1, len(lines)) if whole else [row]:
        cells = cells_of(lines[place])
        if cells[at] == before:
            cells[at] = quoted(text)
            lines[place] = ",".join(cells) + "\n"
    return "".join(lines).encode()


def another_cell(case: Case, rng: np.random.Generator) -> bytes:
    return with_cell(case, rng, str(rng.choice(np.array(ODD_CELLS, object))), bool(rng.integers(2)))


def cell_of_another_row(case: Case, rng: np.random.Generator) -> bytes:
    lines = lines_of(case.content)
    at, (one, other) = int(rng.integers(len(cells_of(lines[0])))), rng.integers(1, len(lines), 2)
    cells = cells_of(lines[one])
    cells[at] = cells_of(lines[other])[at]
    lines[one] = ",".join(cells) + "\n"
    return "".join(lines).encode()


def another_letter(case: Case, rng: np.random.Generator) -> bytes:
    text = case.content.decode()
    place = int(rng.integers(text.index("\n") + 1, len(text)))
    return (text[:place] + str(rng.choice(list('0123456789abc,[]{}"\n .:+-'))) + text[place + 1 :]).encode()


def fewer_rows(case: Case, rng: np.random.Generator) -> bytes:
    lines = lines_of(case.content)
    gone = set(rng.integers(1, len(lines), int(rng.integers(1, 9))).tolist())
    return "".join(line for place, line in enumerate(lines) if place not in gone).encode()


def a_row_twice(case: Case, rng: np.random.Generator) -> bytes:
    lines = lines_of(case.content)
    place = int(rng.integers(1, len(lines)))
    return "".join([*lines[: place + 1], *lines[place:]]).encode()


def another_order(case: Case, rng: np.random.Generator) -> bytes:
    head, *lines = lines_of(case.content)
    one, other = rng.integers(0, len(lines), 2)
    lines[one], lines[other] = lines[other], lines[one]
    return "".join([head, *lines]).encode()


def one_value(case: Case, rng: np.random.Generator) -> bytes:
    """The file with one value of a column in some rows that stand together."""
    lines = lines_of(case.content)
    at, first = int(rng.integers(len(cells_of(lines[0])))), int(rng.integers(1, len(lines)))
    text = cells_of(lines[first])[at]
    for place in range(first, min(len(lines), first + int(rng.integers(2, 40)))):
        cells = cells_of(lines[place])
        cells[at] = text
        lines[place] = ",".join(cells) + "\n"
    return "".join(lines).encode()


def written_otherwise(case: Case, rng: np.random.Generator) -> bytes:
    text = case.content.decode()
    head, _, rest = text.partition("\n")
    ways = [
        text.replace("\n", "\r\n"), text.removesuffix("\n"), "\ufeff" + text, text + "\n", text.replace('"', ""),
        text.replace("\n", "\r\n", 3), text.replace('","', '", "', 1), text[:-3] + "\0" + text[-3:],
        head.replace('"', "") + "\n" + rest, text.replace('"', "", 2), text.replace('",', '"x,', 5), text[:-9],
        head + "\n", text.replace(",", ";"), head + ',"more"\n' + rest.replace("\n", ',"1"\n'),
        text.replace(",", ',"",', 1),
        head.split(",")[-1] + text[len(head.split(",")[0]) :], text.replace('",', '" ,', 1),
        text.replace('"\n', '"""\n', 1),
    ]  # fmt: skip
    return ways[int(rng.integers(len(ways)))].encode()


CHANGES: tuple[Callable[[Case, np.random.Generator], bytes], ...] = (
    another_cell, another_cell, cell_of_another_row, another_letter, fewer_rows, a_row_twice, another_order, one_value,
    written_otherwise, written_otherwise,
)  # fmt: skip


def with_limits(report: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The report with another limit, or other roles, whose digest may be forgotten."""
    run = json.loads(json.dumps(report["provenance"]))
    others: list[tuple[str, Any]] = [("k", 7), ("k", 2), ("l", 3), ("t", 0.2), ("spread_min", 0.5), ("entropy_l", 1.5)]
    if rng.integers(3):
        name, value = others[int(rng.integers(len(others)))]
        run["parameters"][name] = value
    else:
        column = run["schema"]["columns"][int(rng.integers(len(run["schema"]["columns"])))]
        if column["kind"] == "categorical":
            column["role"] = "insensitive" if column["role"] == "sensitive" else column["role"]
        else:
            column["domain"] = [20, 60.5] if column["kind"] == "numeric" else ["1960-01-01", "2024-01-05"]
        run["schema"]["target"] = None
        if rng.integers(4):
            schema = Schema.from_json(json.dumps(run["schema"]))
            run["schema"], run["schema_sha256"] = json.loads(schema.to_json()), schema_digest(schema)
    return {**report, "provenance": run}


def changed(number: int) -> Case:
    """A made-up case by its number: a release to which something was done, or nothing."""
    rng = np.random.default_rng(number)
    case = release(number % len(CHOICES))[1]
    for _ in range(int(rng.integers(3))):
        if {len(cells_of(line)) for line in lines_of(case.content)} != {len(cells_of(lines_of(case.content)[0]))}:
            break
        change = CHANGES[int(rng.integers(len(CHANGES)))]
        case = replace(case, what=f"{case.what}, {change.__name__}", content=change(case, rng))
    if not rng.integers(3):
        case = replace(case, what=f"{case.what}, limits", report=with_limits(case.report, rng))
    if rng.integers(2):
        run = {**case.report["provenance"], "output_sha256": {"csv": digest(case.content)}}
        rows = max(0, len(lines_of(case.content)) - 1)
        report = {**case.report, "provenance": run, "verification": {**case.report["verification"], "rows": rows}}
        case = replace(case, what=f"{case.what}, fits", report=report)
    return case
