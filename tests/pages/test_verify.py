"""The Verify page without a browser: a release and its report, another file, a spoiled one, and what is no file."""

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.checking.released_file import read_file
from anonymizer.checking.verify import verify
from anonymizer.pipeline import anonymize
from anonymizer.reading.profile import suggest
from anonymizer.reading.samples import hospital
from anonymizer.reporting.report import digest, schema_digest
from tests.pages.test_data import SHELL
from tests.pages.test_release import plain_text
from ui.verify.state import VerifyState

TABLE = hospital(120)
SCHEMA = suggest(TABLE)
RESULT = anonymize(TABLE, SCHEMA, k=4)
FILES = {format: RESULT.release.to_bytes(format) for format in ("csv", "csv.gz", "parquet")}
REPORT = RESULT.report.with_output({format: digest(content) for format, content in FILES.items()}).to_json()


def dropped(content: bytes, report: str = REPORT, format: str = "csv") -> AppTest:
    """The page after a file and its report were dropped."""
    app = AppTest.from_file(SHELL, default_timeout=60).run().switch_page("../pages/verify.py").run()
    assert not app.exception
    app.file_uploader(key="verify file 0").upload(f"out.{format}", content)
    app.file_uploader(key="verify report 0").upload("report.json", report.encode()).run()
    assert not app.exception
    return app


@pytest.mark.parametrize("format", FILES)
def test_a_release_and_its_report__need_no_table(format: str) -> None:
    app = dropped(FILES[format], format=format)
    text = plain_text(app)
    file = read_file(FILES[format])
    expected = verify(file.under(SCHEMA).rows, SCHEMA, k=4, beside=file.beside)
    assert expected.passed
    for check in expected.checks:
        assert check.sentence in text
    assert "This is the file that the report speaks of" in text
    assert schema_digest(SCHEMA) in text
    assert not [error.value for error in app.error]
    ws = app.session_state["workspace"]
    assert ws.table is None
    assert not [value for value in vars(ws.state(VerifyState).verdict).values() if isinstance(value, pd.DataFrame)]


def test_another_file__is_said_to_be_one() -> None:
    app = dropped(FILES["csv"].replace(b'"female"', b'"Fe"', 1))
    text = plain_text(app)
    assert "This is not the file that the report speaks of" in text
    assert "required check" in text


def test_what_is_beside_the_rows__fails() -> None:
    app = dropped(FILES["csv.gz"] + b"Anna", format="csv.gz")
    assert any("second part" in error.value for error in app.error)


def test_weaker_roles_in_the_report__are_refused() -> None:
    report = json.loads(REPORT)
    for column in report["provenance"]["schema"]["columns"]:
        column["role"] = "insensitive" if column["role"] == "quasi-identifying" else column["role"]
    app = dropped(FILES["csv"], json.dumps(report))
    assert "not that of the roles that stand there" in plain_text(app)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PK\x03\x04", b"\x00\xff"])
def test_no_file__is_one_message_and_the_next_one_can_be_dropped(content: bytes) -> None:
    app = dropped(content)
    assert len(app.error) == 1
    app.file_uploader(key="verify file 1").upload("out.csv", FILES["csv"])
    app.file_uploader(key="verify report 1").upload("report.json", REPORT.encode()).run()
    assert "This is the file that the report speaks of" in plain_text(app)


def test_a_name_from_outside__is_text() -> None:
    app = AppTest.from_file(SHELL, default_timeout=60).run().switch_page("../pages/verify.py").run()
    app.file_uploader(key="verify file 0").upload("**bold**.csv", FILES["csv"])
    app.file_uploader(key="verify report 0").upload("report.json", REPORT.encode()).run()
    assert app.header[0].value == r"\*\*bold\*\*\.csv"
