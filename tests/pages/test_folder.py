"""A folder on the server, opened in pieces: from the Data page to a released folder, and what each page says of it."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.errors import CancelledError, EncodeError, ParameterError
from anonymizer.flow import Flow
from anonymizer.partitions.check import verify_folder
from anonymizer.partitions.flow import PartedFlow
from anonymizer.partitions.parted import read_pieces
from anonymizer.schema import Role
from tests.pages import test_data
from tests.pages.test_data import SHELL, helps
from tests.partitions.tables import people, schema_of, whole_frame, write_pieces
from tests.waiting import PATIENCE, wait_until
from ui.controls import JOINER
from ui.data.chooser import allowed_folder_in, files_in, folders_in
from ui.navigation import WRITE_FOLDER
from ui.release import folder as release
from ui.strip import figures, readiness
from ui.visit import FrameState
from ui.workspace import Workspace, sample_reading

N = 3000
PAGES = ("data", "roles", "tree", "gate", "release", "what_if", "evaluate", "forest", "disclosure", "verify")
SENTENCE = "takes a table in memory"


def texts(app: AppTest) -> str:
    return test_data.texts(app).replace("\\", "").replace(JOINER, "")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The folder of the data, with a table in pieces, and the one of releases."""
    data, releases = tmp_path / "data", tmp_path / "releases"
    write_pieces(data / "people", pa.Table.from_pandas(people(N, 3), preserve_index=False), [900, 2000])
    releases.mkdir()
    monkeypatch.setenv("COPSE_DATA_FOLDER", str(data))
    monkeypatch.setenv("COPSE_RELEASE_FOLDER", str(releases))
    return data, releases


def session(data: Path, **changes: object) -> Workspace:
    """A session with the table in pieces, its roles given."""
    ws = Workspace()
    assert ws.take_pieces(read_pieces(data / "people", "people", data))
    ws.set_schema(schema_of(whole_frame(pa.Table.from_pandas(people(N, 3), preserve_index=False))))
    ws.set(**changes)
    return ws


def wait(app: AppTest, ws: Workspace) -> AppTest:
    """Draw the page until nothing works in the background any more."""
    wait_until(lambda: all(job.done.is_set() for job in ws.jobs.values()))
    return app.run()


def open_page(ws: Workspace, page: str) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    return app.run().switch_page(f"../pages/{page}.py").run()


def test_a_folder__is_opened_from_the_list(places: tuple[Path, Path]) -> None:
    ws = Workspace()
    app = open_page(ws, "data")
    app.selectbox[0].set_value("people/").run()
    next(button for button in app.button if button.label == "Read it").click().run()
    wait(app, ws)
    assert not app.exception
    assert ws.n_records == N
    assert "3,000" in texts(app) + " ".join(metric.value for metric in app.metric)
    assert str(places[0]) not in texts(app)
    assert ws.reading is not None
    assert ws.reading.name == "people"
    for words in ("3 files on this server, kept in pieces", "the files stay where they are", "A new folder on this"):
        assert words in texts(app)
    assert "Only its release is written to disk" in helps(app)


def test_a_folder__that_is_opened_is_waited_for_on_another_page(places: tuple[Path, Path]) -> None:
    ws = Workspace()
    app = open_page(ws, "data")
    app.selectbox[0].set_value("people/").run()
    next(button for button in app.button if button.label == "Read it").click().run()
    app.switch_page("../pages/roles.py").run()
    wait(app, ws)
    assert not app.exception
    assert ws.n_records == N
    assert app.title[0].value == "Who could know what?"


@pytest.mark.sweep(4)
@pytest.mark.parametrize("page", PAGES)
def test_pages__open_or_say_what_they_take(places: tuple[Path, Path], page: str) -> None:
    ws = session(places[0])
    app = wait(open_page(ws, page), ws)
    assert not app.exception
    assert not app.error
    assert (SENTENCE in texts(app)) == (page in ("evaluate", "forest", "disclosure"))


def assert_figures_of(ws: Workspace, frame: pd.DataFrame) -> None:
    """A table in pieces has the figures, facts and suggestions of the whole one in memory."""
    whole = Workspace(reading=sample_reading("people", frame), schema=ws.schema)
    whole.set(grouping="least", generalizer="uniform")
    for k in (10, 40):
        for one in (ws, whole):
            one.set(k=k)
            one.flow.compute("pruning")
        assert figures(ws) == figures(whole)
    assert whole.facts() == ws.facts()
    assert whole.suggest() == ws.suggest()


def test_the_strip__has_the_figures_of_the_whole_table(places: tuple[Path, Path]) -> None:
    ws = session(places[0], grouping="least")
    assert_figures_of(ws, whole_frame(pa.Table.from_pandas(people(N, 3), preserve_index=False)))


def write_release(app: AppTest, ws: Workspace, name: str) -> AppTest:
    """Have the release written in a folder of this name."""
    next(field for field in app.text_input if field.label == "Name of the release").set_value(name)
    next(button for button in app.button if button.label == "Write and check the release").click().run()
    return wait(app, ws)


