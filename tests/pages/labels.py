"""Finds text that a page shows as Markdown and that may come from data without having been escaped.

A text is safe when it is written in the source, a constant by its name, a number by its format, escaped, or made of
such parts. A name is safe when all it is assigned is; a parameter, when all that is handed over for it is; a call,
when all that the function returns is.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

LABELLED = {
    "badge", "button", "caption", "checkbox", "download_button", "error", "expander", "file_uploader",
    "form_submit_button", "header", "info", "markdown", "metric", "multiselect", "number_input", "page_link", "pills",
    "popover", "radio", "segmented_control", "select_slider", "selectbox", "slider", "spinner", "status",
    "subheader", "success", "tabs", "text_area", "text_input", "title", "toast", "toggle", "warning", "write",
}  # fmt: skip
"""Functions of Streamlit that show their first argument, a label or a text, as Markdown, and ``help`` too."""
SECOND = {"metric": "value", "progress": "text"}
"""Those that show their second argument as Markdown, and its name."""
OPTIONS = {"pills", "radio", "segmented_control"}
"""Those that show their options as Markdown, as ``format_func`` writes them."""
ESCAPES = {"plain", "count", "share", "size", "duration", "plural"}
"""Functions of ``ui/controls.py`` whose text is shown exactly as it is."""


NUMBERS = {"range", "len", "int", "float", "round", "sum"}
KEEPING = {"list", "tuple", "sorted", "dict", "enumerate", "zip", "filter", "reversed", "str", "next", "max", "min"}
"""Functions of Python whose result is a number, and those that only pass on what they are given."""

Scope = tuple[ast.AST, ...]
"""Where an expression stands: the module, and the functions around it, the innermost last."""


def find_unescaped(sources: Mapping[str, str]) -> list[str]:
    """Return each text that is not safe, as ``file:line expression``; ``sources``: the text of every page by name."""
    reader = Reader(sources)
    return [
        f"{name}:{text.lineno} {ast.unparse(text)}"
        for name, call, scope in reader.all_calls
        for text in markdown_of(call)
        if not reader.safe(text, scope)
    ]


def markdown_of(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that are shown as Markdown."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    named = {word.arg: word.value for word in call.keywords}
    if name in LABELLED:
        yield from call.args[:1]
        yield from (named[word] for word in ("help", "label", "body", "captions", "delta") if word in named)
    if name in SECOND:
        yield from (call.args[1:2] or [named[word] for word in (SECOND[name],) if word in named])
    if name in OPTIONS:
        yield from [named["format_func"]] if "format_func" in named else call.args[1:2]


class Reader:
    """The sources of all pages; answers what is safe."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.functions: dict[str, list[tuple[ast.FunctionDef, Scope]]] = defaultdict(list)
        self.calls: dict[str, list[tuple[ast.Call, Scope]]] = defaultdict(list)
        self.all_calls: list[tuple[str, ast.Call, Scope]] = []
        self.open: set[tuple[int, str]] = set()
        for name, source in sources.items():
            self.visit(name, module := ast.parse(source), (module,))

    def visit(self, name: str, node: ast.AST, scope: Scope) -> None:
        """Note the functions and calls below a node."""
        for child in ast.iter_child_nodes(node):
            inside = scope
            if isinstance(child, ast.FunctionDef):
                self.functions[child.name].append((child, (*scope, child)))
                inside = (*scope, child)
            elif isinstance(child, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.DictComp | ast.SetComp):
                inside = (*scope, child)
            elif isinstance(child, ast.Call):
                self.all_calls.append((name, child, scope))
                if isinstance(child.func, ast.Name):
                    self.calls[child.func.id].append((child, scope))
            self.visit(name, child, inside)

    def safe(self, text: ast.expr | None, scope: Scope) -> bool:
        """Whether an expression is safe where it stands."""
        match text:
            case None | ast.Constant() | ast.Compare() | ast.UnaryOp():
                return True
            case ast.FormattedValue(value=value, format_spec=ast.JoinedStr()):
                return True  # a text would not take the format of a number
            case ast.FormattedValue(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
                return self.safe(value, scope)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return self.safe(value, scope)
            case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.Dict(values=parts):
                return self.all_safe(parts, scope)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return self.all_safe(parts, scope)
            case ast.BinOp(left=left, right=right):
                return self.all_safe((left, right), scope)
            case ast.IfExp(body=body, orelse=other):
                return self.all_safe((body, other), scope)
            case ast.Lambda(body=body) | ast.ListComp(elt=body) | ast.GeneratorExp(elt=body) | ast.SetComp(elt=body):
                return self.safe(body, (*scope, text))
            case ast.DictComp(value=body):
                return self.safe(body, (*scope, text))
            case ast.Name(id=name):
                return name.isupper() or name in ESCAPES or self.name_safe(name, scope)
            case ast.Call():
                return self.call_safe(text, scope)
        return False

    def all_safe(self, texts: Iterable[ast.expr | None], scope: Scope) -> bool:
        return all(self.safe(text, scope) for text in texts)

    def call_safe(self, call: ast.Call, scope: Scope) -> bool:
        """Whether what a call returns is safe."""
        match call.func:
            case ast.Name(id=name) if name in ESCAPES | NUMBERS:
                return True
            case ast.Name(id="map"):
                return self.safe(call.args[0], scope)
            case ast.Name(id=name) if name in KEEPING:
                return self.all_safe(call.args, scope)
            case ast.Name(id=name):
                return self.function_safe(name)
            case ast.Attribute(value=base):
                return self.safe(base, scope) and self.all_safe(call.args, scope)
        return False

    def function_safe(self, name: str) -> bool:
        """Whether all that the functions of this name return is safe; those that the pages do not define are not."""
        return bool(self.functions[name]) and all(
            self.once((id(function), "return"), [(statement.value, scope) for statement in returns(function)])
            for function, scope in self.functions[name]
        )

    def name_safe(self, name: str, scope: Scope) -> bool:
        """Whether all that a name can stand for is safe: by assignment, as a parameter, or as a function."""
        for depth in range(len(scope), 0, -1):
            place, around = scope[depth - 1], scope[:depth]
            if values := list(values_of(place, name)):
                return self.once((id(place), name), [(value, around) for value in values])
            if isinstance(place, ast.FunctionDef) and name in (names := parameters(place)):
                handed = [
                    (argument, there)
                    for call, there in self.calls[place.name]
                    for argument in handed_over(call, names.index(name), name)
                ]
                return bool(handed) and self.once((id(place), name), handed)
        return self.function_safe(name)

    def once(self, key: tuple[int, str], values: list[tuple[ast.expr | None, Scope]]) -> bool:
        """Whether all values are safe; what is being asked already counts as safe."""
        if key in self.open:
            return True
        self.open.add(key)
        answer = all(self.safe(value, scope) for value, scope in values)
        self.open.discard(key)
        return answer


def returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """The returns of a function."""
    return (node for node in ast.walk(function) if isinstance(node, ast.Return))


def parameters(function: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters, in their order."""
    every = function.args
    return [argument.arg for argument in (*every.posonlyargs, *every.args, *every.kwonlyargs)]


def handed_over(call: ast.Call, place: int, name: str) -> list[ast.expr]:
    """What a call hands over for a parameter; nothing where it leaves the default."""
    return [word.value for word in call.keywords if word.arg == name] or call.args[place : place + 1]


def values_of(place: ast.AST, name: str) -> Iterator[ast.expr]:
    """The values that a name is given in a function, a comprehension or a module."""
    for node in ast.walk(place):
        match node:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=value) | ast.AugAssign(target=target, value=value):
                targets = [target]
            case ast.NamedExpr(target=target, value=value) | ast.For(target=target, iter=value):
                targets = [target]
            case ast.comprehension(target=target, iter=value):
                targets = [target]
            case _:
                continue
        for target in targets if value is not None else ():
            yield from match_parts(target, value, name, one_of=isinstance(node, ast.For | ast.comprehension))


def match_parts(target: ast.expr, value: ast.expr, name: str, *, one_of: bool = False) -> Iterator[ast.expr]:
    """What a name becomes when a value is taken apart; ``one_of``: the value holds several that are, one by one."""
    if one_of and isinstance(value, ast.Tuple | ast.List):
        for each in value.elts:
            yield from match_parts(target, each, name)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, piece in zip(target.elts, value.elts, strict=True):
            yield from match_parts(part, piece, name)
    elif any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(target)):
        yield value
