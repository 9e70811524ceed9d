"""The whole flow of a table in pieces: files in, a checked folder out. What is released is what
:func:`anonymizer.pipeline.anonymize` releases of the same table; neither needs the other."""

import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from anonymizer.attacks.guidance import beside_pieces
from anonymizer.checking.linkage import LinkageRisk, LookAlikes, risk_of_classes
from anonymizer.checking.verify import Verification
from anonymizer.drawing.groups import WorstGroup, worst_groups
from anonymizer.errors import Progress, no_progress
from anonymizer.gate.finding import Gate
from anonymizer.gate.judge import about_table, judge
from anonymizer.groups.limits import shortfall_of_all, too_few
from anonymizer.groups.prune import Pruning
from anonymizer.groups.recipe import group, grouping_of, recipe_of, run_settings
from anonymizer.groups.risk import annotate
from anonymizer.groups.secret import GROUPS, ORDER, Secret, draws, others_of, seed_of, sequence_of, words_of
from anonymizer.growing.encode import EncodedTable
from anonymizer.growing.tree import Tree
from anonymizer.measuring.utility import ncp_by_column
from anonymizer.partitions.boxes import PartedRelease, grids_of_pieces, release_of_pieces
from anonymizer.partitions.check import OriginalRows, verify_folder
from anonymizer.partitions.coded import CodedTable, Sample, code_records, read_columns
from anonymizer.partitions.folder import (
    Archive,
    Manifest,
    Packing,
    name_of_place,
    place_of,
    temporary_folder,
    write_folder,
)
from anonymizer.partitions.ledger import Entering, Register
from anonymizer.partitions.pieces import PartitionedTable
from anonymizer.partitions.places import File
from anonymizer.partitions.records import grow_pieces
from anonymizer.partitions.values import ROWS, CodedColumn
from anonymizer.plan.plan import Plan, stated_reading
from anonymizer.provenance.report import (
    LAYOUT,
    commitment,
    ledger_figures,
    ledger_sentence,
    method_figures,
    risk_figures,
    schema_digest,
    worst_figures,
)
from anonymizer.reading.options import ReadOptions
from anonymizer.releasing.generalize import (
    NUMBERS,
    ORDERLESS,
    WRITINGS,
    divide,
    memory_of,
)
from anonymizer.releasing.grid import on_grids
from anonymizer.releasing.key import read_key
from anonymizer.releasing.release import ORDERS
from anonymizer.releasing.set_names import named_columns
from anonymizer.releasing.tiers import Made
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.version import VERSION

SAMPLE = 500_000
"""Most records that the gate looks at: all of a smaller table, else so many, evenly spread."""


