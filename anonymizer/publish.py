"""The tree as it is published: rules, JSON and PMML, with exactly the fields whose risk was assessed, and no more.

Every form holds the questions and the labels of the leaves. Error rates, class totals and how the tree was grown are
there only where the adversary of the assessment knew them. Numbers of records are never there. JSON can be read
back, so that whoever holds the table can assess the very file again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any
from xml.etree import ElementTree

import numpy as np

from anonymizer.constraints import Knowledge, Rule
from anonymizer.encode import Encoding, value_text
from anonymizer.errors import ParameterError
from anonymizer.explain import visible_text
from anonymizer.outline import NOWHERE, KeyedTree, Keys, Outline, Row, keyed, outline_from
from anonymizer.schema import Kind
from anonymizer.version import VERSION

FORMAT = "copse-published-tree"
PMML_NAMESPACE = "http://www.dmg.org/PMML-4_4"
Document = dict[str, Any]

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def publish(tree: KeyedTree, knowledge: Knowledge) -> Document:
    """The published tree, JSON-ready: what this adversary was assumed to know, and nothing else."""
    keys, outline = tree.keys, tree.outline
    nodes: list[dict[str, Any]] = []
    for node in range(outline.n_nodes):
        column = int(outline.feature[node])
        if column >= 0:
            children = [
                {"node": child, **branch(outline, keys.encodings[column], node, side)}
                for side, child in enumerate(outline.children[node])
            ]
            nodes.append({"column": keys.encodings[column].name, "children": children})
            continue
        leaf: dict[str, Any] = {"label": keys.labels[int(tree.label[node])]}
        if knowledge.rates:
            leaf["error_rate"] = float(tree.error[node] / tree.n[node]) if tree.n[node] else None
        nodes.append(leaf)
    asked = sorted({int(column) for column in outline.feature if column >= 0})
    document: Document = {
        "format": FORMAT,
        "version": 1,
        "target": {"name": keys.target, "values": list(keys.labels)},
        "columns": [{"name": keys.encodings[j].name, "kind": keys.encodings[j].kind.value} for j in asked],
        "nodes": nodes,
    }
    if knowledge.totals:
        document["class_totals"] = [int(total) for total in tree.sums[0]]
    if knowledge.rule is not None:
        document["growing_rule"] = asdict(knowledge.rule)
    return document


def branch(outline: Outline, encoding: Encoding, node: int, side: int) -> dict[str, Any]:
    """What a child of a node admits: an interval above < value <= upto, or values; and whether missing is admitted."""
    codes = np.arange(encoding.n_codes)
    admitted = outline.side_of(node, codes) == side
    values = len(encoding.labels)
    found: dict[str, Any] = {}
    if encoding.is_interval:
        threshold = float(outline.threshold[node])
        if np.isfinite(threshold):
            found["upto" if side == 0 else "above"] = number_text(encoding, threshold)
        elif side:
            found["values"] = []
    else:
        found["values"] = [encoding.text(int(code)) for code in codes[:values][admitted[:values]]]
    if encoding.missing:
        found["missing"] = bool(admitted[-1])
    return found


def number_text(encoding: Encoding, threshold: float) -> Any:
    """A threshold as a number, or as a moment in ISO form."""
    return str(np.datetime64(int(np.floor(threshold)), "us")) if encoding.kind is Kind.DATE else threshold


def number_from(encoding: Encoding, value: Any) -> float:
    """The inverse of :func:`number_text`."""
    if encoding.kind is Kind.DATE:
        return float(np.datetime64(str(value), "us").astype(np.int64))
    return float(value)


def to_json(document: Document) -> str:
    """JSON text; :func:`from_json` gives back an equal document."""
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Document:
    """Read a published tree. Raises :class:`ParameterError` for anything else."""
    try:
        document = json.loads(text)
        fine = document["format"] == FORMAT and document["version"] == 1
        fine = fine and isinstance(document["target"]["values"], list) and isinstance(document["target"]["name"], str)
        fine = (
            fine and isinstance(document["nodes"], list) and all(isinstance(node, dict) for node in document["nodes"])
        )
        fine = fine and len(document["nodes"]) > 0
    except (ValueError, KeyError, TypeError) as error:
        raise not_a_tree() from error
    if not fine:
        raise not_a_tree()
    found: Document = document
    return found


def not_a_tree() -> ParameterError:
    """What is said of a file that is no published tree."""
    return ParameterError(
        "This is not a published tree.", remedy="Use the JSON file that was saved on the Disclosure page."
    )


def knowledge_of(document: Document) -> Knowledge:
    """What somebody knows who holds this file."""
    rates = any("error_rate" in node for node in document["nodes"])
    described = document.get("growing_rule")
    try:
        rule = None if described is None else Rule(**described)
    except TypeError as error:
        raise not_a_tree() from error
    return Knowledge(rates, document.get("class_totals") is not None, rule)


def tree_from(document: Document, keys: Keys) -> KeyedTree:
    """The published tree with the keys of the table laid into it.

    Raises :class:`ParameterError` when it does not fit the table: other columns or values, a label that is not the
    largest class of its leaf, another error rate, or other totals.
    """
    if list(document["target"]["values"]) != list(keys.labels) or document["target"]["name"] != keys.target:
        raise does_not_fit(f"its target is {document['target']['name']!r} with other values")
    tree = keyed(outline_of_document(document, keys.encodings), keys)
    label = np.array(tree.label)
    values = {value: code for code, value in enumerate(keys.labels)}
    for node, described in enumerate(document["nodes"]):
        if tree.outline.feature[node] >= 0 or not tree.n[node]:
            continue
        code = values.get(described["label"])
        if code is None or tree.sums[node, code] < tree.sums[node].max():
            raise does_not_fit(f"the label of leaf {node} is not its largest class")
        label[node] = code
        rate = described.get("error_rate")
        if rate is not None and abs(rate - (1 - tree.sums[node, code] / tree.n[node])) > 1e-6:
            raise does_not_fit(f"the error rate of leaf {node} is another one")
    if document.get("class_totals") not in (None, tree.sums[0].tolist()):
        raise does_not_fit("the class totals are other ones")
    return replace(tree, label=label)


def does_not_fit(why: str) -> ParameterError:
    """What is said when a published tree and a table do not belong together."""
    return ParameterError(
        f"The published tree was not made from this table: {why}.",
        remedy="Give the table, the target and the kinds of columns that it was made with.",
    )


def outline_of_document(document: Document, encodings: tuple[Encoding, ...]) -> Outline:
    """The bare tree, in the codes of a table."""
    named = {encoding.name: position for position, encoding in enumerate(encodings)}
    nodes = document["nodes"]
    parent = {0: -1}
    rows: list[Row] = []
    try:
        for node, described in enumerate(nodes):
            above = parent[node]
            if "children" not in described:
                str(described["label"])
                rows.append(Row(above))
                continue
            if described["column"] not in named:
                raise does_not_fit(f"there is no quasi-identifying column {described['column']!r}")
            column = named[described["column"]]
            children = described["children"]
            order = [child["node"] for child in children]
            if order != sorted(set(order)) or not all(node < child < len(nodes) for child in order):
                raise not_a_tree()
            parent |= dict.fromkeys(order, node)
            rows.append(row_of(above, column, encodings[column], children))
    except (KeyError, TypeError, ValueError) as error:
        raise error if isinstance(error, ParameterError) else not_a_tree() from error
    if len(parent) != len(nodes):
        raise not_a_tree()
    return outline_from(rows)


def row_of(above: int, column: int, encoding: Encoding, children: list[dict[str, Any]]) -> Row:
    """One question as a row of an outline."""
    if encoding.is_interval:
        upto = children[0].get("upto")
        if len(children) != 2 or (upto is not None and children[1].get("above") != upto):
            raise not_a_tree()
        if upto is None:
            return Row(above, column, len(encoding.labels), np.inf)
        threshold = number_from(encoding, upto)
        return Row(above, column, int(np.searchsorted(encoding.low, threshold, side="right")), threshold)
    code_of = {encoding.text(code): code for code in range(len(encoding.labels))}
    sides = np.full(encoding.n_codes, NOWHERE, dtype=np.int32)
    for side, child in enumerate(children):
        codes = [code_of[value] for value in child["values"] if value in code_of]
        sides[codes] = side
        if child.get("missing") and encoding.missing:
            sides[-1] = side
    if encoding.by_order and len(children) == 2 and (np.diff(sides) >= 0).all() and sides[0] == 0:
        return Row(above, column, int((sides == 0).sum()))
    return Row(above, column, sides=sides)


def conditions_of(document: Document) -> dict[int, str]:
    """The conditions on the path of each node, in words; "always" for the root."""
    found: dict[int, str] = {}
    stack: list[tuple[int, dict[str, dict[str, Any]]]] = [(0, {})]
    while stack:
        node, conditions = stack.pop()
        described = document["nodes"][node]
        found[node] = " and ".join(condition_text(name, held) for name, held in conditions.items()) or "always"
        for child in reversed(described.get("children", [])):
            narrower = narrowed(conditions.get(described["column"], {}), child)
            stack.append((child["node"], conditions | {described["column"]: narrower}))
    return found


def to_rules(document: Document) -> str:
    """One line a leaf: the conditions on its path, its label and, where published, its error rate."""
    target = visible_text(document["target"]["name"])
    lines: list[str] = []
    for node, asked in conditions_of(document).items():
        described = document["nodes"][node]
        if "children" in described:
            continue
        rate = described.get("error_rate")
        told = "" if rate is None else f"  (error rate {rate:.6g})"
        lines.append(f"if {asked} then {target} = {shown(described['label'])}{told}")
    if "class_totals" in document:
        pairs = zip(document["target"]["values"], document["class_totals"], strict=True)
        lines.append("class totals: " + ", ".join(f"{shown(value)} {total}" for value, total in pairs))
    if "growing_rule" in document:
        rule = document["growing_rule"]
        lines.append(f"grown by {rule['measure']}, {rule['splits']} splits")
    return "\n".join(lines) + "\n"


def narrowed(held: Mapping[str, Any], child: Mapping[str, Any]) -> dict[str, Any]:
    """Two conditions on one column as one."""
    found = dict(held)
    for end in ("above", "upto"):
        if end in child:
            found[end] = child[end]  # each cut lies within the interval of the path
    if "values" in child:
        before = held.get("values")
        found["values"] = [value for value in child["values"] if before is None or value in before]
    if "missing" in child:
        found["missing"] = child["missing"] and held.get("missing", True)
    return found


def condition_text(name: str, held: Mapping[str, Any]) -> str:
    """A condition on a column in words."""
    name = visible_text(name)
    missing = held.get("missing", False)
    if held.get("values") == [] or ("values" not in held and not {"above", "upto"} & set(held) and missing):
        return f"{name} is missing"
    if "values" in held:
        text = f"{name} in {{{', '.join(shown(value) for value in held['values'])}}}"
    elif {"above", "upto"} & set(held):
        above, upto = held.get("above"), held.get("upto")
        text = name if above is None else f"{value_text(above)} < {name}"
        text = text if upto is None else f"{text} <= {value_text(upto)}"
    else:
        return f"{name} is not missing"
    return f"({text} or missing)" if missing else text


def shown(value: str | None) -> str:
    """A level or label in a rule."""
    return "missing" if value is None else json.dumps(visible_text(value), ensure_ascii=False)


def to_pmml(document: Document) -> str:
    """PMML 4.4, a TreeModel for classification. Raises :class:`ParameterError` for text that XML cannot hold.

    Error rates and class totals stand in extensions: PMML's own fields would tell counts of records as well.
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
    for name in ("class_totals", "growing_rule"):
        if name in document:
            extend(schema, name, json.dumps(document[name]))
    stack: list[tuple[ElementTree.Element, int, str, Mapping[str, Any] | None]] = [(model, 0, "", None)]
    while stack:
        above, node, column_name, child = stack.pop()
        described = document["nodes"][node]
        element = ElementTree.SubElement(above, "Node", {"id": str(node)})
        if "children" not in described:
            element.set("score", score(described["label"]))
            if described.get("error_rate") is not None:
                extend(element, "error_rate", repr(described["error_rate"]))
        add_predicate(element, column_name, child)
        for branch_ in reversed(described.get("children", [])):
            stack.append((element, branch_["node"], described["column"], branch_))
    text = ElementTree.tostring(root, encoding="unicode")
    if _NOT_XML.search(text):
        raise ParameterError(
            "A name or value holds a character that XML cannot hold.", remedy="Publish the tree as JSON, or correct it."
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def extend(element: ElementTree.Element, name: str, value: str) -> None:
    """A fact that PMML has no field of its own for."""
    element.insert(0, ElementTree.Element("Extension", {"extender": "Copse", "name": name, "value": value}))


def score(value: str | None) -> str:
    """A class as PMML writes it."""
    return "missing" if value is None else value


def add_predicate(element: ElementTree.Element, column: str, child: Mapping[str, Any] | None) -> None:
    """What a node admits."""
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
    if child.get("missing") or not has_test:
        operator = "isMissing" if child.get("missing") else "isNotMissing"
        ElementTree.SubElement(element, "SimplePredicate", {"field": column, "operator": operator})


WRITERS = {"json": to_json, "rules": to_rules, "pmml": to_pmml}
"""The forms of a published tree, by name."""
