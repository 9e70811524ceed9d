"""Every number on Ready, on Release and in the report is that of the files alone: the original, the release, the roles.

Texts are swept: a number that :mod:`tests.naive_figures` does not explain fails, and so does a figure that is explained
and not there. Three things are no matter of the two files, and named where they are taken from elsewhere: how often the
target of people held out is guessed, what a rerun of the method tells, and the worst groups of the grown tree.
"""

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.flow import Flow
from anonymizer.gate.finding import Severity, together
from anonymizer.schema import Kind
from anonymizer.whatif.papers import paper_settings
from tests import naive_sentences as words
from tests.naive_figures import Naive, ends_of, percent, some
from tests.naive_measures import interval, slow_overlap
from tests.pages.figures import ACCEPTS, CASES, Case, Maybe, case_of, of_one_row, of_several, sweep
from tests.test_pipeline_figures import number
from tests.texts_with_numbers import page_texts
from tests.whatif.test_price import badges, text_of_file

DISCERNIBILITY = {
    False: "the sum of squared group sizes",
    True: "the sum of squared group sizes, and all rows once for each that was left out",
}


# Ready.

ON_READY = (
    r"You ask for k = \d+\.$",  # the setting
    r"^((?:\w+: )?Round to multiples of \d+|(?:k|l) becomes \d+|share_max becomes 0\.1|Ask for 2 values)$",
    r"^Work out prices \(about .*\)$",
    r"^(?:≤ )?\d+ of \d+ rows$",
    r"^Somebody who knows everybody's .* tries more rows, and so does --attack in a terminal\.$",
    r"^Let nobody own more than 1 in 10$|^Ask for groups of 10$|^The best chance of linking a person to a row: 1 / .*",
)
"""Numbers that are settings, times, or of a rerun of the method."""


def of_ready(case: Case) -> Iterable[str]:
    of, stops = case.of, case.cards("stops")
    yield f"{'1 risk is' if stops == 1 else f'{stops} risks are'} open"
    looks = case.cards("look")
    them = "it" if stops == 1 else "them"
    yield f"Repair {them}, or release {them} with a reason. {looks} more {'is' if looks == 1 else 'are'} worth a look."
    yield f"Next: Release ({stops} open)"
    yield f"Detail lost: {percent(of.gcp)}"
    for name, loss in of.losses.items():
        yield f"{name} | {percent(loss)}"
    if case.right is not None:
        yield f"{of.schema.target} guessed right: {percent(case.right)}"
        yield f"The most frequent value: {percent(of.majority)}"
    for figure, sentence, detail in words.findings(of, ACCEPTS):
        yield Maybe(figure)
        yield Maybe(sentence)
        yield Maybe(detail)
        yield Maybe(f"- {figure}: {sentence} {detail}")
    yield of.baselines
    yield f"This release is {of.k}-anonymous."
    yield words.description(of, case.limits.get("suppression", 0))
    yield from of_several(case)
    yield from of_strip(case)
    yield from of_cross_tables(case)
    yield from of_prices(case)


def of_prices(case: Case) -> Iterable[str]:
    """What the release would be with each repair, where the page works that out."""
    flow = case.flow
    if case.of.unit == "person":
        file = text_of_file(flow)
        cards = [one for one in together(flow.gate.findings) if one.severity is not Severity.FINE]
        for card in cards:
            for repair in card.repairs:
                schema, settings = repair.apply(flow.schema, flow.settings)
                after = Flow(flow.table, schema, settings)
                yield badges(flow, after, (file, text_of_file(after)), card)


def of_strip(case: Case) -> list[str]:
    """The figures at the foot of the window."""
    of, stops = case.of, case.cards("stops")
    rows = f"{of.n:,}" if of.unit == "row" else f"{of.n:,} of {some(of.before.owners, 'person')}"
    rows = f"{of.n - of.left_out:,} of {rows}" if of.left_out else rows
    texts = [
        f"Ready: {stops} open" if stops else "Ready: Yes", f"Rows: {rows}", f"Groups: {of.after.groups:,}",
        f"Smallest group: {of.after.smallest:,}", f"Highest risk: {percent(of.after.highest)}",
        f"Detail lost (GCP): {percent(of.gcp)}",
    ]  # fmt: skip
    if case.has_classes:
        texts.append(f"Error: {percent(of.error(of.released, of.groups))}")
    return texts


