"""Made-up tables as SPSS, Stata and SAS files: what Copse and haven read of them is what was written."""

import shutil
import subprocess
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.released_file import read_file
from anonymizer.labelled.forms import DAYS
from anonymizer.labelled.read import LabelledColumn, read_labelled
from anonymizer.labelled.variable import Variable
from anonymizer.labelled.write import FORMATS, labelled_bytes, planned, planned_table
from tests.conftest import absent
from tests.labelled.test_read import SEXES

OWN = {
    "día": {"sav": "SDATE10", "dta": "%tdDD/NN/CCYY", "xpt": "YYMMDD10"},
    "at": {"sav": "DATETIME20", "dta": "%tcHH:MM", "xpt": "DATETIME22.3"},
}
"""Formats that columns had in their file, which are kept."""
SCRIPT = """
suppressMessages(library(haven))
folder <- commandArgs(TRUE)[1]
text <- function(x) {
  if (inherits(x, "POSIXct")) x <- format(x, "%Y-%m-%d %H:%M:%S", tz = "UTC")
  if (inherits(x, "Date")) x <- format(x, "%Y-%m-%d")
  if (is.character(x)) return(ifelse(is.na(x), "", enc2utf8(as.vector(x))))
  x <- vctrs::vec_data(x)
  tags <- na_tag(as.double(x))
  ifelse(is.na(x), ifelse(is.na(tags), "", paste0(".", tags)), sprintf("%.17g", x))
}
say <- function(...) paste(..., sep = "\t")
for (path in list.files(folder, "[.](sav|dta|xpt)$", full.names = TRUE)) {
  table <- switch(tools::file_ext(path), sav = read_sav(path, user_na = TRUE), dta = read_dta(path), read_xpt(path))
  lines <- lapply(names(table), function(name) {
    x <- table[[name]]
    labels <- attr(x, "labels")
    label <- attr(x, "label", exact = TRUE)
    missing <- c(attr(x, "na_range"), attr(x, "na_values"))
    shown <- c(attr(x, "format.spss"), attr(x, "format.stata"), attr(x, "format.sas"))
    c(say("column", name), say("label", if (is.null(label)) "" else label),
      say("width", if (is.null(attr(x, "display_width"))) 0 else attr(x, "display_width")),
      say("format", paste(shown, collapse = " ")), say("missing", paste(missing, collapse = " ")),
      if (length(labels)) say("code", text(labels), names(labels)), say("cell", text(x)))
  })
  con <- file(paste0(path, ".txt"), open = "w", encoding = "UTF-8")
  writeLines(enc2utf8(unlist(lines)), con, useBytes = TRUE)
  close(con)
}
"""


def made_up(case: int) -> list[LabelledColumn]:
    """One of twelve tables: scripts, ranges, dates, long names and texts, empty labels, many columns, few records."""
    rng = np.random.default_rng(case)
    n = 40

    def pick(*texts: str) -> pd.Categorical:
        return pd.Categorical.from_codes([*rng.integers(-1, len(texts), n - 1), 0], list(texts))

    def codes(*texts: str, **more: Any) -> Variable:
        return Variable(levels=tuple((text, float(at + 1)) for at, text in enumerate(texts)), **more)

    reasons = (("Refused", -9.0), ("Not asked", -8.0), ("Lost", -7.0), ("Illegible", -6.0))
    holes = np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n))
    why = pd.Categorical.from_codes(
        np.where(np.isnan(holes), rng.integers(-1, 4, n), -1), [text for text, _ in reasons]
    )
    days = np.datetime64("1850-03-01", "us") + rng.integers(0, 90_000, n).astype("timedelta64[D]")
    days[::5] = np.datetime64("NaT")
    return [
        [LabelledColumn("sex", codes(*SEXES.values(), measure="nominal"), pick(*SEXES.values()))],
        [LabelledColumn("día", Variable(label="いつ", width=17, alignment="center"), days)],
        [LabelledColumn("at", Variable(), days + rng.integers(0, 86_400, n).astype("timedelta64[s]"))],
        [
            LabelledColumn("x", Variable(label="x", ranges=((-9.0, -6.0),)), holes),
            LabelledColumn("x_missing", Variable(levels=reasons, missing=tuple(dict(reasons)), of="x"), why),
        ],
        [LabelledColumn("n" * 31, codes("ja", "nein", measure="ordinal"), pick("ja", "nein"))],
        [LabelledColumn("text", Variable(), pd.Categorical(["é" * (at + 1) * 20 for at in range(n)]))],
        [LabelledColumn("bare", codes("1", "two", "3"), pick("1", "two", "3"))],
        [LabelledColumn(f"v{at}", Variable(label=f"№ {at}"), rng.normal(size=n)) for at in range(2000)],
        [LabelledColumn("whole", Variable(format="F4.0"), rng.integers(-(2**53), 2**53, n))],
        [
            LabelledColumn("one", Variable(), np.array([np.nan])),
            LabelledColumn("b", Variable(), pd.Categorical([None])),
        ],
        [
            LabelledColumn(
                "told",
                Variable(
                    levels=(("yes", 1.0), ("no", 0.0), *reasons), missing=tuple(dict(reasons)), ranges=((-9, -6),)
                ),
                pick("yes", "no", *dict(reasons)),
            )
        ],
        [LabelledColumn("top", Variable(levels=(("89 or older", 89.0),)), rng.integers(18, 90, n))],
    ][case]


