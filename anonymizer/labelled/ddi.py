"""Read a DDI-Codebook: XML from outside, in which nothing is unfolded and nothing fetched."""

from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from anonymizer.errors import ReadError
from anonymizer.labelled.description import MOST_COLUMNS, REMEDY, Description

DEEPEST = 100
"""Elements that stand in each other at most, in a document that is believed to be a codebook."""
WITH_WORDS = ("labl", "catValu", "notes")
"""Elements whose text counts, with that of whatever stands in them."""


@dataclass
class _Reader:
    """What is gathered while the XML goes by. ``path``: the elements that stand open; ``text``: of the one that counts;
    ``type``: the attribute of that name of the last notes."""

    path: list[str] = field(default_factory=list)
    columns: list[dict[str, Any]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    type: str = ""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        name = name.rpartition(" ")[2]
        if not (self.path and self.path[-1] in WITH_WORDS):
            self.text = []
        self.path.append(name)
        if len(self.path) > DEEPEST:
            _refuse("its elements stand too deep in each other")
        if len(self.path) == 1 and name != "codeBook":
            raise ReadError("This XML is no DDI-Codebook: it does not begin with codeBook.", remedy=REMEDY)
        if self.is_at("var"):
            self.columns.append({"of": attributes, "levels": []})
            if len(self.columns) > MOST_COLUMNS:
                _refuse(f"it describes more than {MOST_COLUMNS:,} columns")
        elif self.is_at("var", "catgry"):
            self.columns[-1]["levels"].append(["", "", attributes.get("missing") == "Y"])
        elif self.is_at("var", "valrng", "range"):
            self.columns[-1].setdefault("ends", (attributes.get("min", ""), attributes.get("max", "")))
        elif self.is_at("var", "invalrng", "item"):
            self.columns[-1].setdefault("missing", []).append(attributes.get("VALUE", ""))
        elif self.is_at("var", "varFormat"):
            self.columns[-1]["format"] = attributes
        elif self.is_at("var", "notes"):
            self.type = attributes.get("type", "")

    def read(self, text: str) -> None:
        """Take letters up."""
        self.text.append(text)

    def end(self, _: str) -> None:
        """Close an element; the first text of a kind counts."""
        text = " ".join("".join(self.text).split())
        if self.is_at("var", "labl"):
            self.columns[-1].setdefault("label", text)
        elif self.is_at("var", "notes") and self.type in ("role", "kind", "domain"):
            self.columns[-1].setdefault(self.type, text.lower())
        elif self.is_at("var", "catgry", "catValu"):
            self.columns[-1]["levels"][-1][0] = text
        elif self.is_at("var", "catgry", "labl"):
            level = self.columns[-1]["levels"][-1]
            level[1] = level[1] or text
        self.path.pop()
        if not (self.path and self.path[-1] in WITH_WORDS):
            self.text = []

    def is_at(self, *path: str) -> bool:
        """Return True when just these elements stand open in the description of the data."""
        return self.path[:2] == ["codeBook", "dataDscr"] and self.path[2:] == list(path)


def read_ddi(data: bytes) -> list[Description]:
    """Return the columns of a DDI-Codebook. Raises :class:`ReadError` for other XML, and for any that has a document
    type, without which there are no entities."""
    reader, parser = _Reader(), expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = reader.read, _refuse_doctype
    try:
        parser.Parse(data, True)
    except ReadError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise ReadError(
            "The codebook is damaged or cut off, or in letters that are not known.", remedy="Save it again, as UTF-8."
        ) from error
    return list(map(_description, reader.columns))


def _description(column: dict[str, Any]) -> Description:
    """Return what the elements of a column say."""
    attributes, format = column["of"], column.get("format", {})
    name, label = attributes.get("name", ""), column.get("label", "")
    valid = [(value, meaning) for value, meaning, missing in column["levels"] if value and not missing]
    marks = [(value, meaning) for value, meaning, missing in column["levels"] if value and missing]
    is_number = attributes.get("intrvl") == "contin"
    kind = "categorical" if valid and not is_number else "numeric" if is_number else ""
    if "date" in (format.get("category", ""), attributes.get("nature", "")):
        kind = "date"
    levels = () if kind in ("numeric", "date") else (*valid, *marks)
    ends = column.get("ends", ("", ""))
    return Description(
        name, "" if label == name else label, column.get("role", ""), column.get("kind", kind),
        tuple((value, "" if meaning == value else meaning) for value, meaning in levels), ends if all(ends) else (),
        attributes.get("nature") == "ordinal", (*column.get("missing", ()), *(value for value, _ in marks)),
        column.get("domain") == "data",
    )  # fmt: skip


def _refuse_doctype(*_: Any) -> NoReturn:
    _refuse("it has a document type, which may name other files or unfold without end")


def _refuse(why: str) -> NoReturn:
    raise ReadError(f"The codebook is not read: {why}.", remedy=REMEDY)