def of_cross_tables(case: Case) -> list[str]:
    mean = percent(case.of.mean_distance)
    text = f"Cross tables show {mean} of the rows in a wrong cell, on average"
    if case.of.mean_distance < case.of.mean_alone:
        return [f"Cross tables off: {mean}", f"{text}. {case.of.baselines}"]
    values = mean, f":orange[{mean}]"  # in the strip, where it is drawn with it, it is orange
    return [*(Maybe(f"Cross tables off: {value}") for value in values), f"{text}. {case.of.baselines}"]


# Release.

ON_RELEASE = (
    r"^For example: contract 12/7 with the university$",
    r"SHA-256|\(HMAC-SHA256\)|WP216|\b20(09|14|19)\b|95% interval|on average, 0 to 1",
    r"^The box \[29, 61\] says .* that (?:row|person) and no other\.",
    r"^1,000 descriptions and at most 5,000 rows are tried.*",
    r"^(?:Use )?Error-digression pruning with uniform boxes and α = 0.05",
    r"ask for l = 2 under",
    ON_READY[0], ON_READY[5],
)  # fmt: skip
"""Numbers that are names, settings, or of what can be asked for."""


def of_release(case: Case) -> Iterable[str]:
    """What is above the tabs, and how the release was checked."""
    of, stops = case.of, case.cards("stops")
    yield words.description(of, case.limits.get("suppression", 0))
    yield f"{'1 risk is' if stops == 1 else f'{stops} risks are'} open. Nothing can be downloaded yet."
    yield f"before: {percent(of.before.highest)}, {of.before.unique:,} rows unique"
    yield f"smallest: {some(of.after.smallest, of.unit)}"
    yield f"Detail lost: {percent(of.gcp)}"
    most = max(of.losses, key=lambda name: of.losses[name])
    yield f"most in {most}, {percent(of.losses[most])}"
    if case.right is None:
        yield f"Rows in a wrong cell: {percent(of.mean_distance)}"
        yield f"of cross tables; one-way tables alone: {percent(of.mean_alone)}"
    else:
        yield f"{of.schema.target} guessed right: {percent(case.right)}"
        yield f"of people held out; always guessing the most frequent value: {percent(of.majority)}"
    before, after = of.before, of.after
    changes = f"The highest risk of linking a person to a row was {percent(before.highest)} and is "
    unique = f"unique rows: {before.unique:,} of {of.n:,} before, {after.unique:,} after."
    yield f"{changes}{percent(after.highest)}; {unique}"
    listed = words.checks(of, case.limits)
    listed += [check for name in of.sensitive for check in words.checks_of(of, name, case.limits)]
    for *_, sentence, judged in listed:
        yield f"[{' holds' if judged else 'reported'}] {sentence}"
        yield Maybe(sentence)
    reported = sum(not judged for *_, judged in listed)
    silent = 1 + sum(not of.homogeneous(name)[0] for name in of.sensitive)  # no row is unique, no value shared
    yield f"{reported + silent} more figures, reported without a requirement"
    yield from of_strip(case)


def of_isolation(case: Case) -> Iterable[str]:
    """Who is singled out by a box."""
    sentence, shares = case.singled_out[0], dict(case.singled_out[1])
    yield f"{sentence} This is counted exactly."
    titles = {"rows": "Rows singled out", "groups": "Groups with one", "ends": f"Ends of one {case.of.unit}"}
    for what, title in {**titles, "levels": f"Levels of one {case.of.unit}"}.items():
        yield f"{title}: {shares.pop(what)}"
    by_column = ", ".join(f"{name} {share}" for name, share in sorted(shares.items(), key=by_share))
    yield f"By column: {by_column}."
    odds = np.ceil(100 * np.exp(2 / max(2, case.flow.settings.k / 4))) / 100
    yield (
        "The one-way tables of a packet have noise. Somebody who knows everybody else learns odds from them. "
        f"One column makes a value at most {odds:.2f} times as likely as another. Over columns, and over releases "
        "with other tables, the odds multiply. "
        "What was chosen by looking at the table has no such bound: the cells, and which columns have a table."
    )


