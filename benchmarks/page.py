"""How long the recipient's page takes on a release of Adult in Chromium, without a network.

    python run.py bench page --rows 45222 452220

From the moment the files are chosen until the verdict is there, by the browser's clock, and the time of its main
thread, which a busy machine disturbs less. Adult is read from ``../shared/data``, made larger by resampling.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import anonymizer as an
from anonymizer.digests import digest
from anonymizer.reporting.recipient_page import recipient_page
from benchmarks._mouse import chromium
from benchmarks.flow import adult

WATCH = """() => {
    const result = document.getElementById('result');
    window.copse = {start: 0, took: 0};
    document.getElementById('files').addEventListener('change', () => copse.start = performance.now(), true);
    new MutationObserver(() => {
        if (result.dataset.verdict && !copse.took) copse.took = performance.now() - copse.start;
    }).observe(result, {attributes: true});
}"""


def write_release(rows: int, folder: Path) -> list[Path]:
    """Write a release of so many rows, its report and the page; return the first two."""
    table = adult(rows)
    names = [name for name in table.columns if name != "income"]
    schema = an.Schema.of(table, quasi_identifying=names, sensitive=["income"])
    result = an.anonymize(table, schema, k=10, against_original=False)
    reasons = {finding.key: "a benchmark keeps it" for finding in result.gate.open}
    if reasons:
        result = an.anonymize(table, schema, k=10, against_original=False, reasons=reasons)
    content = result.release.to_bytes("csv")
    report = result.report.with_output({"csv": digest(content)}, "").to_recipient_json()
    paths = [folder / "release.csv", folder / "release.json"]
    for path, data in zip([*paths, folder / "verify.html"], (content, report.encode(), recipient_page()), strict=True):
        path.write_bytes(data)
    return paths


def check(page: Any, session: Any, paths: list[Path]) -> tuple[float, float]:
    """Return the seconds until the verdict is there: by the clock, and of the main thread. ``session``: with the
    browser's own tools."""
    page.goto((paths[0].parent / "verify.html").as_uri())
    page.evaluate(WATCH)
    before = busy(session)
    page.locator("#files").set_input_files(paths)
    page.locator("#result[data-verdict=holds]").wait_for(state="attached")
    return page.evaluate("copse.took") / 1000, busy(session) - before


def busy(session: Any) -> float:
    """Return the seconds that the page's main thread has worked."""
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def main(arguments: list[str]) -> None:
    """Measure releases of some sizes."""
    parser = argparse.ArgumentParser(prog="page", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[45_222])
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args(arguments)
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as folder, chromium() as page:
            page.context.set_offline(True)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable")
            paths = write_release(rows, Path(folder))
            took, worked = zip(*(check(page, session, paths) for _ in range(options.runs)), strict=True)
            figures = f"{statistics.median(took):.2f} s ({min(took):.2f} to {max(took):.2f})"
            print(f"{rows:,} rows: {figures} until the verdict, {statistics.median(worked):.2f} s of the main thread")
