"""The private forest from a terminal: ``copse forest`` and ``audit``."""

import argparse
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from anonymizer.cli.inputs import described, first_bytes, reading_of
from anonymizer.cli.output import print_json
from anonymizer.errors import ParameterError
from anonymizer.forest.audit import Finding, audit
from anonymizer.forest.cut_points import grow_private
from anonymizer.forest.domains import Domains, code, domains_of, read_domains
from anonymizer.forest.forest import (
    MODES,
    NEIGHBOURS,
    ONE_ROW,
    Forest,
    grow_and_measure,
    rehearsed_accuracy,
    require_growth,
)
from anonymizer.forest.rules import promise, rules_csv, rules_json, rules_of, rules_text
from anonymizer.ledger.ledger import Ledger
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest
from anonymizer.releasing.files import write_file
from anonymizer.schema import Schema, csv_names

REHEARSED = (
    "A rehearsal: cross-validated with repeatable noise on the rows themselves. The figure is not covered by the "
    "budget; publish it only when the table is public."
)
WRITERS = {"json": rules_json, "csv": rules_csv, "txt": rules_text}


def schema_of(reading: Reading, options: argparse.Namespace) -> Schema:
    """Return what the options say of the columns."""
    schema = Schema.of(
        reading.frame, quasi_identifying=[], identifying=options.identifying, person=options.person,
        kinds=options.kinds,
    )  # fmt: skip
    return described(schema, reading.frame, options)


def public_domains(reading: Reading, schema: Schema, options: argparse.Namespace) -> Domains:
    """Return the public domains of the table, as the options say."""
    domains = read_domains(first_bytes(options.domains)) if options.domains else None
    answer = domains_of(reading.frame, options.target, domains, columns=options.columns, schema=schema)
    return answer.as_read(options.from_data)


def questions_of(domains: Domains) -> list[str]:
    """Return what is asked about domains, with the option that answers; nothing where nothing is."""
    names = shlex.quote(csv_names(domains.exact))
    return [f"{domains.question} If so: --from-data {names}."] if domains.exact else []


def read_and_run(options: argparse.Namespace) -> int:
    """Run ``forest`` on the table that the options name."""
    return run_forest(options, reading_of(options.input, options))


def run_forest(options: argparse.Namespace, reading: Reading) -> int:
    """Run ``forest``: grow, write the rules, print what was spent and on what."""
    ending = Path(options.rules).suffix.lower().lstrip(".") if options.rules else ""
    if options.rules and ending not in WRITERS:
        raise ParameterError(f"{options.rules} has no ending that can be written.", remedy="Use .json, .csv or .txt.")
    if not 0 <= options.cut_share < 1 or (options.cut_share and options.hold_out is not None):
        raise ParameterError(
            "The share for cut points must be from 0 to below 1, and cannot be combined with --hold-out.",
            remedy="0.1 is usual.",
        )
    of_trees = {"n_trees": options.trees, "max_depth": options.max_depth, "min_size": options.min_size}
    parameters: dict[str, Any] = {name: value for name, value in of_trees.items() if value is not None}
    if parameters and not MODES[options.mode].trees:
        raise ParameterError(
            f"--mode {options.mode} has no trees.", remedy="Leave --trees, --max-depth and --min-size out."
        )
    parameters["mode"] = options.mode
    schema = schema_of(reading, options)
    domains = public_domains(reading, schema, options)
    person = options.person or suggest(reading.frame).person
    table = code(reading.frame, domains)
    charge(reading, schema, domains, person, options)
    extra: dict[str, Any] = {}
    if options.hold_out is not None:
        trial = grow_and_measure(table, options.epsilon, test_share=options.hold_out, **parameters)
        forest = trial.forest
        extra["measured"] = {
            "accuracy": trial.accuracy,
            "margin": trial.margin,
            "held_out": options.hold_out,
            "ledger": trial.ledger.to_dict(),
            "note": "Private: each row was seen by the forest or by the measurement, so both cost the budget once.",
        }
    else:
        forest, table = grow_private(reading.frame, domains, options.epsilon, cut_share=options.cut_share, **parameters)
    if options.folds is not None:
        left = options.epsilon * (1 - options.cut_share if table.domains != domains else 1)
        scores = rehearsed_accuracy(table, left, folds=options.folds, seed=options.seed, **parameters)
        extra |= {
            "accuracy": float(scores.mean()),
            "accuracy_of_folds": scores.tolist(),
            "majority_class": float(np.bincount(table.classes).max() / table.n_records),
            "accuracy_note": REHEARSED,
        }
    rules = rules_of(forest)
    if options.rules:
        write_file(options.rules, WRITERS[ending](forest, rules))
    described = forest.to_dict() | {"rules": len(rules), "questions": questions_of(table.domains)} | extra
    if person is not None:
        described["warnings"] = [ONE_ROW.format(person=person), *described["warnings"]]
    if options.json:
        print_json("forest", described)
    else:
        print(forest_text(forest, described))
    return 0


