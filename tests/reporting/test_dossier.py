"""The report for people: every number computed again from the downloaded files; nothing of the table in the external
one; every text escaped."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from anonymizer.cells import parse_cell
from anonymizer.checking.verify import verify
from anonymizer.digests import digest
from anonymizer.errors import ParameterError
from anonymizer.groups.recipe import PACKS
from anonymizer.growing.encode import encode
from anonymizer.measuring.utility import cell_ncp
from anonymizer.pipeline import Result, anonymize
from anonymizer.population.sample import Population, sample_risk, special_of
from anonymizer.provenance.report import commitment
from anonymizer.reading.files import Reading, read_table
from anonymizer.reading.samples import hospital
from anonymizer.releasing.generalize import GENERALIZERS
from anonymizer.releasing.grid import public_parts
from anonymizer.releasing.release import read_release
from anonymizer.reporting import pdf as report_pdf
from anonymizer.reporting.document import Code, Document, Figure, Grid, Lines, Panel, Points, Section, Table
from anonymizer.reporting.dossier import AUDIENCES, PAPERS, document_of
from anonymizer.reporting.findings import Approval, Findings, Statement, findings_of, riskiest_of
from anonymizer.reporting.html import to_html
from anonymizer.reporting.pdf import to_pdf
from anonymizer.schema import Schema
from anonymizer.settings import names_of
from anonymizer.studies.attack import attack
from anonymizer.values import share
from anonymizer.whatif.frontier import POLICIES
from tests.naive_attacks import slow_isolation
from tests.reasons import anonymize_with_reasons

K = 6


@cache
def run_of(generalizer: str = "uniform") -> tuple[Reading, Result, bytes, Findings]:
    content = hospital(300, 4).to_csv(index=False).encode()
    reading = read_table(content, name="people.csv")
    schema = Schema.of(
        reading.frame,
        quasi_identifying=["age", "sex", "marital_status", "admission_date"],
        identifying=["name", "email"],
        sensitive=["diagnosis", "cost"],
    )
    result = anonymize_with_reasons(reading.frame, schema, how={"reading": reading}, k=K, l=2, generalizer=generalizer)
    file = result.release.to_bytes("csv")
    frame = result.release.frame()
    attacks = attack(reading.frame, frame, schema, result.encoded, tries=200)
    report = result.report.with_output({"csv": digest(file)})
    return reading, result, file, findings_of(report, reading.frame, frame, attacks)


class Reader(HTMLParser):
    """The figures of a page by their key, and all of its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.figures: dict[str, str] = {}
        self.text = ""
        self.tags: set[str] = set()
        self.key: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.add(tag)
        key = dict(attrs).get("data-figure")
        if key is not None:
            assert key not in self.figures, "a figure stands twice"
            self.key, self.figures[key] = key, ""

    def handle_endtag(self, tag: str) -> None:
        self.key = None if tag == "td" else self.key

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.key is not None:
            self.figures[self.key] += data


# Every number, again.


