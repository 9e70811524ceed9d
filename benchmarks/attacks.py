"""What attacks on optimizers get from each method: ends and levels, downcoding, rerunning, and packing's secret.

    python run.py bench attacks --only boxes --draws 5
    python run.py bench attacks --only rerun --draws 10
    python run.py bench attacks --only secret --draws 5
    python run.py bench attacks --only ends

Samples of Adult. Each line is the median over several tables, each released under a secret of its own, with the lowest
and the highest in brackets. *boxes*: 4,000 rows, 8 quasi-identifiers, k = 10: who is singled out by an end or a level,
and which cells are narrowed by supposing that the loss is the least. *rerun*: 24 rows, 4 quasi-identifiers, k = 4:
whose record is certain to somebody who knows all others and runs the method again. *secret*: packed groups of 4,000
rows: do they give the weights of the columns away, and do these bring the groups back? *ends*: whole tables, k = 10:
what public ends and public groups of levels lose, and whom boxes single out then. Nothing is asserted; read the
tables.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.attacks.downcoding import downcode
from anonymizer.attacks.isolation import isolation
from anonymizer.attacks.rerun import rerun
from anonymizer.cells import Cell
from anonymizer.checking.linkage import look_alikes
from anonymizer.flow import Flow
from anonymizer.groups import secret as of_packing
from anonymizer.groups.hulls import scale_of
from anonymizer.growing.encode import EncodedTable, Encoding
from anonymizer.measuring.utility import gcp
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.releasing import pack
from anonymizer.releasing.release import Release
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.values import value_text
from benchmarks._tables import DATA, TABLES

Floats = NDArray[np.float64]

EIGHT = ["age", "workclass", "education-num", "marital-status", "occupation", "race", "sex", "hours-per-week"]
FOUR = ["age", "education-num", "marital-status", "sex"]
METHODS: dict[str, dict[str, Any]] = {
    "detail, pack": {},
    "least, uniform": {"grouping": "least", "criterion": "entropy", "generalizer": "uniform"},
    "error-risk, uniform": {"grouping": "error-risk", "generalizer": "uniform"},
    "least, refine": {"grouping": "least", "criterion": "entropy", "generalizer": "refine"},
    "least, pack": {"grouping": "least", "criterion": "entropy", "generalizer": "pack"},
    "error-risk, pack": {"grouping": "error-risk", "generalizer": "pack"},
    "one region, pack": {"grouping": "least", "generalizer": "pack", "min_leaf": 10**6},
    "median-mondrian": {"grouping": "median-mondrian", "generalizer": "uniform"},
    "infogain-mondrian": {"grouping": "infogain-mondrian", "generalizer": "uniform"},
    "error-risk, tiered-strict": {"grouping": "error-risk", "generalizer": "tiered-strict"},
}
STEPS = 20
"""A grid has at least so many steps in the range of its column."""


def main(arguments: Sequence[str]) -> None:
    """Print the tables that are wanted."""
    parser = argparse.ArgumentParser(prog="attacks")
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--grouping", help="of *ends*; by default the papers' own")
    parser.add_argument("--draws", type=int, default=5, help="tables, each with a secret of its own")
    parser.add_argument("--secrets", type=int, default=20, help="under which an attacker runs each content")
    parser.add_argument("--tries", type=int, default=300, help="weights that an attacker tries")
    parser.add_argument("--seed", type=int, default=0, help="of the tables and the secrets")
    parser.add_argument("--spread", type=float, default=of_packing.SPREAD, help="of the secret weights of packing")
    options = parser.parse_args(arguments)
    of_packing.SPREAD = options.spread
    for part in options.only:
        PARTS[part](options)


def sample(columns: list[str], rows: int, seed: int) -> tuple[pd.DataFrame, Schema]:
    """Some rows of Adult, and their schema."""
    table = pd.read_csv(DATA / "adult_complete.csv.gz", usecols=[*columns, "income"])[[*columns, "income"]]
    table = table.sample(rows, random_state=seed, ignore_index=True)
    return table, Schema.of(table, quasi_identifying=columns, sensitive=["income"])


def flow_of(columns: list[str], rows: int, seed: int, settings: dict[str, Any], k: int) -> Flow:
    """A flow whose secret is drawn from the seed; its parts are drawn first, so that the seed makes them again."""
    flow = Flow(
        *sample(columns, rows, seed),
        Settings(k=k, numbers="range", **settings),
        rng=np.random.default_rng(seed + 10**6),
    )
    flow.compute("parts")
    return flow


def boxes(options: argparse.Namespace) -> None:
    """Isolation and downcoding, with ends as they are and rounded."""
    heads = ["GCP", "records", "groups", "ends", "levels", "narrowed", "wrongly", "GCP", "records", "groups"]
    print_head("method", *heads[:7], *(f"{head}, rounded" for head in heads[7:]))
    for method in options.methods:
        print_line(method, [of_boxes(method, seed) for seed in seeds(options)])


def of_boxes(method: str, seed: int) -> list[float]:
    """The figures of one table."""
    flow = flow_of(EIGHT, 4_000, seed, METHODS[method], 10)
    release, encodings = flow.release, flow.encoded.encodings
    plain, public = flow.isolation, rounded(release, encodings)
    cells = downcode(flow.table, flow.released, flow.schema, encodings, release.order, flow.look_alikes, 10)
    names = flow.schema.quasi_identifying
    coarse = isolation(flow.table, public.frame(), flow.schema, release.order, look_alikes(public.frame(), names))
    return [
        gcp(release, encodings), plain.records.share, plain.groups.share, plain.ends.share, plain.levels.share,
        cells.right.share, cells.wrong.share, gcp(public, encodings), coarse.records.share, coarse.groups.share,
    ]  # fmt: skip


def rounded(release: Release, encodings: Sequence[Encoding]) -> Release:
    """The release with the ends of its intervals rounded outward to a grid, no further than the range of the column."""
    columns = []
    by_name = {encoding.name: encoding for encoding in encodings}
    for column in release.columns:
        encoding = by_name.get(column.name)
        if column.generalized and encoding is not None and encoding.is_interval:
            step = step_of(encoding)
            wide = [outward(cell, step, encoding.domain) for cell in column.cells]
            distinct = tuple(dict.fromkeys(wide))
            place = np.array([distinct.index(cell) for cell in wide])
            column = replace(column, cells=distinct, index=place[column.index].astype(np.int32))
        columns.append(column)
    return replace(release, columns=tuple(columns))


def outward(cell: Cell, step: float, domain: tuple[float, float]) -> Cell:
    """A cell with its ends on the grid: from the step at or below, to below the next step but one unit."""
    if cell.low is None or cell.high is None or step <= 1:
        return cell
    low, high = (np.floor(end / step) * step for end in (cell.low, cell.high))
    ends = (value_text(float(max(low, domain[0]))), value_text(float(min(high + step - 1, domain[1]))))
    return Cell.interval(*ends, cell.missing)


def step_of(encoding: Encoding) -> float:
    """The largest of 1, 2 and 5 times a power of ten that leaves :data:`STEPS` steps."""
    width = encoding.domain[1] - encoding.domain[0]
    steps = [base * 10.0**power for power in range(-9, 10) for base in (1, 2, 5)]
    return max((step for step in steps if width / step >= STEPS), default=1.0)


def grid_of(encoded: EncodedTable) -> list[NDArray[np.int64]]:
    """The grid cell of each code of each column."""
    cells = []
    for encoding in encoded.encodings:
        cell = np.arange(encoding.n_codes)
        if encoding.is_interval and step_of(encoding) > 1:
            cell[: len(encoding.labels)] = encoding.low // step_of(encoding)
        cells.append(cell)
    return cells


def again(options: argparse.Namespace) -> None:
    """Rerunning, without and with the secret, with ends as they are and rounded."""
    print_head("method", "GCP", "certain", "certain, rounded", "groups again", "runs")
    for method in options.methods:
        print_line(method, [of_reruns(method, seed, False, options.secrets) for seed in seeds(options)])
        if METHODS[method].get("generalizer", "pack") == "pack":
            lines = [of_reruns(method, seed, True, options.secrets) for seed in seeds(options)]
            print_line(f"{method}, secret known", lines)


def of_reruns(method: str, seed: int, has_secret: bool, secrets: int) -> list[float]:
    """The figures of one table. ``has_secret``: the attacker has the secret of the release."""
    flow = flow_of(FOUR, 24, seed, METHODS[method], 4)
    numbers = [seed + 10**6] if has_secret else range(seed * 1_000 + 1, seed * 1_000 + 1 + secrets)
    results = [
        rerun(flow.run, np.arange(24), list(numbers), np.random.default_rng(seed), most=400, grid=grid)
        for grid in (None, grid_of(flow.encoded))
    ]
    plain, public = results
    assert plain is not None
    assert public is not None
    certain = [max(result.certain.share, result.certain_by_group.share) for result in (plain, public)]
    return [flow.utility.gcp, *certain, plain.again.share, float(plain.secrets)]


def secret(options: argparse.Namespace) -> None:
    """What is learnt of the weights from packed groups, and what they bring back."""
    print_head(
        "regions", "any weights", "weights by loss", "weights by profile", "only the order known",
        "only the weights known", "correlation by loss", "correlation by profile",
    )  # fmt: skip
    for method in ("error-risk, pack", "one region, pack"):
        print_line(method, [of_secret(method, seed, options.tries) for seed in seeds(options)])


def of_secret(method: str, seed: int, tries: int) -> list[float]:
    """The share of groups made again with weights drawn anew, with those inferred in two ways, and with each half of
    the secret; and how the logarithms of the inferred weights go with the true ones.

    The attacker knows everybody, packs under many weights of the attacker's own, and takes *by loss* the mean of the
    tenth under which the published groups lose least above the attacker's; *by profile* what a linear regression of
    the weights on the losses of the columns says of the published losses, three times, nearer each time.
    """
    flow = flow_of(EIGHT, 4_000, seed, METHODS[method], 10)
    encoded, region = flow.encoded, flow.pruning.group_of_node()[flow.leaf]
    rng = np.random.default_rng(seed + 10**6)
    truth, order = of_packing.SPREAD * rng.standard_normal(len(EIGHT)), rng.permutation(encoded.n_records)
    published, losses = partition(flow.parts.part), column_losses(encoded, flow.parts.part)
    mine = np.random.default_rng(seed)

    def made(logs: Floats, order: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """The groups under some weights."""
        own = mine.permutation(encoded.n_records) if order is None else order
        scale = scale_of(encoded.encodings, np.exp(logs))
        return pack.pack_line(pack.lay_line(encoded, region, own, scale), 10)

    def again(logs: Floats, order: NDArray[np.int64] | None = None) -> float:
        """The share of the published groups that weights make again."""
        return len(published & partition(made(logs, order))) / len(published)

    weights = of_packing.SPREAD * mine.standard_normal((tries, len(EIGHT)))
    own = np.array([column_losses(encoded, made(logs)) for logs in weights])
    above = np.exp(weights) @ losses / (np.exp(weights) * own).sum(axis=1)
    by_loss = weights[np.argsort(above)[: tries // 10]].mean(axis=0)
    some, by_profile = weights[:5], regress(own, weights, losses)
    for _ in range(2):  # again, nearer to what was inferred
        weights = by_profile + of_packing.SPREAD / 2 * mine.standard_normal((tries, len(EIGHT)))
        by_profile = regress(np.array([column_losses(encoded, made(logs)) for logs in weights]), weights, losses)
    return [
        float(np.mean([again(logs) for logs in some])),
        *(float(np.mean([again(logs) for _ in range(5)])) for logs in (by_loss, by_profile)),
        float(np.mean([again(logs, order) for logs in some])), float(np.mean([again(truth) for _ in range(5)])),
        *(float(np.corrcoef(logs, truth)[0, 1]) for logs in (by_loss, by_profile)),
    ]  # fmt: skip


def regress(own: Floats, logs: Floats, losses: Floats) -> Floats:
    """The logarithms of weights that a linear regression on the losses of the columns expects of some losses."""
    profile = np.column_stack([np.log1p(own), np.ones(len(own))])
    return np.asarray(np.append(np.log1p(losses), 1) @ np.linalg.lstsq(profile, logs, rcond=None)[0])


def partition(group: NDArray[np.int64]) -> set[bytes]:
    """The groups as sets of records."""
    order = np.argsort(group, kind="stable")
    return {part.tobytes() for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1)}


def column_losses(encoded: EncodedTable, group: NDArray[np.int64]) -> Floats:
    """What groups lose in each column (p,): records times NCP, added up."""
    sizes = np.bincount(group)
    losses = []
    for j, encoding in enumerate(encoded.encodings):
        codes = encoded.codes.columns[j].astype(np.int64)
        if encoding.is_interval:
            low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
            np.minimum.at(low, group, encoding.low[codes])
            np.maximum.at(high, group, encoding.high[codes])
            ncp = (high - low) / (encoding.domain[1] - encoding.domain[0])
        else:
            levels = np.bincount(np.unique(group * encoding.n_codes + codes) // encoding.n_codes)
            ncp = np.where(levels > 1, levels, 0) / encoding.n_codes
        losses.append(float(sizes @ ncp))
    return np.array(losses)


WAYS: dict[str, dict[str, Any]] = {
    "ends are values": {"numbers": "range"}, "public ends": {}, "public ends and groups": {"writing": "groups"},
}  # fmt: skip


def ends(options: argparse.Namespace) -> None:
    """What public ends and public groups of levels cost on whole tables, and whom boxes single out then."""
    print_head(
        "table",
        "records",
        *(f"GCP, {way}" for way in WAYS),
        *(f"singled out, {way}" for way in WAYS),
        "ends, values",
        "ends, public",
    )
    tables: dict[str, Callable[[], tuple[pd.DataFrame, Schema]]] = {name: table.read for name, table in TABLES.items()}
    for name, read in {"hospital": hospital_table, "adult, 8 columns": adult_eight, **tables}.items():
        table, schema = read()
        settings = Settings(k=10, grouping=options.grouping, numbers="range")
        ways = [
            Flow(table, schema, settings.but(**{"numbers": "public", **way}), rng=np.random.default_rng(0))
            for way in WAYS.values()
        ]
        cells = [f"{len(table):,}", *(f"{way.utility.gcp:.3f}" for way in ways)]
        cells += [f"{way.isolation.records.share:.3f}" for way in ways] + [
            f"{way.isolation.ends.share:.2f}" for way in ways[:2]
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def hospital_table() -> tuple[pd.DataFrame, Schema]:
    """The made-up admissions, in the roles that are suggested."""
    table = hospital()
    return table, suggest(table)


def adult_eight() -> tuple[pd.DataFrame, Schema]:
    """Adult with eight quasi-identifiers."""
    table = pd.read_csv(DATA / "adult_complete.csv.gz", usecols=[*EIGHT, "income"])[[*EIGHT, "income"]]
    return table, Schema.of(table, quasi_identifying=EIGHT, sensitive=["income"])


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "boxes": boxes, "rerun": again, "secret": secret, "ends": ends,
}  # fmt: skip


def seeds(options: argparse.Namespace) -> range:
    """The seeds of the tables."""
    return range(options.seed, options.seed + options.draws)


def print_head(*heads: str) -> None:
    """The head of a table."""
    print("\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|", flush=True)


def print_line(name: str, rows: list[list[float]]) -> None:
    """One line: medians, lowest and highest."""
    figures = np.array(rows)
    cells = [
        f"{middle:.3g} ({low:.3g}–{high:.3g})"
        for middle, low, high in zip(np.median(figures, axis=0), figures.min(axis=0), figures.max(axis=0), strict=True)
    ]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
