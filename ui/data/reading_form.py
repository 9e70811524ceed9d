"""How the file was read, and the form that corrects it."""

import re
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from anonymizer.errors import ReadError
from anonymizer.reading.files import DEFAULT_MISSING, DELIMITERS, ENCODINGS, USED, Problem, ReadOptions
from anonymizer.reading.options import MOST_SKIPPED, Answer
from ui.controls import count, plain, plural, problem
from ui.data.progress import ReadingBar
from ui.session import take_secret
from ui.workspace import Workspace

MARKS = {",": "comma  ,", ";": "semicolon  ;", "\t": "tab", "|": "bar  |", " ": "space", ":": "colon  :"}
DECIMALS = {None: "as each column shows it", ".": "point  3.14", ",": "comma  3,14"}
BLANK = "(blank)"
MOST_SHOWN = 40
VALUE = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d[\d,.]*""")
"""A name, a value or a number in a note."""


def with_current(options: Sequence[str], current: str | None) -> list[str]:
    """Return the usual options and, when it is another one, the current."""
    return [*options, *([current] if current is not None and current not in options else [])]


def reading_form(ws: Workspace) -> None:
    """Draw delimiter, encoding, decimal mark and missing marks as they were used; each can be corrected."""
    reading = ws.reading
    if reading is None or ws.source is None:
        what = (
            "A built-in sample needs no reading" if reading and reading.format == "sample" else "It was read as it is"
        )
        st.caption(f"{what}; there is nothing to correct.")
        return
    used = reading.options
    with st.form(f"reading {reading.sha256} {used!r}", border=False):
        if reading.format == "csv":
            options = delimited_options(used)
        elif reading.format == "spreadsheet":
            sheet = st.selectbox("Sheet", reading.sheets, index=reading.sheets.index(used.sheet or reading.sheets[0]))
            options = with_header(replace(used, sheet=sheet), used)
        else:
            options = used
        options = with_dates(options, used) if "dates" in USED.get(reading.format, ()) else options
        marks = sorted({*DEFAULT_MISSING, *used.missing, *used.keep})
        missing = st.multiselect(
            "Texts that mean “missing”",
            marks,
            default=list(used.marks),
            format_func=lambda mark: mark or BLANK,
            accept_new_options=True,
            help="Take a text out of this list when it is a real category, such as NA for Namibia; add any other mark.",
        )
        password = take_secret("Password of the database", f"password again {ws.edition}") if ws.asks_password else ""
        again = st.form_submit_button("Read again", icon=":material/refresh:")
    if again:
        keep = tuple(mark for mark in marks if mark not in missing)
        read_again(ws, replace(options, missing=tuple(missing), keep=keep), password)


def with_dates(options: ReadOptions, used: ReadOptions) -> ReadOptions:
    """Draw how dates are written, as it was ``used``, and return the options with what was typed, if that is a form."""
    form = st.text_input(
        "Dates are written as",
        value=used.dates or "",
        placeholder="as each column shows it",
        help="Type day or month, for what comes first, or a form such as DD.MM.YYYY. MMM is the name of a month. "
        "YY is a year of two digits, and 19YY says the century. hh:mm or hh:mm:ss can follow.",
    )
    try:
        return replace(options, dates=form.strip() or None)
    except ReadError as error:
        problem(error)
        return options


def read_again(ws: Workspace, options: ReadOptions, password: str = "") -> None:
    """Read the table that is here in another way, with a bar, and draw the page anew."""
    assert ws.reading is not None
    ws.edition += 1
    bar = ReadingBar(ws, ws.reading.name, ws.reading.size)
    ws.read_again(options, password=password, progress=bar.progress, cancelled=bar.cancelled)
    st.rerun()


def questions_form(ws: Workspace) -> None:
    """Draw the questions to be answered before the table is used: each reading with the values that it gives."""
    if ws.doubt is None:
        return
    reading = ws.doubt[0]
    st.markdown(f"**{plain(reading.name)} can be read in more than one way.** The table is used once this is answered.")
    with st.form(f"questions {reading.sha256} {ws.edition}"):
        picked = []
        for number, question in enumerate(reading.questions):
            place = st.radio(
                plain(question.text),
                range(len(question.answers)),
                index=None,
                format_func=lambda at, answers=question.answers: plain(answers[at].label),
                captions=[sample_text(answer) for answer in question.answers],
                key=f"question {ws.edition} {number}",
            )
            picked += [] if place is None else [question.answers[place]]
        pressed = st.form_submit_button("Read it so", icon=":material/check:", type="primary")
    if pressed and len(picked) < len(reading.questions):
        st.warning("Each of these needs an answer.")
    elif pressed:
        bar = ReadingBar(ws, reading.name, reading.size)
        ws.answer(picked, progress=bar.progress, cancelled=bar.cancelled)
        st.rerun()


def sample_text(answer: Answer) -> str:
    """Return what stands in the file, and what it is when read in this way."""
    return " · ".join(f"{plain(raw)} → {plain(value)}" for raw, value in answer.sample)


def delimited_options(used: ReadOptions) -> ReadOptions:
    """Draw the choices for delimited text, and return the options that were chosen."""
    one, two, three = st.columns(3)
    delimiters = with_current(tuple(dict.fromkeys((*DELIMITERS, *MARKS))), used.delimiter)
    delimiter = one.selectbox(
        "Fields are separated by",
        delimiters,
        index=delimiters.index(used.delimiter or ","),
        format_func=lambda mark: MARKS.get(mark, mark),
    )
    encodings = with_current(ENCODINGS, used.encoding)
    encoding = two.selectbox("Letters are encoded as", encodings, index=encodings.index(used.encoding or "utf-8"))
    decimal = three.selectbox(
        "Decimal mark",
        list(DECIMALS),
        index=list(DECIMALS).index(used.decimal),
        format_func=lambda mark: DECIMALS[mark],
    )
    return with_header(replace(used, delimiter=delimiter, encoding=encoding, decimal=decimal), used)


def with_header(options: ReadOptions, used: ReadOptions) -> ReadOptions:
    """Draw where the names of the columns stand, as it was ``used``, and return the options with what was chosen."""
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    header = left.checkbox("The first row holds the names of the columns", value=used.header)
    skip = right.number_input("Rows to leave out above it", 0, MOST_SKIPPED, value=used.skip or 0, step=1)
    of_other_sheet = options.sheet != used.sheet and skip == (used.skip or 0)
    return replace(options, header=header, skip=None if of_other_sheet else int(skip))


def problems_found(ws: Workspace, problems: Sequence[Problem]) -> None:
    """Draw the problems as two lists: those to look at, and what was done on the way."""
    warnings = [problem for problem in problems if problem.level != "info"]
    notes = [problem for problem in problems if problem.level == "info"]
    draw_notes(warnings, ":orange[:material/warning:] ")
    keep_values(ws, sorted({problem.keep for problem in warnings if problem.keep}))
    if notes:
        with st.expander(f"{plural(len(notes), 'note')} on how the table was read", icon=":material/info:"):
            draw_notes(notes)


def keep_values(ws: Workspace, marks: Sequence[str]) -> None:
    """Draw a button for each text that was taken as missing and may be a value: the table is read again with it."""
    if not marks or ws.reading is None or ws.source is None or ws.asks_password:
        return
    used = ws.reading.options
    with st.container(horizontal=True, gap="small"):
        for mark in marks:
            if st.button(f"Keep “{plain(mark)}” as a value", key=f"keep {mark}", icon=":material/label:"):
                read_again(ws, replace(used, keep=(*used.keep, mark)))


def draw_notes(problems: Sequence[Problem], mark: str = "") -> None:
    """Draw problems, those that say the same of other columns as one, with the columns folded below it."""
    groups = equal_notes(problems)
    for number, members in enumerate(groups[:MOST_SHOWN]):
        if len(members) == 1:
            st.markdown(f"{mark}{sentence(members[0])}")
            continue
        st.markdown(f"{mark}**{len(members):,} columns alike.** {sentence(members[0])}")
        with st.expander(f"The same of {len(members) - 1:,} more", key=f"alike {mark} {number} {len(members)}"):
            for problem in members[1:]:
                st.markdown(f"- {plain(problem.text)}")
    if len(groups) > MOST_SHOWN:
        st.caption(f"… and {count(len(groups) - MOST_SHOWN)} more.")


def equal_notes(problems: Sequence[Problem]) -> list[list[Problem]]:
    """Return the problems, those together that say the same of other columns: only names, values, numbers differ."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for place, one in enumerate(problems):
        says = VALUE.sub("…", one.text) if one.column is not None else str(place)
        groups.setdefault((one.level, says, one.remedy), []).append(one)
    return list(groups.values())


def sentence(problem: Problem) -> str:
    """Return a problem and its remedy as Markdown."""
    return plain(problem.text) + (f"  \n:gray[{plain(problem.remedy)}]" if problem.remedy else "")
