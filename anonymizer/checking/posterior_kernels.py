# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
"""The compiled loops of linking probabilities on the consistency graph: how likely is each of its edges.

The graph is that of :mod:`anonymizer.checking.consistency_kernels`: edges by class of equal rows (``starts``,
``types``), each to a type of equal records. ``share[e]`` becomes the probability that one record of the type is behind
one row of the class when all complete assignments are equally likely.
"""

import numpy as np

from anonymizer.loops import njit

SMALLEST = 1e-30


@njit
def shares(edge, unit_type, class_sizes):
    """Return the exact share of the complete assignments in which a record of type i sits in a row of class j, and
    their number.

    ``edge`` (types, classes) booleans; ``unit_type``: the type of every record, at most 20. The state counts the
    rows taken in each class (mixed radix), so equal rows cost one digit; counts stay below 20! < 2**63.
    """
    n_classes = class_sizes.shape[0]
    weight = np.ones(n_classes + 1, dtype=np.int64)
    for j in range(n_classes):
        weight[j + 1] = weight[j] * (class_sizes[j] + 1)
    n_states = weight[n_classes]
    ahead = np.zeros(n_states, dtype=np.int64)
    behind = np.zeros(n_states, dtype=np.int64)
    layer = np.zeros(n_states, dtype=np.int64)
    for state in range(n_states):
        for j in range(n_classes):
            layer[state] += state // weight[j] % (class_sizes[j] + 1)
    ahead[0] = 1
    for state in range(n_states - 1):
        if ahead[state]:
            i = unit_type[layer[state]]
            for j in range(n_classes):
                occupied = state // weight[j] % (class_sizes[j] + 1)
                if edge[i, j] and occupied < class_sizes[j]:
                    ahead[state + weight[j]] += ahead[state] * (class_sizes[j] - occupied)
    behind[n_states - 1] = 1
    chance = np.zeros(edge.shape, dtype=np.float64)
    total = ahead[n_states - 1]
    for state in range(n_states - 2, -1, -1):
        i = unit_type[layer[state]]
        first = layer[state] == 0 or unit_type[layer[state] - 1] != i
        for j in range(n_classes):
            occupied = state // weight[j] % (class_sizes[j] + 1)
            if edge[i, j] and occupied < class_sizes[j]:
                ways = (class_sizes[j] - occupied) * behind[state + weight[j]]
                behind[state] += ways
                if first:
                    chance[i, j] += float(ahead[state]) * float(ways)
    for i in range(edge.shape[0]):
        for j in range(n_classes):
            chance[i, j] /= float(total) * class_sizes[j]
    return chance, total


@njit
def share_evenly(starts, types, class_component, type_component, whole, rows, share):
    """Write share[e] = 1 / rows for the edges of components in which every record fits every row."""
    for j in range(starts.shape[0] - 1):
        component = class_component[j]
        if whole[component]:
            for e in range(starts[j], starts[j + 1]):
                if type_component[types[e]] == component:
                    share[e] = 1.0 / rows[component]


@njit
def propagate(starts, types, class_component, type_component, selection, type_sizes, class_sizes, share, rounds):
    """Write approximate shares of the edges of some components, by belief propagation on the permanent (Vontobel 2013).

    Every row sends each record that fits it ``to_record``, and the record answers 1 / (all that comes in − this one). A
    component ends when both ends of each of its edges agree within 1e-5, or after so many rounds. Returns the
    disagreement of the worst edge. Equal rows are exchangeable, and so are equal records: no share exceeds 1 over
    their number.
    """
    n_classes = class_sizes.shape[0]
    active = np.empty(n_classes, dtype=np.int64)
    first = np.zeros(n_classes + 1, dtype=np.int64)
    n_active, n_edges = 0, 0
    for j in range(n_classes):
        if selection[class_component[j]]:
            for e in range(starts[j], starts[j + 1]):
                n_edges += type_component[types[e]] == class_component[j]
            active[n_active] = j
            n_active += 1
            first[n_active] = n_edges
    edge, near = np.empty(n_edges, dtype=np.int64), np.empty(n_edges, dtype=np.int32)
    to_record, to_row = np.ones(n_edges), np.empty(n_edges)
    incoming, next_incoming = np.zeros(type_sizes.shape[0]), np.zeros(type_sizes.shape[0])
    place = 0
    for a in range(n_active):
        j = active[a]
        for e in range(starts[j], starts[j + 1]):
            i = types[e]
            if type_component[i] == class_component[j]:
                edge[place], near[place] = e, i
                incoming[i] += class_sizes[j]
                place += 1
    open_classes, n_open = np.arange(n_active), n_active
    worst = np.zeros(selection.shape[0])
    for _ in range(rounds):
        for x in range(n_open):
            worst[class_component[active[open_classes[x]]]] = 0.0
        for x in range(n_open):
            a = open_classes[x]
            j = active[a]
            total, apart = 0.0, worst[class_component[j]]
            for p in range(first[a], first[a + 1]):
                to_row[p] = 1.0 / max(incoming[near[p]] - to_record[p], SMALLEST)
                total += type_sizes[near[p]] * to_row[p]
            for p in range(first[a], first[a + 1]):
                i = near[p]
                apart = max(apart, abs(to_record[p] / incoming[i] - to_row[p] / total))
                to_record[p] = 1.0 / max(total - to_row[p], SMALLEST)
                next_incoming[i] += class_sizes[j] * to_record[p]
            worst[class_component[j]] = apart
        n_still = 0
        for x in range(n_open):
            a = open_classes[x]
            for p in range(first[a], first[a + 1]):
                i = near[p]
                if next_incoming[i] > 0.0:
                    incoming[i], next_incoming[i] = next_incoming[i], 0.0
            if worst[class_component[active[a]]] >= 1e-5:
                open_classes[n_still] = a
                n_still += 1
        n_open = n_still
        if n_open == 0:
            break
    for a in range(n_active):
        for p in range(first[a], first[a + 1]):
            i = near[p]
            share[edge[p]] = min(to_record[p] / incoming[i], 1.0 / max(type_sizes[i], class_sizes[active[a]]))
    return worst.max() if worst.shape[0] else 0.0


@njit
def largest(starts, share):
    """Return the largest share of an edge, and its class."""
    best, where = 0.0, -1
    for j in range(starts.shape[0] - 1):
        for e in range(starts[j], starts[j + 1]):
            if share[e] > best:
                best, where = share[e], j
    return best, where


@njit
def shares_of(classes, its_types, starts, types, share):
    """Return the shares of given pairs of a class and a type; 0 where there is no edge. Types ascend within a class."""
    chance = np.zeros(classes.shape[0], dtype=np.float64)
    for pair in range(classes.shape[0]):
        j, i = classes[pair], its_types[pair]
        e = starts[j] + np.searchsorted(types[starts[j] : starts[j + 1]], i)
        if e < starts[j + 1] and types[e] == i:
            chance[pair] = share[e]
    return chance
