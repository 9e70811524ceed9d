"""Attacks on the release, on the page: who is singled out by its boxes, and attacks that are run when asked for."""

import pandas as pd
import streamlit as st

from anonymizer.attacks.attackers import NEAR
from anonymizer.attacks.isolation import Isolation
from anonymizer.attacks.outcome import Rate
from anonymizer.drawing.charts import candidates_figure
from anonymizer.releasing.one_way import odds_of
from anonymizer.releasing.release import Release
from anonymizer.studies.attack import SECONDS, TESTED, TRIES, Attacks, attack_over_releases, attack_release
from ui.background import Job
from ui.controls import count, plain, share
from ui.job import answer_of_job
from ui.workspace import Workspace

JOB = "attack"
CONFIG = {"displayModeBar": False}
IN_A_ROW = 3
"""Outcomes that stand side by side."""


def attacks(ws: Workspace, release: Release) -> None:
    """Draw the attacks: the button that runs them, then what they say of the table and of the release."""
    together(ws, release)
    singled_out(ws.flow.isolation)
    st.caption(
        "The one-way tables of a packet have noise. Somebody who knows everybody else learns odds from them. "
        f"One column makes a value at most {odds_of(ws.k):.2f} times as likely as another. Over columns, and over "
        "releases with other tables, the odds multiply. "
        "What was chosen by looking at the table has no such bound: the cells, and which columns have a table."
    )
    groups_offer(ws, release)
    st.markdown(
        "Three attacks, one for each criterion of the European data protection authorities (WP216). They single "
        "somebody out, find a person's row, and guess a sensitive value. Each is run on the original and on the "
        "release, and every guess is counted. Three more attack the method, by what it tells beyond the cells."
    )
    outcome = run(ws, release)
    if outcome is None:
        st.caption(
            f"{count(TRIES)} descriptions and at most {count(TESTED)} rows are tried, always the same ones. It takes "
            f"seconds, with a large table a minute or more; making the release again ends after twice {SECONDS:g} "
            "seconds. Reports hold the outcome when it was run."
        )
        return
    for first in range(0, len(outcome.outcomes), IN_A_ROW):
        places = st.columns(IN_A_ROW, gap="large")
        for place, one in zip(places, outcome.outcomes[first:], strict=False):
            with place, st.container(border=True):
                tries = one.rates[1].tries
                st.metric(plain(one.name.capitalize()), share(one.after) if tries else "not counted")
                confidence = f" With 95% confidence {interval(one.interval)}." if tries else ""
                st.caption(f"{plain(one.sentence)}{confidence}")
    if outcome.inferences:
        guesses(outcome)
    st.caption("An attack that fails proves nothing about cleverer ones; the checks above are what is proved.")


def singled_out(isolation: Isolation) -> None:
    """Draw who is singled out by an end or a level of their own box: exact, and always there."""
    st.markdown(f"**{plain(isolation.sentence)}** This is counted exactly.")
    figures = {
        "Rows singled out": isolation.records,
        "Groups with one": isolation.groups,
        f"Ends of one {isolation.holder}": isolation.ends,
        f"Levels of one {isolation.holder}": isolation.levels,
    }
    for place, (title, rate) in zip(st.columns(len(figures)), figures.items(), strict=True):
        place.metric(plain(title), share(rate.share))
    columns = sorted(isolation.by_column.items(), key=lambda item: -item[1].share)
    shares = ", ".join(f"{plain(name)} {share(rate.share)}" for name, rate in columns)
    st.caption(
        "The box [29, 61] says that somebody in its group is 29, and [25, 64] in steps of 5 that somebody is 25 to 29. "
        f"When only one {plain(isolation.holder)} is, these words mean that {plain(isolation.holder)} and no other. "
        f"By column: {shares}."
    )