def test_a_release__is_written_as_a_checked_folder(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    app = wait(open_page(ws, "release"), ws)
    assert not app.exception
    write_release(app, ws, "people 2026")
    assert not app.exception
    folder = places[1] / "people 2026"
    assert "is written and checked" in texts(app)
    assert str(places[1]) not in texts(app)
    assert verify_folder(folder, ws.flow.schema, k=10).passed
    job = ws.jobs[release.JOB]
    assert str(places[0]) not in job.answer.report
    assert job.answer.manifest == (folder / "manifest.json").read_bytes()
    assert [button.label for button in app.get("download_button")][0] == "Download as one file"
    assert verify_folder(job.answer.archive, ws.flow.schema, k=10).passed
    app.switch_page("../pages/verify.py").run()
    app.file_uploader(key="verify file 0").upload("people 2026.zip", job.answer.archive.data).run()
    assert "drop its report, too" in texts(app)
    app.file_uploader(key="verify report 0").upload("report.json", job.answer.report.encode()).run()
    assert not app.exception
    assert "This is the file that the report speaks of" in texts(app)
    assert "This release is 10-anonymous" in texts(app)
    other = job.answer.report.replace(job.answer.result.manifest.sha256, "0" * 64).encode()
    app.file_uploader(key="verify file 1").upload("people 2026.zip", job.answer.archive.data).run()
    app.file_uploader(key="verify report 1").upload("report.json", other).run()
    assert "This is not the file that the report speaks of" in texts(app)
    app.file_uploader(key="verify file 2").upload("people 2026.zip", job.answer.archive.data[:-1]).run()
    app.file_uploader(key="verify report 2").upload("report.json", other).run()
    assert "is damaged, or holds something beside" in texts(app)


def test_a_large_release__stays_on_the_server(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "SMALL", 100)
    job = SimpleNamespace(go_on=lambda share, what: None)
    answer = release.write_claimed(session(places[0]).flow, places[1], "one", None, job)  # type: ignore[arg-type]
    assert answer.archive is None
    assert (places[1] / "one" / "manifest.json").is_file()


def test_the_release_page__says_what_is_written_and_where(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    app = wait(open_page(ws, "release"), ws)
    assert app.title[0].value == WRITE_FOLDER
    assert "download" not in app.title[0].value
    assert "never written to disk" not in helps(app)
    assert "Only its release is written to disk" in helps(app)
    assert release.WHAT_IS_WRITTEN in texts(app)
    write_release(app, ws, "people 2026")
    folder = places[1] / "people 2026"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["dictionary.json", "manifest.json", "part-00000.parquet"]
    (places[1] / "as the operator has it").mkdir()
    assert folder.stat().st_mode == (places[1] / "as the operator has it").stat().st_mode
    whole = Workspace(reading=sample_reading("people", people(N, 3)), schema=ws.schema)
    app = open_page(whole, "release")
    assert app.title[0].value == ("Not ready to hand over" if whole.flow.gate.open else "Ready to hand over")
    assert "never written to disk" in helps(app)


def test_the_steps__are_marked_when_nothing_is_in_the_way(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    app = open_page(ws, "tree")
    assert "gate" not in ws.state(FrameState).steps
    wait(app, ws)
    assert ws.state(FrameState).steps == {"data", "roles", "tree", "gate"}
    assert readiness(ws) == "Yes, so far"
    app = wait(app.switch_page("../pages/release.py").run(), ws)
    write_release(app, ws, "people 2026")
    assert ws.state(FrameState).steps == {"data", "roles", "tree", "gate", "release"}
    assert readiness(ws) == "Yes"
    ws.set(k=20)
    assert readiness(ws) == "Yes, so far"


def test_the_steps__are_not_marked_while_something_is_in_the_way(places: tuple[Path, Path]) -> None:
    frame = people(N, 3).assign(email=[f"person{number}@example.org" for number in range(N)])
    write_pieces(places[0] / "named", pa.Table.from_pandas(frame, preserve_index=False), [900, 2000])
    ws = Workspace()
    assert ws.take_pieces(read_pieces(places[0] / "named", "named", places[0]))
    ws.set_schema(schema_of(frame).with_column("email", role=Role.INSENSITIVE))
    app = wait(open_page(ws, "release"), ws)
    gate = release.folder_gate(ws)
    assert gate is not None
    assert gate.open
    assert "gate" not in ws.state(FrameState).steps
    ws.reasons = {finding.key: "These addresses are made up" for finding in gate.open}
    app.run()
    assert "gate" in ws.state(FrameState).steps


@pytest.mark.parametrize(
    "name", ["", "../out", "a/b", "a\\b", ".hidden", " blank", "blank ", "a\0b", "x" * 81, "there"]
)
def test_names__that_are_refused(places: tuple[Path, Path], name: str) -> None:
    (places[1] / "there").mkdir()
    with pytest.raises(ParameterError) as caught, release.claimed(places[1], name):
        pass
    assert str(places[1]) not in str(caught.value)


def test_two_sessions__do_not_get_one_name(places: tuple[Path, Path]) -> None:
    with release.claimed(places[1], "one"):
        with pytest.raises(ParameterError, match="already"), release.claimed(places[1], "one"):
            pass
        with release.claimed(places[1], "two"):
            pass
    with release.claimed(places[1], "one"):
        pass


@pytest.mark.parametrize("name", ["releases", "link"])
@pytest.mark.parametrize("moment", ["Making groups", "Checking"])
def test_a_name_that_is_taken_meanwhile__is_told_without_its_place(
    places: tuple[Path, Path], moment: str, name: str
) -> None:
    data, real = places
    (real.parent / "link").symlink_to(real, target_is_directory=True)
    place = real.parent / name
    (place / "aside").mkdir()
    (place / "aside" / "of others").touch()

    def take(share: float, what: str) -> None:
        if moment in what and (place / "aside").exists():
            (place / "aside").rename(place / "one")

    job = SimpleNamespace(go_on=take)
    with pytest.raises(ParameterError, match="There is a release 'one' already") as caught:
        release.write_claimed(session(data).flow, place, "one", None, job)  # type: ignore[arg-type]
    assert str(real) not in str(caught.value)
    assert str(place) not in str(caught.value)
    assert sorted(path.name for path in place.rglob("*")) == ["of others", "one"]


def test_an_error_that_has_the_place_in_its_words__is_not_of_the_name(places: tuple[Path, Path]) -> None:
    def go_on(share: float, what: str) -> None:
        raise EncodeError(f"'town' says '{places[1]}'.")

    job = SimpleNamespace(go_on=go_on)
    with pytest.raises(EncodeError, match="'town' says"):
        release.write_claimed(session(places[0]).flow, places[1], "one", None, job)  # type: ignore[arg-type]


def test_cancel__leaves_no_folder(places: tuple[Path, Path]) -> None:
    def go_on(share: float, what: str) -> None:
        if "Checking" in what:
            raise CancelledError("This was stopped.")

    job = SimpleNamespace(go_on=go_on)
    with pytest.raises(CancelledError):
        release.write_claimed(session(places[0]).flow, places[1], "one", None, job)  # type: ignore[arg-type]
    assert not list(places[1].iterdir())


def test_the_place_of_releases__is_apart_from_the_data(tmp_path: Path) -> None:
    (tmp_path / "data" / "below").mkdir(parents=True)
    (tmp_path / "out").mkdir()

    def place(name: str) -> Path | None:
        return release.release_place({"COPSE_DATA_FOLDER": str(tmp_path / "data"), "COPSE_RELEASE_FOLDER": name})

    assert place(str(tmp_path / "out")) == (tmp_path / "out").resolve()
    for name in ("", "relative", str(tmp_path / "none"), *map(str, (tmp_path, tmp_path / "data" / "below"))):
        assert place(name) is None


def test_without_a_place__it_is_said(places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COPSE_RELEASE_FOLDER")
    ws = session(places[0])
    app = wait(open_page(ws, "release"), ws)
    assert not app.exception
    assert "has named no place" in texts(app)


def test_folders__that_lead_outside_are_not_listed(places: tuple[Path, Path], tmp_path: Path) -> None:
    data, _ = places
    write_pieces(tmp_path / "secret", pa.Table.from_pandas(people(20), preserve_index=False), [])
    (data / "link").symlink_to(tmp_path / "secret", target_is_directory=True)
    (data / "[x](y) <b>").mkdir()
    (data / "[x](y) <b>" / "part.parquet").symlink_to(tmp_path / "secret" / "part-000.parquet")
    (data / "**bold**").mkdir()
    (data / "**bold**" / "part.csv").write_text("a,b\n1,2\n")
    assert folders_in(data) == ["**bold**/", "people/"]
    assert not any("link" in name for name in files_in(data))
    for name in ("link/", "../secret/", "/etc/", "none/"):
        with pytest.raises(Exception, match="not in the folder"):
            allowed_folder_in(data, name)


def test_a_damaged_part__is_told(places: tuple[Path, Path]) -> None:
    part = places[0] / "people" / "part-001.parquet"
    part.write_bytes(part.read_bytes()[:-300] + bytes(300))
    ws = Workspace()
    app = open_page(ws, "data")
    app.selectbox[0].set_value("people/").run()
    next(button for button in app.button if button.label == "Read it").click().run()
    wait(app, ws)
    assert not app.exception
    assert ws.reading is None
    assert "part-001.parquet cannot be read" in texts(app)


def test_a_table_in_pieces__makes_way_for_one_in_memory(places: tuple[Path, Path]) -> None:
    ws = session(places[0])
    assert isinstance(ws.flow, PartedFlow)
    assert ws.bring_sample("hospital")
    assert ws.schema is not None or ws.suggest()
    assert type(ws.flow) is Flow
    ws.forget()
    assert ws.n_records == 0
