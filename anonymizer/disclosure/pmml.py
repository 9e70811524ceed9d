"""A published tree as PMML 4.4, the form that other programs read."""

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from anonymizer.errors import ParameterError
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
