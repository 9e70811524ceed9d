"""The comparison of methods on the page: what is compared, what it will cost, how far it is, and what came out."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.groups.recipe import grouping_words
from anonymizer.measuring.comparison import (
    as_table,
    asked_by,
    by_fold,
    by_rank,
    differences,
    drawable,
    in_use,
    ranks,
    title_of,
    tradeoff_figure,
    tradeoff_sentence,
    unbeaten,
)
from anonymizer.measuring.measures import FORMS, MEASURES, MODELS, Outcome, number_measure
from anonymizer.reading.files import Reading
from anonymizer.releasing.generalize import NUMBERS, WRITINGS, Guarantee, guarantee_of
from anonymizer.schema import Schema
from anonymizer.settings import NAMES, SETTINGS, Limits, in_text, name_of, names_of
from anonymizer.studies.experiment import evaluate, expected_seconds
from ui.background import Job
from ui.controls import count, duration, place_of, plain, plural, slider_ends
from ui.evaluate.state import EvaluateState
from ui.job import before_answer, show_failure, start_job, watch
from ui.method import groupings_for
from ui.release.downloads import file_stem
from ui.slider import alpha_number
from ui.workspace import Workspace

JOB = "evaluation"
KS = (2, 3, 5, 10, 15, 20, 30, 50, 100)
WEIGHTS = tuple(step / 10 for step in range(11))
SAMPLES = (2_000, 5_000, 10_000, 20_000, 50_000)
LARGE = 20_000
"""Records beyond which a sample is offered first."""

FORM_WORDS = {
    "raw": "their original values, as a recipient has them",
    "box": "the cells that they would have got, which presumes the tree: only who has it can tell them",
}
"""How a model is asked about the people left out."""

FIGURES_OF_NUMBERS = {
    "mape": "how far the predictions of a {model} learnt from the released rows miss the sensitive numbers of "
    "left-out rows, as a share of their value (numbers that are 0 do not count)",
    "rmse": "the same, of the target: the root of the mean squared miss, in the target's own unit, dates in days",
    "mae": "the same, of the target: the mean miss, in its own unit",
    "r2": "share of the target's squared distance from its mean that the {model} explains: 1 is all, 0 or less nothing",
    "slope": "by how much the target rises where the prediction of the {model} rises by 1: 1 is right, less says that "
    "high predictions are too high and low ones too low",
}

MEANINGS = {
    "gcp": "how much of its column's range a released cell leaves open, on average: 0 is every value kept, 1 nothing",
    "two_way": "share of rows that cross tables of two columns, made from the released rows, show in a wrong cell",
    "ranges": "how far counts over ranges of two or three columns, made from the released rows, are off on average, as "
    "a share of the count (of 1% of the rows at least)",
    "ranks": "the same as detail lost, where a number or date stands for its rank: the share of rows below it",
    "hellinger": "how far the table of a single column, made from the released rows, is from the original's, on "
    "average: 0 is equal, 1 has nothing in common",
    "divergence": "the same by Kullback and Leibler: the bits that are lost, on average, by who takes one for the "
    "other",
    "correlations": "by how much the correlation of two columns of numbers changes, on average",
    "coefficients": "of the coefficients of a regression of the target on the other columns, learnt from the released "
    "rows, the share inside the 95% interval of the same regression of the original rows",
    "rsd": "error of guessing a sensitive number by its group's mean, as a share of guessing by the whole table's: "
    "1 gives nothing away, 0 everything",
    **{
        f"error_{form}": "share of left-out rows whose class a decision tree learnt from the released rows "
        f"predicts wrongly, asked by {words}"
        for form, words in FORM_WORDS.items()
    },
    **{
        number_measure(figure, model, form): f"{meaning.format(model=MODELS[model])}; asked by {words}"
        for form, words in FORM_WORDS.items()
        for model in MODELS
        for figure, meaning in FIGURES_OF_NUMBERS.items()
    },
    "groups": "groups of the training rows",
    "smallest": "the smallest of them, in rows",
    "seconds": "to group and generalize the training rows, without the model",
}


@dataclass(frozen=True)
class Comparison:
    """What is to be compared, and how."""

    groupings: tuple[str, ...]
    generalizers: tuple[str, ...]
    ks: tuple[int, ...]
    folds: int
    sample: int | None
    writing: str
    numbers: str
    significance: float | None

    @property
    def settings(self) -> int:
        """Settings that are measured in every fold, beside the original records."""
        return len(self.groupings) * len(self.generalizers) * len(self.ks)


def choices(ws: Workspace) -> Comparison | None:
    """Return everything that is chosen beforehand; ``None`` as long as something is missing."""
    state = ws.state(EvaluateState)
    with st.container(border=True):
        groupings = choose_groupings(ws, state)
        state.generalizers = several(
            "Ways to make the rows of a group look alike",
            {name: guarantee_of(name).title for name in names_of("generalizer")},
            state.generalizers,
            "generalizers",
        )
        left, right = st.columns(2, gap="large")
        with left:
            state.ks = several(SETTINGS["k"].title, {k: f"{k}" for k in KS}, state.ks, "ks")
            sample = choose_sample(ws, state)
        with right:
            state.folds = int(st.slider("Folds", 2, 10, state.folds, key="evaluate folds"))
            slider_ends("quick, rough", "slow, as in the papers")
        significance = choose_details(ws, state)
    if not (groupings and state.generalizers and state.ks):
        st.info("Choose at least one grouping, one way to generalize and one k.", icon=":material/info:")
        return None
    return Comparison(
        groupings, state.generalizers, tuple(sorted(state.ks)), state.folds, sample, state.writing, state.numbers,
        significance,
    )  # fmt: skip


def several(
    label: str, options: dict[Any, str], usual: tuple[Any, ...], what: str, explained: str = ""
) -> tuple[Any, ...]:
    """Return some of the options, all of them in view; ``usual``: those that are ticked when it is first drawn."""
    pills = st.pills(
        label, list(options), selection_mode="multi", default=[option for option in usual if option in options],
        format_func=lambda option: plain(options[option]), key=f"evaluate {what}", help=explained or None,
    )  # fmt: skip
    return tuple(pills)


def choose_groupings(ws: Workspace, state: EvaluateState) -> tuple[str, ...]:
    """Return the groupings, of those that fit the sensitive columns; a blend once for each of its weights."""
    fitting = groupings_for(ws)
    titles = {**{name: grouping_words(name)[0] for name in fitting}, "blend": name_of("criterion", "blend")}
    state.groupings = several(
        "Ways to make groups",
        titles,
        state.groupings,
        f"groupings {len(titles)}",
        "  \n".join(f"**{plain(titles[name])}.** {plain(grouping_words(name)[1])}" for name in fitting),
    )
    if "blend" not in state.groupings:
        return state.groupings
    state.weights = several(
        "Weights of the blend, from keeping the columns (0) to keeping the analysis (1)",
        {weight: f"{weight:g}" for weight in WEIGHTS},
        state.weights,
        "weights",
    )
    blends = (f"blend:{weight:g}" for weight in sorted(state.weights))
    return (*(name for name in state.groupings if name != "blend"), *blends)


def choose_sample(ws: Workspace, state: EvaluateState) -> int | None:
    """Return how many records take part, ``None`` for all; a large table begins with a sample."""
    n = ws.n_records
    sizes = [size for size in SAMPLES if size < n]
    if not sizes:
        return None
    usual = max(size for size in sizes if size <= LARGE) if n > LARGE else 0
    names = [0, *sizes]
    state.sample = st.selectbox(
        "Rows that take part",
        names,
        place_of(usual if state.sample is None else state.sample, names),
        format_func=lambda size: f"{count(size)} drawn at random" if size else f"all {count(n)}",
        key=f"evaluate sample {n}",
        help="A sample is quicker. But fewer people look alike in it, so at the same k more detail is lost than in the "
        "whole table: compare settings with each other, not with the whole table's figures.",
    )
    return state.sample or None


def choose_details(ws: Workspace, state: EvaluateState) -> float | None:
    """Return the significance of error-digression, ``None`` for off; draws how cells are written before it."""
    with st.expander("How cells are written", icon=":material/tune:"):
        first, second, third = st.columns(3, gap="medium")
        state.writing = choose_way(first, "writing", WRITINGS, state.writing)
        state.numbers = choose_way(second, "numbers", NUMBERS, state.numbers)
        if "error-digression" not in groupings_for(ws):
            return None
        with third:
            alpha_number(
                f"α of {plain(in_text(name_of('grouping', 'error-digression')))}",
                state.significance, partial(setattr, state, "significance"), "evaluate significance",
                "Branches whose numbers vary together unlike the whole table's, by the covariance test at α, are "
                "merged as well (Li and Sarkar 2014). It promises nothing about the groups.",
            )  # fmt: skip
            slider_ends("no test", "more branches merged")
        return state.significance or None


def choose_way(place: Any, setting: str, ways: dict[str, Guarantee], usual: str) -> str:
    """Return one of the ways to write a cell."""
    names = list(ways)
    return place.selectbox(  # type: ignore[no-any-return]
        SETTINGS[setting].title, names, place_of(usual, names), format_func=lambda name: ways[name].title,
        key=f"evaluate {setting}",
    )  # fmt: skip


def run_comparison(ws: Workspace, comparison: Comparison | None) -> None:
    """Draw what it will cost, the button that begins, and progress with Cancel."""
    job = current_job(ws)
    if job is not None and not job.done.is_set():
        progress(job)
        return
    if comparison is None or ws.reading is None or ws.schema is None:
        return
    records = comparison.sample or ws.n_records
    seconds = expected_seconds(
        records, len(ws.schema.quasi_identifying), comparison.groupings, comparison.generalizers, comparison.ks,
        comparison.folds,
    )  # fmt: skip
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Compare", key="begin evaluation", type="primary", icon=":material/calculate:")
        st.caption(
            f"{plural(comparison.settings, 'setting')} and the original rows, each learnt from and judged "
            f"{count(comparison.folds)} times on {plural(records, 'row')}: about **{duration(seconds)}** on an "
            "ordinary computer. It can be cancelled; the folds that are complete are kept."
        )
    if pressed:
        with place.container():
            progress(begin(ws, comparison, ws.reading, ws.schema))


def progress(job: Job) -> None:
    """Draw how far it is."""
    watch(job, JOB, len(job.parts))
    st.caption("It goes on when you leave this page.")


def begin(ws: Workspace, comparison: Comparison, reading: Reading, schema: Schema) -> Job:
    """Return the evaluation, started now."""
    limits = Limits(significance=comparison.significance)
    flow = ws.flow.but(**{**limits, "writing": comparison.writing, "numbers": comparison.numbers})
    return start_job(
        ws,
        JOB,
        (reading, schema, comparison),
        lambda job: evaluate(
            flow,
            folds=comparison.folds,
            ks=comparison.ks,
            groupings=comparison.groupings,
            generalizers=comparison.generalizers,
            sample=comparison.sample,
            each=job.parts.append,
            progress=job.say,
            cancelled=job.cancelled,
        ),
    )


def current_job(ws: Workspace) -> Job | None:
    """Return the newest evaluation of this table in these roles."""
    job = ws.jobs.get(JOB)
    if job is None or ws.reading is None or job.key[0] is not ws.reading or job.key[1] != ws.schema:
        return None
    return job


def results(ws: Workspace) -> None:
    """Draw what came out, or what is known after the folds so far: said, drawn, as a table, and as files."""
    job = current_job(ws)
    if job is None or (not job.done.is_set() and not job.parts):
        return
    if job.failure is not None:
        show_failure(job.failure)
        return
    if job.done.is_set():
        before_answer(JOB)
    outcomes: tuple[Outcome, ...] = job.answer if job.done.is_set() else job.parts[-1]
    if not outcomes:
        st.info("Stopped before the first fold was complete: there is nothing to compare.", icon=":material/info:")
        return
    comparison: Comparison = job.key[2]
    st.header("What each setting loses, and what can still be learnt", anchor=False)
    st.caption(basis_text(ws, comparison, outcomes, job.done.is_set()))
    tradeoff(ws, outcomes)
    table(outcomes, ws.state(EvaluateState).measure)
    if job.done.is_set():
        downloads(ws, outcomes)


def basis_text(ws: Workspace, comparison: Comparison, outcomes: tuple[Outcome, ...], ended: bool) -> str:
    """Return on what the figures rest."""
    n = ws.n_records
    who = plural(n, "row")
    if comparison.sample:
        who = f"{count(comparison.sample)} of {who}, drawn at random"
    folds = f"{plural(comparison.folds, 'fold')}"
    if outcomes[0].folds < comparison.folds:
        folds = f"{count(outcomes[0].folds)} of {folds} ({'stopped early' if ended else 'so far'})"
    return (
        f"Means over {folds} of {who}. In each fold the groups are made and the models learnt without the rows they "
        "are judged on."
    )


def tradeoff(ws: Workspace, outcomes: tuple[Outcome, ...]) -> None:
    """Draw loss against error, each setting a point."""
    offered = drawable(outcomes)
    if not offered:
        st.caption("There is no sensitive column to predict, so there is no figure.")
        return
    state, measure = ws.state(EvaluateState), offered[0]
    if len(offered) > 1:
        measure = st.selectbox(
            "What the table is for", offered,
            place_of(state.measure if state.measure in offered else offered[0], list(offered)),
            format_func=use_of, key=f"evaluate measure {len(offered)}",
        )  # fmt: skip
    state.measure = measure
    mine = in_use(outcomes, ws.flow.grouping, ws.settings.generalizer, ws.k)
    st.markdown(f"**{plain(tradeoff_sentence(outcomes, measure, mine))}**")
    st.plotly_chart(tradeoff_figure(outcomes, measure, mine), key="tradeoff", config={"displayModeBar": False})
    if mine is None:
        st.caption("Your setting is not among these: choose its grouping, its method and its k above to compare it.")
    best = unbeaten(outcomes, measure)
    rings = (
        f"{plural(len(best), 'setting')} of {len(outcomes) - 1} are ringed: at the same k no other is as good in both "
        "and better in one."
        if ranks(outcomes, measure)
        else "None is ringed: what differs is chance."
    )
    st.caption(
        f"Numbers beside points are k. To the left less detail is lost; {MEASURES[measure]}: {MEANINGS[measure]}. "
        + rings
    )


def use_of(measure: str) -> str:
    """Return what a table is for that is judged by a measure, in words, with the measure."""
    use = name_of("use", measure if measure in NAMES["use"] else measure.partition("_")[0])
    return f"{use}: {MEASURES[measure]}"


def table(outcomes: tuple[Outcome, ...], measure: str) -> None:
    """Draw the means, best first in ``measure`` at each k ("" for as they were tried), each measure in words, and
    paired t-tests."""
    form = st.segmented_control(
        "Rows left out are asked about by", list(FORM_WORDS), default="raw", required=True, format_func=FORMS.get,
        key="evaluate form",
    )  # fmt: skip
    st.caption(f"The models are asked about the rows left out by {FORM_WORDS[form]}.")
    means = with_names(asked_by(as_table(by_rank(outcomes, measure)), form))
    config: dict[str, Any] = {
        name: st.column_config.NumberColumn(MEASURES[name], help=MEANINGS[name], format="%.3f")
        for name in means
        if name in MEASURES
    }
    config |= {name: st.column_config.NumberColumn(MEASURES[name], format="%.0f") for name in ("groups", "smallest")}
    config["left_out"] = None
    st.dataframe(means, hide_index=True, column_config=config, key="evaluation table")
    with st.expander("What the columns mean", icon=":material/help:"):
        for name in means:
            if name in MEASURES:
                st.markdown(f"**{MEASURES[name]}**: {MEANINGS[name]}.")
        if "left_out" in means and means["left_out"].any():
            st.caption(f"Up to {count(means['left_out'].max())} values were 0 and do not count in MAPE.")
    with st.expander("Could the differences be chance? Paired t-tests", icon=":material/balance:"):
        tests(outcomes)


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the names of settings in place of their keys, in one column."""
    keys = [name for name in ("grouping", "generalizer", "made") if name in table]
    titles = [title_of(*row) for row in table[keys].itertuples(index=False)]
    return table.drop(columns=keys).assign(setting=titles)[["setting", *(name for name in table if name not in keys)]]


