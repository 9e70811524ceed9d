"""What a worker keeps of a share: any question, in any order and at the same time as others, has one answer."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from anonymizer.engines import anonymize_files
from anonymizer.partitions.pieces import open_table
from anonymizer.schema import Schema
from anonymizer.settings import Settings
from anonymizer.workers import records, shares
from anonymizer.workers.questions import Failure, Share, shares_of
from anonymizer.workers.remote import release_on
from tests.partitions.tables import visits, visits_schema, whole_frame, write_pieces

THREADS, TIMES = 6, 4


@dataclass
class Here:
    """A cluster of one worker that answers at once, in this process; it writes down what is asked of its share."""

    name: str = "copse-here"
    questions: list[tuple[Any, tuple[Any, ...], Any]] = field(default_factory=list)

    def workers(self) -> list[str]:
        return ["here"]

    def ask(self, step: str, work: Any, *arguments: Any, share: int | None = None) -> Any:
        answer = work(*arguments)
        assert not isinstance(answer, Failure), answer
        if share is not None and isinstance(arguments[0], Share):
            self.questions.append((work, arguments, answer))
        return answer

    def answer(self, answer: Any) -> Any:
        return answer

    def answers(self, answers: list[Any]) -> list[Any]:
        return answers


def leaves(answer: Any) -> Iterator[Any]:
    """Yield what is in an answer, in its order."""
    if isinstance(answer, np.ndarray | pa.Array):
        yield from (str(answer.dtype if isinstance(answer, np.ndarray) else answer.type), answer.tolist())
    elif isinstance(answer, dict):
        for name in sorted(answer):
            yield from (name, *leaves(answer[name]))
    elif isinstance(answer, list | tuple):
        for item in answer:
            yield from leaves(item)
    elif is_dataclass(answer):
        for one in fields(answer):
            yield from leaves(getattr(answer, one.name))
    else:
        yield answer


def keep_values(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let values of columns with more than ``most`` of them stay with their share."""

    def share_out(*table: Any) -> tuple[Share, ...]:
        return tuple(replace(share, most=most) for share in shares_of(*table))

    monkeypatch.setattr("anonymizer.workers.table.shares_of", share_out)


@pytest.fixture
def asked_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, tuple[Any, ...], Any]]:
    """The questions of two runs; some values stay with their share."""
    monkeypatch.setattr(records, "SMALL", 100)
    keep_values(monkeypatch, 40)
    whole = pa.Table.from_pandas(visits(700, 3), preserve_index=False)
    folder = write_pieces(tmp_path / "in", whole, [300], 200)
    schema: Schema = visits_schema(whole_frame(whole), sensitive=["diagnosis", "ward"])
    here = Here()
    for generalizer in ("refine", "pack"):
        how = Settings(k=3, generalizer=generalizer, grouping="least")
        result = release_on(here, open_table(folder, 200), schema, tmp_path / generalizer, how, rows=300)  # type: ignore[arg-type]
        assert result.verification.passed
    return here.questions


@pytest.mark.parametrize("most", [40, 10**6])
def test_packed_release__of_workers_is_that_of_the_whole_table_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The secret follows from the table and the key here too, where values stay with their shares as well."""
    monkeypatch.setattr(records, "SMALL", 100)
    keep_values(monkeypatch, most)
    whole = pa.Table.from_pandas(visits(700, 3), preserve_index=False)
    mixed = whole.take(np.random.default_rng(5).permutation(len(whole)))
    schema = visits_schema(whole_frame(whole), sensitive=["diagnosis", "ward"])
    how: dict[str, Any] = {"k": 3, "generalizer": "pack", "grouping": "least"}
    names = [write_pieces(tmp_path / f"in{n}", table, [300], 200) for n, table in enumerate((whole, mixed))]
    local = anonymize_files(names[0], schema, tmp_path / "local", rows=300, **how)
    digests = [
        release_on(
            Here(), open_table(name, 200), schema, tmp_path / f"far{n}", Settings(**how), rows=300
        ).manifest.sha256  # type: ignore[arg-type]
        for n, name in enumerate(names)
    ]
    assert digests[0] == digests[1]
    assert most == 40 or digests[0] == local.manifest.sha256  # with so few codes it is another table


@pytest.mark.sweep(0)
def test_questions_at_the_same_time__have_the_answers_of_one_at_a_time(
    asked_before: list[tuple[Any, tuple[Any, ...], Any]],
) -> None:
    steps = {work.__name__ for work, *_ in asked_before}
    expected_steps = "read below count content parts_of members values_of_parts rows_in sample batch"
    assert steps >= set(expected_steps.split())
    expected = [list(leaves(answer)) for *_, answer in asked_before]
    run = asked_before[0][1][0].run
    interval = sys.getswitchinterval()

    def ask(seed: int) -> list[str]:
        """Ask everything in another order, and forget the run now and then; return what went wrong."""
        wrong, rng = [], np.random.default_rng(seed)
        for _ in range(TIMES):
            for at in rng.permutation(len(asked_before)):
                work, arguments, _ = asked_before[at]
                answer = work(*arguments)
                if list(leaves(answer)) != expected[at]:
                    wrong.append(f"{work.__name__}: {answer if isinstance(answer, Failure) else 'another answer'}")
                if rng.random() < 0.05:
                    shares.forget(run)
        return wrong

    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(THREADS) as pool:
            assert [wrong for some in pool.map(ask, range(THREADS)) for wrong in some] == []
    finally:
        sys.setswitchinterval(interval)
    shares.forget("copse-here")
    assert [key for key in shares._caches if key[0].startswith("copse-here")] == []


class Watched(shares.Cache):
    """What is kept of a share, and what of it was touched without its lock."""

    touched: ClassVar[list[str]] = []

    def __init__(self) -> None:
        super().__init__()
        self.ready = True

    def __getattribute__(self, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        if "ready" in own and name in {one.name for one in fields(shares.Cache)} - {"lock", "users", "is_over"}:
            Watched.touched.extend([] if own["lock"]._is_owned() else [name])
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name, None)
        object.__setattr__(self, name, value)


def test_nothing_that_is_kept__is_touched_without_its_lock(
    asked_before: list[tuple[Any, tuple[Any, ...], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "Cache", Watched)
    shares.forget("copse-here")
    with shares.cache_of(asked_before[0][1][0]):
        pass
    for work, arguments, _ in asked_before:
        work(*arguments)
    assert [type(here) for here in shares._caches.values()][-1] is Watched
    assert Watched.touched == []
    _ = next(reversed(shares._caches.values())).chunks
    assert Watched.touched == ["chunks"]
    shares.forget("copse-here")


def test_what_is_in_use__is_dropped_once_it_is_not() -> None:
    share: Any = type("Share", (), {"run": "copse-used", "number": 0})
    with shares.cache_of(share) as here:
        shares.forget("copse-used")
        with shares.cache_of(share) as again:
            assert again is here
    with shares.cache_of(share) as other:
        assert other is not here
    shares.forget("copse-used")
