"""A release whose rows are on the workers of a cluster: they write its files, read them back, and check them."""

from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from anonymizer.checking.linkage import LinkageRisk, Owned, risk_of_sizes
from anonymizer.errors import Progress, no_progress
from anonymizer.measuring.utility import ncp_by_column
from anonymizer.partitions.boxes import kept_of_pieces
from anonymizer.partitions.check import PartRows
from anonymizer.partitions.folder import Manifest, Part, write_manifest
from anonymizer.releasing.release import Release
from anonymizer.releasing.tiers import Made
from anonymizer.settings import Settings
from anonymizer.workers import leaving
from anonymizer.workers.leaving import Boxed, Span
from anonymizer.workers.table import ClusterTable


class RemoteRelease:
    """A release whose rows are on workers: where its parts are, and their cells here."""

    def __init__(self, table: ClusterTable, parts: list[Any], n_parts: int, made: Made, settings: Settings) -> None:
        """Let workers make the cells. ``parts``: of each share, a future of the part of each record; ``made``: how."""
        self.table, self.settings, self.parts, self.made = table, settings, parts, made
        s, self.cluster = settings, table.cluster
        grids = table.grids(s.k)
        names, batches = [encoding.name for encoding in table.here.encodings], []
        for some in np.array_split(np.arange(len(names)), min(len(names), len(table.shares))):  # so that nobody has all
            own = tuple(names[at] for at in some)
            of_shares = [
                self.cluster.ask(
                    "values_of_parts", leaving.values_of_parts, share, table.coding, part, own, n_parts, s.writing,
                    s.numbers, share=share.number,
                )
                for share, part in zip(table.shares, self.parts, strict=True)
            ]  # fmt: skip
            how = own, n_parts, {name: grids[name] for name in own if name in grids}, s.writing, s.numbers
            batches.append(self.cluster.ask("cells", leaving.cells, table.coding, of_shares, *how))
        self.boxed = self.cluster.ask(
            "cells_of_parts", leaving.cells_of_parts, token_hex(4), table.coding, batches, n_parts
        )
        self.here: Boxed = self.cluster.answer(self.boxed)

    def rows_of(self, span: Span) -> Any:
        """Return a future of the records whose rows stand in a file, in their order."""
        rows = [
            self.cluster.ask(
                "rows", leaving.rows_in, share, self.table.coding, part, self.boxed, span, self.table.schema.released,
                self.table.numbering, share=share.number,
            )
            for share, part in zip(self.table.shares, self.parts, strict=True)
        ]  # fmt: skip
        return self.cluster.ask("merge_rows", leaving.merge_rows, self.table.coding, self.boxed, span, rows)

    def write(self, folder: Path, rows: int, progress: Progress = no_progress) -> tuple[Manifest, list[PartRows]]:
        """Let workers write the files of the release into an empty folder that all of them see, read each back from
        there and hold its rows against their own records; return the manifest, and what they saw."""
        spans, schema, s = leaving.spans(self.here.class_sizes, rows), self.table.schema, self.settings
        how = str(folder), self.made.method, s.writing, s.numbers
        parts: list[Part] = []
        checked: list[PartRows] = []
        width = 2 * len(self.table.shares)  # of few files records are on their way at a time
        for start in range(0, len(spans), width):
            progress(start / len(spans), "Writing and checking the folder")
            files, checks = [], []
            for span in spans[start : start + width]:
                own = self.rows_of(span)
                files.append(self.cluster.ask("write", leaving.write, self.table.coding, self.boxed, span, own, *how))
                of_file = own, str(folder), files[-1], self.table.numbering is not None
                checks.append(self.cluster.ask("check", leaving.check, self.table.coding, *of_file))
            parts += self.cluster.answers(files)
            checked += self.cluster.answers(checks)
        table = self.table.here.table
        columns = tuple(
            self.here.columns[name] if name in self.here.columns else kept_of_pieces(table.columns[name], schema[name])
            for name in schema.released
        )
        release = Release(columns, np.arange(self.table.n_records), self.made.method, s.writing, s.numbers)
        for name in folder.iterdir():  # what a worker that is gone left half written
            if name.name not in {part.name for part in parts}:
                name.unlink()
        return write_manifest(folder, parts, release.dictionary()), checked

    def risk(self) -> LinkageRisk:
        """Return the linking risk of the rows."""
        if self.table.persons is None:
            return risk_of_sizes(self.here.class_sizes)
        batches = self.table.persons.batches(self.parts)
        answers = [self.cluster.ask("classes", leaving.of_classes, self.boxed, some) for some in batches]
        return risk_of_sizes(self.here.class_sizes, Owned.together(self.cluster.answers(answers)))

    def losses(self) -> dict[str, float]:
        """Return the mean NCP of each generalized column."""
        parts = Release(tuple(self.here.columns.values()), np.arange(len(self.here.sizes)), self.made.method)
        return ncp_by_column(parts, self.table.here.encodings, self.here.sizes)
