"""What a published tree tells, from a terminal: ``python -m anonymizer disclosure``."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anonymizer.constraints import Knowledge, Rule
from anonymizer.disclosure import CONFIDENT, Exposure, assess, compare, leaves_alone
from anonymizer.encode import encode
from anonymizer.errors import ParameterError
from anonymizer.grow import grow
from anonymizer.integer_posterior import integer_posterior
from anonymizer.multiway import MEASURES, grow_multiway
from anonymizer.outline import KeyedTree, Keys, keyed, keys_of, outline_of
from anonymizer.publish import WRITERS, from_json, knowledge_of, publish, tree_from
from anonymizer.read import Reading
from anonymizer.repair import Repair, repairs
from anonymizer.schema import Schema

ENDINGS = {".json": "json", ".txt": "rules", ".pmml": "pmml"}


def add_disclosure(subparsers: Any, add_reading: Any, reading_of: Any, names: Any, pairs: Any) -> None:
    """Add the command ``disclosure``; the functions are those that every command reads its input with."""
    told = subparsers.add_parser("disclosure", help="what a published tree tells somebody who knows everyone's columns")
    told.add_argument("input", help="csv, csv.gz, parquet or xlsx")
    add_reading(told)
    told.add_argument("--quasi-identifying", type=names, required=True, metavar="A,B", help="what an adversary knows")
    told.add_argument("--target", required=True, help="the sensitive column that the tree predicts")
    told.add_argument("--kinds", type=pairs, default={}, metavar="A=KIND", help="numeric, categorical or date")
    told.add_argument("--rows", type=int, metavar="N", help="use the first N records only")
    told.add_argument("--tree", metavar="JSON", help="assess this published tree, with the fields that it holds")
    told.add_argument("--criterion", default="gini", choices=MEASURES, help="gain-ratio with multiway splits only")
    told.add_argument("--splits", default="multiway", choices=["multiway", "binary"], help="a child a level, or two")
    told.add_argument("--max-depth", type=int, help="longest path of the tree (default: no limit)")
    told.add_argument(
        "--min-leaf", type=int, default=2, help="binary: fewest records of a leaf; multiway: of a node that asks"
    )
    told.add_argument("--no-rates", dest="rates", action="store_false", help="error rates are not published")
    told.add_argument("--totals", action="store_true", help="class totals are published")
    told.add_argument("--no-internal", dest="internal", action="store_false", help="how it was grown is not known")
    told.add_argument("--starts", type=int, default=3, help="starts of the solver (default: 3)")
    told.add_argument("--confidence", type=float, default=CONFIDENT, help="who counts as exposed (default: 0.9)")
    told.add_argument("--bound", type=float, help="the highest posterior allowed; exit status 1 when it is exceeded")
    told.add_argument(
        "--repair", nargs="?", const="best", choices=["best", "prune"], help="withhold or prune until --bound is kept"
    )
    told.add_argument("--compare", action="store_true", help="also under every other assumption")
    told.add_argument("--exact", action="store_true", help="also count whole people, where that is feasible")
    told.add_argument("--out", help="where the published tree goes: .json, .txt (rules) or .pmml")
    told.add_argument("--json", action="store_true", help="print the figures as JSON")
    told.set_defaults(run=lambda chosen: run_disclosure(chosen, reading_of(chosen.input, chosen)))


def run_disclosure(chosen: argparse.Namespace, reading: Reading) -> int:
    """``disclosure``: 1 when a bound is exceeded or the solver found no optimum."""
    ending = None if chosen.out is None else ENDINGS.get(Path(chosen.out).suffix.lower(), "")
    if ending == "":
        raise ParameterError(f"{chosen.out} has no ending that can be written.", remedy="Use .json, .txt or .pmml.")
    if chosen.repair and chosen.bound is None:
        raise ParameterError("A repair needs a bound.", remedy="Give one: --bound 0.8.")
    began = time.perf_counter()
    keys = keys_from(chosen, reading)
    tree, knowledge = tree_and_knowledge(chosen, keys)
    say = progress_line()
    repair: Repair | None = None
    if chosen.repair:
        ways = repairs(tree, knowledge, chosen.bound, starts=chosen.starts, progress=say)
        repair = ways[-1 if chosen.repair == "prune" else 0]
        tree, knowledge, exposure = repair.tree, repair.knowledge, repair.exposure
    else:
        exposure = assess(tree, knowledge, starts=chosen.starts, progress=say)
    seconds = time.perf_counter() - began
    told = summary(tree, exposure, seconds, chosen.confidence)
    if repair is not None:
        told["repair"] = {
            "how": repair.how, "bound": repair.bound, "kept": repair.possible, "questions_taken_back": repair.steps,
            "accuracy": repair.accuracy, "accuracy_before": repair.accuracy_before,
        }  # fmt: skip
    if chosen.exact:
        counted = integer_posterior(tree, knowledge)
        people = int(tree.keys.counts[counted.exact].sum())
        told["exact"] = {
            "people": people,
            "highest_posterior": float(counted.posterior[counted.exact].max()) if people else None,
        }
    if chosen.compare:
        found = compare(tree, knowledge.rule, starts=chosen.starts, progress=say)
        told["assumptions"] = [one.to_dict(chosen.confidence) for one in found]
    clear_line()
    exceeded = chosen.bound is not None and exposure.figures.highest_posterior > chosen.bound + 1e-6
    if chosen.bound is not None:
        told["bound"], told["within_bound"] = chosen.bound, not exceeded
    if chosen.out and not exceeded and exposure.estimate.converged:
        Path(chosen.out).write_text(WRITERS[ending or "json"](publish(tree, knowledge)), "utf-8")
    if chosen.json:
        print(json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print_figures(told, chosen)
    return 1 if exceeded or not exposure.estimate.converged else 0


def keys_from(chosen: argparse.Namespace, reading: Reading) -> Keys:
    """The distinct keys of the table that was read."""
    table = reading.frame
    if chosen.rows is not None:
        if chosen.rows < 1:
            raise ParameterError("--rows must be at least 1.", remedy="Leave it out to use all.")
        table = table.head(chosen.rows)
    schema = Schema.of(
        table,
        quasi_identifying=chosen.quasi_identifying,
        sensitive=[chosen.target],
        kinds={chosen.target: "categorical"} | chosen.kinds,
    )
    chosen.encoded = encode(table, schema)
    return keys_of(chosen.encoded)


def tree_and_knowledge(chosen: argparse.Namespace, keys: Keys) -> tuple[KeyedTree, Knowledge]:
    """The tree that is assessed, and what is assumed to be known of it."""
    if chosen.tree:
        document = from_json(Path(chosen.tree).read_text("utf-8"))
        return tree_from(document, keys), knowledge_of(document)
    if chosen.splits == "binary":
        if chosen.criterion == "gain-ratio":
            raise ParameterError("Binary trees are not grown by gain ratio.", remedy="Choose gini or entropy.")
        grown = grow(chosen.encoded, chosen.criterion, chosen.min_leaf, chosen.max_depth)
        outline = outline_of(grown, keys.encodings)
    else:
        outline = grow_multiway(keys, chosen.criterion, chosen.min_leaf, chosen.max_depth)
    rule = Rule(chosen.criterion, chosen.splits, chosen.min_leaf if chosen.splits == "binary" else 1)
    return keyed(outline, keys), Knowledge(chosen.rates, chosen.totals, rule if chosen.internal else None)


def summary(tree: KeyedTree, exposure: Exposure, seconds: float, confidence: float) -> dict[str, Any]:
    """The figures of one assessment, JSON-ready."""
    leaves = tree.outline.leaves
    alone = None if exposure.knowledge.rule is None else leaves_alone(tree, exposure.knowledge)
    return {
        "records": tree.n_records,
        "keys": tree.n_keys,
        "classes": tree.n_classes,
        "leaves": int((tree.n[leaves] > 0).sum()),
        "unreduced_variables": tree.n_keys * tree.n_classes,
        **exposure.to_dict(confidence),
        "leaves_alone": None if alone is None else alone.to_dict(confidence),
        "estimate_seconds": exposure.estimate.seconds,
        "seconds": seconds,
    }


def print_figures(told: dict[str, Any], chosen: argparse.Namespace) -> None:
    """The figures as a short table."""
    rows: list[tuple[str, str]] = [
        ("records, distinct keys", f"{told['records']:,}, {told['keys']:,}"),
        ("leaves", f"{told['leaves']:,}"),
        ("highest posterior", f"{told['highest_posterior']:.3f}"),
        (f"people at {told['confidence']:g} or more", f"{told['people_above']:,}"),
        ("  of them rightly", f"{told['people_above_and_right']:,}"),
        ("best guess is right", f"{100 * told['best_guess_accuracy']:.1f} %"),
        ("D_overall, nats", "infinite" if told["mean_divergence"] is None else f"{told['mean_divergence']:.4f}"),
        *before_rows(told),
        ("entropy, its bound", f"{told['entropy']:.5f}, {told['entropy_bound']:.5f}"),
        ("internal constraints", f"{told['constraints']['internal']:,}, {told['active']:,} active"),
        ("unknowns", f"{told['variables']:,} of {told['unreduced_variables']:,}"),
        ("found by", f"{told['method']}: {told['status']}"),
        ("seconds", f"{told['seconds']:.2f}"),
    ]
    if "repair" in told:
        repair = told["repair"]
        rows.append(("repaired", repair["how"]))
        rows.append(("accuracy, before", f"{repair['accuracy']:.4f}, {repair['accuracy_before']:.4f}"))
    if "exact" in told:
        exact = told["exact"]
        highest = "" if exact["highest_posterior"] is None else f", highest {exact['highest_posterior']:.3f}"
        rows.append(("counted exactly", f"{exact['people']:,} people{highest}"))
    for label, value in rows:
        print(f"{label:<28}{value:>24}")
    for one in told.get("assumptions", []):
        knows = one["knows"]
        what = ", ".join(name.replace("_", " ") for name, known in knows.items() if known) or "labels only"
        divergence = "infinite" if one["mean_divergence"] is None else f"{one['mean_divergence']:.4f}"
        print(f"{what:<44} highest {one['highest_posterior']:.3f}  D_overall {divergence}  {one['status']}")
    if not told["converged"]:
        print("The solver found no optimum: these figures are not an estimate. Try more --starts.")
    if "within_bound" in told:
        print(f"The bound {told['bound']:g} is {'kept' if told['within_bound'] else 'EXCEEDED'}.")


def before_rows(told: dict[str, Any]) -> list[tuple[str, str]]:
    """What the leaves alone tell, where how the tree was grown was known as well."""
    alone = told["leaves_alone"]
    if alone is None:
        return []
    divergence = "infinite" if alone["mean_divergence"] is None else f"{alone['mean_divergence']:.4f}"
    return [("  from the leaves alone", f"{divergence}, highest {alone['highest_posterior']:.3f}")]


def progress_line() -> Callable[[float, str], None] | None:
    """A line on standard error that says how far it is, when that is a terminal."""
    if not sys.stderr.isatty():
        return None

    def say(share: float, what: str) -> None:
        print(f"\r{100 * share:3.0f} % {what[:100]:<100}", end="", file=sys.stderr, flush=True)

    return say


def clear_line() -> None:
    """Take the progress line away."""
    if sys.stderr.isatty():
        print("\r" + " " * 107 + "\r", end="", file=sys.stderr, flush=True)
