"""No byte of a released file can be changed in silence, in any format: it is other rows, or something is said."""

from dataclasses import replace
from pathlib import Path

import pytest

from anonymizer.pipeline import anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import SAMPLES
from anonymizer.releasing.release import Release
from tests.checking.changed_bytes import TRIED
from tests.copies import run

FORMATS = ("csv", "csv.gz", "parquet", "feather", "xlsx", "sav", "dta", "xpt")


@pytest.fixture(scope="module")
def release() -> Release:
    table = SAMPLES["hospital"].load().head(200)
    return replace(anonymize(table, suggest(table), k=5).release, bars=())


@pytest.mark.parametrize("format", FORMATS)
def test_any_changed_byte__is_not_silent(release: Release, format: str, tmp_path: Path) -> None:
    (tmp_path / "release").write_bytes(release.to_bytes(format))
    lines: list[str] = []
    while len(lines) < TRIED:
        program = run(["-m", "tests.checking.changed_bytes", "release", str(len(lines))], tmp_path)
        lines += program.stdout.splitlines()
        if program.returncode:  # the library ended the process, as it would end the child that reads
            assert program.returncode < 0, program.stderr
            lines.append("ended the reader")
    assert not [line for line in lines if line.endswith("silent")]
    assert sum(line.endswith(("refused", "said")) for line in lines) > TRIED / 20
