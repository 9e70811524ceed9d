"""The release of a table in pieces beside a ledger: its rows as keyed digests, its classes as boxes, and its entry,
which comes before the folder stands at its name."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.checking.cell_limits import Promise, columns_of
from anonymizer.checking.verify import Verification
from anonymizer.gate.earlier import Now
from anonymizer.gate.finding import Finding, Gate
from anonymizer.ledger.drafts import Draft, boxes_of, reasons_in
from anonymizer.ledger.ledger import Ledger
from anonymizer.ledger.rows import Distinct, KeyedRows, LedgerRows
from anonymizer.partitions.coded import persons_in
from anonymizer.partitions.folder import Manifest
from anonymizer.partitions.parted import PartedTable
from anonymizer.partitions.values import CodedColumn
from anonymizer.population.sample import WHOLE
from anonymizer.releasing.release import Release
from anonymizer.schema import Role, Schema
from anonymizer.settings import OF_POPULATION

OF_RISK = (Role.PERSON, Role.WEIGHT, Role.HOUSEHOLD, Role.STRATUM)
"""The roles of columns that a limit on what is known of the population is judged by."""


@dataclass(frozen=True)
class Register:
    """A ledger that a release of a table in pieces is entered in, and what the entry says: ``words``, of
    :meth:`anonymizer.ledger.ledger.Ledger.enter`."""

    ledger: Ledger
    words: Mapping[str, str] = field(default_factory=dict)

    def rows_of(
        self, read: Mapping[str, CodedColumn], schema: Schema, person: NDArray[np.integer[Any]] | None
    ) -> KeyedRows:
        """Return the rows of a table in codes, of which every column was read. ``person`` (n,): whose each row is, -1
        for nobody's. Raises :class:`ParameterError` without the key."""
        n = len(next(iter(read.values())).codes)

        def column(name: str) -> Distinct:
            return Distinct(read[name].values, read[name].codes)

        return KeyedRows(schema, tuple(read), person, n, column, self.ledger.require_key())

    def columns_to_judge(self, promise: Promise, schema: Schema) -> set[str]:
        """Return the columns that the promised limits of a release and of all entries are judged by."""
        promises = [promise, *(entry.promise for entry in self.ledger.read().require().releases)]
        names = {tree.target for tree in self.ledger.read().require().trees}
        names |= set(columns_of(promises)) if any(one.is_on_cells for one in promises) else set()
        if any(one.limits[name] is not None for one in promises for name in OF_POPULATION):
            names |= {column.name for column in schema.columns if column.role in OF_RISK}
        return names


def rows_of_parted(ledger: Ledger, table: PartedTable, schema: Schema) -> KeyedRows:
    """Return the rows of a table in pieces that was opened once, as its ledger sees them. Raises
    :class:`ParameterError` without the key."""
    return Register(ledger).rows_of(table.columns, schema, persons_in(schema, table.columns)[0])


@dataclass(frozen=True, eq=False)
class Entering:
    """A release of a table in pieces on its way into a ledger: its ``rows``; ``now``, as it is looked at; its
    ``boxes``; rows of its ``smallest`` class; and its ``settings``, as a report keeps them."""

    register: Register
    rows: LedgerRows
    now: Now
    boxes: tuple[str, int]
    smallest: int
    settings: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        register: Register,
        rows: LedgerRows,
        cells: Release,
        part: NDArray[np.integer[Any]],
        class_of_part: NDArray[np.int64],
        smallest: int,
        settings: Mapping[str, Any],
    ) -> "Entering":
        """Return a release. ``cells``: a row for each part; ``part`` (n,): of each row of the table; ``class_of_part``
        (parts,): of those that are alike."""
        schema, parts = rows.schema, cells.frame(shared=True)
        first = np.unique(class_of_part, return_index=True)[1]
        sizes = np.bincount(class_of_part[part], minlength=len(first))
        boxes, place = boxes_of(parts[list(schema.quasi_identifying)].iloc[first], sizes)
        promise = Promise.of(schema, settings)
        table = rows.values(register.columns_to_judge(promise, schema))
        class_of, k = place[class_of_part][part], int(settings["k"])
        now = Now(
            table, schema, parts, class_of, k, rows.person, promise=promise, population=WHOLE, can_keep=False
        )  # fmt: skip
        return cls(register, rows, now, boxes, smallest, settings)

    def findings(self) -> tuple[Finding, ...]:
        """Return what the release leaves of people together with all that the ledger has."""
        return self.register.ledger.findings(self.rows, self.now)

    def noted(self, name: str) -> AbstractContextManager[None]:
        """See :meth:`anonymizer.ledger.ledger.Ledger.noted`."""
        return self.register.ledger.noted(name)

    def enter(self, name: str, manifest: Manifest, verification: Verification, gate: Gate) -> tuple[int, str]:
        """Return the number and the hash of the entry, once it is written. ``name``: of the folder. Raises what
        :meth:`anonymizer.ledger.ledger.Ledger.enter` raises."""
        draft = Draft(
            self.rows, self.now, self.boxes, manifest.rows, self.settings, self.smallest, verification.passed,
            reasons_in(gate), name, manifest.sha256,
        )  # fmt: skip
        entry = self.register.ledger.enter(draft, **self.register.words)
        return entry["number"], str(entry["hash"])
