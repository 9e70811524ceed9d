"""A table that changes, released every year in groups for life: who was released keeps class and written box.

A person has one class, from the first release on. Who is new is packed among the new, where they are k; fewer wait. No
box follows the data of a later year, and the file does not say who is gone, so every cell of all releases is a group
of people who came together and stayed together. Boxes are therefore as at a person's first release; the other values
are this year's.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anonymizer.checking.linkage import look_alikes
from anonymizer.checking.verify import Verification, verify
from anonymizer.errors import GuaranteeError, ParameterError
from anonymizer.flow import Flow
from anonymizer.releasing.treat import treated_table
from anonymizer.schema import Kind, Schema
from anonymizer.settings import Settings
from anonymizer.values import plural, value_text

LEAVERS = {
    "cumulative": "Who is gone stays with last year's row.",
    "increments": "Only the rows of who is new leave.",
    "close": "A class that somebody left is closed: nobody of it is released again.",
}
"""What a release does about people of earlier ones who are not in the table any more."""


@dataclass(frozen=True)
class Year:
    """How many people of a table ``stayed`` since earlier releases, ``came`` and are released, ``wait`` because they
    came in fewer than k, and ``left``; how many classes were ``closed``, and in how many the values were ``held_back``
    for a year, because with the new ones they would have failed l."""

    stayed: int
    came: int
    wait: int
    left: int
    closed: int = 0
    held_back: int = 0


@dataclass(frozen=True, eq=False)
class Series:
    """The releases of a table that changes, up to the last.

    ``persons`` (p,): everybody who was ever released, by the text of the person column; ``class_of`` (p,); ``boxes``
    (c rows): the cells of each class, as they were written; ``closed`` (c,): classes of which nobody is released again;
    ``rows`` (p rows): the other columns of everybody as last released. ``released``: the rows of the last file, in an
    order that follows from what they hold; ``year``: what changed; ``verification``: of the file alone, where it has
    rows. All but ``released`` is as personal as the table.

    >>> import anonymizer as an
    >>> columns = ["patient_id", "age", "sex", "diagnosis"]
    >>> table = an.SAMPLES["visits"].load().drop_duplicates("patient_id")[columns].head(600)
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis", "person": "patient_id"}
    >>> schema = an.Schema.of(table, **roles)
    >>> series = an.first_release(table, schema)
    >>> len(series.released) <= len(table), series.verification.passed
    (True, True)
    """

    schema: Schema
    persons: "pd.Index[Any]"
    class_of: NDArray[np.int64]
    boxes: pd.DataFrame
    closed: NDArray[np.bool_]
    rows: pd.DataFrame
    released: pd.DataFrame
    year: Year
    verification: Verification | None


def first_release(table: pd.DataFrame, schema: Schema, settings: Settings | None = None) -> Series:
    """Return the series that begins with the release of a table. Raises :class:`GuaranteeError` where a limit cannot be
    kept, and what :func:`next_release` does.

    >>> import anonymizer as an
    >>> columns = ["patient_id", "age", "sex", "diagnosis"]
    >>> table = an.SAMPLES["visits"].load().drop_duplicates("patient_id")[columns].head(600)
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis", "person": "patient_id"}
    >>> schema = an.Schema.of(table, **roles)
    >>> series = an.first_release(table, schema)
    >>> series.verification.passed
    True
    """
    nobody = pd.DataFrame(columns=list(schema.quasi_identifying))
    others = pd.DataFrame(columns=[name for name in schema.released if name not in schema.quasi_identifying])
    start = Series(
        schema, pd.Index([], dtype=object), np.zeros(0, np.int64), nobody, np.zeros(0, np.bool_), others,
        pd.DataFrame(), Year(0, 0, 0, 0), None,
    )  # fmt: skip
    return next_release(start, table, settings)


def next_release(
    last: Series, table: pd.DataFrame, settings: Settings | None = None, leavers: str = "cumulative"
) -> Series:
    """Return the series with the release of a year's table, which has a row of a person at most.

    ``settings``: limits of the groups of those who are new, and how they are written; k and l of all. ``leavers``: a
    key of :data:`LEAVERS`.

    Raises :class:`ParameterError` without a column that says whose each row is, for rows of nobody, several rows of a
    person, or another key, and what a flow raises; a limit that those who are new cannot keep lets them wait.

    >>> import anonymizer as an
    >>> columns = ["patient_id", "age", "sex", "diagnosis"]
    >>> table = an.SAMPLES["visits"].load().drop_duplicates("patient_id")[columns].head(600)
    >>> roles = {"quasi_identifying": ["age", "sex"], "sensitive": "diagnosis", "person": "patient_id"}
    >>> schema = an.Schema.of(table, **roles)
    >>> first = an.first_release(table.head(400), schema)
    >>> second = an.next_release(first, table)
    >>> len(second.persons) >= len(first.persons)
    True
    """
    settings, schema = settings or Settings(), last.schema
    if leavers not in LEAVERS:
        raise ParameterError(
            f"There is no way {leavers!r} to treat who is gone.", value=leavers, remedy=f"Use {', '.join(LEAVERS)}."
        )
    who = persons_in(table, schema)
    at = last.persons.get_indexer(who)
    is_new, there = at < 0, np.zeros(len(last.persons), np.bool_)
    there[at[~is_new]] = True
    closed, gone = last.closed.copy(), ~there & ~last.closed[last.class_of]
    if leavers == "close":
        closed[last.class_of[gone]] = True
    rows, held_back = this_year(last, treated_table(table, schema), at, settings.limits.l or 0)
    new = new_groups(table[is_new].reset_index(drop=True), schema, settings, is_first=not len(last.persons))
    came = 0 if new is None else len(new[0])
    persons, class_of, boxes = last.persons, last.class_of, last.boxes
    if new is not None:
        order, new_class, new_boxes, new_rows = new
        persons = persons.append(who[is_new][order])
        class_of = np.append(class_of, len(boxes) + new_class)
        boxes = new_boxes if boxes.empty else pd.concat([boxes, new_boxes], ignore_index=True)
        rows = new_rows if rows.empty else pd.concat([rows, new_rows], ignore_index=True)
        closed = np.append(closed, np.zeros(len(new_boxes), np.bool_))
    leaves = ~closed[class_of]
    if leavers == "increments":
        leaves[: len(last.persons)] = False
    released = in_order(boxes.iloc[class_of[leaves]].reset_index(drop=True), rows[leaves].reset_index(drop=True))
    released = released[list(schema.released)]
    year = Year(
        int((~is_new).sum()), came, int(is_new.sum()) - came, int(gone.sum()),
        int(closed.sum() - last.closed.sum()), held_back,
    )  # fmt: skip
    whose = np.arange(len(released))
    verification = verify(released, schema, whose=whose, **settings.limits.required) if len(released) else None
    return Series(schema, persons, class_of, boxes, closed, rows, released, year, verification)


def persons_in(table: pd.DataFrame, schema: Schema) -> "pd.Index[Any]":
    """Return the text of the person of each row (n,). Raises :class:`ParameterError` where rows are not persons."""
    if schema.person is None:
        raise ParameterError(
            "Nothing says who is who, so last year's people cannot be recognised.",
            remedy="Name the column that says whose each row is: --person.",
        )
    texts = table[schema.person].astype(object).map(value_text, na_action="ignore")
    nobody, again = int(texts.isna().sum()), int(texts.duplicated().sum())
    if nobody or again:
        raise ParameterError(
            f"{plural(nobody or again, 'row')} {'of nobody' if nobody else 'of people who have another one'}: groups "
            "for life are of tables with one row of a person.",
            column=schema.person,
            remedy="Leave these rows out, or put the rows of a person together.",
        )
    return pd.Index(texts)


def this_year(last: Series, table: pd.DataFrame, at: NDArray[np.int64], l: int) -> tuple[pd.DataFrame, int]:  # noqa: E741
    """Return the other columns of everybody in earlier releases (p rows), as they are this year where they are there,
    and in how many classes all stay as they were, because one of the sensitive columns would have fewer than l values.
    ``at`` (n,): the place of each row of the table among the persons, -1 of who is new."""
    rows, again = last.rows.copy(), at >= 0
    if not len(rows):
        return rows, 0
    for name in rows.columns:
        values = rows[name].astype(object).to_numpy(copy=True)
        values[at[again]] = table[name].astype(object).to_numpy()[again]
        rows[name] = pd.Series(values, index=rows.index).astype(object)
    fails = np.zeros(len(last.boxes), np.bool_)
    for name in last.schema.sensitive:
        if l > 1 and last.schema[name].kind is Kind.CATEGORICAL:
            fails[rows[name].groupby(last.class_of).nunique().loc[lambda values: values < l].index] = True
    same = fails[last.class_of]
    rows[same] = last.rows[same]
    return rows.infer_objects(), int((fails & ~last.closed).sum())


def new_groups(
    table: pd.DataFrame, schema: Schema, settings: Settings, is_first: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], pd.DataFrame, pd.DataFrame] | None:
    """Return the released rows of people who are new: the place of each in the table, its class, the boxes of the
    classes, and the other columns; ``None`` where these are too few, or too much alike, for the limits. After the first
    release they are packed, as one region: they are few. Raises :class:`GuaranteeError` where the first cannot be."""
    if is_first:
        release = Flow(table, schema, settings).release
    elif not len(table):
        return None
    else:
        try:
            release = Flow(table, schema, settings.but(min_leaf=len(table), grouping=None, generalizer="pack")).release
        except GuaranteeError:
            return None
    frame, names = release.frame(), list(schema.quasi_identifying)
    classes = look_alikes(frame, names)
    boxes = frame[names].iloc[classes.first].astype(object).reset_index(drop=True)
    others = frame[[name for name in schema.released if name not in names]]
    others = others.astype({name: object for name in others if isinstance(others[name].dtype, pd.CategoricalDtype)})
    return release.order, classes.class_of, boxes, others


def in_order(boxes: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return released rows side by side, sorted by their cells and then by their other values, as text: the order tells
    nothing beside what the rows hold, and no box stands elsewhere because of other values."""
    table = pd.concat([boxes, others], axis=1)
    ranks = [
        pd.factorize(table[name].astype(object).map(value_text, na_action="ignore"), sort=True)[0] for name in table
    ]
    table = table.iloc[np.lexsort(ranks[::-1])].reset_index(drop=True)
    return table.astype(dict.fromkeys(boxes, "category"))