def together(ws: Workspace, release: Release) -> None:
    """Draw what the release tells together with the earlier ones of these people: exact; nothing where there are
    none."""
    flow = ws.flow
    answer = ws.answers.get("releases together", (release, flow.earlier), lambda: attack_over_releases(flow))
    if answer is None:
        return
    st.subheader(plain(answer.headline), anchor=False)
    labels = "One release alone", answer.title
    st.plotly_chart(candidates_figure(answer.names, answer.steps, labels), key="candidates", config=CONFIG)
    figures = {f"Fewer than {answer.k:,} candidates": answer.below, "No other candidate": answer.alone}
    for place, (title, number) in zip(st.columns(len(figures)), figures.items(), strict=True):
        place.metric(
            plain(title), f"{share(number / (answer.persons or 1))} of people", help=f"{count(number)} people."
        )
    for left in answer.values:
        st.markdown(plain(left.sentence))
    st.caption(
        "Candidates of a person are all who are in the same group in every release: somebody who joins the rows of all "
        "releases cannot tell them apart. Sets and counts of values need no joined row. Candidates and sets are exact; "
        "counting looks at one group at a time, so all groups at once may tell more."
    )


def groups_offer(ws: Workspace, release: Release) -> None:
    """Draw, when it is asked for, what public groups of levels would change, and what they cost."""
    if ws.settings.writing not in ("sets", "groups") or not ws.flow.isolation.levels.right:
        return
    if not st.toggle("What public groups of levels would change", key="public groups"):
        return

    def figures_as(writing: str) -> tuple[Isolation, float]:
        flow = ws.flow.but(writing=writing)
        return flow.isolation, flow.utility.gcp

    ways = ws.answers.get("price of groups", release, lambda: [figures_as("sets"), figures_as("groups")])
    (before, exact), (after, closed) = ways
    st.markdown(
        f"**Written as public groups of levels, boxes single out {share(after.records.share)} of the rows instead "
        f"of {share(before.records.share)}, and lose {share(closed)} of the detail (GCP) instead of {share(exact)}.** "
        "Choose them on Tree, under *How cells are written*."
    )


def run(ws: Workspace, release: Release) -> Attacks | None:
    """Return the outcome, as soon as it is there; draws the button, progress and Cancel."""
    flow = ws.flow

    def work(job: Job) -> Attacks:
        return attack_release(flow, progress=job.say, cancelled=job.cancelled)

    outcome: Attacks | None = answer_of_job(ws, JOB, release, "Run the attacks", work)
    return outcome


def outcome_of(ws: Workspace, release: Release) -> Attacks | None:
    """Return the outcome of attacks on this release when they were run, otherwise ``None``; draws nothing."""
    job = ws.jobs.get(JOB)
    if job is None or job.key is not release or not job.done.is_set() or job.failure is not None:
        return None
    answer: Attacks | None = job.answer
    return answer


def guesses(outcome: Attacks) -> None:
    """Draw how often each sensitive column is guessed right, by whom, before and after."""
    st.markdown("**How often a sensitive value is guessed right**, by somebody who knows all quasi-identifiers:")
    rows = {
        one.column: {
            "added by the release": share(one.advantage),
            "without looking": rate_text(one.blind),
            "look-up, release": rate_text(one.look_up[1]),
            "model, release": rate_text(one.model[1]),
            "look-up, original": rate_text(one.look_up[0]),
            "model, original": rate_text(one.model[0]),
        }
        for one in outcome.inferences
    }
    st.dataframe(pd.DataFrame.from_dict(rows, orient="index"), width="stretch")
    st.caption(
        "Model: a decision tree, or for numbers the better of a regression tree and linear regression, fitted to what "
        "is published. Look-up: the most frequent value, or the mean, of the rows that fit the person. A number counts "
        f"as right within {NEAR:g} standard deviations. Added by the release: of what a blind guess leaves open, the "
        "share that the better of the two closes."
    )


def rate_text(rate: Rate) -> str:
    """Return a share with its interval."""
    return f"{share(rate.share)} ({interval(rate.interval)})" if rate.tries else "nobody has a value"


def interval(ends: tuple[float, float]) -> str:
    """Return a confidence interval in words."""
    return f"{share(ends[0])} to {share(ends[1])}"
