"""What a release takes on a cluster: processor seconds and highest memory of every process, and bytes that are sent."""

import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from anonymizer.partitions.pieces import open_table
from anonymizer.settings import Settings
from anonymizer.workers.cluster import Cluster, open_cluster
from anonymizer.workers.nodes import count
from anonymizer.workers.questions import Failure
from anonymizer.workers.remote import release_on

GIB = 1 << 30


class Meter:
    """Watches a cluster of our own: ``stages`` have the processor seconds of client, scheduler and workers, the clock,
    and the highest memory of client and of workers; ``sent`` the bytes that the client receives, by step; ``nodes`` how
    many were counted; ``histograms`` what :func:`sizes` says of each worker."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.processes = [psutil.Process(), *(psutil.Process(process.pid) for process in cluster.processes)]
        self.stages: list[dict[str, Any]] = []
        self.sent: dict[str, int] = defaultdict(int)
        self.answers = cluster.answers
        self.nodes = 0
        self.histograms: list[list[int]] = []

    @contextmanager
    def watching(self) -> Iterator["Meter"]:
        """Count what the client receives: the frames of each answer, as they are serialized again."""
        ask, counted = self.cluster.ask, dict[str, set[int]]()

        def asking(step: str, work: Any, *arguments: Any, **more: Any) -> Any:
            if step == "count":  # (share, coding, history, nodes)
                counted.setdefault(str(arguments[0].number), set()).update(node.key for node in arguments[-1])
                work = count_measured
            return ask(step, work, *arguments, **more)

        def answering(futures: Any) -> list[Any]:
            answers = self.answers(futures)
            for future, answer in zip(futures, answers, strict=True):
                self.sent[future.key.rsplit("-", 2)[-2]] += frames_of(answer)
            return answers

        self.cluster.ask, self.cluster.answers = asking, answering  # type: ignore[method-assign, assignment]
        try:
            yield self
        finally:
            del self.cluster.ask, self.cluster.answers
            self.nodes = max(map(len, counted.values()), default=0)
            self.histograms = list(self.cluster.client.run(sizes).values())

    def seconds(self) -> list[float]:
        """Return the processor seconds of the client, the scheduler and each worker so far."""
        return [sum(process.cpu_times()[:2]) for process in self.processes]

    def reset_peaks(self) -> None:
        """Let the highest memory of every process begin anew."""
        for process in self.processes:
            Path(f"/proc/{process.pid}/clear_refs").write_text("5")

    def peaks(self) -> list[int]:
        """Return the highest memory of every process since :meth:`reset_peaks`, in bytes."""
        texts = (Path(f"/proc/{process.pid}/status").read_text() for process in self.processes)
        return [int(text.partition("VmHWM:")[2].split()[0]) * 1024 for text in texts]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what stands in the block."""
        self.reset_peaks()
        before, wall = self.seconds(), time.perf_counter()
        yield
        spent = [after - start for after, start in zip(self.seconds(), before, strict=True)]
        self.stages.append(
            {"name": name, "cpu": spent, "wall": time.perf_counter() - wall, "peaks": self.peaks()}
        )  # fmt: skip


def count_measured(*arguments: Any) -> Any:
    """Return what :func:`anonymizer.workers.nodes.count` does; this process keeps how many bytes it is."""
    answer = count(*arguments)
    if not isinstance(answer, Failure):
        for node, of_node in zip(arguments[-1], answer, strict=True):
            OF_NODES[arguments[0].number, node.key] += sum(cells.nbytes for cells in of_node if cells is not None)
    return answer


OF_NODES: dict[tuple[int, int], int] = defaultdict(int)
"""The bytes of the histograms that this process counted, by share and node."""


def sizes() -> list[int]:
    """Return the bytes of the histograms that this worker answered with, of each share and node."""
    return list(OF_NODES.values())


def frames_of(answer: Any) -> int:
    """Return the bytes of an answer as Dask sends it."""
    from distributed.protocol import dumps, to_serialize

    return sum(len(bytes(frame)) for frame in dumps({"answer": to_serialize(answer)}))


def between_workers(cluster: Cluster) -> int:
    """Return the bytes that workers have sent so far, to each other and to the client."""
    return sum(cluster.client.run(outgoing).values())


