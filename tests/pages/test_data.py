"""The Data page without a browser: empty, with a sample, with files good and bad."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.errors import ReadError
from anonymizer.reading.options import Problem
from anonymizer.reading.samples import SAMPLES
from tests.waiting import PATIENCE
from ui.controls import plain
from ui.data.chooser import FOLDER_VARIABLE, allowed_file, allowed_folder, files_in
from ui.data.paper import PAPERS, WORDS
from ui.data.reading_form import equal_notes
from ui.workspace import Workspace

SHELL = Path(__file__).resolve().parents[2] / "ui" / "shell.py"
FOUR = b"name;age;city\nAnn;31;Ulm\nBen;45;NA\nCid;;Ulm\nDot;62;Bonn\n"


def open_page(ws: Workspace | None = None) -> AppTest:
    """The dashboard as it opens, on the Data page."""
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    if ws is not None:
        app.session_state["workspace"] = ws
    return app.run()


def session_of(app: AppTest) -> Workspace:
    """The workspace of the session."""
    return app.session_state["workspace"]


def drop(app: AppTest, data: bytes, name: str) -> AppTest:
    """A file as if it had been dropped."""
    return app.file_uploader(key=f"upload {session_of(app).edition}").upload(name, data).run()


def texts(app: AppTest) -> str:
    """Everything that is said on the page."""
    headings = (app.title, app.header, app.subheader)
    kinds = (*headings, app.markdown, app.caption, app.error, app.warning, app.info, app.success)
    return "\n".join(element.value for kind in kinds for element in kind)


def helps(app: AppTest) -> str:
    """Everything that is said in the help of a text."""
    return "\n".join(item.proto.help for item in (*app.markdown, *app.caption))


def test_empty__says_what_to_do_and_what_happens_to_the_data() -> None:
    app = open_page()
    assert not app.exception
    assert "Release a table about people" in app.title[0].value
    assert "written to disk" in helps(app)
    assert {f"sample {name}" for name in SAMPLES} <= {button.key for button in app.button}
    assert not app.metric


def test_two_readings__are_asked_before_the_table_is_used() -> None:
    app = drop(open_page(), b"a;d\n1.234;01/02/2024\n5.678;03/04/2024\n", "doubt.csv")
    assert not app.exception
    assert session_of(app).table is None
    assert [len(radio.options) for radio in app.radio] == [2, 2]
    assert "is that 1.234 or 1234?" in app.radio[0].label.replace("\\", "")
    button = next(button for button in app.button if button.label == "Read it so")
    button.click().run()
    assert "needs an answer" in texts(app)
    app.radio[0].set_value(1)
    app.radio[1].set_value(0)
    next(button for button in app.button if button.label == "Read it so").click().run()
    assert not app.exception
    table = session_of(app).table
    assert table is not None
    assert table["a"].tolist() == [1234, 5678]
    assert table["d"].tolist() == [pd.Timestamp("2024-02-01"), pd.Timestamp("2024-04-03")]


def test_sample__becomes_the_table() -> None:
    app = open_page()
    name = "visits"
    app.button(key=f"sample {name}").click().run()
    assert not app.exception
    table = SAMPLES[name].load()
    assert app.metric[0].value == f"{len(table):,}"
    assert app.metric[1].value == str(table.shape[1])
    assert app.title[0].value == SAMPLES[name].title
    pd.testing.assert_frame_equal(session_of(app).table, table)
    facts = app.dataframe[1].value.set_index("Column")
    assert facts["Different values"].to_dict() == table.nunique().to_dict()
    assert facts["Missing"].to_dict() == table.isna().sum().to_dict()


@pytest.mark.parametrize("name", PAPERS)
def test_sample_of_a_paper__brings_its_decisions_and_its_figures(name: str) -> None:
    app = open_page()
    app.button(key=f"sample {name}").click().run()
    assert not app.exception
    ws, sample = session_of(app), SAMPLES[name]
    assert ws.schema.bare == sample.schema(sample.load()).bare
    assert {key: ws.settings[key] for key in sample.settings} == dict(sample.settings)
    (table,) = [item.value for item in app.dataframe if list(item.value.columns) == list(WORDS)]
    rows = sorted(PAPERS[name][2](), key=lambda row: not row.remark)
    assert [tuple(row) for row in table.itertuples(index=False)] == [row[:4] for row in rows]
    assert all(plain(row.remark) in texts(app) for row in rows)
    differ = [row.what for row in rows if read(row.paper) != read(row.here)]
    assert all(row.remark for row in rows if row.what in differ), differ


def read(cell: str) -> str:
    """A figure as it is compared: intervals are written with a hyphen in print, and all levels as themselves."""
    return cell.replace("{Married, Not Married}", "*").replace("-", ", ") if "[" in cell else cell


def test_sample_of_a_paper__errata_differ_and_nothing_else() -> None:
    errata = {
        "customers": {"Nodes pruned for k = 3, in order", "What tiers promise", "Highest chance of a right link"},
        "employees": {"q of node 5"},
        "graduates": {
            "D_overall, leaves and the question", "D_individual of q2 and q3, leaves and the question",
        },
    }  # fmt: skip
    for name, (_, _, figures_of) in PAPERS.items():
        assert {row.what for row in figures_of() if read(row.paper) != read(row.here)} == errata[name]


def test_upload__shows_how_it_was_read_and_what_was_found() -> None:
    app = drop(open_page(), FOUR, "four.csv")
    assert not app.exception
    assert app.title[0].value == "four\\.csv"
    assert [metric.value for metric in app.metric[:2]] == ["4", "3"]
    assert app.selectbox[0].value == ";"
    assert any("NA" in item.value for item in app.markdown if "missing" in item.value)
    assert session_of(app).table["city"].isna().sum() == 1


def test_upload__a_text_NA_can_be_kept_as_a_category() -> None:
    app = drop(open_page(), FOUR, "four.csv")
    marks = next(box for box in app.multiselect if "missing" in box.label)
    marks.set_value([mark for mark in marks.value if mark != "NA"])
    next(button for button in app.button if button.label == "Read again").click()
    app.run()
    assert not app.exception
    assert session_of(app).failure is None
    assert "NA" in set(session_of(app).table["city"])
    assert session_of(app).table["age"].isna().sum() == 1


def test_upload__dates_are_read_in_a_form_that_is_typed() -> None:
    app = drop(open_page(), b"born,n\n01.02.45,1\n28.12.29,2\n", "people.csv")
    assert session_of(app).table["born"].tolist() == ["01.02.45", "28.12.29"]
    forms = next(box for box in app.text_input if box.label == "Dates are written as")
    assert forms.value == ""
    forms.set_value("DD.MM.19YY")
    next(button for button in app.button if button.label == "Read again").click()
    app.run()
    assert not app.exception
    assert [str(day.date()) for day in session_of(app).table["born"]] == ["1945-02-01", "1929-12-28"]
    forms = next(box for box in app.text_input if box.label == "Dates are written as")
    assert forms.value == "DD.MM.19YY"
    forms.set_value("D.M.")
    next(button for button in app.button if button.label == "Read again").click()
    app.run()
    assert not app.exception
    assert any("is no form of dates" in item.value for item in app.error)


def test_upload__a_text_that_was_missing_is_kept_by_a_button() -> None:
    rows = "".join(f"{word},{number}\n" for number, word in enumerate(["None", "low", "high"] * 10))
    app = drop(open_page(), f"alcohol,n\n{rows}".encode(), "people.csv")
    assert session_of(app).table["alcohol"].isna().sum() == 10
    app = app.button(key="keep None").click().run()
    assert not app.exception
    assert session_of(app).table["alcohol"].value_counts()["None"] == 10
    assert "keep None" not in {button.key for button in app.button}


def test_upload__a_bad_file_says_why_and_leaves_the_table_alone() -> None:
    app = drop(open_page(), FOUR, "four.csv")
    app = drop(app, b"PK\x03\x04" + bytes(range(256)) * 4, "broken.xlsx")
    assert not app.exception
    assert len(app.error) == 1
    assert "still here" in app.error[0].value
    assert len(session_of(app).table) == 4
    app = drop(app, b"a,b\n1,2\n3,4\n", "good.csv")
    assert not app.error
    assert list(session_of(app).table.columns) == ["a", "b"]


def test_upload__text_of_the_file_is_never_markdown() -> None:
    data = b"![x](http://198.51.100.1/p.png),:red[y]\n1,<b>2</b>\n1,<b>3</b>\n"
    app = drop(open_page(), data, "![x](http://198.51.100.1/q.png).csv")
    assert not app.exception
    assert "](http" not in texts(app)
    assert ":red[y]" not in texts(app)
    assert not any(item.allow_html for item in app.markdown)


def test_preview__shows_dates_without_midnight() -> None:
    app = drop(open_page(), b"born,seen\n1990-01-31,2020-01-01T10:30:00\n1991-02-28,2020-01-02T00:00:00\n", "d.csv")
    assert not app.exception
    frame = app.dataframe[0].value
    assert str(frame["born"].iloc[0]).split()[0] == "1990-01-31"
    assert pd.Timestamp(frame["seen"].iloc[0]) == pd.Timestamp("2020-01-01 10:30")
    assert list(session_of(app).table["born"].dt.year) == [1990, 1991]


def test_forget__drops_the_table() -> None:
    app = drop(open_page(), FOUR, "four.csv")
    edition = session_of(app).edition
    next(button for button in app.button if button.label == "Remove table").click()
    app.run()
    assert session_of(app).table is None
    assert session_of(app).source is None
    assert session_of(app).edition > edition
    assert "Release a table about people" in app.title[0].value


def test_folder__is_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    assert allowed_folder() is None
    assert not any("server" in box.label for box in open_page().selectbox)


def test_folder__offers_its_tables_and_nothing_outside(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "allowed"
    (inside / "deep").mkdir(parents=True)
    (inside / "deep" / "four.csv").write_bytes(FOUR)
    (inside / "notes.md").write_text("not a table")
    secret = tmp_path / "secret.csv"
    secret.write_bytes(b"a\n1\n")
    (inside / "link.csv").symlink_to(secret)
    monkeypatch.setenv(FOLDER_VARIABLE, str(inside))
    assert files_in(allowed_folder()) == ["deep/four.csv"]
    assert allowed_file(inside, "deep/four.csv").read_bytes() == FOUR
    for name in ("../secret.csv", str(secret), "link.csv", "absent.csv"):
        with pytest.raises(ReadError, match="not in the folder"):
            allowed_file(inside, name)
    app = open_page()
    next(box for box in app.selectbox if "server" in box.label).set_value("deep/four.csv").run()
    next(button for button in app.button if button.label == "Read it").click()
    app.run()
    assert not app.exception
    assert session_of(app).table.shape == (4, 3)


def test_notes__that_say_the_same_of_other_columns_are_one() -> None:
    notes = [
        Problem("warning", f"Column 'a{n}' has {n + 2:,} empty values.", f"a{n}", remedy="Look.") for n in range(18)
    ]
    other = Problem("warning", "Column 'b' has no value at all.", "b", remedy="Leave it out.")
    file = [Problem("info", "The file has 2 sheets."), Problem("info", "The file has 3 sheets.")]
    assert equal_notes([*notes, other, *file]) == [notes, [other], [file[0]], [file[1]]]


def test_one_warning_for_eighteen_columns__is_one_on_the_page() -> None:
    table = pd.DataFrame({"age": range(60)} | {f"empty_{n}": [None] * 60 for n in range(18)})
    ws = Workspace()
    assert ws.bring(table.to_csv(index=False).encode(), "empty.csv")
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    app.run()
    assert not app.exception
    alike = [item.value for item in app.markdown if "columns alike." in item.value and "at all" in item.value]
    assert len(alike) == 1
    assert "18 columns alike." in alike[0]
    assert sum("no value at all" in item.value for item in app.markdown) == 18, "each can be unfolded"
