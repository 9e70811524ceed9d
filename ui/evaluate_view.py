"""The comparison of methods on the page: what is compared, what it will cost, how far it is, and what came out."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from anonymizer.comparison import (
    as_table,
    by_fold,
    differences,
    drawable,
    tradeoff_figure,
    tradeoff_sentence,
    unbeaten,
)
from anonymizer.experiment import MEASURES, Outcome, evaluate, expected_seconds
from anonymizer.generalize import GENERALIZERS, GUARANTEES, NUMBERS, WRITINGS
from anonymizer.read import Reading
from anonymizer.schema import Schema
from ui.controls import count, duration, plain, plural, slider_ends
from ui.downloads import file_stem
from ui.job import Job, begun, failed, watch
from ui.tree_choices import GROUPINGS, groupings_for
from ui.workspace import Workspace

JOB = "evaluation"
KS = (2, 3, 5, 10, 15, 20, 30, 50, 100)
WEIGHTS = tuple(step / 10 for step in range(11))
SAMPLES = (2_000, 5_000, 10_000, 20_000, 50_000)
LARGE = 20_000
"""Records beyond which a sample is offered first."""

SHORT = {
    "least": "least: as many groups as k allows",
    "error-risk": "error-risk (Yang et al.)",
    "error-digression": "error-digression (Li and Sarkar)",
    "blend": "blend of target and columns",
    "median-mondrian": "median-mondrian",
    "infogain-mondrian": "infogain-mondrian",
    "regression-mondrian": "regression-mondrian",
}
"""Groupings as the figure and the files call them, with a few words."""

MEANINGS = {
    "gcp": "how much of its column's range a released cell leaves open, on average: 0 is every value kept, 1 nothing",
    "error": "share of left-out people whose class a decision tree learnt from the released records predicts wrongly",
    "rsd": "error of guessing a sensitive number by its group's mean, as a share of guessing by the whole table's: "
    "1 gives nothing away, 0 everything",
    "mape_linear": "how far a linear regression learnt from the released records misses the sensitive numbers of "
    "left-out people, as a share of their value (numbers that are 0 do not count)",
    "mape_tree": "the same of a regression tree",
    "groups": "groups of the training records",
    "smallest": "the smallest of them, in records",
    "seconds": "to group and generalize the training records, without the model",
}


@dataclass(frozen=True)
class Asked:
    """What is to be compared."""

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
        """How many settings are measured in every fold, beside the original records."""
        return len(self.groupings) * len(self.generalizers) * len(self.ks)


def choices(ws: Workspace) -> Asked | None:
    """Everything that is chosen beforehand; ``None`` as long as something is missing."""
    kept = ws.view.setdefault("evaluate", {})
    with st.container(border=True):
        groupings = asked_groupings(ws, kept)
        generalizers = several(
            "Ways to make the records of a group look alike",
            {name: GUARANTEES[name].title for name in GENERALIZERS},
            kept.get("generalizers", ["uniform", "refine"]),
            "generalizers",
        )
        left, right = st.columns(2, gap="large")
        with left:
            usual = kept.get("ks", [10, 20, 30])
            ks = several("k: fewest records in a group", {k: f"{k}" for k in KS}, usual, "ks")
            sample = asked_sample(ws, kept)
        with right:
            folds = st.slider("Folds", 2, 10, kept.get("folds", 5), key="evaluate folds")
            slider_ends("quick, rough", "slow, as in the papers")
        writing, numbers, significance = asked_details(ws, kept)
    kept |= {"generalizers": generalizers, "ks": ks, "folds": folds}
    if not (groupings and generalizers and ks):
        st.info("Choose at least one grouping, one way to generalize and one k.", icon=":material/info:")
        return None
    return Asked(
        tuple(groupings), tuple(generalizers), tuple(sorted(ks)), int(folds), sample, writing, numbers, significance
    )


def several(label: str, options: dict[Any, str], chosen: list[Any], what: str, explained: str = "") -> list[Any]:
    """Some of the options, all of them in view."""
    found = st.pills(
        label, list(options), selection_mode="multi", default=[option for option in chosen if option in options],
        format_func=options.get, key=f"evaluate {what}", help=explained or None,
    )  # fmt: skip
    return list(found)


def asked_groupings(ws: Workspace, kept: dict[str, Any]) -> list[str]:
    """The groupings that fit the sensitive columns; a blend once for each of its weights."""
    fitting = groupings_for(ws)
    titles = {**{name: SHORT[name] for name in fitting}, "blend": SHORT["blend"]}
    chosen = several(
        "Ways to make groups",
        titles,
        kept.get("groupings", ["least", "blend", "median-mondrian"]),
        f"groupings {len(titles)}",
        "  \n".join(f"**{SHORT[name]}.** {GROUPINGS[name][1]}" for name in fitting),
    )
    kept["groupings"] = chosen
    if "blend" not in chosen:
        return chosen
    weights = several(
        "Weights of the blend, from keeping the columns (0) to keeping the analysis (1)",
        {weight: f"{weight:g}" for weight in WEIGHTS},
        kept.get("weights", [0.2, 0.8]),
        "weights",
    )
    kept["weights"] = weights
    return [name for name in chosen if name != "blend"] + [f"blend:{weight:g}" for weight in sorted(weights)]


def asked_sample(ws: Workspace, kept: dict[str, Any]) -> int | None:
    """How many records take part; a large table begins with a sample."""
    n = 0 if ws.table is None else len(ws.table)
    sizes = [size for size in SAMPLES if size < n]
    if not sizes:
        return None
    usual = kept.get("sample", max(size for size in sizes if size <= LARGE) if n > LARGE else 0)
    names = [0, *sizes]
    sample = st.selectbox(
        "Records that take part",
        names,
        names.index(usual) if usual in names else 0,
        format_func=lambda size: f"{count(size)} drawn at random" if size else f"all {count(n)}",
        key=f"evaluate sample {n}",
        help="A sample is quicker. But fewer people look alike in it, so at the same k more detail is lost than in the "
        "whole table: compare settings with each other, not with the whole table's figures.",
    )
    kept["sample"] = sample
    return sample or None


def asked_details(ws: Workspace, kept: dict[str, Any]) -> tuple[str, str, float | None]:
    """How cells are written, and the significance of error-digression."""
    with st.expander("How cells are written", icon=":material/tune:"):
        first, second, third = st.columns(3, gap="medium")
        chosen = []
        for place, what, label, known in (
            (first, "writing", "Categories", WRITINGS),
            (second, "numbers", "Numbers and dates", NUMBERS),
        ):
            names = list(known)
            chosen.append(
                place.selectbox(
                    label,
                    names,
                    names.index(kept.get(what, names[0])),
                    format_func=lambda name, known=known: known[name].title,
                    key=f"evaluate {what}",
                )
            )
            kept[what] = chosen[-1]
        significance = None
        if "error-digression" in groupings_for(ws):
            significance = third.number_input(
                "α of error-digression", 0.001, 0.5, kept.get("significance"), step=0.01, format="%.3f",
                placeholder="off", key="evaluate significance",
                help="Branches whose numbers vary together unlike the whole table's, by the covariance test at α, are "
                "merged as well (Li and Sarkar 2014). It promises nothing about the groups.",
            )  # fmt: skip
            kept["significance"] = significance
    return chosen[0], chosen[1], significance


def comparing(ws: Workspace, asked: Asked | None) -> None:
    """What it will cost, the button that begins, and progress with Cancel."""
    job = held_job(ws)
    if job is not None and not job.done.is_set():
        progress(job)
        return
    if asked is None or ws.reading is None or ws.schema is None:
        return
    records = asked.sample or len(ws.reading.frame)
    seconds = expected_seconds(
        records, len(ws.schema.quasi_identifying), asked.groupings, asked.generalizers, asked.ks, asked.folds
    )
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        asked_for = st.button("Compare", key="begin evaluation", type="primary", icon=":material/calculate:")
        st.caption(
            f"{plural(asked.settings, 'setting')} and the original records, each learnt from and judged "
            f"{asked.folds} times on {plural(records, 'record')}: about **{duration(seconds)}** on an ordinary "
            "computer. It can be cancelled; the folds that are complete are kept."
        )
    if asked_for:
        with place.container():
            progress(begin(ws, asked, ws.reading, ws.schema))


def progress(job: Job) -> None:
    """How far it is."""
    watch(job, JOB, timed=True)
    st.caption("It goes on when you leave this page.")


def begin(ws: Workspace, asked: Asked, reading: Reading, schema: Schema) -> Job:
    """Start the evaluation."""
    return begun(
        ws,
        JOB,
        (reading, schema, asked),
        lambda job: evaluate(
            reading.frame,
            schema,
            folds=asked.folds,
            ks=asked.ks,
            groupings=asked.groupings,
            generalizers=asked.generalizers,
            writing=asked.writing,
            numbers=asked.numbers,
            significance=asked.significance,
            sample=asked.sample,
            progress=job.say,
            cancelled=job.cancelled,
        ),
    )


def held_job(ws: Workspace) -> Job | None:
    """The newest evaluation of this table in these roles."""
    job: Job | None = ws.view.get(JOB)
    if job is None or ws.reading is None or job.key[0] is not ws.reading or job.key[1] != ws.schema:
        return None
    return job


def results(ws: Workspace) -> None:
    """What came out: said, drawn, as a table, and as files."""
    job = held_job(ws)
    if job is None or not job.done.is_set():
        return
    if job.failure is not None:
        failed(job.failure)
        return
    found: tuple[Outcome, ...] = job.answer
    if not found:
        st.info("Stopped before the first fold was complete: there is nothing to compare.", icon=":material/info:")
        return
    asked: Asked = job.key[2]
    st.subheader("What each setting loses, and what can still be learnt", anchor=False)
    st.caption(told(ws, asked, found))
    drawn(ws, found)
    table(found, asked)
    downloads(ws, found)


def told(ws: Workspace, asked: Asked, found: tuple[Outcome, ...]) -> str:
    """On what the figures rest."""
    n = 0 if ws.table is None else len(ws.table)
    who = f"{count(asked.sample)} of {plural(n, 'record')}, drawn at random" if asked.sample else plural(n, "record")
    folds = f"{plural(asked.folds, 'fold')}"
    if found[0].folds < asked.folds:
        folds = f"{found[0].folds} of {folds} (stopped early)"
    return (
        f"Means over {folds} of {who}. In each fold the groups are made and the models learnt without the people they "
        "are judged on, who then get the cells of the group they fall into."
    )


def drawn(ws: Workspace, found: tuple[Outcome, ...]) -> None:
    """Loss against error, each setting a point."""
    offered = drawable(found)
    if not offered:
        st.caption("There is no sensitive column to predict, so there is no figure.")
        return
    measure = offered[0]
    if len(offered) > 1:
        kept = ws.view.get("evaluate measure")
        measure = st.segmented_control(
            "Loss against", offered, default=kept if kept in offered else offered[0], required=True,
            format_func=MEASURES.get, key=f"evaluate measure {' '.join(offered)}",
        )  # fmt: skip
        ws.view["evaluate measure"] = measure
    st.markdown(f"**{plain(tradeoff_sentence(found, measure))}**")
    st.plotly_chart(tradeoff_figure(found, measure), key="tradeoff", config={"displayModeBar": False})
    best = unbeaten(found, measure)
    st.caption(
        f"Numbers beside points are k. To the left less detail is lost; {MEASURES[measure]}: {MEANINGS[measure]}. "
        f"{plural(len(best), 'setting')} of {len(found) - 1} are ringed: at the same k no other is as good in both and "
        "better in one."
    )


def table(found: tuple[Outcome, ...], asked: Asked) -> None:
    """The means, each measure in words, and paired t-tests."""
    means = as_table(found)
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
        tests(found)


def tests(found: tuple[Outcome, ...]) -> None:
    """Every setting against a chosen one, at the same k."""
    settings = list(dict.fromkeys((o.grouping, o.generalizer) for o in found[1:]))
    if len(settings) < 2 or found[0].folds < 2:
        st.caption("This needs two settings and two folds.")
        return
    against = st.selectbox("Compared with", settings, format_func=" · ".join, key=f"evaluate against {len(settings)}")
    rows = pd.DataFrame(differences(found[1:], "/".join(against)))
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
        "most of their records, so it is too small rather than too large."
    )


def downloads(ws: Workspace, found: tuple[Outcome, ...]) -> None:
    """The figures as files."""
    stem = file_stem(ws.reading.name if ws.reading else "")
    look = {"mime": "text/csv", "on_click": "ignore", "icon": ":material/download:"}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button("Means (CSV)", lambda: as_table(found).to_csv(index=False), f"{stem}-evaluation.csv", **look)
        st.download_button("Every fold (CSV)", lambda: by_fold(found), f"{stem}-evaluation-folds.csv", **look)
        st.caption("Only figures of whole folds; no record is in these files.")
