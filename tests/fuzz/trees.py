"""Trees of other programs, whole or damaged: a tree of the table, or one clear sentence."""

import io
import random
import zipfile
from functools import cache, partial
from importlib import import_module

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from anonymizer.disclosure.brought import Brought, read_tree
from anonymizer.disclosure.constraints import Knowledge
from anonymizer.disclosure.outline import Keys
from anonymizer.disclosure.publish import publish, to_json
from anonymizer.errors import AnonymizerError
from tests.disclosure.test_brought import PMML, RPART, eight, keys_for

WRITERS = {"skops": "skops.io", "ONNX": "skl2onnx"}
"""What writes the files of some forms; without it they are not tried."""


@cache
def keys_of_form(form: str) -> Keys:
    """The keys of the table that a file is about."""
    return keys_for(eight(), ["age"] if form in WRITERS else ["age", "town"])


@cache
def whole_file(form: str) -> bytes:
    """The file of a tree in one of the forms."""
    if form in WRITERS:
        writer, ages = import_module(WRITERS[form]), eight()[["age"]].to_numpy(np.float32)
        model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(ages, eight()["y"])
        return bytes(writer.dumps(model) if form == "skops" else writer.to_onnx(model, ages[:1]).SerializeToString())
    if form == "JSON":
        return to_json(publish(whole_tree("rpart").tree, Knowledge())).encode()
    return {"PMML": PMML, "rpart": RPART}[form].encode()


@cache
def whole_tree(form: str) -> Brought:
    """The tree of the file that is not damaged."""
    return read_tree(whole_file(form), keys_of_form(form))


def damage_tree(r: random.Random, content: bytes) -> bytes:
    """The file with a few bytes or words changed, in one of its parts where it is an archive."""
    if content[:2] == b"PK" and r.random() < 0.7:
        sink = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as packed, zipfile.ZipFile(sink, "w") as changed:
            hit = r.choice(packed.namelist())
            for name in packed.namelist():
                part = packed.read(name)
                if name != hit or r.random() < 0.9:
                    changed.writestr(name, damage_tree(r, part) if name == hit else part)
        return sink.getvalue()
    out = bytearray(content)
    for _ in range(r.randint(1, 4)):
        at = r.randrange(len(out) + 1)
        out[at : at + r.choice((0, 1, 1, 3, 9))] = r.choice(
            (r.randbytes(r.choice((0, 1, 2))), b"-1", b"1e999", b"nan", b"99999999999", b"<a>", b'"', b"high", b"\x00")
        )
    return bytes(out)


def tree_case(r: random.Random, form: str) -> str:
    """What is wrong with how a file of a tree is read; "" when nothing is."""
    keys, content = keys_of_form(form), whole_file(form)
    if r.random() >= 0.1:
        content = damage_tree(r, content)
    try:
        tree = read_tree(content, keys).tree
    except AnonymizerError as error:
        if content == whole_file(form):
            return f"a whole file was refused: {error}"
        is_clear = error.remedy and "\n" not in str(error) and len(str(error)) < 2000
        return "" if is_clear else f"unclear: {error}"
    leaves = tree.outline.leaves
    if tree.n[leaves].sum() != len(eight()) or not set(tree.leaf_of_key.tolist()) <= set(leaves.tolist()):
        return "not everybody is in a leaf"
    if any(tree.sums[leaf][tree.label[leaf]] != tree.sums[leaf].max() for leaf in leaves):
        return "the label of a leaf is not its largest class"
    if content == whole_file(form) and tree.leaf_of_key.tolist() != whole_tree(form).tree.leaf_of_key.tolist():
        return "the tree is another one"
    return ""


TREES = {f"{form} tree": partial(tree_case, form=form) for form in ("JSON", "PMML", "rpart", *WRITERS)}
"""Each makes one case of a tree that is brought."""
