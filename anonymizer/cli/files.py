"""``anonymize FOLDER --engine local|dask --out FOLDER``, and ``verify FOLDER``: tables in pieces, from the terminal."""

import argparse

from anonymizer.cli.engine import CLUSTER
from anonymizer.cli.gate import print_gate
from anonymizer.cli.inputs import limits_of, read_options, require_roles, schema_of, settings_of
from anonymizer.cli.ledger import entry_words, ledger_of, print_together
from anonymizer.cli.output import print_checks, print_json
from anonymizer.cli.project import decided_in_pieces
from anonymizer.cli.typed import typed_roles, with_typed
from anonymizer.engines import anonymize_files
from anonymizer.errors import ParameterError, Progress
from anonymizer.gate.finding import Severity
from anonymizer.partitions.check import look_through, verify_folder
from anonymizer.partitions.folder import dictionary_schema, read_manifest, released_place
from anonymizer.partitions.pieces import open_table
from anonymizer.partitions.run import FilesResult
from anonymizer.partitions.values import first_rows
from anonymizer.provenance.claim import claim_from, roles_text, same_text
from anonymizer.provenance.report import schema_digest, schema_from
from anonymizer.releasing.files import write_file
from anonymizer.schema import Schema
from anonymizer.settings import RUN, name_of
from anonymizer.values import plural

FIRST = 100_000
"""Records in which roles that nobody gave are looked for."""


def run_files(options: argparse.Namespace, progress: Progress) -> int:
    """Run ``anonymize`` on files in pieces: write the folder and the report; return the exit status."""
    reading = read_options(options)
    table = open_table(options.input, options=reading)
    rows = first_rows(table, FIRST, reading)
    schema = decided_in_pieces(options, rows) if options.decisions else schema_of(rows, options, whole=False)
    if not (options.schema or options.decisions):
        require_roles(rows, schema, options.keep)
    reasons = dict(text.partition("=")[::2] for text in options.reason)
    cluster = {name: getattr(options, name) for name in CLUSTER if getattr(options, name) is not None}
    ledger = ledger_of(options)
    result = anonymize_files(
        table, schema, options.out, options=reading, reasons=reasons, override=options.override,
        progress=progress, engine=options.engine or "local", cluster=cluster, ledger=ledger,
        words=entry_words(options), **settings_of(options).of(*RUN),
    )  # fmt: skip
    if options.report:
        write_file(options.report, result.to_json())
    if options.json:
        print_json("report", result.to_dict())
    else:
        print_files(result)
    passed = result.verification.passed or bool(options.override.strip())
    return 0 if passed and not result.gate.open else 1


def print_files(result: FilesResult) -> None:
    """Print a run over files as a short table, then its checks."""
    after = result.after
    print(f"{after.records:,} rows in {after.groups:,} groups, the smallest of {after.smallest:,}.")
    print(f"{name_of('measure', 'gcp')}: {sum(result.loss.values()) / len(result.loss):.3f}")
    print(result.made.why + "\n" * bool(result.made.why))
    print_checks(result.verification)
    for note in result.notes:
        print(note)
    print_together(result.gate)
    print(result.ledger_sentence + "\n" * bool(result.ledger_sentence), end="")
    print_gate(result.gate, [finding for finding in result.gate.findings if finding.severity is Severity.STOPS])
    if result.folder is not None:
        files = plural(len(result.manifest.parts), "file")
        print(f"Written: {result.folder}, {files}; manifest {result.manifest.sha256}")
    elif not result.gate.open:
        print('Not written, because a check failed. To write it all the same: --override "the reason".')


def run_verify_folder(options: argparse.Namespace, progress: Progress) -> int:
    """Run ``verify`` on a released folder, or its ZIP file, part by part; roles nobody gives are those of its
    dictionary."""
    claim = claim_from(options.report) if options.report else None
    if options.original:
        raise ParameterError("A folder is checked alone.", remedy="Leave --original out: the run compared them.")
    place = released_place(options.input)
    manifest = read_manifest(place)
    own, whose = (schema_from(options.schema), "schema") if options.schema else (None, "report" if claim else "folder")
    if options.decisions:
        own, whose = options.decisions.plan.schema_alone({}), "plan"
    schema = with_typed(own or (claim.schema if claim is not None else dictionary_schema(place)), options, whose)
    limits, others = limits_of(options, claim)
    if limits.pop("suppression"):
        raise ParameterError("No folder leaves rows out.", remedy="Leave --suppression out.")
    verification = verify_folder(place, schema, manifest=manifest, progress=progress, **limits)
    differences = () if claim is None else claim.differences(manifest.sha256, manifest.rows, schema)
    others_found, remarks = look_through(place, manifest, schema, claim)
    differences = differences or others_found
    remarks += own_roles(schema, options) if whose == "folder" else []
    passed = verification.passed and not differences
    if options.json:
        described = verification.to_dict() | {
            "schema_sha256": schema_digest(schema),
            "passed": passed,
            "remarks": remarks,
        }
        if claim is not None:
            described |= {"is_the_reported_file": not differences, "differences": list(differences)}
            described |= {"limits_not_the_reported": others}
        print_json("verify", described)
        return 0 if passed else 1
    print_checks(verification)
    print(roles_text(schema))
    if claim is not None:
        print(same_text("folder", differences, others))
    for sentence in remarks:
        print(sentence)
    return 0 if passed else 1


def own_roles(schema: Schema, options: argparse.Namespace) -> list[str]:
    """Return which columns of a folder have roles that only its own dictionary says, in a sentence; none where each was
    typed."""
    typed = typed_roles(options)
    names = [name for name in schema.released if name not in typed]
    if not names:
        return []
    return [
        f"Only the folder's own dictionary says what these columns are: {', '.join(names)}. Use its report "
        "(--report), or name each with --quasi-identifying, --sensitive or --keep."
    ]