def sizes_of(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    """The number of look-alikes of every row."""
    text = frame[names].astype(object).where(frame[names].notna(), "(missing)").astype(str)
    return text.groupby(names)[names[0]].transform("size")


BY_READING = ("two_way", "ranges", "single", "coefficients", "distance", "weighted", "correlation", "hellinger")


def recompute(reading: Reading, result: Result, file: bytes) -> dict[str, str]:
    """All figures that do not depend on how boxes are read, from the original file and the downloaded one."""
    table, schema = reading.frame, result.schema
    released = read_release(file, schema)
    names = list(schema.quasi_identifying)
    figures = {
        "records.before": f"{len(table):,}",
        "records.after": f"{len(released):,}",
        "records.suppressed": f"{len(table) - len(released):,}",
        "gcp.before": "0",
    }
    parameters = {
        "k": K, "l": 2, "generalizer": result.release.method, "criterion": "detail",
        "grouping": "regions" if result.release.method in PACKS else "least",
        "writing": "sets", "numbers": "public", "order": "content", "sets": "full", "min_leaf": 2, "tested": "inner",
        "test_form": "printed", "cost": "detail",
        "suppression": 0.0,
    }  # fmt: skip
    most = table[schema.target].value_counts(dropna=False).max() / len(table)
    figures |= {"held_out.before": share(1 - most), "held_out.after": share(1 - result.report.held_out)}
    figures |= {f"parameter.{name}": str(value) for name, value in parameters.items()}
    for name in schema.released:
        figures[f"missing.before.{name}"] = f"{table[name].isna().sum():,}"
        figures[f"missing.after.{name}"] = f"{released[name].isna().sum():,}"
        figures[f"withheld.{name}"] = f"{(released[name].astype(object) == '*').sum():,}"
        figures[f"distinct.before.{name}"] = f"{len(set(table[name].dropna())):,}"
        figures[f"distinct.after.{name}"] = f"{len(set(released[name].dropna())):,}"
    for when, frame in (("before", table), ("after", released)):
        sizes = sizes_of(frame, names)
        figures[f"prosecutor.{when}"] = figures[f"journalist.{when}"] = share(1 / sizes.min())
        figures[f"marketer.{when}"] = share((1 / sizes).sum() / len(frame))
        figures[f"unique.{when}"] = f"{(sizes == 1).sum():,}"
        figures[f"discernibility.{when}"] = f"{sizes.sum():,}"
        for policy in POLICIES:
            figures[f"above.{policy.risk:g}.{when}"] = share((1 / sizes > policy.risk + 1e-9).mean())
        key = [frame[name].astype(object).where(frame[name].notna(), "?").astype(str) for name in names]
        most = frame.groupby(key)["diagnosis"].agg(lambda values: values.value_counts(dropna=False).max())
        figures[f"error.{when}"] = share(1 - most.sum() / len(frame))
    sizes = sizes_of(released, names)
    figures["groups"] = f"{round((1 / sizes).sum()):,}"
    figures["group.smallest"], figures["group.largest"] = f"{sizes.min():,}", f"{sizes.max():,}"
    figures["group.mean"] = f"{len(sizes) / (1 / sizes).sum():.2f}"
    figures["group.median"] = f"{max(size for size in sizes if (sizes >= size).mean() >= 0.5):,}"
    losses = []
    for encoding in encode(table, schema).encodings:
        cells = [parse_cell(None if pd.isna(text) else str(text), encoding.kind) for text in released[encoding.name]]
        losses.append(np.mean([cell_ncp(cell, encoding) for cell in cells]))
        figures[f"ncp.{encoding.name}"] = share(losses[-1])
    figures["gcp.after"] = share(np.mean(losses))
    encoded = encode(table, schema)
    for check in verify(released, schema, k=K, l=2, original=table).checks:
        kind, _, column = check.name.partition(" of ")
        if check.required is not None:
            figures[f"required.{kind if column in schema.sensitive else check.name}"] = f"{check.required:.4g}"
        if check.achieved is not None and (check.achieved or check.passed is not None):
            figures[f"achieved.{check.name}"] = f"{'FAILED: ' * (check.passed is False)}{check.achieved:.4g}"
    alone = slow_isolation(table, released, schema, result.release.order, public_parts(encoded, schema, K, "sets"))
    shares = {
        "records": (len(alone.people), len(table)),
        "groups": (alone.groups, round((1 / sizes).sum())),
        "ends": alone.ends,
        "levels": alone.levels,
        **{f"column.{name}": (count, len(table)) for name, count in alone.by_column.items()},
    }
    figures |= {f"isolation.{name}": share(one / of if of else 0) for name, (one, of) in shares.items()}
    # The rows of a file stand in the order of the release, so the same attacks are drawn.
    again = attack(table, released, schema, encode(table, schema), tries=200)
    for criterion in again.outcomes:
        figures[f"{criterion.name}.before"] = share(criterion.before)
        figures[f"{criterion.name}.after"] = share(criterion.after)
        figures[f"{criterion.name}.interval"] = " to ".join(map(share, criterion.interval))
    for one in again.inferences:
        for when, rate in (("blind", one.blind), ("before", one.before), ("after", one.after)):
            figures[f"guess.{when}.{one.column}"] = share(rate.share)
    return figures


@pytest.mark.sweep(2)
@pytest.mark.parametrize("audience", AUDIENCES)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_every_number__is_that_of_the_downloaded_release(generalizer: str, audience: str) -> None:
    reading, result, file, findings = run_of(generalizer)
    document = document_of(findings, audience=audience)
    page = Reader(to_html(document))
    assert page.figures == document.figures
    read = {key for key in page.figures if key.startswith(BY_READING)}  # their twins: tests/reporting/test_figures.py
    assert len(read) > 15
    rest = {key: text for key, text in page.figures.items() if key not in read}
    assert rest == recompute(reading, result, file)
    assert digest(file) in page.text
    run = result.report.provenance
    assert run.input_commitment == commitment(reading.sha256, run.input_key)
    assert run.input_commitment in page.text
    assert (run.input_key in page.text) is (audience == "internal")


@pytest.mark.parametrize("audience", AUDIENCES)
def test_report_of_fifty_columns__is_two_pages_and_an_annex(audience: str) -> None:
    rng = np.random.default_rng(2)
    rows, public, secret, others = 200, 12, 34, 3
    columns = {f"quasi_identifier_{number}": rng.integers(0, 4, rows).astype(str) for number in range(public)}
    columns |= {f"medication_number_{number}": rng.choice(["No", "Steady"], rows) for number in range(secret)}
    columns |= {f"same_{number}": ["x"] * rows for number in range(others)} | {"patient": np.arange(rows).astype(str)}
    table = pd.DataFrame(columns)
    schema = Schema.of(
        table, quasi_identifying=list(columns)[:public],
        sensitive=list(columns)[public : public + secret],
        identifying=["patient"],
    )  # fmt: skip
    result = anonymize_with_reasons(table, schema, how={}, k=5, generalizer="pack")
    findings = findings_of(result.report, table, result.release.frame())
    document = document_of(findings, audience=audience)
    annex = next(place for place, section in enumerate(document.sections) if section.title.startswith("Annex"))
    two = replace(document, sections=document.sections[:annex])
    assert to_pdf(two).count(b"/Type /Page\n") == 2
    assert document.sections[annex].on_new_page
    texts = [text for text in two.texts if text not in table.columns]
    assert len(" ".join(texts).split()) <= 650
    matrix = document.sections[annex].blocks[1]
    assert [row[0] for row in matrix.rows] == ["required", *schema.sensitive]
    assert not any(row[-1] for row in matrix.rows)  # words where a check failed
    shared = sum(bool(result.verification.get(f"homogeneity of {name}").achieved) for name in schema.sensitive)
    assert document.sections[annex].title.endswith(f"; {shared} to beware of")
    assert to_pdf(document).count(b"/Type /Page\n") <= 15


# What must not be there.


@pytest.mark.sweep(3)
@pytest.mark.parametrize("generalizer", GENERALIZERS)
def test_external__holds_no_value_and_no_riskiest_combination(generalizer: str) -> None:
    table = hospital(300, 4)
    rng = np.random.default_rng(1)
    canaries = {
        "city": [f"Zebulon{number}" for number in rng.integers(0, 7, 300)],
        "born": [f"19{year}-03-17" for year in rng.integers(30, 99, 300)],
        "score": [f"77{number}.125" for number in rng.integers(1000, 9000, 300)],
        "illness": rng.choice(["Kuruosis", "Morbus Xylo"], 300),
        "wage": [f"88{number}.375" for number in rng.integers(1000, 9000, 300)],
        "who": [f"Quendolin{number}" for number in range(300)],
        "note": [f"Remark{number}x" for number in range(300)],
    }
    table = pd.DataFrame(canaries)
    reading = read_table(table.to_csv(index=False).encode(), name="Quendolin1-secret.csv")
    schema = Schema.of(
        reading.frame, quasi_identifying=["city", "born", "score"], identifying=["who"], sensitive=["illness", "wage"],
        domains={"city": [f"Zebulon{number}" for number in range(9)]},
    )  # fmt: skip
    result = anonymize(reading.frame, schema, k=K, generalizer=generalizer, reading=reading)
    frame = result.release.frame()
    findings = findings_of(result.report, reading.frame, frame, attack(reading.frame, frame, schema, result.encoded))
    texts = {audience: html.unescape(to_html(document_of(findings, audience=audience))) for audience in AUDIENCES}
    marks = ("Zebulon", "Kuruosis", "Morbus", "Quendolin", "Remark", "-03-17")
    values = {value for column in canaries.values() for value in map(str, column)}
    assert not [value for value in values if value in texts["external"]]
    assert not [mark for mark in marks if mark in texts["external"]]
    riskiest = [check.worst for check in result.verification.checks if check.worst]
    assert [worst for worst in riskiest if worst in texts["internal"]]
    cells = {str(cell) for name in schema.quasi_identifying for cell in frame[name].dropna()}
    assert not [cell for cell in cells if cell != "*" and cell in texts["external"]]
    assert "Zebulon" in texts["internal"]
    assert ("Set by the steward." in texts["internal"], "Set by the steward." in texts["external"]) == (True, False)


def test_external__of_a_release_that_does_not_fit_names_no_value() -> None:
    reading, result, _, _ = run_of()
    changed = reading.frame.assign(diagnosis="Kuruosis")
    checked = verify(result.release.frame(), result.schema, k=K, original=changed)
    assert not checked.passed
    report = replace(result.report, verification=checked).with_output({}, "the board wants to see it")
    findings = findings_of(report, reading.frame, result.release.frame())
    for audience in AUDIENCES:
        text = to_html(document_of(findings, audience=audience))
        assert "fails required checks: containment" in text
        assert "the board wants to see it" in text
        assert ("See the internal report." in text) == (audience == "external")
        assert "were not run" in text
    assert "Kuruosis" not in to_html(document_of(findings, audience="external"))


# Writing.


NASTY = "<script>alert(1)</script> & \"quoted\" 'text' <b>"


def nasty() -> Document:
    rows = ((NASTY, Figure(f'key"{NASTY}', NASTY)),)
    section = Section(NASTY, (NASTY, Table((NASTY, NASTY), rows), Code(NASTY + "\n  second line"), Table(("", ""), ())))
    return Document(NASTY, NASTY, "internal", (section,))


def test_html__escapes_every_text_and_loads_nothing() -> None:
    text = to_html(nasty())
    page = Reader(text)
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.figures == nasty().figures == {f'key"{NASTY}': NASTY}
    assert page.text.count(NASTY) == 10
    assert "default-src &#x27;none&#x27;" in text
    assert not re.findall(r"(?:src|href|url)\s*[=(]", text)


def test_statement__is_in_both_reports() -> None:
    _, _, _, findings = run_of()
    statement = Statement(NASTY, "University", "contract 12", "A. B.", (Approval("C. D.", "DPO", "1 May"),))
    for audience in AUDIENCES:
        page = Reader(to_html(document_of(findings, statement, audience)))
        for text in (NASTY, "University", "contract 12", "A. B.", "C. D.", "DPO", "1 May"):
            assert text in page.text
    assert Reader(to_html(document_of(findings))).text.count("(to be filled in)") == 4
    with pytest.raises(ParameterError):
        document_of(findings, audience="public")


@pytest.mark.parametrize("audience", AUDIENCES)
def test_pdf__holds_all_that_the_document_says(audience: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = document_of(run_of()[3], Statement("Łódź <b>", "λ"), audience)
    texts: list[str] = []
    paragraph = report_pdf._paragraph
    monkeypatch.setattr(report_pdf, "_paragraph", lambda text, *how: (texts.append(text), paragraph(text, *how))[1])
    content = to_pdf(document)
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    paragraphs = [text for text in texts if text not in ("None.", report_pdf.LACKING)]
    assert sorted(filter(None, paragraphs)) == sorted(filter(None, document.texts))
    assert paragraphs[:3] == [document.title, document.subtitle, document.lead]
    for act in (b"/JavaScript", b"/URI", b"/Launch", b"/EmbeddedFile"):
        assert act not in content


@pytest.fixture
def own_font(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine that has no font but the one that reportlab brings."""
    report_pdf._fonts.cache_clear()
    monkeypatch.setattr(report_pdf, "FONTS", (("no such font.ttf", "none.ttf"), report_pdf.FONTS[-1]))
    yield
    report_pdf._fonts.cache_clear()


@pytest.mark.usefixtures("own_font")
def test_pdf__takes_any_text() -> None:
    wide = "x" * 5000
    long_table = Table(("a", "b"), tuple((NASTY, wide) for _ in range(3)))
    grid = Grid((Panel(wide, long_table), Panel(NASTY, Table(("a",), tuple((NASTY,) for _ in range(200))))))
    first = Section("", (grid, Points(((wide, wide),)), Lines((NASTY, wide))))
    long_section = Section("long", (long_table, wide, Code(wide)))
    document = Document(NASTY, wide, "internal", (first, *nasty().sections, long_section), wide)
    assert to_pdf(document).startswith(b"%PDF-")
    assert report_pdf.printable("ab\x00\n漢é") == f"ab{report_pdf.UNKNOWN} {report_pdf.UNKNOWN}é"


def test_papers__are_known_of_every_grouping_and_generalizer() -> None:
    assert set(PAPERS) == {*names_of("grouping"), *GENERALIZERS}


@pytest.mark.parametrize(("name", "lacks"), [("André", False), ("Łódź", True), ("Ольга", True)])
@pytest.mark.usefixtures("own_font")
def test_pdf__says_when_its_font_lacks_a_letter(name: str, lacks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    document = Document("Report", "", "internal", (Section("One", (Table(("a",), ((name,),)), Code("x"), "y")),))
    assert document.texts == ["Report", "", "One", "a", name, "x", "y"]
    texts: list[str] = []
    paragraph = report_pdf._paragraph
    monkeypatch.setattr(report_pdf, "_paragraph", lambda text, *how: (texts.append(text), paragraph(text, *how))[1])
    assert to_pdf(document).startswith(b"%PDF-")
    assert (report_pdf.LACKING in texts) == lacks


def test_pdf__no_word_above_a_column_is_broken() -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    heads = ("Check", "Required", "Found in the release", "Passed")
    for texts in (("x" * 200, "1", "2", "3"), ("a", "b", "c", "d"), ("", "y" * 90, "z" * 90, "")):
        widths = report_pdf.column_widths(Table(heads, (texts,)), 490)
        assert sum(widths) == pytest.approx(490)
        for head, width in zip(heads, widths, strict=True):
            inside = width - 2 * report_pdf.PADDING
            assert all(
                stringWidth(word, report_pdf._fonts()[1], report_pdf.HEAD_SIZE) <= inside for word in head.split()
            )
    assert sum(report_pdf.column_widths(Table(("W" * 99, "V" * 99), (("a", "b"),)), 490)) == pytest.approx(490)


def test_riskiest_records__stand_in_the_internal_report_and_nowhere_else() -> None:
    reading, result, _, findings = run_of()
    table, schema, population = reading.frame, result.schema, Population(fraction=0.25)
    riskiest = riskiest_of(table, schema, population)
    risk, special = sample_risk(table, schema, population), special_of(table, schema)
    assert [record.score for record in riskiest.by_score] == np.sort(special.score)[::-1][:10].tolist()
    assert [record.risk for record in riskiest.by_risk] == np.sort(risk.risk)[::-1][:10].tolist()
    for record in riskiest.by_score:
        names = list(record.columns)
        same = (table[names] == table[names].iloc[record.row]).all(axis=1)
        assert same.sum() == 1
    with_them = replace(findings, riskiest=riskiest)
    internal = document_of(with_them)
    for order, records in (("score", riskiest.by_score), ("risk", riskiest.by_risk)):
        for place, record in enumerate(records):
            assert internal.figures[f"riskiest.{order}.{place}"] == f"{record.row + 1:,}"
    assert "The riskiest rows" in to_html(internal)
    assert "the share of the population that is in the table: 0.25" in to_html(internal)
    external = document_of(with_them, audience="external")
    assert to_html(external) == to_html(document_of(findings, audience="external"))
    assert "riskiest" not in to_html(external).lower()
