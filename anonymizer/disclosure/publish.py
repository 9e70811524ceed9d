"""The tree as it is published: rules, JSON and PMML, with exactly the fields whose risk was assessed, and no more.

Every form holds the questions and the labels of the leaves. Error rates, class totals and how the tree was grown are
there only where the adversary of the assessment knew them, and error rates are rounded, so that they do not tell how
many records a leaf has; the assessment knows them exactly. Numbers of records are never there. JSON can be read back,
so that whoever holds the table can assess the very file again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymizer.disclosure.constraints import GrowingRule, Knowledge
from anonymizer.disclosure.outline import NOWHERE, KeyedTree, Keys, Outline, Row, lay_keys, outline_from
from anonymizer.disclosure.pmml import Document, to_pmml
from anonymizer.drawing.words import visible_text
from anonymizer.errors import AnonymizerError, ParameterError
from anonymizer.growing.encode import Encoding
from anonymizer.json_value import JsonValue, parse
from anonymizer.schema import Kind
from anonymizer.values import value_text

FORMAT = "copse-published-tree"

RATE_STEP = 0.05
"""Error rates are published as multiples of this: from 0.3125 anybody finds 5 of 16, from 0.3 nobody does."""


def publish(tree: KeyedTree, knowledge: Knowledge) -> Document:
    """Return the published tree, JSON-ready: what this adversary was assumed to know, and nothing else."""
    keys, outline = tree.keys, tree.outline
    nodes: list[dict[str, Any]] = []
    for node in range(outline.n_nodes):
        column = int(outline.feature[node])
        if column >= 0:
            children = [
                {"node": child, **branch(outline, keys, node, side)}
                for side, child in enumerate(outline.children[node])
            ]
            nodes.append({"column": keys.encodings[column].name, "children": children})
            continue
        leaf: dict[str, Any] = {"label": keys.labels[int(tree.label[node])]}
        if knowledge.rates:
            leaf["error_rate"] = rounded_rate(int(tree.error[node]), int(tree.n[node]))
        nodes.append(leaf)
    columns = sorted({int(column) for column in outline.feature if column >= 0})
    document: Document = {
        "format": FORMAT,
        "version": 1,
        "target": {"name": keys.target, "values": classes_of(tree, knowledge)},
        "columns": [{"name": keys.encodings[j].name, "kind": keys.encodings[j].kind.value} for j in columns],
        "nodes": nodes,
    }
    if knowledge.rates:
        document["error_rate_step"] = RATE_STEP
    if knowledge.totals:
        document["class_totals"] = [int(total) for total in tree.sums[0]]
    if knowledge.rule is not None:
        document["growing_rule"] = asdict(knowledge.rule)
    return document


def rounded_rate(error: int, n: int) -> float | None:
    """Return the share of errors among n records to the next multiple of :data:`RATE_STEP`; ``None`` of no record."""
    return round(round(error / n / RATE_STEP) * RATE_STEP, 10) if n else None


def certain_leaves(tree: KeyedTree, knowledge: Knowledge) -> dict[int, str | None]:
    """Return the label of each leaf that is published without an error, by its number in preorder: everybody in it has
    that value. None where error rates are not published; a rate counts as known exactly."""
    leaves = enumerate(tree.outline.leaves.tolist())
    pure = [(place, node) for place, node in leaves if knowledge.rates and tree.n[node] and not tree.error[node]]
    return {place: tree.keys.labels[int(tree.label[node])] for place, node in pure}


def classes_of(tree: KeyedTree, knowledge: Knowledge) -> list[str | None]:
    """Return the classes that are listed: those of one person only where a leaf or the class totals say them."""
    labels, alone = tree.keys.labels, tree.keys.alone
    if knowledge.totals or not alone:
        return list(labels)
    of_leaves = set(tree.label[tree.outline.leaves].tolist())
    return [label for code, label in enumerate(labels) if code in of_leaves or not alone[-1][code]]


def branch(outline: Outline, keys: Keys, node: int, side: int) -> dict[str, Any]:
    """Return what a child of a node admits: an interval above < value <= upto, or values; and ``missing``.

    Values that one person has are not listed; ``unlisted``: the child admits nothing else.
    """
    column = int(outline.feature[node])
    encoding, codes = keys.encodings[column], np.arange(keys.encodings[column].n_codes)
    admits = outline.side_of(node, codes) == side
    values = len(encoding.labels)
    conditions: dict[str, Any] = {}
    if encoding.is_interval:
        threshold = float(outline.threshold[node])
        if np.isfinite(threshold):
            conditions["upto" if side == 0 else "above"] = threshold_value(encoding, threshold)
        elif side:
            conditions["values"] = []
    else:
        listed = admits & ~keys.alone[column] if keys.alone else admits
        conditions["values"] = [encoding.text(int(code)) for code in codes[:values][listed[:values]]]
        if admits[:values].any() and not conditions["values"]:
            conditions["unlisted"] = True
    if encoding.missing:
        conditions["missing"] = bool(admits[-1])
    return conditions


def threshold_value(encoding: Encoding, threshold: float) -> Any:
    """Return a threshold as a number, or as a moment in ISO form."""
    return str(np.datetime64(int(np.floor(threshold)), "us")) if encoding.kind is Kind.DATE else threshold


def threshold_from(encoding: Encoding, value: Any) -> float:
    """Return the inverse of :func:`threshold_value`."""
    if encoding.kind is Kind.DATE:
        return float(np.datetime64(str(value), "us").astype(np.int64))
    return float(value)


def to_json(document: Document) -> str:
    """Return JSON text; :func:`from_json` gives back an equal document."""
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def from_json(text: str | bytes) -> Document:
    """Return a published tree, every field checked. Raises :class:`ReadError` with the place of what does not fit."""
    document = parse(text, "published tree", "Use the JSON file that was saved on the Disclosure page.")
    document.field("format").one_of([FORMAT])
    document.field("version").whole(1, 1)
    target = document.field("target")
    target.field("name").text(fewest=1)
    values = [value.value if value.absent else value.text() for value in target.field("values").items(fewest=1)]
    for column in document.field("columns").items():
        column.field("name").text(fewest=1)
        column.field("kind").one_of(list(Kind))
    nodes = document.field("nodes").items(fewest=1)
    for place, node in enumerate(nodes):
        _check_node(node, place, len(nodes))
    if not document.field("error_rate_step").absent:
        document.field("error_rate_step").number(0, 1)
    if not document.field("class_totals").absent:
        for total in document.field("class_totals").items(len(values), len(values)):
            total.whole()
    if not document.field("growing_rule").absent:
        _check_rule(document.field("growing_rule"))
    read: Document = document.value
    return read


def _check_node(node: JsonValue, place: int, n_nodes: int) -> None:
    """Raise :class:`ReadError` unless this is a leaf, or a question whose children come after it."""
    if node.field("children").absent:
        fields = node.fields(("label", "error_rate"))
        if not node.field("label").absent or "label" not in fields:
            node.field("label").text()
        if not node.field("error_rate").absent:
            node.field("error_rate").number(0, 1)
        return
    node.fields(("column", "children"))
    node.field("column").text(fewest=1)
    for child in node.field("children").items(fewest=1):
        fields = child.fields(("node", "upto", "above", "values", "unlisted", "missing"))
        child.field("node").whole(place + 1, n_nodes - 1)
        for end in {"upto", "above"} & set(fields):
            if not isinstance(fields[end].value, str):
                fields[end].number()
        for value in fields["values"].items() if "values" in fields else ():
            if not value.absent:
                value.text()
        for flag in {"missing", "unlisted"} & set(fields):
            fields[flag].flag()


def _check_rule(rule: JsonValue) -> None:
    fields = rule.fields(("measure", "splits", "min_leaf", "exhaustive_max"))
    for name, value in fields.items():
        if name in ("measure", "splits"):
            value.text(100)
        else:
            value.whole(0, 10**9)
    rule.build(lambda: GrowingRule(**rule.value))


def not_a_tree() -> ParameterError:
    """Return the error of a file that is no published tree."""
    return ParameterError(
        "This is not a published tree.", remedy="Use the JSON file that was saved on the Disclosure page."
    )


def knowledge_of(document: Document) -> Knowledge:
    """Return the knowledge of an adversary who has this file."""
    rates = any("error_rate" in node for node in document["nodes"])
    described = document.get("growing_rule")
    rule = None if described is None else GrowingRule(**described)
    return Knowledge(rates, document.get("class_totals") is not None, rule)


def tree_from(document: Document, keys: Keys) -> KeyedTree:
    """Return the published tree with the keys of the table laid into it.

    A value that one person has, which the file does not list, goes to the child of such values, else to the one that
    lists most; so what leaves say may be off by these records. Raises :class:`ParameterError` when it does not fit the
    table: other columns or values, a label that is not the largest class of its leaf, another error rate, or other
    totals.
    """
    classes = document["target"]["values"]
    of_one_person = keys.alone[-1] if keys.alone else np.zeros(len(keys.labels), np.bool_)
    listed = [label for label, of_one in zip(keys.labels, of_one_person, strict=True) if label in classes or not of_one]
    if classes != listed or document["target"]["name"] != keys.target:
        raise does_not_fit(f"its target is {document['target']['name']!r} with other values")
    tree = lay_keys(outline_of_document(document, keys), keys)
    label = np.array(tree.label)
    values = {value: code for code, value in enumerate(keys.labels)}
    alone = np.zeros(len(keys.counts), np.bool_)
    for column, of_one in enumerate(keys.alone[:-1]):
        alone |= of_one[keys.codes[:, column]] & (not keys.encodings[column].is_interval)
    spare = int(keys.counts[alone].sum())
    slack = (document.get("error_rate_step") or 0.0) / 2 + 1e-6
    for node, described in enumerate(document["nodes"]):
        if tree.outline.feature[node] >= 0 or not tree.n[node]:
            continue
        code = values.get(described["label"])
        if code is None or tree.sums[node, code] + spare < tree.sums[node].max():
            raise does_not_fit(f"the label of leaf {node} is not its largest class")
        label[node] = code
        rate = described.get("error_rate")
        if rate is not None and abs(rate - (1 - tree.sums[node, code] / tree.n[node])) > slack + spare / tree.n[node]:
            raise does_not_fit(f"the error rate of leaf {node} is another one")
    if document.get("class_totals") not in (None, tree.sums[0].tolist()):
        raise does_not_fit("the class totals are other ones")
    return replace(tree, label=label)


def does_not_fit(why: str) -> ParameterError:
    """Return the error of a published tree and a table that do not belong together."""
    return ParameterError(
        f"The published tree was not made from this table: {why}.",
        remedy="Give the table, the target and the kinds of columns that it was made with.",
    )


def outline_of_document(document: Document, keys: Keys) -> Outline:
    """Return the bare tree, in the codes of a table."""
    encodings = keys.encodings
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
            rows.append(row_of(above, column, encodings[column], children, keys.alone[column] if keys.alone else None))
    except (KeyError, TypeError, ValueError) as error:
        raise error if isinstance(error, ParameterError) else not_a_tree() from error
    if len(parent) != len(nodes):
        raise not_a_tree()
    return outline_from(rows)


def row_of(
    above: int, column: int, encoding: Encoding, children: list[dict[str, Any]], alone: NDArray[np.bool_] | None = None
) -> Row:
    """Return one question as a row of an outline. ``alone`` (b,): the codes that one person has; see
    :func:`tree_from`."""
    if encoding.is_interval:
        upto = children[0].get("upto")
        if len(children) != 2 or (upto is not None and children[1].get("above") != upto):
            raise not_a_tree()
        if upto is None:
            return Row(above, column, len(encoding.labels), np.inf)
        threshold = threshold_from(encoding, upto)
        cut = int(np.searchsorted(encoding.low, threshold, side="right"))
        if not (encoding.missing and children[0].get("missing")):
            return Row(above, column, cut, threshold)
        sides = (np.arange(encoding.n_codes) >= cut).astype(np.int32)
        sides[-1] = 0
        return Row(above, column, threshold=threshold, sides=sides)
    code_of = {encoding.text(code): code for code in range(len(encoding.labels))}
    sides = np.full(encoding.n_codes, NOWHERE, dtype=np.int32)
    for side, child in enumerate(children):
        codes = [code_of[value] for value in child["values"] if value in code_of]
        sides[codes] = side
        if child.get("missing") and encoding.missing:
            sides[-1] = side
    if alone is not None:
        rest = [side for side, child in enumerate(children) if child.get("unlisted")]
        sides[(sides == NOWHERE) & alone] = rest[0] if rest else int(np.argmax([len(c["values"]) for c in children]))
    if encoding.by_order and len(children) == 2 and (np.diff(sides) >= 0).all() and sides[0] == 0:
        return Row(above, column, int((sides == 0).sum()))
    return Row(above, column, sides=sides)


def conditions_of(document: Document) -> dict[int, str]:
    """Return the conditions on the path of each node, in words; "always" for the root."""
    premises: dict[int, str] = {}
    stack: list[tuple[int, dict[str, dict[str, Any]]]] = [(0, {})]
    while stack:
        node, conditions = stack.pop()
        question = document["nodes"][node]
        premises[node] = " and ".join(condition_text(*condition) for condition in conditions.items()) or "always"
        for child in reversed(question.get("children", [])):
            both = intersection(conditions.get(question["column"], {}), child)
            stack.append((child["node"], conditions | {question["column"]: both}))
    return premises


def to_rules(document: Document) -> str:
    """Return one line a leaf: the conditions on its path, its label and, where published, its error rate."""
    target = visible_text(document["target"]["name"])
    lines: list[str] = []
    for node, premise in conditions_of(document).items():
        leaf = document["nodes"][node]
        if "children" in leaf:
            continue
        rate = leaf.get("error_rate")
        error = "" if rate is None else f"  (error rate {rate:.6g})"
        lines.append(f"if {premise} then {target} = {level_text(leaf['label'])}{error}")
    if "error_rate_step" in document:
        lines.append(f"error rates to the next {document['error_rate_step']:g}")
    if "class_totals" in document:
        pairs = zip(document["target"]["values"], document["class_totals"], strict=True)
        lines.append("class totals: " + ", ".join(f"{level_text(value)} {total}" for value, total in pairs))
    if "growing_rule" in document:
        rule = document["growing_rule"]
        lines.append(f"grown by {rule['measure']}, {rule['splits']} splits")
    return "\n".join(lines) + "\n"


def intersection(condition: Mapping[str, Any], child: Mapping[str, Any]) -> dict[str, Any]:
    """Return two conditions on one column as one."""
    both = dict(condition)
    for end in ("above", "upto"):
        if end in child:
            both[end] = child[end]  # each cut lies within the interval of the path
    both["unlisted"] = child.get("unlisted", False)
    if "values" in child:
        before = condition.get("values")
        both["values"] = [value for value in child["values"] if before is None or value in before]
    if "missing" in child:
        both["missing"] = child["missing"] and condition.get("missing", True)
    return both


def condition_text(name: str, condition: Mapping[str, Any]) -> str:
    """Return a condition on a column in words."""
    name = visible_text(name)
    missing = condition.get("missing", False)
    bounded = bool({"above", "upto"} & set(condition))
    if condition.get("unlisted"):
        return f"({name} is none that is listed or missing)" if missing else f"{name} is none that is listed"
    if condition.get("values") == [] or ("values" not in condition and not bounded and missing):
        return f"{name} is missing"
    if "values" in condition:
        text = f"{name} in {{{', '.join(map(level_text, condition['values']))}}}"
    elif bounded:
        above, upto = condition.get("above"), condition.get("upto")
        text = name if above is None else f"{value_text(above)} < {name}"
        text = text if upto is None else f"{text} <= {value_text(upto)}"
    else:
        return f"{name} is not missing"
    return f"({text} or missing)" if missing else text


def level_text(value: str | None) -> str:
    """Return a level or label as it stands in a rule."""
    return "missing" if value is None else json.dumps(visible_text(value), ensure_ascii=False)


WRITERS = {"json": to_json, "rules": to_rules, "pmml": to_pmml}
"""The forms of a published tree, by name."""


def forms_of(document: Document) -> tuple[dict[str, str], AnonymizerError | None]:
    """Return the published tree in each form that can hold it, and why one cannot."""
    texts, unfit = {}, None
    for form, write in WRITERS.items():
        try:
            texts[form] = write(document)
        except AnonymizerError as error:
            unfit = error
    return texts, unfit