def of_changes(case: Case) -> Iterable[str]:
    """What was lost, and what analyses still say."""
    of, target = case.of, case.of.schema.target
    most = max(of.losses, key=lambda name: of.losses[name])
    yield f"{most} lost most detail ({of.losses[most]:.1%}); all columns on average {of.gcp:.1%} (GCP)"
    error = percent(of.error(of.released, of.groups)) if case.has_classes else ""
    sentences = [f"{error} of the rows lack the most frequent {target} of their group."] * bool(error)
    if case.right is not None:
        sentences += [
            f"Of people held out, the most frequent value of their group is wrong for {percent(1 - case.right)}.",
            f"The most frequent value of the table is wrong for {percent(1 - of.majority)}.",
            f"Of the people in the release it is wrong for {error}.",
        ]
    sentences.append(f"Discernibility: {of.discernibility:,} ({DISCERNIBILITY[bool(of.left_out)]}).")
    if of.left_out:
        lose = f"Rows that are there lose {percent(of.gcp_there)} of the detail (GCP)"
        sentences.append(f"{lose}; who was left out counts as lost whole.")
    yield " ".join(sentences)
    yield from of_cross_tables(case)
    yield f"Cross tables show {percent(of.mean_distance)} of the rows in a wrong cell, on average"
    first, second = max(of.cross_tables, key=lambda pair: of.cross_tables[pair])
    yield f"Most changes the table of {first} and {second}: there it is {of.cross_tables[first, second]:.1%}."
    error, even, alone = map(percent, of.ranges)
    yield of.baselines
    counts = f"Counts over ranges of two or three columns are {error} off on average; read evenly {even}"
    yield f"{counts}, from one-way tables alone {alone}."
    (count, inside, off), kind = of.coefficients, "logistic" if case.has_classes else "linear"
    lie = f"{inside} ({inside / count:.1%}) lie inside the original's 95% interval"
    lie += f"; half are at most {off:.1f} standard errors off"
    yield f"Of {count} coefficients of a {kind} regression of {target}, {lie}"
    yield from of_survey(case)
    yield from of_papers(case)


def by_share(item: tuple[str, str]) -> float:
    return -float(item[1].rstrip("%"))


def of_survey(case: Case) -> Iterable[str]:
    of = case.of
    laps = {
        f"{what} of {name}{level and f' = {level}'}": slow_overlap(before, after)
        for what, name, level, before, after in of.survey
        if what != "total"
    }
    mean = float(np.mean(list(laps.values())))
    yield f"The 95% intervals of means and shares overlap by {mean:.1%} on average"
    least = min(laps, key=lambda title: laps[title])
    first, second = max(of.correlations, key=lambda pair: abs(np.subtract(*of.correlations[pair])))
    old, new = of.correlations[first, second]
    yield f"Least overlaps: {least}, {laps[least]:.1%}."
    yield f"The correlation of {first} and {second} was {old:.3f} and is {new:.3f}; no other changed more."
    yield f"Cross tables are {of.hellinger:.3f} away on average (Hellinger distance, 0 to 1)."


def of_papers(case: Case) -> Iterable[str]:
    """The releases of the papers' settings, which are made again and measured in their files."""
    flow, losses = case.flow, []
    for one in paper_settings(flow):
        made = case.naive(flow.but(**one.settings, suppression=0.0))
        losses.append(made.gcp)
        groups = some(made.after.groups, "group")
        figures = f"detail lost (GCP) {percent(made.gcp)}, highest risk {percent(made.after.highest)}, {groups}"
        yield f"{one.title} ({one.source}): {figures} {one.promise}"
    paper = paper_settings(flow)[0]
    best = f"{losses[0]:.0%} of {paper.settings['grouping']} pruning with uniform boxes ({paper.source})"
    less = f"It loses {case.of.gcp:.0%} of the detail, less than the {best}"
    assert flow.grouping == "regions"
    yield f"Chosen now: regions with room with packed groups. {less}"


