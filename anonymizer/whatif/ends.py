"""What round ends of intervals cost: the loss of the same groups, written in both ways."""

import numpy as np

from anonymizer.flow import Flow
from anonymizer.measuring.utility import interval_ncp
from anonymizer.releasing.boxes import Boxes
from anonymizer.releasing.grid import coarsen


def loss_by_ends(flow: Flow) -> dict[str, float]:
    """Return the GCP of the groups of a flow's release when ends of intervals are public, and when they are values.

    By the keys of :data:`anonymizer.releasing.generalize.INTERVALS`; empty where no column has intervals. The groups
    stay as they are, though packing would make slightly others for the other way. From codes alone: a column whose
    neighbouring values share codes is measured by their ends. A record that was left out loses all.
    """
    from anonymizer.releasing import tier_kernels

    encoded, boxes, left_out = flow.codes_there, Boxes.of(flow.parts), flow.left_out
    ways = {"public": coarsen(encoded, flow.schema, flow.settings.k), "range": encoded}
    losses = {way: dict(flow.utility.ncp_by_column) for way in ways}
    low, high, absent = np.empty(boxes.n, np.int64), np.empty(boxes.n, np.int64), np.empty(boxes.n, np.bool_)
    intervals = [j for j, encoding in enumerate(encoded.encodings) if encoding.is_interval]
    for j in intervals:
        absent[:] = False
        values = len(encoded.encodings[j].labels)
        tier_kernels.ranges(encoded.codes.columns[j].astype(np.uint32), *boxes.arguments(), values, low, high, absent)
        for way, table in ways.items():
            of_box = interval_ncp(table.encodings[j], low, high, absent)
            lost = float(of_box[boxes.of_record].sum()) + left_out
            losses[way][encoded.names[j]] = lost / (encoded.n_records + left_out)
    return {way: float(np.mean(list(by_column.values()))) for way, by_column in losses.items()} if intervals else {}
