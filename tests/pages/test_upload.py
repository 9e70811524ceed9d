"""A large upload: read in pieces, its pages, its release as one file, and nothing of it on the disk."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import ui.workspace as module
from anonymizer.partitions import run
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.folder import Archive
from anonymizer.reading.files import read_table
from anonymizer.reading.options import ReadOptions
from tests.conftest import run_python
from tests.pages.test_folder import PAGES, SENTENCE, N, assert_figures_of, helps, open_page, texts, wait
from tests.partitions.tables import people, schema_of
from tests.partitions.test_upload import LARGE_READERS_OF_TEST, parquet, text
from ui.navigation import DOWNLOAD
from ui.release import folder as release
from ui.workspace import Workspace

PEOPLE = people(N, 3)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every upload is a large one."""
    monkeypatch.setattr(module, "LARGE_READERS", LARGE_READERS_OF_TEST)


def session(data: bytes, name: str, **changes: object) -> Workspace:
    """A session with an upload, its roles given."""
    ws = Workspace()
    assert ws.bring(data, name)
    ws.set_schema(schema_of(read_table(data, name=name).frame))
    ws.set(**changes)
    return ws


def test_a_large_upload__is_kept_in_pieces_and_it_is_said() -> None:
    ws = Workspace()
    app = open_page(ws, "data")
    app.file_uploader[0].upload("people.parquet", parquet(PEOPLE)).run()
    assert not app.exception
    assert ws.reading is not None
    assert ws.reading.in_pieces
    assert ws.reading.name == "people.parquet"
    assert "kept in pieces" in texts(app)
    assert "No row of it is written to a disk" in texts(app)
    assert "One ZIP of Parquet files to download" in texts(app)
    assert "on this server" not in texts(app)
    assert "3,000" in " ".join(metric.value for metric in app.metric)


def test_a_small_upload__is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    ws = Workspace()
    app = open_page(ws, "data")
    app.file_uploader[0].upload("people.csv", text(PEOPLE)).run()
    assert ws.table is not None
    assert "kept in pieces" not in texts(app)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("page", PAGES)
def test_pages__open_or_say_what_they_take(page: str) -> None:
    ws = session(text(PEOPLE), "people.csv")
    app = wait(open_page(ws, page), ws)
    assert not app.exception
    assert not app.error
    assert (SENTENCE in texts(app)) == (page in ("evaluate", "forest", "disclosure"))
    assert "never written to disk" in helps(app)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_strip__has_the_figures_of_the_whole_table(kind: str) -> None:
    data = text(PEOPLE) if kind == "csv" else parquet(PEOPLE)
    ws = session(data, f"people.{kind}", grouping="least")
    assert_figures_of(ws, read_table(data, name=f"people.{kind}").frame)


def make(app: AppTest, ws: Workspace) -> AppTest:
    next(button for button in app.button if button.label == "Make and check the release").click().run()
    return wait(app, ws)


def test_its_release__is_one_file_that_verify_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPSE_RELEASE_FOLDER", raising=False)
    ws = session(text(PEOPLE), "people 2026.csv")
    app = make(wait(open_page(ws, "release"), ws), ws)
    assert not app.exception
    assert app.title[0].value == DOWNLOAD
    assert "is made and checked" in texts(app)
    assert not [field for field in app.text_input if field.label == "Name of the release"]
    answer = ws.jobs[release.JOB].answer
    assert isinstance(answer.archive, Archive)
    assert answer.archive.name == "people_2026-released"
    assert answer.manifest == answer.archive.read("manifest.json")
    assert [button.label for button in app.get("download_button")] == ["Download as one file", "Report", "Manifest"]
    assert verify_folder(answer.archive, ws.flow.schema, k=10).passed
    assert json.loads(answer.report)["provenance"]["input"]["records"] == N
    assert ws.memory() > len(answer.archive.data)
    app.switch_page("../pages/verify.py").run()
    app.file_uploader(key="verify file 0").upload("people.zip", answer.archive.data)
    app.file_uploader(key="verify report 0").upload("report.json", answer.report.encode()).run()
    assert "This is the file that the report speaks of" in texts(app)


def test_a_release_that_is_too_large__is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "Packing", lambda name: Packing(name, 1000))
    from anonymizer.partitions.folder import Packing

    ws = session(text(PEOPLE), "people.csv")
    app = make(wait(open_page(ws, "release"), ws), ws)
    assert not app.exception
    assert "takes more than 1.0 kB" in texts(app)
    assert not app.get("download_button")


def test_a_release_that_fails__is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "verify_folder", lambda *a, **how: verify_folder(*a, **{**how, "k": N + 1}))
    ws = session(text(PEOPLE), "people.csv")
    app = make(wait(open_page(ws, "release"), ws), ws)
    assert not app.exception
    assert "Nothing was written" in texts(app)
    assert not app.get("download_button")


def test_it_can_be_read_again_in_another_way() -> None:
    data = text(PEOPLE.assign(ward=PEOPLE["ward"].replace("east", "NA")))
    ws = session(data, "people.csv")
    assert ws.facts() == Workspace(reading=read_table(data, name="people.csv")).facts()
    options = ReadOptions(keep=("NA",))
    assert ws.read_again(options)
    assert ws.reading is not None
    assert ws.reading.in_pieces
    assert ws.facts() == Workspace(reading=read_table(data, name="people.csv", options=options)).facts()
    assert ws.schema == ws.flow.schema


def test_what_can_be_read_in_two_ways__waits_for_its_answer() -> None:
    ws = Workspace()
    assert ws.bring(text(PEOPLE.assign(seen="03/04/2024")), "people.csv")
    assert ws.reading is None
    app = open_page(ws, "data")
    assert not app.exception
    app.radio[0].set_value(0)
    next(button for button in app.button if button.label == "Read it so").click().run()
    assert not app.exception
    assert ws.reading is not None
    assert ws.reading.in_pieces
    assert ws.doubt is None


def test_forget__lets_go_of_it() -> None:
    ws = session(text(PEOPLE), "people.csv")
    before = ws.memory()
    ws.forget()
    assert ws.memory() < before / 10


WATCHED = """
import os, sys

opened = []


def watch(event, arguments):
    if event == "open" and not isinstance(arguments[0], int):
        mode, flags = str(arguments[1] or ""), arguments[2] or 0
        if set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            opened.append(str(arguments[0]))
    elif event in ("tempfile.mkstemp", "tempfile.mkdtemp", "os.rename", "os.mkdir"):
        opened.append(f"{event} {arguments[0]}")


import ui.workspace as module
from anonymizer.partitions.folder import Packing
from tests.pages.test_upload import PEOPLE, session
from tests.partitions.test_upload import LARGE_READERS_OF_TEST, text

module.LARGE_READERS = LARGE_READERS_OF_TEST
sys.addaudithook(watch)
ws = session(text(PEOPLE), "people.csv")
assert ws.reading.in_pieces
archive = ws.flow.write_folder(Packing("out")).folder
assert archive is not None
passed = [path for path in opened if not path.endswith(".tmp") and ".nb" not in path and path != os.devnull]
passed = [path for path in passed if "__pycache__" not in path]
print(passed)
"""


def test_nothing_of_it__is_written_to_the_disk(tmp_path: Path) -> None:
    assert run_python(["-c", WATCHED], tmp_path, real=True).splitlines()[-1] == "[]"
    assert not list(tmp_path.iterdir())
