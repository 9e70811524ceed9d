"""The private forest from a terminal: ``python -m anonymizer forest`` and ``audit``."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from anonymizer.audit import PAIRS, Finding, audit
from anonymizer.cut_points import buy_cuts
from anonymizer.domains import Domains, code, domains_of, read_domains
from anonymizer.errors import ParameterError
from anonymizer.forest import MODES, NEIGHBOURS, Forest, grow_and_measure, grow_forest, rehearsed_accuracy
from anonymizer.mechanisms import Budget
from anonymizer.read import Reading
from anonymizer.rules import promise, rules_csv, rules_json, rules_of, rules_text
from anonymizer.schema import Schema

REHEARSED = (
    "A rehearsal: cross-validated with repeatable noise on the records themselves. The figure is not covered by the "
    "budget; publish it only when the table is public."
)
WRITERS = {"json": rules_json, "csv": rules_csv, "txt": rules_text}


def add_forest(subparsers: Any, add_reading: Any, reading_of: Any, names: Any, pairs: Any) -> None:
    """Add the commands ``forest`` and ``audit``; the functions are those that every command reads its input with."""
    grow = subparsers.add_parser("forest", help="a differentially private decision forest to publish")
    grow.add_argument("input", help="csv, csv.gz, parquet or xlsx")
    add_reading(grow)
    grow.add_argument("--target", required=True, help="the column to predict")
    grow.add_argument("--epsilon", type=float, default=1.0, help="the privacy budget, the papers' β (default: 1)")
    grow.add_argument("--mode", default="strict", choices=list(MODES), help="paper is NOT differentially private")
    grow.add_argument("--trees", type=int, default=1, help="τ, each with another column at its root (default: 1)")
    grow.add_argument("--max-depth", type=int, default=5, help="δ, most nodes on a path (default: 5)")
    grow.add_argument("--min-size", type=float, default=100, help="fewest noisy records of a divided node (not strict)")
    grow.add_argument("--domains", metavar="JSON", help="the public values of each column; without, they are read")
    grow.add_argument(
        "--cut-share", type=float, default=0.0, metavar="SHARE", help="share of the budget that buys cut points"
    )
    grow.add_argument("--columns", type=names, metavar="A,B", help="the columns to split on (default: all others)")
    grow.add_argument("--identifying", type=names, default=[], metavar="N", help="columns never to look at")
    grow.add_argument("--kinds", type=pairs, default={}, metavar="A=KIND", help="numeric or categorical")
    grow.add_argument("--rules", metavar="OUT", help="where the rules go: .json, .csv or .txt")
    grow.add_argument("--folds", type=int, help="also rehearse: cross-validated accuracy, not private")
    grow.add_argument("--hold-out", type=float, metavar="SHARE", help="measure accuracy privately on this share")
    grow.add_argument("--seed", type=int, default=0, help="of the rehearsal (a real forest cannot be seeded)")
    grow.add_argument("--json", action="store_true", help="print everything but the rules as JSON")
    grow.set_defaults(run=lambda chosen: run_forest(chosen, reading_of(chosen.input, chosen)))

    check = subparsers.add_parser("audit", help="try to refute the claim of each mode on neighbouring tables")
    check.add_argument("--mode", action="append", choices=list(MODES), help="repeatable (default: all)")
    check.add_argument("--epsilon", type=float, default=0.1, help="the claim that is tested (default: 0.1)")
    check.add_argument("--trees", type=int, default=1)
    check.add_argument("--max-depth", type=int, default=5)
    check.add_argument("--classes", type=int, default=8, help="classes of the two tables (default: 8)")
    check.add_argument("--pair", default="one-and-two", choices=list(PAIRS), help="which neighbouring tables")
    check.add_argument("--runs", type=int, default=20_000, help="runs on each of the two tables")
    check.add_argument("--confidence", type=float, default=0.999, help="of the lower bound (default: 0.999)")
    check.add_argument("--seed", type=int, help="repeatable noise instead of the noise of real releases")
    check.add_argument("--json", action="store_true")
    check.set_defaults(run=run_audit)


def public_domains(reading: Reading, chosen: argparse.Namespace) -> Domains:
    """The public domains of the table, as the options say."""
    schema = Schema.of(reading.frame, quasi_identifying=[], identifying=chosen.identifying, kinds=chosen.kinds)
    given = read_domains(Path(chosen.domains).read_text("utf-8")) if chosen.domains else None
    return domains_of(reading.frame, chosen.target, given, columns=chosen.columns, schema=schema)


def run_forest(chosen: argparse.Namespace, reading: Reading) -> int:
    """``forest``: grows, writes the rules, prints what was spent and on what."""
    ending = Path(chosen.rules).suffix.lower().lstrip(".") if chosen.rules else ""
    if chosen.rules and ending not in WRITERS:
        raise ParameterError(f"{chosen.rules} has no ending that can be written.", remedy="Use .json, .csv or .txt.")
    if not 0 <= chosen.cut_share < 1 or (chosen.cut_share and chosen.hold_out is not None):
        raise ParameterError(
            "The share for cut points must be from 0 to below 1, and cannot be combined with --hold-out.",
            remedy="0.1 is usual.",
        )
    domains = public_domains(reading, chosen)
    paid = Budget(chosen.epsilon)
    if chosen.cut_share:
        domains = buy_cuts(reading.frame, domains, paid, chosen.cut_share * chosen.epsilon)
    left, table = chosen.epsilon - paid.spent, code(reading.frame, domains)
    parameters = {
        "mode": chosen.mode, "n_trees": chosen.trees, "max_depth": chosen.max_depth, "min_size": chosen.min_size,
    }  # fmt: skip
    found: dict[str, Any] = {}
    if chosen.hold_out is not None:
        measured = grow_and_measure(table, chosen.epsilon, held_out=chosen.hold_out, **parameters)
        forest = measured.forest
        found["measured"] = {
            "accuracy": measured.accuracy,
            "margin": measured.margin,
            "held_out": chosen.hold_out,
            "ledger": measured.ledger.to_dict(),
            "note": "Private: each record was seen by the forest or by the measurement, so both cost the budget once.",
        }
    else:
        forest = grow_forest(table, chosen.epsilon, paid=paid, **parameters)
    if chosen.folds is not None:
        scores = rehearsed_accuracy(table, left, folds=chosen.folds, seed=chosen.seed, **parameters)
        found |= {
            "accuracy": float(scores.mean()),
            "accuracy_of_folds": scores.tolist(),
            "majority_class": float(np.bincount(table.classes).max() / table.n_records),
            "accuracy_note": REHEARSED,
        }
    rules = rules_of(forest)
    if chosen.rules:
        Path(chosen.rules).write_text(WRITERS[ending](forest, rules), "utf-8")
    described = forest.to_dict() | {"rules": len(rules), "input_sha256": reading.sha256} | found
    print(json.dumps(described, ensure_ascii=False, indent=2) if chosen.json else forest_text(forest, described))
    return 0


def forest_text(forest: Forest, described: dict[str, Any]) -> str:
    """The run as a short text: warnings first."""
    lines = [*promise(forest), NEIGHBOURS, "", forest.ledger.text()]
    lines.append(f"{len(forest.trees)} trees, {described['rules']} rules and subrules")
    if "measured" in described:
        measured = described["measured"]
        lines.append(f"accuracy {measured['accuracy']:.3f} ± {measured['margin']:.3f}. {measured['note']}")
    if "accuracy" in described:
        lines.append(
            f"accuracy {described['accuracy']:.4f} (majority class {described['majority_class']:.4f}). {REHEARSED}"
        )
    return "\n".join(lines)


def run_audit(chosen: argparse.Namespace) -> int:
    """``audit``: prints a lower bound on ε for each mode; 1 when a mode that claims a guarantee is refuted."""
    findings = [
        audit(
            mode,
            chosen.epsilon,
            pair=chosen.pair,
            n_trees=chosen.trees,
            max_depth=chosen.max_depth,
            n_classes=chosen.classes,
            runs=chosen.runs,
            confidence=chosen.confidence,
            seed=chosen.seed,
        )
        for mode in chosen.mode or list(MODES)
    ]
    if chosen.json:
        print(json.dumps([finding.to_dict() for finding in findings], indent=2))
    else:
        print("\n".join(audit_line(finding) for finding in findings))
    return int(any(finding.violated and MODES[finding.mode].private for finding in findings))


def audit_line(finding: Finding) -> str:
    """One audit in words."""
    verdict = "REFUTED: it loses more than it claims" if finding.violated else "not refuted"
    counted = f"{finding.hits[0]:,} and {finding.hits[1]:,} of {finding.runs:,} runs"
    return (
        f"{finding.mode:<18} claims {finding.epsilon:g}; at least {finding.lower_bound:.3f} "
        f"({finding.confidence:.1%} sure, {counted}): {verdict}"
    )