def charge(reading: Reading, schema: Schema, domains: Domains, person: str | None, options: argparse.Namespace) -> None:
    """Enter the forest in the ledger that is named, before it asks the rows anything. ``person``: the column that tells
    whose a row is, ``None`` without one."""
    if not options.ledger:
        if options.to:
            raise ParameterError("--to is for the entry of a ledger.", remedy="Name one with --ledger.")
        return
    if person != options.person:
        raise ParameterError(
            "A ledger counts what forests tell of one person.", column=person, remedy=f"Add --person {person}."
        )
    require_growth(
        domains, options.mode, 1 if options.trees is None else options.trees,
        5 if options.max_depth is None else options.max_depth,
    )  # fmt: skip
    private = MODES[options.mode].private and not domains.read_from_data
    name = Path(options.rules).name if options.rules else ""
    words = {"name": name, "mode": options.mode, "to": options.to}
    Ledger.open(options.ledger).charge(reading.frame, schema, options.epsilon, private=private, **words)


def forest_text(forest: Forest, described: dict[str, Any]) -> str:
    """Return the run as a short text: warnings first."""
    others = [f"WARNING: {warning}" for warning in described["warnings"] if warning not in forest.warnings]
    questions = [f"QUESTION: {question}" for question in described["questions"]]
    lines = [*others, *questions, *promise(forest), NEIGHBOURS, "", forest.ledger.text()]
    lines.append(f"{described['rules']} rules and subrules: {forest.lesson}")
    if "measured" in described:
        trial = described["measured"]
        lines.append(f"accuracy {trial['accuracy']:.3f} ± {trial['margin']:.3f}. {trial['note']}")
    if "accuracy" in described:
        lines.append(
            f"accuracy {described['accuracy']:.4f} (majority class {described['majority_class']:.4f}). {REHEARSED}"
        )
    return "\n".join(lines)


def run_audit(options: argparse.Namespace) -> int:
    """Run ``audit``: print a lower bound on ε for each mode; 1 when a mode that claims a guarantee is refuted."""
    findings = [
        audit(
            mode,
            options.epsilon,
            pair=options.pair,
            n_trees=options.trees,
            max_depth=options.max_depth,
            n_classes=options.classes,
            runs=options.runs,
            confidence=options.confidence,
            seed=options.seed,
        )
        for mode in options.mode or list(MODES)
    ]
    if options.json:
        print_json("audit", {"modes": [finding.to_dict() for finding in findings]})
    else:
        print("\n".join(audit_line(finding) for finding in findings))
    return int(any(finding.violated and MODES[finding.mode].private for finding in findings))


def audit_line(finding: Finding) -> str:
    """Return one audit in words."""
    verdict = "REFUTED: it loses more than it claims" if finding.violated else "not refuted"
    if not finding.tells:
        verdict = "too few runs to tell"
    counted = f"{finding.hits[0]:,} and {finding.hits[1]:,} of {finding.runs:,} runs"
    return (
        f"{finding.mode:<18} claims {finding.epsilon:g}; at least {finding.lower_bound:.3f} "
        f"({finding.confidence:.1%} sure, {counted}): {verdict}"
    )
