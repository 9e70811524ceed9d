"""The table, and the release of the setting that is chosen, as samples of a population: what is known, and the risk."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from anonymizer.checking.persons import release_risk
from anonymizer.drawing.charts import RELEASED
from anonymizer.errors import AnonymizerError, MemoryOnlyError
from anonymizer.population.attackers import k_map_size
from anonymizer.population.individual import fewest_alike
from anonymizer.population.sample import COUNT, Population, SampleRisk, riskiest, sample_risk, special_of
from anonymizer.reading.child import read_in_child
from anonymizer.reading.files import endings
from anonymizer.schema import Role
from anonymizer.settings import SETTINGS
from ui.controls import count, plain, plural, problem, share, without_midnight
from ui.job import answer_of_job
from ui.server.framework import drop_uploads
from ui.server.memory import size_of
from ui.server.places import PLACES
from ui.what_if.state import WhatIfState
from ui.workspace import Workspace

CONFIG = {"displayModeBar": False}
EQUAL = 1e-12
ERROR = 0.05
"""How often a class of as few people as are accepted may be taken for a larger one."""
WORDS = {
    "everybody": "Everybody: the table is the whole population",
    "one in": "One person in so many",
    "weights": "As many as the sampling weights say",
    "file": "I have a file of the population",
}
MOST_LISTED = 20
BY = {"score": "few columns single them out", "risk": "a link to them is most likely right"}
ORIGINAL = "#8a8f98"


def as_a_sample(ws: Workspace) -> None:
    """Draw what is known of the population, the figures before and after, and the riskiest records."""
    if ws.in_pieces:
        raise MemoryOnlyError("The risk in a population")
    left, right = st.columns([2, 5], gap="large")
    with left:
        population = population_choice(ws)
    with right:
        before, after = risks(ws, population)
        st.markdown(f"**{headline(before, after)}**")
        st.plotly_chart(risk_figure(before, after), key="sample risks", config=CONFIG)
    st.dataframe(figures(before, after), hide_index=True, width="stretch", key="sample figures")
    st.caption(notes(before))
    judgement(ws, after)
    k_for_sample(ws, before)
    riskiest_records(ws, before)


def population_choice(ws: Workspace) -> Population:
    """Draw what is asked of the population, and return the answer; the same object as long as it is the same."""
    state = ws.state(WhatIfState)
    weight = ws.schema.only(Role.WEIGHT) if ws.schema else None
    names = ["weights", "file"] if weight else ["everybody", "one in", "file"]
    at = names.index(state.extent) if state.extent in names else 0
    state.extent = st.radio(
        "How many of the people whom the table could be about are in it?",
        names,
        at,
        format_func=WORDS.get,
        key=f"sample asked {ws.edition} {len(names)}",
    )
    if state.extent == "one in":
        state.one_in = st.number_input(
            "One person in", 1, 1_000_000, state.one_in, key=f"sample one in {ws.edition}", width=200
        )
        st.caption(f"The population has about {count(ws.n_records * state.one_in)} people.")
    if state.extent == "file":
        population_file(ws)
    fraction = 1 / state.one_in if state.extent == "one in" else None
    people = state.people if state.extent == "file" else None
    wildcard = st.toggle(
        "A missing value could be any value",
        state.population.wildcard,
        key=f"sample wildcard {ws.edition}",
        help="Else missing is a value of its own, as everywhere in Copse, which is the cautious way.",
    )
    now = state.population
    if (now.fraction, now.wildcard) != (fraction, wildcard) or now.table is not people:
        state.population = Population(fraction, people, wildcard)
        st.rerun()  # limits on people stand above, and go by it
    return state.population


def population_file(ws: Workspace) -> None:
    """Draw where the population is dropped. It is kept in memory, as long as the table is."""
    state = ws.state(WhatIfState)
    file = st.file_uploader(
        "The population: CSV, Parquet or Excel",
        endings(),
        key=f"sample file {ws.edition} {state.people_name}",
    )
    if file is not None:
        drop_uploads()
        try:
            reading = read_in_child(file.getvalue(), name=file.name)
            PLACES.require(ws.owner, file.name, size_of(reading.frame))
        except AnonymizerError as error:
            problem(error)
        else:
            state.people, state.people_name = reading.frame, file.name
            st.rerun()
    if state.people is None:
        st.caption(
            f"A row a person, or the number of people in a column *{COUNT}*: with all quasi-identifying columns, or "
            "counts by some columns of the table. Until there is one, the table counts as the whole population."
        )
    else:
        st.caption(f"{plain(state.people_name)}: {plural(len(state.people), 'row')}")


def risks(ws: Workspace, population: Population) -> tuple[SampleRisk, SampleRisk]:
    """Return the risk of the table and of the release that the setting makes."""
    flow = ws.flow
    key = (id(ws.reading), flow.schema.bare, population)
    with st.spinner("Comparing with the population …"):
        before = ws.answers.get("sample before", key, lambda: sample_risk(flow.table, flow.schema, population))
        after = ws.answers.get(
            "sample after",
            (*key, flow.release),
            lambda: release_risk(
                flow.released, flow.look_alikes, flow.release.order, flow.table, flow.schema, population
            ),
        )
    return before, after


def headline(before: SampleRisk, after: SampleRisk) -> str:
    """Return what the figures come to, in a sentence."""
    low, high = sorted((before.marketer, (before.alone_there or 0.0) * before.alone / len(before.rows)))
    apart = before.alone_there is not None and high > before.marketer
    chance = f"{share(low)} to {share(high)}, as two models have it," if apart else f"{share(before.marketer)}"
    text = (
        f"A link between a row and a person is right with a chance of {chance} on average, and of "
        f"{share(after.marketer)} after release."
    )
    if not before.alone:
        return f"Nobody is alone in the table. {text}"
    if before.sure is not None:
        alone = f"{count(before.sure)} of {plural(before.alone, 'unique row')} are alone in the population, too."
    elif before.size == len(before.rows):
        return f"The table counts as the whole population. {text}"
    else:
        part = "an unknown part" if before.alone_there is None else f"about {share(before.alone_there)}"
        alone = f"Of {plural(before.alone, 'unique row')} {part} are alone in the population, too."
    return f"{alone} {text}"


def risk_figure(before: SampleRisk, after: SampleRisk) -> go.Figure:
    """Return the share of the records whose risk is at least so large, before and after."""
    figure = go.Figure()
    for name, risk, colour in (("original", before.risk, ORIGINAL), ("release", after.risk, RELEASED)):
        values, counts = np.unique(risk, return_counts=True)
        above = counts[::-1].cumsum()[::-1] / len(risk)
        figure.add_scatter(
            x=np.concatenate([values, values[-1:]]),
            y=np.concatenate([above, [0.0]]),
            name=name,
            mode="lines",
            line={"shape": "vh", "color": colour, "width": 2},
            hovertemplate="risk of %{x:.3g} or more: %{y:.1%} of the rows<extra></extra>",
        )
    figure.update_layout(
        height=240,
        margin={"l": 0, "r": 10, "t": 4, "b": 0},
        xaxis={"title": "risk of a row", "tickformat": ".0%", "range": [0, None], "rangemode": "tozero"},
        yaxis={"title": "rows at risk", "tickformat": ".0%", "range": [0, 1.02]},
        legend={"orientation": "h", "y": 1.15},
    )
    return figure


def figures(before: SampleRisk, after: SampleRisk) -> pd.DataFrame:
    """Return the figures of the original and of the release, one a row."""
    rows = {
        "Rows": lambda risk: count(len(risk.rows)),
        "Unique rows": lambda risk: count(risk.alone),
        "Highest risk of a row": lambda risk: share(risk.risk.max()),
        "Average risk (marketer)": lambda risk: share(risk.marketer),
        "Links expected to be right": lambda risk: count(round(risk.risk.sum())),
        "Prosecutor, highest": lambda risk: share(risk.prosecutor.highest),
        "Journalist, highest": lambda risk: share(risk.journalist.highest),
        "k of k-map": lambda risk: "not counted" if risk.k_map is None else count(risk.k_map),
        "People alone in the population": people_alone,
        "Average risk of a household": lambda risk: "" if risk.household is None else share(risk.household.mean()),
    }
    table = pd.DataFrame(
        [{"Figure": name, "Original": text(before), "Release": text(after)} for name, text in rows.items()]
    )
    return table if before.household is not None else table.iloc[:-1]


def judgement(ws: Workspace, after: SampleRisk) -> None:
    """Draw the risk of the release for each attacker, the limit the steward accepts, and whether it holds."""
    st.subheader("Does the release keep what you accept?", anchor=False)
    chances = {
        "prosecutor": (after.prosecutor.highest, 1 / after.own),
        "journalist": (after.journalist.highest, 1 / after.risk),
        "marketer": (after.marketer, None),
    }
    for place, (name, (chance, sizes)) in zip(st.columns(3), chances.items(), strict=True):
        setting = f"{name}_limit"
        with place, st.container(border=True, height="stretch"):
            st.metric(f"{SETTINGS[setting].title} risk", share(chance))
            limit = st.number_input(
                "Highest risk you accept: 1 in",
                1,
                1_000_000,
                ws.settings[setting],
                key=f"sample {setting} {ws.version}",
            )
            ws.set(**{setting: limit})
            if chance <= 1 / limit + EQUAL:
                st.success("Within your limit.", icon=":material/check:")
            elif sizes is None:
                st.warning(f"Above your limit of {share(1 / limit)}.", icon=":material/warning:")
            else:
                part = share(float((sizes < limit * (1 - EQUAL)).mean()))
                st.warning(f"{part} of the rows are above your limit.", icon=":material/warning:")


def k_for_sample(ws: Workspace, before: SampleRisk) -> None:
    """Draw which k the accepted risk needs in a sample, where the size of the population is estimated; a button only
    raises k."""
    n, size = len(before.rows), before.size
    if before.exact or size <= n:
        return
    limit = ws.settings.journalist_limit
    by_risk = fewest_alike(1 / limit, n / size)
    by_map, _ = k_map_size(limit, n, size, ERROR, truncated=True)
    k = max(by_risk, by_map)
    st.markdown(
        f"Against the journalist, **k = {count(by_risk)}** keeps the risk of a row at one in {count(limit)}, if "
        f"everybody was as likely to be drawn. From **k = {count(by_map)}** on, a group stands for more than "
        f"{count(limit)} people of the population, but for an error of {share(ERROR)}. Neither stops the prosecutor."
    )
    if k > ws.k:
        st.button(
            f"Use k = {count(k)}", icon=":material/check:", key="sample use k", on_click=ws.open, args=({"k": k},)
        )


def people_alone(risk: SampleRisk) -> str:
    """Return how many people are alone in the population, estimated, or the records that were found to be."""
    if risk.uniques is None:
        return f"{count(risk.sure or 0)} of the rows"
    best = risk.uniques.best
    return "no estimate" if best.uniques is None else f"{best.uniques:,.0f} of {count(risk.uniques.population)}"


def notes(risk: SampleRisk) -> str:
    """Return what was known, which model was used and what the other models say."""
    text = f"Known of the population: {plain(risk.source)} ({count(risk.size)} people)."
    if risk.uniques is None or len(risk.uniques.estimates) == 1:
        return text
    best = risk.uniques.best
    models = [
        f"{one.model} {'no estimate' if one.uniques is None else f'{one.uniques:,.0f}'}"
        + (f" ({one.note})" if one.note else "")
        for one in risk.uniques.estimates
    ]
    log_linear = ""
    if risk.log_linear is not None:
        alone = f"{risk.log_linear.alone:,.1f}"
        log_linear = f" If columns were independent, {alone} of the unique rows would be alone there, too (log-linear)."
    return (
        f"{text} People alone in it, before release: by the model {plain(best.model)}; all models: "
        f"{plain('; '.join(models))}.{log_linear} An estimate is no bound: rows of a small sample are often alone "
        "although many people are like them, and the risk of a row is too low where most people are alone."
    )


def riskiest_records(ws: Workspace, before: SampleRisk) -> None:
    """Draw the riskiest records of the table, with what makes them risky."""
    st.subheader("The riskiest rows", anchor=False)
    st.caption("Of the table as it stands, for you alone: only the internal report names some, by row.")
    flow, state = ws.flow, ws.state(WhatIfState)
    table, schema = flow.table, flow.schema
    special = answer_of_job(
        ws, "special uniques", (id(ws.reading), schema.bare), "Look for them",
        lambda job: special_of(table, schema, job.go_on),
    )  # fmt: skip
    if special is None:
        return
    names = schema.quasi_identifying
    state.riskiest_by = st.radio(
        "Risky is whom", list(BY), list(BY).index(state.riskiest_by), format_func=BY.get, horizontal=True,
        key=f"riskiest by {ws.edition}",
    )  # fmt: skip
    records = riskiest(before, special, names, MOST_LISTED, state.riskiest_by)
    values = without_midnight(table[list(names)].iloc[[record.row for record in records]]).to_dict("records")
    rows = [
        {
            "Row": record.row + 1,
            "Risk": share(record.risk),
            "Score": f"{record.score:,.0f}",
            "Alone by": ", ".join(record.columns),
            "Sets": record.sets,
        }
        | its_values
        for record, its_values in zip(records, values, strict=True)
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", key="riskiest rows")
    most = int(np.argmax(special.contribution))
    part = f"**{plain(names[most])}** is part of {share(special.contribution[most])} of all scores. "
    st.caption(f"{part}A score adds up the sets of columns on which a row is alone, small ones counting more.")