def same(first: Any, second: Any) -> bool:
    if isinstance(second, list):
        second = pd.Series([text for part in second for text in part.to_pylist()]).replace("", None)
    a, b = pd.Series(first), pd.Series(second)
    return bool(((a.astype(object) == b.astype(object)) | (a.isna() & b.isna())).all())


def file_of(case: int, format: str) -> tuple[list[LabelledColumn], list[Any], bytes]:
    """A made-up table, as it is planned for a format, and its file."""
    columns = made_up(case)
    columns = [
        replace(one, variable=replace(one.variable, format=OWN[one.name][format])) if one.name in OWN else one
        for one in columns
    ]
    if format == "xpt":
        if case == 5:
            columns = [replace(columns[0], values=pd.Categorical(["é" * (at + 1) for at in range(40)]))]
        columns = [replace(column, name=column.name.replace("í", "i")) for column in columns]
    plans = planned_table(columns, format)
    return columns, plans, labelled_bytes(plans, format)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("case", range(12))
@pytest.mark.parametrize("format", FORMATS)
def test_made_up_files__lose_no_cell_label_or_missing_code(case: int, format: str) -> None:
    columns, plans, data = file_of(case, format)
    again = read_labelled(data, format, "t", stop=lambda rows, width: None)
    assert [column.name for column in again] == [column.name for column in columns]
    for before, after in zip(columns, again, strict=True):
        assert same(before.values, after.values)
        assert after.variable.label == planned(before, format).variable.label or after.variable.of
    by_name = {column.name: column.variable for column in again}
    for plan in plans:
        if plan.variable.levels:
            assert set(by_name[plan.name].levels) == set(plan.variable.levels)
        if isinstance(plan.values, pd.Categorical):
            assert set(by_name[plan.name].missing) == set(plan.variable.missing)
    assert read_file(data).beside == ()


@dataclass(eq=False)
class Column:
    """A column as haven has it. ``codes``: what each stands for, by its text."""

    label: str = ""
    format: str = ""
    width: str = ""
    missing: str = ""
    codes: dict[str, str] = field(default_factory=dict)
    cells: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def havens(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], dict[str, Column]]:
    """What haven reads of each of the twelve files in each format."""
    folder = tmp_path_factory.mktemp("haven")
    if shutil.which("Rscript") is None:
        absent("haven", "R with haven is not installed (Rscript)")
    for case, format in product(range(12), FORMATS):
        (folder / f"{case}.{format}").write_bytes(file_of(case, format)[2])
    (folder / "read.R").write_text(SCRIPT, "utf-8")
    command = ["Rscript", "--vanilla", str(folder / "read.R"), str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if "there is no package called" in answer.stderr:
        absent("haven", "R has no package haven")
    assert answer.returncode == 0, answer.stderr
    return {
        (case, format): havens_columns((folder / f"{case}.{format}.txt").read_text("utf-8"))
        for case, format in product(range(12), FORMATS)
    }


def havens_columns(text: str) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    column = Column()
    for line in text.removesuffix("\n").split("\n"):
        what, _, rest = line.partition("\t")
        if what == "column":
            column = columns[rest] = Column()
        elif what == "code":
            code, _, label = rest.partition("\t")
            column.codes[code] = label
        elif what == "cell":
            column.cells.append(rest)
        else:
            setattr(column, what, rest)
    return columns


def text_of(value: Any, codes: dict[str, Any]) -> str:
    """A cell as haven should have it: a code, a number, a day or a moment, or text; "" for missing."""
    if value is None or value != value or value is pd.NaT:
        return ""
    if isinstance(value, str):
        code = codes.get(value, value)
        return code if isinstance(code, str) else f"{code:.17g}"
    return str(value) if isinstance(value, pd.Timestamp) else f"{value:.17g}"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", range(12))
@pytest.mark.parametrize("format", FORMATS)
def test_haven__reads_every_cell_label_and_missing_code_as_it_was_written(
    case: int, format: str, havens: dict[tuple[int, str], dict[str, Column]]
) -> None:
    there = havens[case, format]
    columns, plans, _ = file_of(case, format)
    apart = {plan.variable.of: plan for plan in plans if plan.variable.of}
    assert list(there) == [plan.name for plan in plans if not plan.variable.of]
    for column, plan in zip(columns, plans, strict=True):
        if plan.variable.of:
            continue
        codes: dict[str, Any] = dict(plan.variable.levels)
        expected = [text_of(value, codes) for value in pd.Series(column.values).astype(object)]
        if column.name in apart:
            reasons = apart[column.name]
            why: dict[str, Any] = dict(reasons.variable.levels)
            codes |= why
            texts = [text_of(value, why) for value in pd.Series(reasons.values).astype(object)]
            expected = [reason or value for value, reason in zip(expected, texts, strict=True)]
        haven = there[column.name]
        days = plan.variable.format in (*DAYS.values(), *OWN["día"].values())
        if column.name in OWN:
            assert plan.variable.format == OWN[column.name][format]
        assert haven.cells == [text.removesuffix(" 00:00:00") if days else text for text in expected]
        assert haven.label == plan.variable.label
        assert haven.codes == {text_of(text, codes): text for text in codes}
        ends = [end for low, high in plan.variable.ranges for end in ((low,) if low == high else (low, high))]
        assert haven.missing.split() == [f"{end:g}" for end in ends]
        if plan.variable.width and plan.variable.width != 8:  # haven leaves the usual one out
            assert haven.width == str(plan.variable.width)
        if plan.variable.format:
            assert haven.format == plan.variable.format