NO_COLUMNS: Mapping[str, CodedColumn] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class FilesResult:
    """What comes of a run over files. ``folder``: where the release is, or its ZIP file; ``None`` when a check failed,
    or something stands in the way, and nothing was written. ``loss``: of each column, its mean NCP; ``after``: the
    linking risk; ``digest``: of the bytes of all files, as they were read; ``made``: how records were put together;
    ``entry``: the number and the hash of its entry in a ledger, where it is in one.

    >>> import anonymizer as an
    >>> table = an.SAMPLES["hospital"].load()[["age", "sex", "diagnosis"]].head(300)
    >>> schema = an.Schema.of(table, quasi_identifying=["age", "sex"], sensitive="diagnosis")
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> table.to_csv(folder / "people.csv", index=False)
    >>> result = an.anonymize_files(folder / "people.csv", schema, folder / "released", k=10)
    >>> result.manifest.rows, result.after.smallest >= 10
    (300, True)
    """

    schema: Schema
    settings: Settings
    source: PartitionedTable
    tree: Tree
    pruning: Pruning
    manifest: Manifest
    verification: Verification
    gate: Gate
    after: LinkageRisk
    loss: Mapping[str, float]
    worst: tuple[WorstGroup, ...]
    notes: tuple[str, ...]
    parameters: Mapping[str, Any]
    folder: Path | Archive | None
    digest: str
    override: str = ""
    engine: str = "local"
    made: Made = Made("")
    entry: tuple[int, str] | None = None

    def __repr__(self) -> str:
        where = "nothing written" if self.folder is None else f"written to {str(self.folder)!r}"
        return (
            f"FilesResult of {self.after.records:,} rows in {self.after.groups:,} groups, {where}\n"
            f"{self.verification!r}\n{self.gate.verdict}"
        )

    @property
    def ledger_sentence(self) -> str:
        """Which entry of a ledger the release is, "" where it is in none."""
        return ledger_sentence(self.entry)

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-ready, with those fields of :meth:`anonymizer.provenance.report.Report.to_dict` that
        are known of a table in pieces."""
        key = secrets.token_hex(32)
        ways = WRITINGS[self.settings.writing], NUMBERS[self.settings.numbers]
        return {
            "layout": LAYOUT,
            "software": {"name": "Copse", "version": VERSION},
            "passed": self.verification.passed,
            "what_it_is": self.verification.describe(),
            "method": method_figures(self.made, self.settings.generalizer, ways),
            "notes": list(self.notes),
            "override": self.override or None,
            "gate": self.gate.to_dict(),
            "verification": self.verification.to_dict(),
            "worst_groups": worst_figures(self.worst),
            "linking_risk": {"after": risk_figures(self.after)},
            "utility": {"gcp": float(np.mean(list(self.loss.values()))), "ncp_by_column": dict(self.loss)},
            "provenance": {
                "input": {
                    "name": self.source.source,
                    "files": len(self.source.files),
                    "records": self.after.records,
                    "commitment": commitment(self.digest, key),
                    "key": key,
                },
                "output_sha256": {} if self.folder is None else {"folder": self.manifest.sha256},
                "schema": json.loads(self.schema.to_json()),
                "schema_sha256": schema_digest(self.schema),
                "parameters": dict(self.parameters),
                "engine": self.engine,
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "row_order": ORDERS[self.settings.order],
                "ledger": ledger_figures(self.entry),
            },
            "plan": self.plan.text,
        }

    @property
    def plan(self) -> Plan:
        """What was decided, as a plan that makes the run again."""
        return Plan.of_decisions(
            self.schema,
            self.parameters,
            reading=stated_reading(self.source.options),
            release={"input": str(self.source.source), "engine": self.engine},
            answers={finding.name: finding.reason for finding in self.gate.findings if finding.reason},
        )

    def to_json(self) -> str:
        """Return the report as JSON text: for the steward."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def release_here(
    table: PartitionedTable,
    schema: Schema,
    folder: str | Path,
    settings: Settings,
    options: ReadOptions | None,
    rng: np.random.Generator | None,
    reasons: Mapping[str, str],
    override: str,
    progress: Progress,
    rows: int,
    register: Register | None = None,
) -> FilesResult:
    """Return what :func:`anonymizer.engines.anonymize_files` does, whose arguments these are, on this machine.
    ``register``: of its ledger; then every column is read, and stays in codes until the entry is written."""
    s, passed = settings, dict[File, str]()
    every, show = register is not None, lambda share, what: progress(0.3 * share, what)
    read = read_columns(table, schema, options, show, passed, every)
    coded = code_records(read, schema, s.cost)
    read = read if every else {}  # of columns that do not leave nothing stays
    digest = table.digest(passed)
    if coded.encoded.n_persons < s.k:
        raise too_few(coded.encoded.n_persons, "rows" if schema.person is None else "persons", s.k)
    progress(0.3, "Growing the tree")
    recipe, key = recipe_of(s, coded.n_records), register.ledger.key if register else None
    tree, leaf, line = grow_pieces(
        coded, recipe, rows, progress=lambda share, what: progress(0.3 + 0.2 * share, what),
        secret=partial(secret_of, coded, rng, key),
    )  # fmt: skip
    progress(0.5, "Making groups")
    grouping, pruning, worst = groups_of(tree, coded.encoded, schema, s)
    parameters = run_settings(s, grouping, coded.encoded)
    return write_release(
        table, coded, schema, s, parameters, tree, pruning, leaf, worst, folder, memory=memory_of(line), rng=rng,
        reasons=reasons, override=override, progress=lambda share, what: progress(0.5 + 0.5 * share, what), rows=rows,
        digest=digest, register=register, read=read,
    )  # fmt: skip


