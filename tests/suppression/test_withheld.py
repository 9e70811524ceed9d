"""A cell that is withheld: told apart from missing, never better than what holds the class, and no wildcard."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from anonymizer.checking.verify import verify
from anonymizer.growing.encode import encode
from anonymizer.measuring.utility import cell_ncp
from anonymizer.releasing.release import read_release
from anonymizer.schema import Schema

TABLE = pd.DataFrame({"age": [20, 21, 22, 70], "job": ["a", "a", "b", None], "ill": list("xyxy")})
SCHEMA = Schema.of(TABLE, quasi_identifying=["age", "job"], sensitive=["ill"])


def test_a_withheld_cell__is_no_wildcard_for_the_checker() -> None:
    """The fourth person joins the others with the age withheld: with wildcards four rows look alike."""
    released = TABLE.assign(age=["[20, 22]"] * 3 + ["*"], job=["{a, b, missing}"] * 4)
    check = verify(released, SCHEMA, k=2, original=TABLE, order=np.arange(4))
    assert check["k-anonymity"].achieved == 1
    assert not check.passed
    assert check["(1,k)"].achieved == 1, "who is 70 fits the row with the withheld age alone"


def test_a_withheld_cell__is_not_a_missing_one(tmp_path: object) -> None:
    released = TABLE.assign(age=["[20, 70]"] * 4, job=["*", "*", "", ""])
    check = verify(released, SCHEMA, k=4, original=TABLE, order=np.arange(4))
    assert check["k-anonymity"].achieved == 2
    assert "containment" in {one.name for one in check.failed}, "the third person's job is b, and not missing"
    file = b'"age","job","ill"\n"[20, 70]","*","x"\n"[20, 70]",,"y"\n'
    cells = read_release(file, SCHEMA)["job"]
    assert cells.tolist()[0] == "*"
    assert cells.isna().tolist() == [False, True]


@pytest.mark.parametrize("seed", range(3))
def test_no_class__loses_less_with_a_withheld_cell(seed: int) -> None:
    """Every class of a small table, every choice of columns withheld in it: what holds the class never loses more."""
    from anonymizer.cells import Cell

    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(0, 9, 6), "job": rng.choice([*"abc", None], 6), "ill": list("xyxyxy")})
    table["job"] = table["job"].astype(object)
    schema = Schema.of(table, quasi_identifying=["age", "job"], sensitive=["ill"])
    encodings = encode(table, schema).encodings
    for members in product([False, True], repeat=6):
        part = table[np.array(members)]
        if not len(part):
            continue
        jobs = tuple(level for level in "abc" if level in set(part["job"]))
        hull = (
            Cell.interval(str(part["age"].min()), str(part["age"].max())),
            Cell.of_levels(jobs, bool(part["job"].isna().any())),
        )
        for cell, encoding in zip(hull, encodings, strict=True):
            assert cell_ncp(cell, encoding) <= cell_ncp(Cell.WITHHELD, encoding)
