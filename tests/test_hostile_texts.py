"""No text from outside makes a pattern work for long: twice the text takes twice the time."""

import io
import zipfile
from collections.abc import Callable
from contextlib import suppress

import pytest

from anonymizer.cells import is_number
from anonymizer.databases.address import redacted
from anonymizer.disclosure.formats import from_rpart
from anonymizer.disclosure.pmml import texts_of_array
from anonymizer.errors import AnonymizerError
from anonymizer.labelled.codebook import read_codebook
from anonymizer.reading.workbook import examine
from tests.growth import growth

TREE = "node), split, n, loss, yval, (yprob)\n"


def examine_sheet(xml: str) -> object:
    """What is found in a workbook of one sheet."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr("xl/_rels/workbook.xml.rels", '<R><R Id="one" Target="sheet.xml"/></R>')
        packed.writestr("xl/workbook.xml", '<w xmlns:r="r"><sheet name="one" r:id="one"/></w>')
        packed.writestr("xl/sheet.xml", xml)
    return examine(data.getvalue(), "a workbook", None, lambda extent: None)


TEXTS: dict[str, tuple[Callable[[str], object], Callable[[int], str]]] = {
    "a domain of dots": (lambda text: read_codebook(text.encode()), lambda size: "name,domain\na," + "." * size + "|"),
    "a cell of digits": (is_number, lambda size: "1" * size + "!"),
    "a line of blanks in a tree": (from_rpart, lambda size: f"{TREE}1) a" + " " * size + "!\n"),
    "a line of numbers in a tree": (from_rpart, lambda size: f"{TREE}1) a" + " 1" * size + "!\n"),
    "an array of open quotes": (texts_of_array, lambda size: '"' + '\\"' * size),
    "an address without an end": (redacted, lambda size: "a://b:" * size),
    "a word with many beginnings": (redacted, lambda size: "a+" * size),
    "cells that do not end": (examine_sheet, lambda size: '"e"<f>' + "<c " * size + "row>"),
    "a cell of many references": (examine_sheet, lambda size: "<f>" + '<c r="A1"' + ' r="A1"' * size + ">row>"),
    "a cell of many references and an error": (
        examine_sheet, lambda size: '<c t="e" r="A1"' + ' r="A1"' * size + ">row>"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
def test_hostile_text__takes_time_in_step_with_its_length(what: str) -> None:
    read, make = TEXTS[what]

    def reading(text: str) -> None:
        with suppress(AnonymizerError):
            read(text)

    assert growth(reading, make) < 3


def test_growth__tells_the_square_from_the_line() -> None:
    assert growth(lambda text: [text.count("a") for _ in text[::100]], lambda size: "b" * size) > 3
    assert growth(lambda text: text.count("a"), lambda size: "b" * size) < 3
