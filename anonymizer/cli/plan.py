"""``copse init``, ``release``, ``check`` and ``diff``: the decisions of a release in one file, ``copse.toml``."""

import argparse
import os
from pathlib import Path

from anonymizer.cli.inputs import described, reading_of
from anonymizer.cli.output import print_json
from anonymizer.cli.project import project_bytes
from anonymizer.cli.typed import with_typed
from anonymizer.databases.address import Address, outline
from anonymizer.errors import ParameterError
from anonymizer.plan.difference import differences
from anonymizer.plan.plan import Plan, reading_keys
from anonymizer.provenance.report import read_options, schema_from
from anonymizer.reading.files import Reading
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLE_PREFIX
from anonymizer.releasing.files import write_file
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.whatif.project import from_json, plan_of


def run_init(options: argparse.Namespace) -> int:
    """Print the plan of a table or a project, or write it to a new file; return 0."""
    if options.out and Path(options.out).exists():
        raise ParameterError(f"{options.out} is there already.", remedy="Give --out a name that is free.")
    if (options.input is None) is (options.project is None):
        raise ParameterError("A plan is one of a table or of a project.", remedy="Name one of them.")
    if options.project:
        unused = sorted(options.typed - {"project", "out", "command", "run", "reads", "writes"})
        if unused:
            raise ParameterError(
                f"--{unused[0].replace('_', '-')} says nothing of a project.", remedy="Change the plan that is written."
            )
        text = plan_of(from_json(project_bytes(options.project))).text
    else:
        text = plan_text(options)
    if options.out:
        write_file(options.out, text)
        print(f"Written: {options.out}. Read it, then: copse check {options.out}")
    else:
        print(text, end="")
    return 0


def plan_text(options: argparse.Namespace) -> str:
    """Return the plan of the table that options name: roles as suggested, but for what they say."""
    reading = reading_of(options.input, options)
    suggested = suggest(reading.frame, reading.variables)
    schema = suggested
    if options.schema:
        schema = schema_from(options.schema)
        schema.check(reading.frame)
    schema = described(
        with_typed(schema, options, "schema" if options.schema else "suggestion"), reading.frame, options
    )
    settings = {name: getattr(options, name) for name in Settings() if name in options.typed}
    Settings(**settings)
    plan = Plan.of_decisions(
        schema, settings, suggested, release=places(options, reading), reading=reading_keys(read_options(reading))
    )
    return plan.commented(Schema(tuple(suggested[column.name] for column in schema.columns)))


def places(options: argparse.Namespace, reading: Reading) -> dict[str, str]:
    """Return where a table comes from and its release goes, seen from the folder of the plan. An address of a database
    is one to fill in: it may hold a password."""
    if isinstance(options.input, Address):
        return {"input": outline(reading.name)}
    if options.input.startswith(SAMPLE_PREFIX):
        return {"input": options.input, "out": f"{reading.name}-released.csv"}
    folder = Path(options.out).parent if options.out else Path()
    name = Path(os.path.relpath(options.input, folder)).as_posix()
    return {"input": name, "out": f"{Path(name).name.partition('.')[0]}-released.csv"}


def run_diff(options: argparse.Namespace) -> int:
    """Print what changed between two plans, a sentence each; return 1 when anything did."""
    sentences = differences(Plan.read(options.before), Plan.read(options.after))
    if options.json:
        print_json("diff", {"same": not sentences, "differences": list(sentences)})
    else:
        print(*(sentences or ["Both plans decide the same."]), sep="\n")
    return 1 if sentences else 0
