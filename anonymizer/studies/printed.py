"""The experiment tables of the papers: their figures, and how each is run on another table.

Printed figures are facts of the papers, of their tables; how far they come out is in docs/PAPERS.md.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from anonymizer.errors import Cancelled, ParameterError, Progress
from anonymizer.flow import Flow
from anonymizer.groups.recipe import fitting_groupings
from anonymizer.measuring.measures import MEASURES, ORIGINAL, Outcome
from anonymizer.schema import Schema
from anonymizer.studies.experiment import evaluate


@dataclass(frozen=True)
class PrintedTable:
    """One experiment table. ``methods``: what the paper calls each, and our grouping and generalizer; ``measures``: its
    figures by our keys; ``lines``: table, method, k and the figures in print, in that order, shares and not percent.
    ``settings`` and ``folds``: how it is run."""

    title: str
    source: str
    methods: dict[str, tuple[str, str]]
    measures: tuple[str, ...]
    lines: tuple[tuple[str, str, int, tuple[float, ...]], ...]
    settings: dict[str, Any]
    folds: int = 10
    remark: str = ""
    asks: str = field(default="")

    @property
    def ks(self) -> tuple[int, ...]:
        """Every k of the table, ascending."""
        return tuple(sorted({line[2] for line in self.lines if line[1] != ORIGINAL}))

    def fits(self, schema: Schema) -> bool:
        """Return True where the methods of the table can group a table with this schema."""
        return {grouping for grouping, _ in self.methods.values()} <= set(fitting_groupings(schema))


YANG = {
    "Mondrian": ("infogain-mondrian", "uniform"),
    "ERP-only": ("error-risk", "uniform"),
    "Proposed method": ("error-risk", "tiered"),
}
LI_AND_SARKAR = {"RM": ("regression-mondrian", "uniform"), "MART": ("error-digression", "uniform")}
AS_MART = {"writing": "concatenate", "numbers": "range", "significance": 0.05}


def of_yang(name: str, rows: str) -> tuple[tuple[str, str, int, tuple[float, ...]], ...]:
    """Return the lines of one table of Y19, Table 2. ``rows``: GCP and error of each method, of each k."""
    figures = iter(map(float, rows.split()))
    return tuple(
        (name, method, k, (next(figures), round(next(figures) / 100, 4))) for k in (10, 20, 30) for method in YANG
    )


TABLES: dict[str, PrintedTable] = {
    "Y19-2": PrintedTable(
        "Table 2 of Yang et al.",
        "Yang, Wang, Hu and Li, ICIS 2019",
        YANG,
        ("gcp", "error_box"),
        (
            ("Contra", ORIGINAL, 1, (float("nan"), 0.4779)),
            *of_yang(
                "Contra",
                ".4174 58.48 .4093 49.02 .4071 48.27 .5136 59.89 .5131 59.36 .5127 56.55 .5771 60.28 .5728 60.29 "
                ".5602 59.06",
            ),
            ("Adult", ORIGINAL, 1, (float("nan"), 0.1462)),
            *of_yang(
                "Adult",
                ".4711 24.81 .4251 21.09 .3648 16.63 .5010 25.09 .4262 24.48 .3696 17.08 .5195 27.76 .4695 24.93 "
                ".3737 17.44",
            ),
        ),
        {"writing": "sets", "numbers": "range"},
        remark="Mondrian is taken to be InfoGain Mondrian, as the text suggests and does not say.",
        asks="a sensitive target of classes",
    ),
    "L09-4": PrintedTable(
        "Table 4 of Li and Sarkar, the earlier paper",
        "Li and Sarkar, the earlier form of MIS Quarterly 2014",
        LI_AND_SARKAR,
        ("rsd", "mape_linear_box"),
        (
            ("Offer", "RM", 10, (0.2931, 0.0568)),
            ("Offer", "MART", 10, (0.3334, 0.0459)),
            ("Offer", "RM", 20, (0.3136, 0.0761)),
            ("Offer", "MART", 20, (0.3633, 0.0503)),
            ("Alcohol", "RM", 25, (0.7897, 0.1485)),
            ("Alcohol", "MART", 25, (0.9208, 0.0989)),
            ("Alcohol", "RM", 40, (0.8698, 0.1529)),
            ("Alcohol", "MART", 40, (0.9392, 0.1033)),
        ),
        AS_MART,
        remark="The paper's sizes are those of average groups; here they are the smallest groups.",
        asks="a numeric sensitive target",
    ),
    "L14-5": PrintedTable(
        "Table 5 of Li and Sarkar 2014",
        "Li and Sarkar, MIS Quarterly 2014",
        LI_AND_SARKAR,
        ("rsd", "mape_linear_box", "mape_tree_box"),
        (
            ("Census", ORIGINAL, 1, (float("nan"), 0.8135, 0.8161)),
            ("Census", "RM", 30, (0.5492, 0.8286, 0.8267)),
            ("Census", "MART", 30, (0.8234, 0.8192, 0.8236)),
        ),
        AS_MART,
        folds=2,
        remark="The paper's baseline, k-anonymity by Sweeney, is not among the methods here.",
        asks="a numeric sensitive target",
    ),
}
"""The experiment tables whose methods and figures can be told from the text, by paper and number."""


def run_printed(
    flow: Flow,
    table: PrintedTable,
    *,
    folds: int | None = None,
    each: Callable[[tuple[Outcome, ...]], None] | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> tuple[Outcome, ...]:
    """Return the outcomes of a table's methods on the table of a flow. ``folds``: the paper's by default; the others
    as in :func:`anonymizer.studies.experiment.evaluate`, which does it.

    Raises :class:`ParameterError` where the methods do not fit the sensitive columns, and what it raises.
    """
    if not table.fits(flow.schema):
        raise ParameterError(f"{table.title} needs {table.asks}.", remedy="Change the roles, or choose another table.")
    pairs = list(table.methods.values())
    return evaluate(
        flow.but(**table.settings), folds=folds or table.folds, ks=table.ks, each=each, progress=progress,
        groupings=list(dict.fromkeys(grouping for grouping, _ in pairs)),
        generalizers=list(dict.fromkeys(generalizer for _, generalizer in pairs)), cancelled=cancelled,
    )  # fmt: skip


def beside_print(table: PrintedTable, outcomes: tuple[Outcome, ...]) -> pd.DataFrame:
    """Return a row for each line of a printed table: its figures, and beside each the figure here at that k; NaN where
    the paper prints none, or where nothing came out."""
    here = {(one.grouping, one.generalizer, one.k): one for one in outcomes}
    rows = []
    for name, method, k, figures in table.lines:
        setting = (ORIGINAL, "none", 1) if method == ORIGINAL else (*table.methods[method], k)
        row: dict[str, Any] = {"table": name, "method": method, "k": k}
        for measure, figure in zip(table.measures, figures, strict=True):
            row[f"{MEASURES[measure]}, in print"] = figure
            row[f"{MEASURES[measure]}, here"] = here[setting].mean(measure) if setting in here else np.nan
        rows.append(row)
    return pd.DataFrame(rows)
