"""What a published tree tells, from a terminal: ``copse disclosure``."""

import argparse
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from anonymizer.cli.gate import print_gate, reasons_of
from anonymizer.cli.inputs import reading_of
from anonymizer.cli.output import print_json
from anonymizer.disclosure.brought import Brought, read_tree
from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.exposure import Exposure, assess, compare, figures_of_leaves
from anonymizer.disclosure.integer_posterior import surest_posterior
from anonymizer.disclosure.multiway import grow_multiway
from anonymizer.disclosure.outline import KeyedTree, Keys, keys_of, lay_keys, outline_of
from anonymizer.disclosure.publish import WRITERS, publish
from anonymizer.disclosure.repair import Repair, repairs
from anonymizer.errors import ParameterError, Progress
from anonymizer.gate.finding import Gate
from anonymizer.growing.encode import encode
from anonymizer.growing.grow import grow
from anonymizer.json_value import MAX_BYTES
from anonymizer.ledger.drafts import TreeDraft, reasons_in
from anonymizer.ledger.ledger import Ledger
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest
from anonymizer.releasing.files import write_file
from anonymizer.schema import Schema

ENDINGS = {".json": "json", ".txt": "rules", ".pmml": "pmml"}


def read_and_run(options: argparse.Namespace) -> int:
    """Run ``disclosure`` on the table that the options name."""
    return run_disclosure(options, reading_of(options.input, options))


def run_disclosure(options: argparse.Namespace, reading: Reading) -> int:
    """Run ``disclosure``; return 1 when a bound is exceeded or the solver found no optimum."""
    ending = None if options.out is None else ENDINGS.get(Path(options.out).suffix.lower(), "")
    if ending == "":
        raise ParameterError(f"{options.out} has no ending that can be written.", remedy="Use .json, .txt or .pmml.")
    if options.repair and options.bound is None:
        raise ParameterError("A repair needs a bound.", remedy="Give one: --bound 0.8.")
    ledger = ledger_of(options, reading)
    began = time.perf_counter()
    keys = keys_from(options, reading)
    brought = brought_tree(options, keys)
    tree, knowledge = tree_and_knowledge(options, keys) if brought is None else (brought.tree, brought.knowledge)
    say = progress_line()
    repair: Repair | None = None
    if options.repair:
        ways = repairs(tree, knowledge, options.bound, starts=options.starts, progress=say)
        repair = ways[-1 if options.repair == "prune" else 0]
        tree, knowledge, exposure = repair.tree, repair.knowledge, repair.exposure
    else:
        exposure = assess(tree, knowledge, starts=options.starts, progress=say, exact=options.bound is not None)
    seconds = time.perf_counter() - began
    figures = summary(tree, exposure, seconds, options.confidence)
    if repair is not None:
        figures["repair"] = {
            "how": repair.how, "bound": repair.bound, "kept": repair.possible, "questions_taken_back": repair.steps,
            "accuracy": repair.accuracy, "accuracy_before": repair.accuracy_before,
        }  # fmt: skip
    shares = None if brought is None else brought.by_shares
    if shares is not None:
        figures["class_shares_of_leaves"] = shares.to_dict(options.confidence)
    if options.exact:
        counted = surest_posterior(tree, knowledge)
        people = int(tree.keys.counts[counted.exact].sum())
        figures["exact"] = {
            "people": people,
            "highest_posterior": float(counted.posterior[counted.exact].max()) if people else None,
        }
    if options.compare:
        others = compare(tree, knowledge.rule, starts=options.starts, progress=say)
        figures["assumptions"] = [one.to_dict(options.confidence) for one in others]
    clear_line()
    fits = exposure.estimate.converged
    if options.bound is not None:
        fits = exposure.keeps(options.bound)
        figures |= {
            "bound": options.bound, "within_bound": fits, "judged": exposure.highest_posterior,
            "judged_by": exposure.judged_by,
        }  # fmt: skip
    gate = publish_tree(options, ledger, tree, knowledge, fits, figures)
    if options.json:
        print_json("disclosure", figures)
    else:
        print_figures(figures, options)
        if ledger is not None:
            print_gate(gate, gate.findings)
            if "number" in figures["ledger"]:
                print(f"This tree is entry {figures['ledger']['number']:,} of the ledger, {figures['ledger']['hash']}.")
    return 0 if fits and not gate.open else 1


