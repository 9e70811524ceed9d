"""Every loop over records and every node sweep, compiled. Only plain arrays go in and out.

Importing this package loads the compiler, so modules import it inside the functions that need it; the machine code is
kept on disk beside the sources after the first use.
"""

from anonymizer.kernels.branch import Columns, grow_branch
from anonymizer.kernels.nodes import (
    add_up,
    branch_sweep,
    column_hull,
    count_classes,
    count_distinct,
    groups_below,
    keep_splits,
    most_of_one,
    region_bits,
    route,
    sizes_and_depths,
)
from anonymizer.kernels.partition import mark_sides, pairs_to_swap, swap, swap_rows
from anonymizer.kernels.splits import ENTROPY, GINI, SSE, add_records, add_side, best_split_of_histogram, purity

__all__ = [
    "ENTROPY",
    "GINI",
    "SSE",
    "Columns",
    "add_records",
    "add_side",
    "add_up",
    "best_split_of_histogram",
    "branch_sweep",
    "column_hull",
    "count_classes",
    "count_distinct",
    "groups_below",
    "grow_branch",
    "keep_splits",
    "mark_sides",
    "most_of_one",
    "pairs_to_swap",
    "purity",
    "region_bits",
    "route",
    "sizes_and_depths",
    "swap",
    "swap_rows",
]
