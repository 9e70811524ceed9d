"""Statisticians' files and codebooks made from a seed, whole and damaged."""

import random
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat

from anonymizer.errors import AnonymizerError
from anonymizer.labelled.codebook import read_codebook
from anonymizer.labelled.read import LabelledColumn
from anonymizer.labelled.variable import Variable
from anonymizer.labelled.write import labelled_bytes, planned_table
from anonymizer.reading.child import read_in_child
from anonymizer.reading.options import MIB, Allowance
from anonymizer.reading.parquet import arrow_bytes

Chance = random.Random
ROWS = {"sas7bdat": 150}
ALLOWANCE = Allowance(memory=512 * MIB, cells=10_000_000)
HUGE = tuple(struct.pack(order + size, 2**bits - 1) for order in "<>" for size, bits in (("i", 31), ("q", 63)))
BOMB = b'<!DOCTYPE c [<!ENTITY a "ha">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + at, b"&%c;" % (97 + at) * 10) for at in range(9)
)


@cache
def sas_table() -> Path | None:
    """The table of SAS that comes with haven, a package of R, as no library here writes such; ``None`` without it."""
    if shutil.which("Rscript") is None:
        return None
    ask = ["Rscript", "--vanilla", "-e", 'cat(system.file("examples", "iris.sas7bdat", package = "haven"))']
    answer = subprocess.run(ask, capture_output=True, text=True, check=False)
    return Path(answer.stdout) if answer.stdout and Path(answer.stdout).is_file() else None


@cache
def whole(kind: str) -> bytes:
    """A small file with labels, reasons for missing values, days and text."""
    rng = np.random.default_rng(3)
    sex = Variable("Geschlecht", (("männlich", 1.0), ("weiblich", 2.0), ("Refused", 9.0)), ("Refused",), ((9.0, 9.0),))
    columns = [
        LabelledColumn("sex", sex, pd.Categorical.from_codes(rng.integers(-1, 3, 30), list(sex.domain))),
        LabelledColumn("pay", Variable("الدخل"), np.where(rng.random(30) < 0.2, np.nan, rng.normal(size=30))),
        LabelledColumn("day", Variable(), np.datetime64("2020-01-01", "us") + np.arange(30).astype("timedelta64[D]")),
        LabelledColumn("town", Variable(), pd.Categorical(["Ulm", "Köln"] * 15)),
    ]
    if kind == "sas7bdat":
        path = sas_table()
        assert path is not None
        return path.read_bytes()
    if kind == "feather":
        return arrow_bytes(pd.DataFrame({column.name: column.values for column in columns}))
    if kind in ("zsav", "por"):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "t"
            frame = pd.DataFrame({"sex": rng.integers(1, 3, 30).astype(float), "town": ["Ulm", "Bonn"] * 15})
            if kind == "por":
                pyreadstat.write_por(frame, path)
            else:
                pyreadstat.write_sav(frame, path, compress=True)
            return path.read_bytes()
    return labelled_bytes(planned_table(columns, kind), kind)


def fault_of_file(r: Chance, kind: str, damage: Any) -> str:
    """Read a file in a process of its own, most often damaged or with a huge count in it: "" when it ended well."""
    data = good = whole(kind)
    if r.random() < 0.9:
        data = damage(r, good)
    if r.random() < 0.4:
        at = r.randrange(min(len(data), 400))
        huge = r.choice(HUGE)
        data = data[:at] + huge + data[at + len(huge) :]
    if r.random() < 0.2:
        data = data[: r.randrange(len(data) + 1)]
    try:
        reading = read_in_child(data, name=f"t.{kind}", allowance=ALLOWANCE, fork=True)
    except AnonymizerError as error:
        clear = error.remedy and "\n" not in str(error)
        return ("a whole file was refused" if data == good else "") if clear else f"unclear: {error}"
    return "" if data != good or len(reading.frame) == ROWS.get(kind, 30) else "a whole file lost rows"


def fault_of_codebook(r: Chance, kind: str, damage: Any) -> str:
    """Read a codebook: DDI or CSV, damaged, or with entities that unfold without end."""
    book = CODEBOOKS[kind]
    data = damage(r, book) if r.random() < 0.8 else book
    bomb = kind == "ddi" and r.random() < 0.3
    if bomb:
        data = BOMB + b"]>" + data.replace(b"Age", b"&j;")
    try:
        columns = read_codebook(data)
    except AnonymizerError as error:
        clear = error.remedy and "\n" not in str(error) and len(str(error)) < 2000
        return ("a whole codebook was refused" if data == book else "") if clear else f"unclear: {error}"
    return "a document type was read" if bomb else "" if columns else "nothing was read"


CODEBOOKS = {
    "ddi": b'<codeBook xmlns="ddi:codebook:2_5"><dataDscr><var name="age"><labl>Age</labl><valrng><range min="0" '
    b'max="120"/></valrng></var><var name="sex"><catgry><catValu>1</catValu><labl>M</labl></catgry></var></dataDscr>'
    b"</codeBook>",
    "codebook csv": b"name,label,role,kind,domain\nage,Age,quasi-identifying,numeric,0..120\n"
    b"sex,Sex,,categorical,1=M|2=F",
}
FILES = ("sav", "zsav", "por", "dta", "xpt", "feather", "sas7bdat")