def publish_tree(
    options: argparse.Namespace, ledger: Ledger | None, tree: KeyedTree, knowledge: Knowledge, fits: bool,
    figures: dict[str, Any],
) -> Gate:  # fmt: skip
    """Return what stands in the way of publishing a tree with all that a ledger has, which is added to the figures.
    Where nothing does, a file is named and the bound ``fits``, write it; its entry comes first."""
    path, gate, draft = Path(options.out or ""), Gate(()), None
    if ledger is not None:
        codes = options.encoded.codes.matrix()
        draft = TreeDraft.of(
            options.table, options.schema, tree, knowledge, codes, path.name, ledger.require_key()
        )  # fmt: skip
        gate = Gate(ledger.tree_findings(draft))
        gate = gate.with_reasons(reasons_of(options.reason, gate))
        figures["ledger"] = gate.to_dict()
    if not options.out or not fits or gate.open:
        return gate
    content = WRITERS[ENDINGS[path.suffix.lower()]](publish(tree, knowledge))
    with nullcontext() if ledger is None else ledger.noted(path.name):
        if ledger is not None and draft is not None:
            entry = ledger.enter_tree(draft, reasons_in(gate), to=options.to)
            figures["ledger"] |= {"number": entry["number"], "hash": entry["hash"]}
        write_file(path, content)
    return gate


def ledger_of(options: argparse.Namespace, reading: Reading) -> Ledger | None:
    """Return the ledger that the tree is counted with, ``None`` without one. Raises :class:`ParameterError` for options
    that are of a ledger without one, and where persons are not named who are in the table."""
    if not options.ledger:
        for name in ("to", "reason", "person"):
            if getattr(options, name):
                raise ParameterError(f"--{name} is for the entry of a ledger.", remedy="Name one with --ledger.")
        return None
    if options.to and not options.out:
        raise ParameterError("--to is for the entry, and nothing is published.", remedy="Name a file with --out.")
    person = options.person or suggest(reading.frame).person
    if person != options.person:
        raise ParameterError("A ledger counts persons.", column=person, remedy=f"Add --person {person}.")
    ledger = Ledger.open(options.ledger)
    ledger.require_key()
    return ledger


def keys_from(options: argparse.Namespace, reading: Reading) -> Keys:
    """Return the distinct keys of the table that was read."""
    table = reading.frame
    if options.rows is not None:
        if options.rows < 1:
            raise ParameterError("--rows must be at least 1.", remedy="Omit it to use all.")
        table = table.head(options.rows)
    schema = Schema.of(
        table,
        quasi_identifying=options.quasi_identifying,
        sensitive=[options.target],
        person=options.person,
        kinds={options.target: "categorical"} | options.kinds,
    )
    options.table, options.schema = table, schema
    options.encoded = encode(table, schema)
    return keys_of(options.encoded)


def brought_tree(options: argparse.Namespace, keys: Keys) -> Brought | None:
    """Return the tree of the file that was named; ``None`` without one."""
    if not options.tree:
        return None
    with Path(options.tree).open("rb") as file:
        return read_tree(file.read(MAX_BYTES + 1), keys, apart=True, fork=True)


def tree_and_knowledge(options: argparse.Namespace, keys: Keys) -> tuple[KeyedTree, Knowledge]:
    """Return the tree that is grown and assessed, and what is assumed to be known of it."""
    if options.splits == "binary":
        if options.criterion == "gain-ratio":
            raise ParameterError("Binary trees are not grown by gain ratio.", remedy="Choose gini or entropy.")
        tree = grow(options.encoded, options.criterion, options.min_leaf, options.max_depth)
        outline = outline_of(tree, keys.encodings)
    else:
        outline = grow_multiway(keys, options.criterion, options.min_leaf, options.max_depth)
    rule = GrowingRule(options.criterion, options.splits, options.min_leaf if options.splits == "binary" else 1)
    return lay_keys(outline, keys), Knowledge(options.rates, options.totals, rule if options.internal else None)


