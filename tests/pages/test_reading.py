"""What a person reads on a page is short: no sentence of any page has more than twenty words."""

import re
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from anonymizer.groups.recipe import GROUPING_WORDS
from anonymizer.reading.samples import SAMPLES
from anonymizer.releasing.generalize import GUARANTEES, NUMBERS, WRITINGS
from tests.pages.test_data import SHELL
from tests.pages.test_glossary import PAGES
from tests.waiting import PATIENCE
from ui.limits import PROMISES
from ui.workspace import Workspace, sample_reading

MOST_WORDS = 20
MARKS = re.compile(r":material/\w+:|:[a-z]+(?=\[)|[\\\u2060*`#\[\]]")


def words_of(sentence: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'’-]*", sentence)


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text in Markdown; a badge is one by itself."""
    plain = MARKS.sub("", re.sub(r":[a-z]+-badge\[([^\]]*)\]", r"\1. ", text))
    for line in plain.split("\n"):
        yield from re.split(r"(?<=[.!?])\s+", line)


def texts_of(app: AppTest) -> Iterator[str]:
    headings = (app.title, app.header, app.subheader)
    for kind in (*headings, app.markdown, app.caption, app.info, app.warning, app.error, app.success):
        yield from (item.value for item in kind)


def long_sentences(texts: Iterator[str], names: tuple[str, ...] = ()) -> list[str]:
    """Sentences of too many words; names of columns are not counted."""
    without = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)")
    return [
        sentence
        for text in texts
        for sentence in sentences_of(text)
        if len(words_of(without.sub("", sentence))) > MOST_WORDS
    ]


@pytest.fixture(scope="module", params=["hospital", "visits"])
def ws(request: pytest.FixtureRequest) -> Workspace:
    ws = Workspace(reading=sample_reading(request.param, SAMPLES[request.param].load().head(1500)))
    ws.set_schema(ws.suggest())
    return ws


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_of_a_page__is_long(page: str, ws: Workspace) -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.session_state["workspace"] = ws
    app.run().switch_page(f"../pages/{page}.py").run()
    assert not app.exception
    assert ws.schema is not None
    assert not long_sentences(texts_of(app), tuple(column.name for column in ws.schema.columns))
    assert not [text for text in texts_of(app) if re.search(r"\{[A-Z_]{3,}\}", text)], "a name instead of its text"


def test_no_sentence_of_the_start__is_long() -> None:
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE).run()
    assert not long_sentences(texts_of(app))


def test_no_sentence_on_methods_and_limits__is_long() -> None:
    """What pages say when something else is chosen."""
    texts = [
        text
        for way in (*GUARANTEES.values(), *WRITINGS.values(), *NUMBERS.values())
        for text in (way.gives, way.does_not)
    ]
    texts += [text for pair in PROMISES.values() for text in pair]
    texts += [text for _, text in GROUPING_WORDS.values()]
    assert not long_sentences(iter(texts))


def test_long_sentences__are_found() -> None:
    short, long_one = "A short sentence. " * 3, f"Here {'are words ' * 10}."
    assert long_sentences(iter([short, f"{short}**{long_one}**"])) == [long_one]
    assert not long_sentences(iter([long_one.replace("are words are", "a_name")]), ("a_name", "words"))
