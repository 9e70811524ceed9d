"""Growing: parts are counted and divided as by hand."""

import numpy as np

from anonymizer.forest.growth import Part
from tests.forest.samples import sample


def test_part__split_agrees_with_counting_by_hand() -> None:
    table = sample(500)
    for value, part in enumerate(Part.whole(table).split(2)):
        rows = np.flatnonzero(table.codes[:, 2] == value)
        assert sorted(part.rows) == rows.tolist()
        assert part.class_counts.tolist() == np.bincount(table.classes[rows], minlength=3).tolist()
        for attribute, width in enumerate(table.n_levels):
            for other in range(width):
                here = rows[table.codes[rows, attribute] == other]
                expected = np.bincount(table.classes[here], minlength=3).tolist()
                assert part.counts[attribute, other].tolist() == expected
