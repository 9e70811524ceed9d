"""How well roles and kinds are suggested: precision and recall on made-up tables with the columns of public ones.

    python run.py bench suggestions
    python run.py bench suggestions --misses

The labels were written before the suggestions were looked at. Half of the tables are set aside: word lists and rules
were worked on with the misses of the other half alone, and the figure of the half set aside is the one that counts.
"""

import argparse
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from anonymizer.labelled.variable import Variable
from anonymizer.reading.profile import suggest
from anonymizer.schema import Column, Kind
from benchmarks._codebooks import FILES, KINDS, ROLES, Labelled, codebooks, set_aside, table_of

LETTERS = {name: letter for letter, name in ROLES.items()}


class Answer(NamedTuple):
    """A column, and what was suggested for it, as letters."""

    table: str
    label: Labelled
    role: str
    kind: str


def kind_letter(column: Column) -> str:
    """Return the letter of a suggested kind."""
    return "o" if column.kind is Kind.CATEGORICAL and column.ordered else column.kind.value[0]


def answers(file: str) -> list[Answer]:
    """Return what is suggested for every column of every table of a file of codebooks."""
    rows = []
    for name, labels in codebooks(file).items():
        schema = suggest(table_of(name, labels), {label.name: Variable(label.label) for label in labels if label.label})
        pairs = zip(labels, schema.columns, strict=True)
        rows += [Answer(name, label, LETTERS[column.role], kind_letter(column)) for label, column in pairs]
    return rows


def part(right: Iterable[bool]) -> float:
    """Return the share of what is right; 1 of nothing."""
    marks = list(right)
    return sum(marks) / len(marks) if marks else 1.0


def role_figures(rows: Sequence[Answer]) -> dict[str, tuple[float, float, int, int]]:
    """Return by role: precision (of the columns it was suggested for, the share that it fits), recall (of those whose
    likeliest role it is, the share with a role that fits), and the columns of both."""
    figures = {}
    for letter in ROLES:
        suggested = [row.role in row.label.roles for row in rows if row.role == letter]
        likeliest = [row.role in row.label.roles for row in rows if row.label.roles[0] == letter]
        figures[letter] = (part(suggested), part(likeliest), len(suggested), len(likeliest))
    return figures


def report(title: str, rows: Sequence[Answer]) -> None:
    """Print the figures of some columns."""
    tables = len({row.table for row in rows})
    roles = part(row.role in row.label.roles for row in rows)
    kinds = part(row.kind in row.label.kinds for row in rows)
    print(f"\n{title}: {len(rows)} columns of {tables} tables; role right {roles:.1%}, kind right {kinds:.1%}")
    print(f"{'role':>18}  precision        recall")
    for letter, (precision, recall, suggested, likeliest) in role_figures(rows).items():
        print(f"{ROLES[letter]:>18}  {precision:6.1%} of {suggested:3}  {recall:6.1%} of {likeliest:3}")
    for letter, name in KINDS.items():
        right = [row.kind in row.label.kinds for row in rows if row.label.kinds[0] == letter]
        print(f"{name:>18}  {'':16}{part(right):6.1%} of {len(right):3}")


def main(arguments: Sequence[str]) -> None:
    """Print precision and recall of both halves of each file, and on request what is wrong in those tuned on."""
    parser = argparse.ArgumentParser(prog="suggestions")
    parser.add_argument("--misses", action="store_true", help="also list what is wrong, of the tables not set aside")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    tuned = []
    for file in FILES:
        rows, aside = answers(file), set_aside(file)
        report(f"{file}, half set aside", [row for row in rows if row.table in aside])
        report(f"{file}, half tuned on", [row for row in rows if row.table not in aside])
        tuned += [row for row in rows if row.table not in aside]
    print(f"\nTables made and suggested for in {time.perf_counter() - begin:.1f} s")
    for row in tuned if options.misses else ():
        wrong = [what for what, letter, right in (
            (f"role {row.role}", row.role, row.label.roles), (f"kind {row.kind}", row.kind, row.label.kinds),
        ) if letter not in right]  # fmt: skip
        if wrong:
            print(f"{row.table[:20]:22}{row.label.name:28}{', '.join(wrong):20}fits {'/'.join(row.label.roles)} "
                  f"{'/'.join(row.label.kinds)}")  # fmt: skip
