# mypy: allow-untyped-defs, allow-untyped-decorators, allow-untyped-calls
"""The compiled loops of linking probabilities on the consistency graph: how likely is each of its edges.

The graph is that of :mod:`anonymizer.consistency_kernels`: edges by class of equal rows (``starts``, ``types``), each
to a type of equal records. ``share[e]`` becomes the probability that one record of the type is behind one row of the
class when all complete assignments are equally likely.
"""

import numpy as np
from numba import njit

SMALLEST = 1e-30


@njit(cache=True, nogil=True)
def shares(edge, unit_type, class_sizes):
    """Exact share of the complete assignments in which a record of type i sits in a row of class j, and their number.

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
                taken = state // weight[j] % (class_sizes[j] + 1)
                if edge[i, j] and taken < class_sizes[j]:
                    ahead[state + weight[j]] += ahead[state] * (class_sizes[j] - taken)
    behind[n_states - 1] = 1
    found = np.zeros(edge.shape, dtype=np.float64)
    total = ahead[n_states - 1]
    seen = np.zeros(edge.shape[0], dtype=np.bool_)
    for state in range(n_states - 2, -1, -1):
        i = unit_type[layer[state]]
        first = layer[state] == 0 or unit_type[layer[state] - 1] != i
        seen[i] = True
        for j in range(n_classes):
            taken = state // weight[j] % (class_sizes[j] + 1)
            if edge[i, j] and taken < class_sizes[j]:
                ways = (class_sizes[j] - taken) * behind[state + weight[j]]
                behind[state] += ways
                if first:
                    found[i, j] += float(ahead[state]) * float(ways)
    for i in range(edge.shape[0]):
        for j in range(n_classes):
            found[i, j] /= float(total) * class_sizes[j]
    return found, total


@njit(cache=True, nogil=True)
def share_evenly(starts, types, class_component, type_component, whole, rows, share):
    """share[e] = 1 / rows for the edges of components in which every record fits every row."""
    for j in range(starts.shape[0] - 1):
        component = class_component[j]
        if whole[component]:
            for e in range(starts[j], starts[j + 1]):
                if type_component[types[e]] == component:
                    share[e] = 1.0 / rows[component]


@njit(cache=True, nogil=True)
def propagate(starts, types, class_component, type_component, wanted, type_sizes, class_sizes, share, rounds):
    """Belief propagation on the permanent (Vontobel 2013): approximate shares of the edges of wanted components.

    Every row tells each record that fits it ``told``, and the record answers 1 / (all it hears − this one). A
    component ends when both ends of each of its edges agree within 1e-5, or after so many rounds. Returns the
    disagreement of the worst edge. Equal rows are exchangeable, and so are equal records: no share exceeds 1 over
    their number.
    """
    n_classes = class_sizes.shape[0]
    active = np.empty(n_classes, dtype=np.int64)
    first = np.zeros(n_classes + 1, dtype=np.int64)
    n_wanted, n_edges = 0, 0
    for j in range(n_classes):
        if wanted[class_component[j]]:
            for e in range(starts[j], starts[j + 1]):
                n_edges += type_component[types[e]] == class_component[j]
            active[n_wanted] = j
            n_wanted += 1
            first[n_wanted] = n_edges
    edge, near = np.empty(n_edges, dtype=np.int64), np.empty(n_edges, dtype=np.int32)
    told, answer = np.ones(n_edges), np.empty(n_edges)
    heard, following = np.zeros(type_sizes.shape[0]), np.zeros(type_sizes.shape[0])
    place = 0
    for a in range(n_wanted):
        j = active[a]
        for e in range(starts[j], starts[j + 1]):
            i = types[e]
            if type_component[i] == class_component[j]:
                edge[place], near[place] = e, i
                heard[i] += class_sizes[j]
                place += 1
    running, n_running = np.arange(n_wanted), n_wanted
    worst = np.zeros(wanted.shape[0])
    for _ in range(rounds):
        for x in range(n_running):
            worst[class_component[active[running[x]]]] = 0.0
        for x in range(n_running):
            a = running[x]
            j = active[a]
            total, apart = 0.0, worst[class_component[j]]
            for p in range(first[a], first[a + 1]):
                answer[p] = 1.0 / max(heard[near[p]] - told[p], SMALLEST)
                total += type_sizes[near[p]] * answer[p]
            for p in range(first[a], first[a + 1]):
                i = near[p]
                apart = max(apart, abs(told[p] / heard[i] - answer[p] / total))
                told[p] = 1.0 / max(total - answer[p], SMALLEST)
                following[i] += class_sizes[j] * told[p]
            worst[class_component[j]] = apart
        still = 0
        for x in range(n_running):
            a = running[x]
            for p in range(first[a], first[a + 1]):
                i = near[p]
                if following[i] > 0.0:
                    heard[i], following[i] = following[i], 0.0
            if worst[class_component[active[a]]] >= 1e-5:
                running[still] = a
                still += 1
        n_running = still
        if n_running == 0:
            break
    for a in range(n_wanted):
        for p in range(first[a], first[a + 1]):
            i = near[p]
            share[edge[p]] = min(told[p] / heard[i], 1.0 / max(type_sizes[i], class_sizes[active[a]]))
    return worst.max() if worst.shape[0] else 0.0


@njit(cache=True, nogil=True)
def largest(starts, share):
    """The largest share of an edge, and its class."""
    best, where = 0.0, -1
    for j in range(starts.shape[0] - 1):
        for e in range(starts[j], starts[j + 1]):
            if share[e] > best:
                best, where = share[e], j
    return best, where


@njit(cache=True, nogil=True)
def shares_of(classes, its_types, starts, types, share):
    """The shares of given pairs of a class and a type; 0 where there is no edge. Types ascend within a class."""
    found = np.zeros(classes.shape[0], dtype=np.float64)
    for pair in range(classes.shape[0]):
        j, i = classes[pair], its_types[pair]
        e = starts[j] + np.searchsorted(types[starts[j] : starts[j + 1]], i)
        if e < starts[j + 1] and types[e] == i:
            found[pair] = share[e]
    return found