def summary(tree: KeyedTree, exposure: Exposure, seconds: float, confidence: float) -> dict[str, Any]:
    """Return the figures of one assessment, JSON-ready."""
    leaves = tree.outline.leaves
    alone = None if exposure.knowledge.rule is None else figures_of_leaves(tree, exposure.knowledge)
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


def print_figures(figures: dict[str, Any], options: argparse.Namespace) -> None:
    """Print the figures as a short table."""
    rows: list[tuple[str, str]] = [
        ("rows, distinct keys", f"{figures['records']:,}, {figures['keys']:,}"),
        ("leaves", f"{figures['leaves']:,}"),
        ("highest posterior", f"{figures['highest_posterior']:.3f}"),
        (f"people at {figures['confidence']:g} or more", f"{figures['people_above']:,}"),
        ("  of them rightly", f"{figures['people_above_and_right']:,}"),
        ("best guess is right", f"{figures['best_guess_accuracy']:.1%}"),
        ("D_overall, nats", "infinite" if figures["mean_divergence"] is None else f"{figures['mean_divergence']:.4f}"),
        *before_rows(figures),
        ("entropy, its bound", f"{figures['entropy']:.5f}, {figures['entropy_bound']:.5f}"),
        ("internal constraints", f"{figures['constraints']['internal']:,}, {figures['active']:,} active"),
        ("unknowns", f"{figures['variables']:,} of {figures['unreduced_variables']:,}"),
        ("found by", f"{figures['method']}: {figures['status']}"),
        ("seconds", f"{figures['seconds']:.2f}"),
    ]
    if "class_shares_of_leaves" in figures:
        shares = figures["class_shares_of_leaves"]
        line = f"{shares['mean_divergence']:.4f}, highest {shares['highest_posterior']:.3f}"
        rows.append(("by the shares in the file", line))
    if "repair" in figures:
        repair = figures["repair"]
        rows.append(("repaired", repair["how"]))
        rows.append(("accuracy, before", f"{repair['accuracy']:.4f}, {repair['accuracy_before']:.4f}"))
    if "exact" in figures:
        exact = figures["exact"]
        highest = "" if exact["highest_posterior"] is None else f", highest {exact['highest_posterior']:.3f}"
        rows.append(("counted exactly", f"{exact['people']:,} people{highest}"))
    for label, value in rows:
        print(f"{label:<28}{value:>24}")
    for one in figures.get("assumptions", []):
        knows = one["knows"]
        what = ", ".join(name.replace("_", " ") for name, flag in knows.items() if flag) or "labels only"
        divergence = "infinite" if one["mean_divergence"] is None else f"{one['mean_divergence']:.4f}"
        print(f"{what:<44} highest {one['highest_posterior']:.3f}  D_overall {divergence}  {one['status']}")
    if not figures["converged"]:
        print("The solver found no optimum: these figures are not an estimate. Try more --starts.")
    if "within_bound" in figures:
        verdict = "kept" if figures["within_bound"] else "EXCEEDED" if exceeds(figures) else "not known to be kept"
        print(f"The bound {figures['bound']:g} is {verdict}: {figures['judged']:.3f} at most, {figures['judged_by']}.")


def exceeds(figures: dict[str, Any]) -> bool:
    """Return True when the posterior that a bound was judged by is above it."""
    return bool(figures["judged"] > figures["bound"])


def before_rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the leaves alone tell, where it is also known how the tree was grown."""
    alone = figures["leaves_alone"]
    if alone is None:
        return []
    divergence = "infinite" if alone["mean_divergence"] is None else f"{alone['mean_divergence']:.4f}"
    return [("  from the leaves alone", f"{divergence}, highest {alone['highest_posterior']:.3f}")]


def progress_line() -> Progress | None:
    """Return a line on standard error that says how far it is, when that is a terminal."""
    if not sys.stderr.isatty():
        return None

    def say(share: float, what: str) -> None:
        print(f"\r{share:4.0%} {what[:100]:<100}", end="", file=sys.stderr, flush=True)

    return say


def clear_line() -> None:
    """Take the progress line away."""
    if sys.stderr.isatty():
        print("\r" + " " * 107 + "\r", end="", file=sys.stderr, flush=True)
