"""The flow of a table in pieces: the stages up to the pruned tree are those of the whole table, and a release is
a folder. What takes the records as one table says so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from anonymizer.abilities import require
from anonymizer.checking.linkage import LinkageRisk
from anonymizer.errors import MemoryOnlyError, Progress, no_progress
from anonymizer.flow import Flow
from anonymizer.gate.finding import Finding
from anonymizer.gate.judge import about_table
from anonymizer.groups.recipe import Grown
from anonymizer.growing.encode import EncodedTable
from anonymizer.measuring.distributions import Distribution, distribution_of_counts
from anonymizer.partitions.boxes import COUNTED, boxed_column, ladders_of_pieces, pairs_in
from anonymizer.partitions.coded import CodedTable, code_records
from anonymizer.partitions.folder import Packing
from anonymizer.partitions.ledger import Register
from anonymizer.partitions.records import grow_pieces
from anonymizer.partitions.run import SAMPLE, FilesResult, secret_of, write_release
from anonymizer.releasing.grid import Ladder
from anonymizer.stages import Answer

STAGES = frozenset({
    "encoded", "ladders", "grids", "coarse", "growth", "tree", "leaf", "reached", "risk", "node_ncp", "pruning",
    "worst", "memory", "secret", "frontier", "by_k", "before", "about_table",
})  # fmt: skip
"""The stages of a table in pieces."""


class PartedFlow(Flow):
    """A :class:`anonymizer.partitions.parted.PartedTable`, its schema, the settings, and the stages that follow from
    them; other stages raise :class:`MemoryOnlyError`."""

    table: Any

    def has(self, stage: str) -> bool:
        """Return True when a stage can be asked for."""
        return stage in STAGES

    def _once(self, stage: str, compute: Callable[[], Answer]) -> Answer:
        if not self.has(stage) or (stage == "reached" and self.population_asked is not None):
            raise MemoryOnlyError()
        own: dict[str, Callable[[], Any]] = {
            "ladders": self._ladders, "growth": self._growth, "before": self._before, "about_table": self._about_table,
            "secret": lambda: secret_of(self.coded, self.rng, self.key),
        }  # fmt: skip
        answer: Answer = super()._once(stage, own.get(stage, compute))
        return answer

    def rows(self, rows: NDArray[np.int64]) -> NoReturn:
        """Raise :class:`MemoryOnlyError`."""
        raise MemoryOnlyError()

    @property
    def coded(self) -> CodedTable:
        """The columns that leave, in codes."""
        return self._once("encoded", self._coded)

    @property
    def encoded(self) -> EncodedTable:
        """The encodings of the table and what guides the tree, without the codes."""
        return self.coded.encoded

    def _coded(self) -> CodedTable:
        self.schema.check(self.table.first(0))
        return code_records(self.table.columns, self.schema, self.settings.cost)

    def _ladders(self) -> dict[str, Ladder]:
        return ladders_of_pieces(self.coded)

    def _growth(self) -> Grown:
        return grow_pieces(self.coded, self.recipe, progress=self.progress, secret=lambda: self.secret)

    def _before(self) -> LinkageRisk:
        person = self.encoded.person
        return self.table.linkage_risk(self.schema.quasi_identifying, person)  # type: ignore[no-any-return]

    def _about_table(self) -> tuple[Finding, ...]:
        sample = self.coded.sample(SAMPLE)
        return about_table(sample.frame, self.schema, sample.person, sample.others)

    def distribution(self, name: str) -> Distribution:
        """Return a quasi-identifier before and after, where the groups of the pruned tree are released whole. It takes
        one pass over the records, in this column alone."""
        self.progress(0.1, "Looking at the values in each group")
        coded, group = self.coded, self.pruning.group_of_node()[self.leaf]
        sizes = np.bincount(group, minlength=self.tree.n_nodes)
        number = np.cumsum(sizes > 0) - 1
        part, sizes = number[group], sizes[sizes > 0]
        position = coded.encoded.names.index(name)
        encoding, how = coded.encoded.encodings[position], (self.settings.writing, self.settings.numbers)
        pairs = pairs_in(part, coded.columns[name], len(sizes), any(way in COUNTED for way in how))
        self.progress(0.7, "Reading the cells evenly")
        column = boxed_column(coded, position, *pairs, len(sizes), *how, self.grids)
        assert column.index is not None
        before = np.bincount(coded.lookups[position], coded.columns[name].counts, encoding.n_codes).astype(np.int64)
        after = np.bincount(column.index, sizes, len(column.cells))
        return distribution_of_counts(encoding, before, column.cells, after)

    def write_folder(
        self, folder: str | Path | Packing, override: str = "", progress: Progress = no_progress,
        register: Register | None = None,
    ) -> FilesResult:  # fmt: skip
        """Write the release into a new folder, or into one ZIP file in memory, checked; return what it is.
        ``register``: the ledger that it is counted with and entered in. Raises what
        :func:`anonymizer.engines.anonymize_files` raises, and :class:`MemoryOnlyError` for public cuts."""
        if any(column.cuts for column in self.schema.columns):
            raise MemoryOnlyError("A column with public cuts or a hierarchy")
        require("local", self.settings, self.schema)
        self.require_limits()
        return write_release(
            self.table.source, self.coded, self.schema, self.settings, self.recorded, self.tree, self.pruning,
            self.leaf, self.worst, folder, memory=self.memory, rng=self.rng, reasons=self.reasons, override=override,
            progress=progress, digest=self.table.digest, register=register, read=self.table.columns,
        )  # fmt: skip