def outgoing(dask_worker: Any) -> int:
    """Return the bytes that a worker has sent so far."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def release_measured(
    source: Path, small: Path, schema_of: Any, settings: Settings, workers: int, memory: str
) -> dict[str, Any]:
    """Return what a release of a folder of files takes on a new cluster, which has released a small one before."""
    start = time.perf_counter()
    with open_cluster(workers=workers, memory=memory) as cluster:
        started = time.perf_counter() - start, sum(sum(p.cpu_times()[:2]) for p in Meter(cluster).processes[1:])
        for of in (small, small):
            shutil.rmtree(source.with_name("released"), ignore_errors=True)
            release_on(cluster, open_table(of), schema_of(of), source.with_name("released"), settings)
        shutil.rmtree(source.with_name("released"))
        meter, sent = Meter(cluster), between_workers(cluster)
        running: list[Any] = []
        schema = schema_of(source)

        def progress(_: float, what: str) -> None:
            name = what.partition(" ")[0]
            if running and running[0] == name:
                return
            if running:
                running[1].__exit__(None, None, None)
            running[:] = [name, meter.stage(name)]
            running[1].__enter__()

        with meter.watching():
            progress(0.0, "Reading")
            table = open_table(source)
            result = release_on(
                cluster, table, schema, source.with_name("released"), settings, progress=progress
            )  # fmt: skip
            running[1].__exit__(None, None, None)
        if not result.verification.passed:
            raise SystemExit("The release fails a check.")
        digest, sent = result.manifest.sha256, between_workers(cluster) - sent
    shutil.rmtree(source.with_name("released"), ignore_errors=True)
    return {
        "started": started, "stages": meter.stages, "sent": dict(meter.sent), "nodes": meter.nodes,
        "of_workers": sent, "histograms": meter.histograms, "sha256": digest,
    }  # fmt: skip


def cpu_of(run: dict[str, Any]) -> float:
    """Return the CPU seconds of all processes in one run."""
    return sum(sum(stage["cpu"]) for stage in run["stages"])


def print_cluster(
    rows: int, generalizer: str, runs: list[dict[str, Any]], of_local: list[dict[str, Any]] | None
) -> None:
    """Print the table of the middle run on a cluster, and how it stands to the goals of ``docs/experiments/scale.md``.
    ``of_local``: runs of ``--engine local`` on the same files."""
    run = sorted(runs, key=cpu_of)[(len(runs) - 1) // 2]
    stages, workers = run["stages"], len(run["stages"][0]["cpu"]) - 2
    print(
        f"\n{rows:,} rows in Parquet files, {generalizer}, --engine dask, {workers} workers, "
        f"the middle run of {len(runs)}\n"
    )
    print("| stage | client, CPU s | scheduler | workers | wall s | client, GiB | highest worker, GiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    total = {
        "name": "**files to checked folder**",
        "cpu": [sum(column) for column in zip(*(stage["cpu"] for stage in stages), strict=True)],
        "wall": sum(stage["wall"] for stage in stages),
        "peaks": [max(column) for column in zip(*(stage["peaks"] for stage in stages), strict=True)],
    }
    for stage in [*stages, total]:
        client, scheduler, *others = stage["cpu"]
        print(
            f"| {stage['name']} | {client:.2f} | {scheduler:.2f} | {sum(others):.2f} | {stage['wall']:.2f} "
            f"| {stage['peaks'][0] / GIB:.2f} | {max(stage['peaks'][2:]) / GIB:.2f} |"
        )
    cpu, worker = cpu_of(run), max(total["peaks"][2:])
    print(f"\n{cpu:.2f} CPU s in all; {cpu / rows * 1e6:.2f} for a million rows.")
    print(f"Client and scheduler: {sum(total['cpu'][:2]) / cpu:.0%} of it (goal: at most 10%).")
    print(f"Before the first question the processes took {run['started'][1]:.1f} CPU s, {run['started'][0]:.1f} s.")
    if of_local is not None:
        local = statistics.median(sum(stage[1] for stage in one["stages"]) for one in of_local)
        ratio = statistics.median(map(cpu_of, runs)) / local
        print(f"--engine local took {local:.2f} CPU s: {ratio:.2f} times as much here, of medians (goal: at most 1.5).")
    share = rows / workers
    goal = 60 * share + 0.6 * GIB
    print(
        f"Highest worker: {worker / GIB:.2f} GiB (goal for its {share:,.0f} rows, 60 bytes each and 0.6 GiB: "
        f"{goal / GIB:.2f}), {worker / goal:.2f} of the goal; that is {worker / share:.0f} bytes a row in all, and "
        f"{(worker - 0.6 * GIB) / share:.0f} beyond 0.6 GiB."
    )
    of_nodes = [size for of_worker in run["histograms"] for size in of_worker] or [0]
    counts = run["sent"].get("count", 0) + run["sent"].get("choose", 0)
    print(
        f"Histograms: {statistics.mean(of_nodes) / 1e6:.3f} MB a node and worker, at most {max(of_nodes) / 1e6:.3f} "
        f"(goal: at most 0.6). Of {run['nodes']} nodes that were counted, histograms and splits to the client: "
        f"{counts / 1e6:.3f} MB."
    )
    steps = ", ".join(f"{step} {size / 1e6:.2f}" for step, size in sorted(run["sent"].items()))
    print(f"To the client, MB: {steps}. Sent by workers in all: {run['of_workers'] / 1e6:.1f} MB.", flush=True)