def tests(outcomes: tuple[Outcome, ...]) -> None:
    """Draw every setting against a chosen one, at the same k."""
    settings = list(dict.fromkeys((o.grouping, o.generalizer) for o in outcomes[1:]))
    if len(settings) < 2 or outcomes[0].folds < 2:
        st.caption("This needs two settings and two folds.")
        return
    against = st.selectbox(
        "Compared with", settings, format_func=lambda pair: title_of(*pair), key=f"evaluate against {len(settings)}"
    )
    rows = pd.DataFrame(differences(outcomes, "/".join(against)))
    rows = with_names(rows)
    rows["measure"] = rows["measure"].map(MEASURES)
    st.dataframe(
        rows, hide_index=True, key="evaluation tests",
        column_config={
            "difference": st.column_config.NumberColumn("difference", help="Less that of the other", format="%+.4f"),
            "p_value": st.column_config.NumberColumn("p", format="%.3g"),
        },
    )  # fmt: skip
    st.caption(
        "p: the chance of a difference at least this large over the folds if the two were equally good. Folds share "
        "most of their rows, so it is too small rather than too large."
    )


def downloads(ws: Workspace, outcomes: tuple[Outcome, ...]) -> None:
    """Draw the buttons that give the figures as files."""
    stem = file_stem(ws.reading.name if ws.reading else "")
    look = {"mime": "text/csv", "on_click": "ignore", "icon": ":material/download:"}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Means (CSV)", lambda: as_table(outcomes).to_csv(index=False), f"{stem}-evaluation.csv", **look
        )
        st.download_button("Every fold (CSV)", lambda: by_fold(outcomes), f"{stem}-evaluation-folds.csv", **look)
        st.caption("Only figures of whole folds; no row is in these files.")