def write_release(
    table: PartitionedTable,
    coded: CodedTable,
    schema: Schema,
    settings: Settings,
    parameters: Mapping[str, Any],
    tree: Tree,
    pruning: Pruning,
    leaf: np.ndarray,
    worst: tuple[WorstGroup, ...],
    folder: str | Path | Packing,
    *,
    memory: dict[str, Any],
    rng: np.random.Generator | None = None,
    reasons: Mapping[str, str],
    override: str = "",
    progress: Progress = no_progress,
    rows: int = ROWS,
    digest: str,
    register: Register | None = None,
    read: Mapping[str, CodedColumn] = NO_COLUMNS,
) -> FilesResult:
    """Write the release of the groups of a pruned tree into a new folder, or a ZIP file, checked; return what it is.

    ``parameters``: the settings as a report keeps them; ``leaf`` (n,): of each record; ``memory``: of
    :func:`anonymizer.releasing.generalize.divide`; ``digest``: of the bytes of the table's files; ``read``: all columns
    of the table, for the ledger of an ``register``. Raises what :func:`anonymizer.engines.anonymize_files` raises.
    """
    progress(0.0, "Making groups")
    release, classes, made = make_release(coded, pruning, leaf, settings, memory, rng, register)
    loss = ncp_by_column(release.parts(), coded.encoded.encodings, release.sizes)
    progress(0.3, "Looking at what leaves")
    sample = coded.sample(SAMPLE)
    person, of_part = coded.encoded.person, classes.class_of
    if person is not None:
        classes = replace(classes, class_of=of_part[release.part])
    after = risk_of_classes(classes, person)
    about = release.parts(), release.part, of_part, after.smallest, parameters
    entering = Entering.of(register, register.rows_of(read, schema, person), *about) if register else None
    once = [release]  # so that it can be let go before the check
    del classes, about, release

    def write(half: Path | Packing) -> tuple[Manifest, Verification]:
        """Return the manifest of the folder, written and checked."""
        release = once.pop()
        progress(0.4, "Writing the folder")
        manifest = write_folder(release, half, rows, lambda share, what: progress(0.4 + 0.2 * share, what))
        progress(0.6, "Checking the folder")
        before = OriginalRows(coded, release.order)
        del release
        return manifest, verify_folder(
            place_of(half), schema, manifest=manifest, original=before,
            progress=lambda share, what: progress(0.6 + 0.4 * share, what), **settings.limits.required,
        )  # fmt: skip

    place, manifest, verification, gate, entry = write_if_verified(
        folder, write, sample, schema, settings, reasons, override, entering
    )
    progress(1.0, "Done")
    notes = coded.encoded.notes + tuple(problem.text for problem in table.left_out)
    if coded.n_records > SAMPLE:
        notes += (f"The gate looked at {SAMPLE:,} of the {coded.n_records:,} rows, evenly spread.",)
    return FilesResult(
        schema, settings, table, tree, pruning, manifest, verification, gate, after, loss, worst, notes, parameters,
        place, digest, "" if verification.passed else override.strip(), made=made, entry=entry,
    )  # fmt: skip


