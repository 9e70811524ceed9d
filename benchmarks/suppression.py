"""What leaving records out saves: GCP against the share of records that may be left out, and what it is chosen by.

    python run.py bench suppression                 # Adult with 8 and 14 quasi-identifiers and two other tables
    python run.py bench suppression --tables contra --generalizers uniform pack refine

A record that is left out counts as 1 in "all records", and is not in "rows there". Weight 1: records are left out only
as long as less is lost all in all; weight 0: as long as the rows that are there lose less on average. Packing draws a
secret: figures are medians over several. Tables are read from ``../shared/data``.
"""

import argparse
import statistics
from collections.abc import Sequence

import numpy as np

from anonymizer.flow import Flow
from benchmarks._tables import RANGES
from benchmarks.packed import SECRET, WHOLE, flow_of, seconds_of

SHARES = (0.0, 0.005, 0.01, 0.02, 0.05)
WEIGHTS = (1.0, 0.0)


def main(arguments: Sequence[str]) -> None:
    """Print a table for each table and generalizer."""
    parser = argparse.ArgumentParser(prog="suppression")
    parser.add_argument("--tables", nargs="+", default=["adult-8", "adult-14", "contra", "credit"], choices=list(WHOLE))
    parser.add_argument("--generalizers", nargs="+", default=["uniform", "pack"])
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--secrets", type=int, default=3, help="of packed groups")
    options = parser.parse_args(arguments)
    for name in options.tables:
        for generalizer in options.generalizers:
            print_curve(name, generalizer, options.k, options.shares, options.secrets)


def print_curve(name: str, generalizer: str, k: int, shares: Sequence[float], secrets: int) -> None:
    """Print GCP of all records and of the rows there, at every share and weight: medians over the secrets."""
    table = flow_of(name)
    print(f"\n### {name}, {generalizer}, k = {k}, {len(table.table):,} records\n")
    print("| at most | weight | left out | GCP, all records | GCP, rows there | seconds |\n|---|---|---|---|---|---|")
    settings = RANGES.but(k=k, generalizer=generalizer)
    flows = [
        Flow(table.table, table.schema, settings, rng=np.random.default_rng(secret))
        for secret in range(secrets if generalizer in SECRET else 1)
    ]
    for flow in flows:
        flow.compute("pruning", "leaf", "coarse", "parts")
    for weight in WEIGHTS:
        for share in shares:
            figures = []
            for start in flows:
                flow = start.but(suppression=share, suppression_weight=weight)
                seconds = seconds_of(flow, "parts")
                utility = flow.utility
                figures.append((utility.left_out, utility.gcp, utility.gcp_released, seconds))
            left_out, gcp, released, seconds = (statistics.median(column) for column in zip(*figures, strict=True))
            row = f"{share:.1%}", f"{weight:g}", f"{left_out:,.0f}", f"{gcp:.4f}", f"{released:.4f}", f"{seconds:.1f}"
            print(f"| {' | '.join(row)} |", flush=True)
