"""The tables of the papers' experiments, with the roles that these give their columns, and words for the terminal."""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import anonymizer as an
from anonymizer.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


RANGES = Settings(numbers="range")
"""Intervals between values, as the papers have them: what losses are compared by."""


class Table(NamedTuple):
    """One file. ``left_out``: neither known to an attacker nor released; ``quasi``: empty for all other columns."""

    file: str
    sensitive: tuple[str, ...]
    quasi: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def read(self) -> tuple[pd.DataFrame, an.Schema]:
        """Return the records and their schema."""
        table = an.read_table(DATA / self.file).frame
        table = table[[*self.columns(table), *self.sensitive]]
        kinds: dict[str, Any] = dict.fromkeys(self.categorical, "categorical")
        schema = an.Schema.of(table, quasi_identifying=self.columns(table), sensitive=list(self.sensitive), kinds=kinds)
        return table, schema

    def columns(self, table: pd.DataFrame) -> list[str]:
        """Return the quasi-identifiers."""
        return list(self.quasi) or [c for c in table.columns if c not in (*self.sensitive, *self.left_out)]

    def words(self, *options: str) -> str:
        """Return the command ``evaluate`` with these options, as it is typed beside the data."""
        table = an.read_table(DATA / self.file).frame
        words = ["python", "-m", "anonymizer", "evaluate", self.file]
        words += ["--quasi-identifying", ",".join(self.columns(table)), "--sensitive", ",".join(self.sensitive)]
        if self.categorical:
            words += ["--kinds", ",".join(f"{name}=categorical" for name in self.categorical)]
        return shlex.join([*words, *options])


TABLES = {
    "contra": Table(
        "contraceptive.csv.gz",
        ("contraceptive_method",),
        categorical=(
            "wife_religion", "wife_working", "husband_occupation", "media_exposure", "contraceptive_method",
        ),
    ),
    "adult": Table("adult_complete.csv.gz", ("income",), left_out=("education",)),
    "credit": Table("german_credit.csv.gz", ("duration", "credit_amount", "installment_commitment")),
    "alcohol": Table("alcohol.csv.gz", ("income", "drinks")),
    "census": Table(
        "census_income_kdd_95130.csv.gz",
        ("wage-per-hour",),
        ("age", "sex", "race", "education", "major-occupation-code", "marital-stat"),
    ),
}  # fmt: skip
"""By the name they have on the command line. Adult: Y19's reading, without ``education``, twin of a number."""
