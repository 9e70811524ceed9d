"""What one browser session holds.

A page asks :func:`ui.session.workspace` for the session's :class:`Workspace`, reads ``ws.table``, ``ws.schema`` and
``ws.parameters``, and calls a stage: ``ws.encoded()``, ``ws.tree()``, … ``ws.release()``, ``ws.verification()``. A
stage calls one function of ``anonymizer`` and keeps the answer under the key of everything it depends on (the SHA-256
of the table's bytes, how they were read, the schema, and those parameters that matter to it), so a page that is drawn
again costs nothing and a change of k regrows no tree. Only the newest answer of each stage is kept; nothing is shared
between sessions and nothing is written to disk.

A widget's state is lost when its page is left, so choices live here: ``ws.set(k=st.slider(..., value=ws.k, key="k"))``
(with a key, the changing ``value`` is only the first one). Pages return early rather than call ``st.stop()``: the
strip is drawn after them.

Stages raise :class:`anonymizer.errors.AnonymizerError`; pages show it with :func:`ui.controls.problem`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.encode import EncodedTable, encode
from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.grouping import Recipe, group, grow_by, natural_criterion, recorded, settled
from anonymizer.limits import Limits
from anonymizer.linkage import LinkageRisk, LookAlikes, linkage_risk, look_alikes, singling_out
from anonymizer.pipeline import require_satisfied
from anonymizer.profile import ColumnFacts, profile, suggest, suggest_again
from anonymizer.read import Reading, ReadOptions, read_table
from anonymizer.samples import SAMPLES, sample_reading
from anonymizer.scenarios import History, Scenario, choices_of
from anonymizer.schema import Schema
from anonymizer.tree import Tree
from ui.parameters import Parameters

if TYPE_CHECKING:
    from anonymizer.distributions import Distribution
    from anonymizer.explain import Worst
    from anonymizer.frontier import Point
    from anonymizer.prune import Pruning
    from anonymizer.release import Release
    from anonymizer.report import Report
    from anonymizer.risk import NodeRisk
    from anonymizer.utility import Utility
    from anonymizer.verify import Original, Verification

Answer = TypeVar("Answer")

SAW_TREE = ("recipe",)
LIMITS = tuple(limit.name for limit in fields(Limits))
OF_ANY_K = tuple(name for name in LIMITS if name != "k")
SAW_PRUNING = (*SAW_TREE, "grouping", *LIMITS)
SAW_RELEASE = (*SAW_PRUNING, "generalizer", "writing", "numbers")

DEPENDS: dict[str, tuple[str, ...]] = {
    "encoded": (),
    "tree": SAW_TREE,
    "leaf": SAW_TREE,
    "risk": SAW_TREE,
    "pruning": SAW_PRUNING,
    "worst": SAW_PRUNING,
    "release": SAW_RELEASE,
    "original": (),
    "released": SAW_RELEASE,
    "look_alikes": SAW_RELEASE,
    "released_risk": SAW_RELEASE,
    "verification": SAW_RELEASE,
    "utility": SAW_RELEASE,
    "distributions": SAW_RELEASE,
    "report": SAW_RELEASE,
    "node_ncp": SAW_TREE,
    "frontier": (*SAW_TREE, *OF_ANY_K),
    "by_k": (*SAW_TREE, "grouping", *OF_ANY_K),
}
"""The stages that follow the schema, and the parameters that each depends on beside table and schema."""


@dataclass
class Workspace:
    """One session: the table as it was read, what was said about it, and the current answers.

    ``source``: the bytes (or the operator's file) that the table was read from, kept so that it can be read again
    in another way. ``edition`` counts the files tried, ``version`` the changes of schema that did not come from
    the roles table itself: parts of widget keys, so that a widget of an older table, or an upload that was dealt
    with, is forgotten.
    ``view``: choices of how pages look (fold depth, colour), by name, which outlive a change of page.
    ``failure``: why the last file could not be used, until another one is brought.
    ``spent``: privacy budget (ε) spent in this session on each table, by the SHA-256 of its bytes; it outlives the
    tables, for what was answered cannot be taken back.
    ``scenarios``: settings that were kept; ``history``: every decision on this table.
    """

    reading: Reading | None = None
    source: Any = None
    schema: Schema | None = None
    parameters: Parameters = field(default_factory=Parameters)
    edition: int = 0
    version: int = 0
    view: dict[str, Any] = field(default_factory=dict)
    failure: AnonymizerError | None = None
    spent: dict[str, float] = field(default_factory=dict)
    scenarios: tuple[Scenario, ...] = ()
    history: History = field(default_factory=History)
    _answers: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame | None:
        """The table, or ``None`` as long as none was brought."""
        return None if self.reading is None else self.reading.frame

    @property
    def title(self) -> str:
        """What the table is called on the pages: the name of its file, or the title of the sample."""
        if self.reading is None:
            return ""
        sample = SAMPLES.get(self.reading.name) if self.reading.format == "sample" else None
        return sample.title if sample else self.reading.name

    @property
    def k(self) -> int:
        """The smallest group allowed, in records."""
        return self.parameters.k

    def bring(
        self, source: Any, name: str, options: ReadOptions | None = None, progress: Callable[..., Any] | None = None
    ) -> bool:
        """Read a file (bytes, or a path the operator allows) and make it the table. False when it cannot be read.

        On failure the previous table stays, and ``failure`` says why. Read again in another way, a table of the
        same columns keeps the roles that were chosen; what was only suggested is suggested anew.
        """
        try:
            reading = read_table(source, name=name, options=options or ReadOptions(), progress=progress)
        except AnonymizerError as error:
            self._refuse(error)
            return False
        self._accept(reading, source)
        return True

    def bring_sample(self, name: str) -> bool:
        """Make one of the built-in samples the table. False, with ``failure`` set, when it cannot be had."""
        try:
            frame = SAMPLES[name].load()
        except AnonymizerError as error:
            self._refuse(error)
            return False
        self._accept(sample_reading(name, frame), None)
        return True

    def read_again(self, options: ReadOptions) -> bool:
        """Read the kept bytes in another way. False, with ``failure`` set, when that does not work."""
        if self.reading is None or self.source is None:
            return False
        return self.bring(self.source, self.reading.name, options)

    def forget(self) -> None:
        """Drop the table and everything derived from it; keep the count of editions and the budgets spent."""
        self.view.clear()  # what Streamlit keeps of widgets that are gone may hold it
        self.__dict__.update(Workspace(edition=self.edition + 1, spent=self.spent).__dict__)

    def _refuse(self, error: AnonymizerError) -> None:
        self.failure = error
        self.edition += 1

    def _accept(self, reading: Reading, source: Any) -> None:
        before, previous = self.table, self.reading
        again = previous is not None and previous.sha256 == reading.sha256 and before is not None
        same_columns = again and list(before.columns) == list(reading.frame.columns)
        suggested = self.suggested() if same_columns and self.schema is not None else None
        self._answers.clear()
        self.reading, self.source, self.failure = reading, source, None
        self.edition += 1
        if not same_columns:
            self.view.clear()
            self.schema, self.parameters, self.scenarios, self.history = None, Parameters(), (), History()
        elif self.schema is not None and suggested is not None:
            self.set_schema(suggest_again(self.schema, suggested, reading.frame))

    # What is known before anything is generalized.

    @property
    def limits(self) -> Limits:
        """What every group must satisfy."""
        return Limits(**{name: getattr(self.parameters, name) for name in LIMITS})

    @property
    def recipe(self) -> Recipe:
        """How the tree comes to be: by the criterion that was chosen where it fits the target, or what suits it."""
        recipe, natural = self.parameters.recipe, natural_criterion(self.encoded())
        if recipe.criterion in ("sse", "entropy", "gini") and (recipe.criterion == "sse") != (natural == "sse"):
            recipe = recipe if recipe.mondrian else replace(recipe, criterion=natural)
        return settled(recipe, self.encoded())

    @property
    def criterion(self) -> str | None:
        """What a good split of the tree does; ``None`` for median cuts."""
        return self.recipe.criterion

    def facts(self) -> tuple[ColumnFacts, ...]:
        """Facts about each column of the table."""
        return self._once("facts", self._read_key(), lambda: profile(self._need_table()))

    def suggested(self) -> Schema:
        """The suggested roles and kinds, with reasons."""
        return self._once("suggested", self._read_key(), lambda: suggest(self._need_table()))

    def linkage(self) -> LinkageRisk:
        """The risk of the table as it stands, on the chosen quasi-identifiers."""
        names = self._need_schema().quasi_identifying
        return self._once("linkage", (*self._read_key(), names), lambda: linkage_risk(self._need_table(), names))

    def singling(self) -> Any:
        """For each quasi-identifier, how far it singles people out: see :func:`anonymizer.linkage.singling_out`."""
        names = self._need_schema().quasi_identifying
        return self._once("singling", (*self._read_key(), names), lambda: singling_out(self._need_table(), names))

    def set_schema(self, schema: Schema, *, from_editor: bool = False) -> None:
        """Replace the schema. ``from_editor``: the roles table itself made the change, and may keep its state."""
        if schema != self.schema:
            self.schema = schema
            self.version += not from_editor

    def set(self, **changes: Any) -> None:
        """Change parameters: ``ws.set(k=20)``."""
        self.parameters = self.parameters.changed(**changes)

    def remember(self) -> None:
        """Make what changed since the last time a decision in the history."""
        if self.schema is not None:
            self.history = self.history.record(choices_of(self.schema, asdict(self.parameters)))

    def open(self, parameters: Mapping[str, Any]) -> None:
        """Choose parameters by name, as a scenario holds them; widgets forget what they showed."""
        self.set(**parameters)
        self.version += 1

    def at_first(self, what: str, now: Any) -> Any:
        """What this was when the page was opened. A panel that is told again and again whether it is open would shut
        while somebody works in it."""
        return self.view.setdefault("at first", {}).setdefault(what, now)

    def basis(self, key: str, begins: bool) -> Schema:
        """The schema that the editor with this widget key started from: its edits are counted from there.

        ``begins``: it has no state yet.
        """
        if begins:
            self.view["basis"] = (key, self._need_schema())
        held, schema = self.view.get("basis", (None, None))
        return schema if held == key and schema is not None else self._need_schema()

    # The flow, stage by stage.

    def encoded(self) -> EncodedTable:
        """The table in codes."""
        return self._stage("encoded", lambda: encode(self._need_table(), self._need_schema()))

    def tree(self) -> Tree:
        """The grown tree, unpruned."""
        return self._stage("tree", lambda: grow_by(self.recipe, self.encoded()))

    def leaf(self) -> NDArray[np.int32]:
        """(n,) the leaf of the grown tree that each record reaches."""
        from anonymizer.records import descend

        return self._stage("leaf", lambda: descend(self.tree(), self.encoded()))

    def risk(self) -> "NodeRisk":
        """Risk and error of every node of the grown tree."""
        from anonymizer.risk import annotate

        return self._stage("risk", lambda: annotate(self.tree(), self.encoded()))

    def pruning(self) -> "Pruning":
        """The recorded pruning steps and the cut that satisfies k."""
        return self._stage(
            "pruning",
            lambda: group(self.tree(), self.risk(), self.encoded(), self.parameters.grouping, self.limits),
        )

    def worst(self) -> "tuple[Worst, ...]":
        """The worst group of the pruned tree by each figure."""
        from anonymizer.explain import worst_groups

        return self._stage(
            "worst", lambda: worst_groups(self.tree(), self.risk(), self.encoded(), self.pruning().cut())
        )

    def release(self) -> "Release":
        """The release, shuffled with a secret seed of its own. An error when no pruning can give groups of k."""
        from anonymizer.generalize import generalize

        p = self.parameters
        require_satisfied(self.pruning(), self.risk(), self.encoded(), self.limits)
        return self._stage(
            "release",
            lambda: generalize(
                self._need_table(),
                self._need_schema(),
                self.encoded(),
                self.pruning(),
                method=p.generalizer,
                k=p.k,
                writing=p.writing,
                numbers=p.numbers,
                limits=self.limits,
                leaf=self.leaf(),
            ),
        )

    def released(self) -> pd.DataFrame:
        """The released cells as a table."""
        return self._stage("released", lambda: self.release().frame())

    def look_alikes(self) -> LookAlikes:
        """The classes of rows that are alike, found in the released cells."""
        names = self._need_schema().quasi_identifying
        return self._stage("look_alikes", lambda: look_alikes(self.released(), names))

    def released_risk(self) -> LinkageRisk:
        """The linking risk of the released cells."""
        names = self._need_schema().quasi_identifying
        return self._stage("released_risk", lambda: linkage_risk(self.released(), names, classes=self.look_alikes()))

    def original(self) -> "Original":
        """The table as the checker compares releases with it."""
        from anonymizer.verify import prepare

        return self._stage("original", lambda: prepare(self._need_table(), self._need_schema()))

    def verification(self) -> "Verification":
        """Every guarantee, recomputed from the released cells with the original beside them."""
        from anonymizer.verify import verify

        def check() -> "Verification":
            return verify(
                self.released(),
                self._need_schema(),
                original=self.original(),
                order=self.release().order,
                classes=self.look_alikes(),
                **self.limits.required,
            )

        return self._stage("verification", check)

    def utility(self) -> "Utility":
        """What the release is still good for: loss, discernibility, error."""
        from anonymizer.utility import measure

        target = self.encoded().target.name or None
        return self._stage(
            "utility",
            lambda: measure(
                self.release(),
                self.encoded().encodings,
                target,
                released=self.released(),
                classes=self.look_alikes(),
            ),
        )

    def distributions(self) -> "tuple[Distribution, ...]":
        """Each generalized column before and after, the one that changed most first."""
        from anonymizer.distributions import distribution

        def compare() -> "tuple[Distribution, ...]":
            found = [distribution(self.encoded(), self.release(), name) for name in self.encoded().names]
            return tuple(sorted(found, key=lambda column: -column.moved))

        return self._stage("distributions", compare)

    def node_ncp(self) -> NDArray[np.float64]:
        """(m, p) the loss of each column if a node is released as one group, from the hulls alone."""
        from anonymizer.utility import node_ncp

        return self._stage("node_ncp", lambda: node_ncp(self.tree(), self.encoded().encodings))

    def frontier(self) -> "tuple[Point, ...]":
        """What every k risks and loses in the groupings that are cuts of the tree."""
        from anonymizer.frontier import tree_frontier

        chosen = (self.tree(), self.risk(), self.encoded())
        return self._stage("frontier", lambda: tree_frontier(*chosen, limits=self.limits, losses=self.node_ncp()))

    def by_k(self) -> "tuple[Point, ...]":
        """What every k risks and loses in the grouping that is chosen."""
        from anonymizer.frontier import EVERY_K, tree_frontier

        chosen = (self.tree(), self.risk(), self.encoded(), EVERY_K, (self.parameters.grouping,))
        return self._stage("by_k", lambda: tree_frontier(*chosen, limits=self.limits, losses=self.node_ncp()))

    def report(self) -> "Report":
        """Everything a reviewer needs beside the released file."""
        from anonymizer.report import report_of

        return self._stage(
            "report",
            lambda: report_of(
                self._need_schema(),
                recorded(asdict(self.parameters), self.recipe),
                self.encoded(),
                before=self.linkage(),
                after=self.released_risk(),
                utility=self.utility(),
                verification=self.verification(),
                worst=self.worst(),
                reading=self.reading,
            ),
        )

    def peek(self, stage: str) -> Any:
        """The answer of a stage if it is there and still true, otherwise ``None``. Computes nothing."""
        held = self._answers.get(stage)
        if held is None or self.reading is None or self.schema is None:
            return None
        return held[1] if held[0] == self._stage_key(stage) else None

    def _read_key(self) -> tuple[Any, ...]:
        reading = self.reading
        return () if reading is None else (reading.sha256, reading.options)

    def _stage_key(self, stage: str) -> tuple[Any, ...]:
        chosen = tuple(getattr(self.parameters, name) for name in DEPENDS[stage])
        return (*self._read_key(), self.schema, *chosen)

    def _stage(self, stage: str, compute: Callable[[], Answer]) -> Answer:
        return self._once(stage, self._stage_key(stage), compute)

    def _once(self, name: str, key: tuple[Any, ...], compute: Callable[[], Answer]) -> Answer:
        held = self._answers.get(name)
        if held is not None and held[0] == key:
            return held[1]  # type: ignore[no-any-return]
        self._answers.pop(name, None)
        answer = compute()
        self._answers[name] = (key, answer)
        return answer

    def _need_table(self) -> pd.DataFrame:
        if self.table is None:
            raise ParameterError("There is no table yet.", remedy="Bring one on the Data page.")
        return self.table

    def _need_schema(self) -> Schema:
        if self.schema is None:
            self.schema = self.suggested()
        return self.schema