def groups_of(
    tree: Tree, encoded: EncodedTable, schema: Schema, settings: Settings
) -> tuple[str, Pruning, tuple[WorstGroup, ...]]:
    """Return the name of the grouping, the tree pruned by it, and its worst groups. Raises :class:`GuaranteeError` when
    even all records together fail a limit."""
    risk = annotate(tree, encoded)
    grouping = grouping_of(settings, schema, int(tree.n[0]))
    pruning = group(tree, risk, encoded, grouping, settings.limits)
    if not pruning.satisfied:
        raise shortfall_of_all(tree, risk, encoded, settings.limits)
    return grouping, pruning, worst_groups(tree, risk, encoded, pruning.cut())


def write_if_verified(
    folder: str | Path | Packing,
    write: Callable[[Any], tuple[Manifest, Verification]],
    sample: Sample,
    schema: Schema,
    settings: Settings,
    reasons: Mapping[str, str],
    override: str,
    entering: Entering | None = None,
) -> tuple[Path | Archive | None, Manifest, Verification, Gate, tuple[int, str] | None]:
    """Return where a release was written, what was written and found, and its entry in a ledger; ``None`` and no folder
    when something stands in its way. ``write``: writes a folder and checks it; ``sample``: the records at which the
    gate looks; ``entering``: the release beside a ledger, whose entry comes before the folder stands at its name.
    Raises :class:`ParameterError` for a reason for what is never found."""
    about = about_table(sample.frame, schema, sample.person, sample.others)
    keep, entry = Unwritten(), None
    beside = entering.findings() if entering else ()
    name = name_of_place(folder)
    try:
        with entering.noted(name) if entering else nullcontext(), temporary_folder(folder) as half:
            manifest, verification = write(half)
            gate = Gate(beside_pieces(schema, settings, verification.rows))
            gate = gate.beside(judge(about, schema, settings, verification).findings).beside(beside)
            gate.unused(reasons)
            gate = gate.with_reasons(reasons)
            if gate.open or not (verification.passed or override.strip()):
                raise keep
            if entering:
                entry = entering.enter(name, manifest, verification, gate)
    except Unwritten:
        return None, manifest, verification, gate, None
    return place_of(folder), manifest, verification, gate, entry


class Unwritten(Exception):
    """Nothing may be left of a folder: raised inside what makes it, and caught outside."""


def secret_of(coded: CodedTable, rng: np.random.Generator | None, key: bytes | None) -> Secret:
    """Return the secret of packing a table, of a ``key`` by default, the user's where none is given."""
    whole = coded.whole
    return Secret.of(whole.encodings, rng or draws(seed_of(whole, key or read_key()), GROUPS))


def make_release(
    coded: CodedTable,
    pruning: Pruning,
    leaf: np.ndarray,
    settings: Settings,
    memory: dict[str, Any],
    rng: np.random.Generator | None,
    register: Register | None = None,
) -> tuple[PartedRelease, LookAlikes, Made]:
    """Return the release of the groups of a pruned tree, in the order that the settings say, its classes, and how its
    records were put together. ``register``: of a ledger, whose key is that of packing; by default the user's."""
    s, key = settings, register.ledger.key if register else None
    grids = grids_of_pieces(coded, s.k)
    encoded = coded.encoded if s.generalizer == "uniform" else coded.whole
    coarse = encoded if s.public_k is None else on_grids(encoded, grids)
    seed = seed_of(coded.whole, key or read_key()) if rng is None else b""
    how: dict[str, Any] = {"limits": s.limits, "leaf": leaf, "rng": rng or draws(seed, GROUPS), "memory": memory}
    if rng is None and s.generalizer not in ORDERLESS:
        columns = (coded.columns[name] for name in others_of(coded.schema) if name in coded.columns)
        how["sequence"] = sequence_of(
            coded.whole, (words_of(one.values)[one.codes] for one in columns), key or read_key()
        )
    parts = divide(coarse, pruning, s.generalizer, s.k, **how)
    release, classes = release_of_pieces(coded, parts, s.writing, s.numbers, grids)
    if s.order == "secret":
        release = replace(release, order=release.order[(rng or draws(seed, ORDER)).permutation(release.n_records)])
    return replace(release, columns=named_columns(release.columns, s.sets)), classes, parts.made
