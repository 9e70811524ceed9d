"""What public ends of intervals cost: the loss of the same groups, written in both ways."""

from typing import TYPE_CHECKING

import numpy as np

from anonymizer.measuring.boxed import BoxedColumn
from anonymizer.releasing.boxes import Boxes, interval_cells
from anonymizer.releasing.generalize import INTERVALS
from anonymizer.releasing.grid import grids_of

if TYPE_CHECKING:
    from anonymizer.flow import Flow


def loss_by_ends(flow: "Flow") -> dict[str, float]:
    """Return the GCP of the groups of a flow's release when ends of intervals are public, and when they are values.

    By the keys of :data:`anonymizer.releasing.generalize.INTERVALS`. The groups stay as they are, though packing would
    make slightly others for the other way. Empty where no column has intervals.
    """
    encoded, boxes = flow.encoded, Boxes.of(flow.parts)
    grids = grids_of(encoded, flow.schema, flow.settings.k)
    if not grids:
        return {}
    losses = dict(flow.utility.ncp_by_column)
    ways = {}
    for way in INTERVALS:
        if way != flow.settings.numbers:
            for codes, encoding in zip(encoded.codes.T, encoded.encodings, strict=True):
                if encoding.is_interval:
                    name = encoding.name
                    values, column = flow.table[name], flow.schema[name]
                    cells, of_box, _ = interval_cells(values, column, codes, encoding, boxes, way, grids.get(name))
                    losses[name] = float(BoxedColumn(encoding, cells, of_box).losses()[boxes.of_record].mean())
            ways[way] = float(np.mean(list(losses.values())))
        else:
            ways[way] = flow.utility.gcp
    return ways
