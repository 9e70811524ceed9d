"""The experiment tables of the papers: each is run by a button, its figures in print beside those here."""

import streamlit as st

from anonymizer.flow import Flow
from anonymizer.measuring.measures import Outcome
from anonymizer.reading.samples import SAMPLES
from anonymizer.schema import Schema
from anonymizer.studies.printed import TABLES, PrintedTable, beside_print, run_printed
from ui.background import Job
from ui.controls import count, plain, plural
from ui.evaluate.state import EvaluateState
from ui.job import answer_of_job
from ui.workspace import Workspace

SAMPLE = "hospital"
"""The sample that a table is run on where it does not fit the one at hand."""


def tables_of_papers(ws: Workspace) -> None:
    """Draw a button for each experiment table of the papers, and the figures of those that were run."""
    with st.expander("Tables of the papers", icon=":material/menu_book:", key="paper tables"):
        st.markdown(
            "Each button runs the experiment of a paper on your table. Figures in print are of the paper's own tables: "
            "compare their order, not their size."
        )
        for name, table in TABLES.items():
            one_table(ws, name, table)


def one_table(ws: Workspace, name: str, table: PrintedTable) -> None:
    """Draw the button of one table, its progress, and its figures."""
    at_hand = ws.schema is not None and table.fits(ws.schema)
    st.markdown(f"**{plain(table.title)}**: {plain(table.source)}.")
    if not at_hand:
        st.caption(f"Your table does not fit: it needs {plain(table.asks)}. The made-up hospital is taken instead.")
    folds = min(table.folds, ws.state(EvaluateState).folds)
    flow = ws.flow if at_hand else None

    def work(job: Job) -> tuple[Outcome, ...]:
        of = flow or hospital(table)
        return run_printed(
            of, table, folds=folds, progress=job.say, cancelled=job.cancelled, each=job.parts.append
        )  # fmt: skip

    key = (ws.reading if at_hand else None, ws.schema if at_hand else None, folds)
    label = f"Run {table.title} ({plural(folds, 'fold')})"
    outcomes: tuple[Outcome, ...] | None = answer_of_job(ws, f"printed {name}", key, label, work)
    if not outcomes:
        return
    figures = beside_print(table, outcomes)
    config = {
        column: st.column_config.NumberColumn(plain(column), format="%.4f") for column in figures.columns[3:]
    }  # fmt: skip
    st.dataframe(figures, hide_index=True, key=f"printed {name} table", column_config=config)
    where = "your table" if at_hand else "the made-up hospital"
    st.caption(f"Here: {where}, {count(outcomes[0].folds)} folds. {plain(table.remark)}")


def hospital(table: PrintedTable) -> Flow:
    """Return the made-up hospital with a target that a table fits: the diagnosis or the cost."""
    frame = SAMPLES[SAMPLE].load()
    target = "cost" if "error-digression" in {grouping for grouping, _ in table.methods.values()} else "diagnosis"
    columns = ["age", "sex", "marital_status", "occupation"]
    frame = frame[[*columns, target]]
    return Flow(frame, Schema.of(frame, quasi_identifying=columns, sensitive=[target]))
