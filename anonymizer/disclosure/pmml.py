"""A tree as PMML, written as version 4.4 and read from any version 4 with one tree for classes."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from anonymizer.disclosure.formats import (
    DEEPEST,
    MOST_NODES,
    REMEDY,
    Branch,
    Sketch,
    SketchNode,
    finite,
    refuse,
)
from anonymizer.errors import ParameterError, ReadError
from anonymizer.json_value import parse
from anonymizer.schema import Kind
from anonymizer.version import VERSION

PMML_NAMESPACE = "http://www.dmg.org/PMML-4_4"
Document = dict[str, Any]
"""A published tree as :func:`anonymizer.disclosure.publish.publish` makes it, JSON-ready."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_pmml(document: Document) -> str:
    """Return PMML 4.4, a TreeModel for classification. Raises :class:`ParameterError` for text that XML cannot hold.

    Error rates and class totals stand in extensions: PMML's own fields would hold counts of records as well.
    """
    root = ElementTree.Element("PMML", {"xmlns": PMML_NAMESPACE, "version": "4.4"})
    header = ElementTree.SubElement(root, "Header")
    ElementTree.SubElement(header, "Application", {"name": "Copse", "version": VERSION})
    fields = ElementTree.SubElement(root, "DataDictionary")
    types = {Kind.NUMERIC: "double", Kind.DATE: "dateTime", Kind.CATEGORICAL: "string"}
    for column in document["columns"]:
        kind = Kind(column["kind"])
        optype = "categorical" if kind is Kind.CATEGORICAL else "continuous"
        ElementTree.SubElement(fields, "DataField", {"name": column["name"], "optype": optype, "dataType": types[kind]})
    target = document["target"]
    goal = {"name": target["name"], "optype": "categorical", "dataType": "string"}
    goal_field = ElementTree.SubElement(fields, "DataField", goal)
    for value in target["values"]:
        ElementTree.SubElement(goal_field, "Value", {"value": score(value)})
    fields.set("numberOfFields", str(len(fields)))
    model = ElementTree.SubElement(
        root,
        "TreeModel",
        {"functionName": "classification", "splitCharacteristic": "multiSplit", "missingValueStrategy": "none"},
    )
    schema = ElementTree.SubElement(model, "MiningSchema")
    for column in document["columns"]:
        ElementTree.SubElement(schema, "MiningField", {"name": column["name"]})
    ElementTree.SubElement(schema, "MiningField", {"name": target["name"], "usageType": "target"})
    for name in ("class_totals", "growing_rule", "error_rate_step"):
        if name in document:
            extend(schema, name, json.dumps(document[name]))
    stack: list[tuple[ElementTree.Element, int, str, Mapping[str, Any] | None]] = [(model, 0, "", None)]
    while stack:
        above, node, column_name, admits = stack.pop()
        question = document["nodes"][node]
        element = ElementTree.SubElement(above, "Node", {"id": str(node)})
        if "children" not in question:
            element.set("score", score(question["label"]))
            if question.get("error_rate") is not None:
                extend(element, "error_rate", repr(question["error_rate"]))
        add_predicate(element, column_name, admits)
        for child in reversed(question.get("children", [])):
            stack.append((element, child["node"], question["column"], child))
    text = ElementTree.tostring(root, encoding="unicode")
    if _NOT_XML.search(text):
        raise ParameterError(
            "A name or value holds a character that XML cannot hold.", remedy="Publish the tree as JSON, or correct it."
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def extend(element: ElementTree.Element, name: str, value: str) -> None:
    """Add a fact that PMML has no field of its own for."""
    element.insert(0, ElementTree.Element("Extension", {"extender": "Copse", "name": name, "value": value}))


def score(value: str | None) -> str:
    """Return a class as PMML writes it."""
    return "missing" if value is None else value


def add_predicate(element: ElementTree.Element, column: str, child: Mapping[str, Any] | None) -> None:
    """Add what a node admits."""
    if child is None:
        ElementTree.SubElement(element, "True")
        return
    end = next((end for end in ("upto", "above") if end in child), None)
    has_test = end is not None or bool(child.get("values"))
    if child.get("missing") and has_test:
        element = ElementTree.SubElement(element, "CompoundPredicate", {"booleanOperator": "or"})
    if end is not None:
        operator = "lessOrEqual" if end == "upto" else "greaterThan"
        test = {"field": column, "operator": operator, "value": str(child[end])}
        ElementTree.SubElement(element, "SimplePredicate", test)
    elif child.get("values"):
        among = ElementTree.SubElement(element, "SimpleSetPredicate", {"field": column, "booleanOperator": "isIn"})
        array = ElementTree.SubElement(among, "Array", {"type": "string", "n": str(len(child["values"]))})
        quoted = (str(value).replace("\\", "\\\\").replace('"', '\\"') for value in child["values"])
        array.text = " ".join(f'"{value}"' for value in quoted)
    if child.get("unlisted") and not child.get("missing"):
        ElementTree.SubElement(element, "False")
    elif child.get("missing") or not has_test:
        operator = "isMissing" if child.get("missing") else "isNotMissing"
        ElementTree.SubElement(element, "SimplePredicate", {"field": column, "operator": operator})


@dataclass
class Element:
    """An element of XML: its name without a namespace, attributes, text and children."""

    name: str
    attributes: dict[str, str]
    text: str = ""
    children: list["Element"] = field(default_factory=list)

    def all(self, name: str) -> Iterator["Element"]:
        """Yield the children of this name."""
        return (child for child in self.children if child.name == name)


def read_xml(content: bytes, form: str) -> Element:
    """Return the root of an XML text. A document type, and with it every entity, is refused; so is what is too deep."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    root = Element("", {})
    stack = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) > 2 * DEEPEST:
            refuse(form, "it is too deep")
        element = Element(name.rpartition(":")[2], attributes)
        stack[-1].children.append(element)
        stack.append(element)

    def end(name: str) -> None:
        stack.pop()

    def characters(text: str) -> None:
        stack[-1].text += text

    def declares(*_: Any) -> None:
        refuse(form, "it declares a document type, which no tree needs")

    handlers: dict[str, Callable[..., None]] = {
        "StartElementHandler": start, "EndElementHandler": end, "CharacterDataHandler": characters,
        "StartDoctypeDeclHandler": declares, "EntityDeclHandler": declares,
    }  # fmt: skip
    for name, handler in handlers.items():
        setattr(parser, name, handler)
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError("This file is no well-formed XML.", remedy=REMEDY) from error
    return root.children[0]


FORM = "PMML"


def from_pmml(content: bytes) -> Sketch:
    """Return the tree of a PMML file with one TreeModel for classification."""
    root = read_xml(content, FORM)
    models = [child for child in root.children if child.name.endswith("Model")]
    if root.name != "PMML" or [model.name for model in models] != ["TreeModel"]:
        kinds = ", ".join(model.name[:40] for model in models) or root.name[:40]
        refuse(FORM, f"it holds {kinds}, and one TreeModel was expected")
    (model,) = models
    if model.attributes.get("functionName") != "classification":
        refuse(FORM, "it predicts a number, and classes were expected")
    dates = {
        one.attributes.get("name", "")
        for part in root.all("DataDictionary")
        for one in part.all("DataField")
        if one.attributes.get("dataType", "").startswith("date")
    }
    tops = list(model.all("Node"))
    if len(tops) != 1:
        refuse(FORM, "it has no root")
    sketch = Sketch([], FORM)
    for part in model.all("MiningSchema"):
        for name, value in extensions(part).items():
            if name in ("class_totals", "growing_rule", "error_rate_step"):
                sketch.facts[name] = parse(value, "PMML file", REMEDY).value
    places = [(tops[0], 0)]
    sketch.nodes.append(SketchNode())
    while places:
        element, at = places.pop()
        below = list(element.all("Node"))
        if len(sketch.nodes) + len(below) > MOST_NODES:
            refuse(FORM, "it has too many nodes")
        if not below:
            sketch.nodes[at] = leaf_of(element, sketch)
            continue
        asks = []
        for child in below:
            branch = Branch(len(sketch.nodes))
            asks.append((predicate_of(child, branch, dates), branch))
            places.append((child, len(sketch.nodes)))
            sketch.nodes.append(SketchNode())
        fields = {name for name, _ in asks if name}
        if len(fields) != 1:
            refuse(FORM, "a question asks several columns at once, or none")
        sketch.nodes[at] = SketchNode(fields.pop(), tuple(branch for _, branch in asks))
    return sketch


def extensions(element: Element) -> dict[str, str]:
    """Return what Copse wrote beside PMML's own fields, by name."""
    own = (one.attributes for one in element.all("Extension") if one.attributes.get("extender") == "Copse")
    return {one.get("name", ""): one.get("value", "") for one in own}


def leaf_of(element: Element, sketch: Sketch) -> SketchNode:
    """Return a leaf: its label is the score, or the class with the largest number of records."""
    shares = list(element.all("ScoreDistribution"))
    sketch.shares |= bool(shares)
    label = element.attributes.get("score")
    if label is None and shares:
        largest = max(shares, key=lambda one: finite(one.attributes.get("recordCount", ""), FORM))
        label = largest.attributes.get("value")
    if label is None:
        refuse(FORM, "a leaf has no score")
    rate = extensions(element).get("error_rate")
    return SketchNode(label=label, error_rate=None if rate is None else finite(rate, FORM))


def predicate_of(element: Element, branch: Branch, dates: set[str]) -> str:
    """Put what a node admits into its branch; return the column that is asked, "" where none is."""
    names = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
    tests = [child for child in element.children if child.name in names]
    if len(tests) != 1:
        refuse(FORM, "a node has no predicate, or several")
    test = tests[0]
    if test.name == "CompoundPredicate":
        parts = [child for child in test.children if child.name in names]
        if test.attributes.get("booleanOperator") == "surrogate" and parts:
            test = parts[0]  # the others stand in where the column is missing
        elif test.attributes.get("booleanOperator") == "or" and len(parts) == 2:
            test, gap = parts
            asks = gap.attributes.get("operator"), gap.attributes.get("field")
            if asks != ("isMissing", test.attributes.get("field")):
                refuse(FORM, "a predicate is not understood")
            branch.missing = True
        else:
            refuse(FORM, "a predicate is not understood")
    column = test.attributes.get("field", "")
    if test.name in ("True", "False"):  # Copse writes False where it lists none of the levels that go there
        branch.rest = True
        return ""
    if test.name == "SimpleSetPredicate":
        arrays = list(test.all("Array"))
        if len(arrays) != 1 or test.attributes.get("booleanOperator") not in ("isIn", "isNotIn"):
            refuse(FORM, "a set of values is not understood")
        values = tuple(texts_of_array(arrays[0].text))
        if test.attributes["booleanOperator"] == "isIn":
            branch.values = values
        else:
            branch.others = values
        return column
    operator, value = test.attributes.get("operator", ""), test.attributes.get("value", "")
    ends = {"lessOrEqual": "upto", "lessThan": "below", "greaterThan": "above", "greaterOrEqual": "least"}
    if test.name != "SimplePredicate" or not column:
        refuse(FORM, "a predicate is not understood")
    if operator in ends:
        setattr(branch, ends[operator], value if column in dates else finite(value, FORM))
    elif operator == "equal":
        branch.values = (value,)
    elif operator == "notEqual":
        branch.others = (value,)
    elif operator == "isMissing":
        branch.values, branch.missing = (), True
    elif operator == "isNotMissing":
        branch.others, branch.missing = (), False
    else:
        refuse(FORM, f"the operator {operator[:40]!r} is not understood")
    return column


def texts_of_array(text: str) -> list[str]:
    """Return the values of an array of PMML: divided by blanks, quoted where they hold some."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)|([^\s"]+)', text, re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", quoted) if quoted or not bare else bare for quoted, bare in parts]