def survey_rows(of: Naive) -> list[list[str]]:
    """The lines of the table of all means, shares and totals."""
    return [
        [f"{what.capitalize()} of {name}{level and f' = {level}'}", interval(old), interval(new),
         f"{slow_overlap(old, new):.4f}"]
        for what, name, level, old, new in of.survey
    ]  # fmt: skip


def values_in(chart: Any) -> list[float]:
    """The numbers of an axis of a chart."""
    if isinstance(chart, dict):
        return np.frombuffer(base64.b64decode(chart["bdata"]), chart["dtype"]).tolist()
    return list(chart)


def charts_of(app: AppTest) -> dict[str, list[dict[str, Any]]]:
    """What each chart of a page draws, by its key."""
    charts = {}
    for chart in app.get("plotly_chart"):
        key = chart.proto.id.split("-", 6)[-1]
        charts[key] = json.loads(chart.proto.spec)["data"]
    return charts


def bars_again(of: Naive, name: str, labels: list[str]) -> tuple[list[float], list[float]]:
    """The rows of each bar of a chart of whole numbers or days, before and after."""
    spans = [[number(end) for end in (label.split(" to ") * 2)[:2]] for label in labels]
    values = of.table[name].map(number)
    before = [float(values.between(first, last).sum()) for first, last in spans]
    after, unit = np.zeros(len(spans)), 86_400e6 if of.schema[name].kind is Kind.DATE else 1
    if name not in of.parts:
        for cell, rows in of.released[name].value_counts().items():
            low, high = ends_of(cell)
            low, high = max(low, values.min()), min(high, values.max())
            after += [rows * max(0, min(high, last) - max(low, first) + 1) / (high - low + 1) for first, last in spans]
    for parts in of.parts.get(name, ()):
        heaps = {part[0] / unit for part, _ in parts if isinstance(part, tuple) and part[0] == part[1]}
        for part, share in parts:
            low, high = max(part[0] / unit, values.min()), min(part[1] / unit, values.max())
            whole = np.arange(low, high + 1)
            whole = whole[[low == high or at not in heaps for at in whole]] if low < high else whole
            after += [share * ((whole >= first) & (whole <= last)).sum() / max(1, len(whole)) for first, last in spans]
    return before, after.tolist()


def charts_again(case: Case, app: AppTest) -> str:
    """What is said of the column that moved most, whose chart and those of losses and intervals are drawn rightly."""
    of, charts, column_drawn = case.of, charts_of(app), app.selectbox[0].value
    old, new = charts["distribution"]
    before, after = bars_again(of, column_drawn, [label.replace(",", "") for label in old["customdata"]])
    assert values_in(old["y"]) == before
    assert values_in(new["y"])[:-1] == pytest.approx(after)
    (bars,) = charts["loss"]
    losses = sorted(of.losses.values(), reverse=True)
    assert values_in(bars["x"]) == pytest.approx(losses)
    assert bars["text"] == [f"{loss:.1%}" for loss in losses]
    _, dots = charts["survey intervals"]
    pairs = [(old, new, old[3] - old[0]) for what, *_, old, new in of.survey if what != "total" and old[3] > old[0]]
    assert values_in(dots["x"]) == pytest.approx([(new[0] - old[0]) / half for old, new, half in pairs], abs=1e-9)
    reach = [(new[3] - new[0]) / half for _, new, half in pairs]
    assert values_in(dots["error_x"]["array"]) == pytest.approx(reach, abs=1e-9)
    moved = (np.abs(np.subtract(before, after)).sum() + of.left_out) / 2 / of.n
    return f"{column_drawn}: {percent(moved)} of the rows are in another bar"


@pytest.mark.parametrize("name", CASES)
def test_ready_and_release__every_number_is_that_of_the_files(name: str) -> None:
    case = case_of(name)
    sweep(page_texts(case.pages["gate"]), of_ready(case), ON_READY)
    app = case.pages["release"]
    row, survey = (frame.value for frame in app.dataframe)
    assert survey.to_numpy().tolist() == survey_rows(case.of)
    answers = [*of_release(case), *of_changes(case), *of_isolation(case)]
    sweep(page_texts(app), [*answers, of_one_row(case, row), charts_again(case, app)], ON_RELEASE)
