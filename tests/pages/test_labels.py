"""No text from data is shown as Markdown unescaped: a rule on the source of all pages, and what the rule sees."""

import pytest

from tests.conftest import ROOT
from tests.pages.labels import find_unescaped

MADE_HERE = {"figure.label", "figure.value", "figure.meaning", "paragraph"}
"""What is safe though the rule cannot see it: the figures of the strip are made in ``ui/strip.py``, of fixed words, and
the paragraphs of the glossary stand in ``docs/GLOSSARY.md``."""


def page_sources() -> dict[str, str]:
    """The source of every page and what they share, by name."""
    paths = [*(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in sorted(paths)}


@pytest.mark.parametrize(
    "offence",
    [
        "st.markdown(f'**{name}**')",
        "st.caption('Column ' + name)",
        "st.button('Go', help=name)",
        "st.pills('Known', names)",
        "st.radio('Which', [name, 'other'])",
        "st.text_input(name)",
        "place.selectbox(name, [1])",
        "st.metric('Rows', value)",
        "st.metric('Rows', value=value)",
        "st.progress(0.5, text=name)",
        "st.tabs([name])",
        "st.info(text_of(name))",
        "st.info(', '.join(names))",
        "st.info(table.name)",
        "st.info(names[0])",
        "st.pills('Known', names, format_func=lambda name: name)",
        "title = name\n    st.title(title)",
        "title = 'A'\n    title += name\n    st.title(title)",
        "title = 'A' if names else name\n    st.title(title)",
        "for title in names:\n        st.title(title)",
        "for first, title in (('a', 'b'), ('c', name)):\n        st.title(title)",
        "helper(name)",
        "said = again(name)\n    st.info(said)",
        "st.info(' '.join(f'{each}' for each in names))",
    ],
)
def test_rule__sees(offence: str) -> None:
    source = f"def page(name, names, value, table):\n    {offence}\n"
    source += "def helper(label):\n    st.button(label)\ndef again(text):\n    return 'a' + text\n"
    assert find_unescaped({"page": source})


@pytest.mark.parametrize(
    "text",
    [
        "'fixed'",
        "TITLES[name]",
        "TITLES[name].long",
        "plain(name)",
        "f'**{plain(name)}** of {count(value)}: {value:.1%}'",
        "', '.join(map(plain, names))",
        "' '.join(plain(each) for each in names)",
        "'a' if name else 'b'",
        "fixed(name)",
        "title",
    ],
)
def test_rule__lets_pass(text: str) -> None:
    source = f"def page(name, names, value):\n    title = plain(name)\n    st.button({text}, help={text})\n"
    assert not find_unescaped({"page": source + "def fixed(text):\n    return 'one' if text else ONE\n"})


def test_pages__show_no_text_from_data_unescaped() -> None:
    sources = page_sources()
    assert len(sources) > 20
    offences = find_unescaped(sources)
    assert [offence for offence in offences if offence.partition(" ")[2] not in MADE_HERE] == []
    assert {offence.partition(" ")[2] for offence in offences} == MADE_HERE, "an exception that is not needed"
