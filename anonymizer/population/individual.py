"""The risk of each record of a sample: the chance that it is the person of the population who has its key.

Benedetti and Franconi 1998: given f in the sample, the frequency F in the population follows a negative binomial
distribution with p = f / F̂, where F̂ is the sum of the weights of the records that agree. The risk is E[1/F | f].
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_BY_STEPS = 50
"""Up to this frequency the recurrence is used where p is at most 1/2: its errors shrink with every step."""
NEGLIGIBLE = 1e-18


def individual_risk(f: Floats, population: Floats) -> Floats:
    """Return E[1/F | f] of each record (n,), 0 to 1.

    ``f`` (n,): frequencies in the sample, 1 at least; parts of records are left out. ``population`` (n,): the sums of
    weights, taken as no smaller than ``f``. With p = 1 the risk is 1/f. The relative error is a few units of the last
    place, where forms with large powers, or the alternating sum of the literature, lose every digit.
    """
    f = np.asarray(f, float)
    p = np.minimum(1.0, f / np.maximum(np.asarray(population, float), f))
    pairs, of_record = np.unique(np.column_stack([np.maximum(np.floor(f), 1), p]), axis=0, return_inverse=True)
    return np.asarray(expected_inverse(pairs[:, 0], pairs[:, 1])[of_record.reshape(-1)])


def fewest_alike(largest: float, fraction: float) -> int:
    """Return the fewest look-alikes in the sample by which the risk of a record is at most ``largest``, where this
    ``fraction`` of the population is in the sample; both above 0 and at most 1."""
    sizes = np.arange(1, int(np.ceil(1 / largest)) + 1, dtype=float)
    return int(sizes[np.argmax(individual_risk(sizes, sizes / fraction) <= largest * (1 + 1e-12))])


def expected_inverse(f: Floats, p: Floats) -> Floats:
    """Return p ∫₀¹ (1−t)^(f−1) / (1 − (1−p)t) dt for whole ``f`` (d,) and ``p`` (d,) in (0, 1]."""
    risk = np.empty(len(f))
    stepwise = (p <= 0.5) & (f <= LARGEST_BY_STEPS)
    risk[stepwise] = by_steps(f[stepwise], p[stepwise])
    risk[~stepwise] = by_series(f[~stepwise], p[~stepwise])
    return risk


def by_steps(f: Floats, p: Floats) -> Floats:
    """Return p·G_f with G_1 = −ln p / q, G_(j+1) = (1/j − p·G_j) / q: exact for p up to 1/2."""
    q = 1 - p
    value = -np.log(p) / q
    for j in range(1, int(f.max(initial=1))):
        value = np.where(f > j, (1 / j - p * value) / q, value)
    return np.asarray(p * value)


def by_series(f: Floats, p: Floats) -> Floats:
    """Return p/f · 2F1(1, 1; f+1; 1−p), summed until its terms no longer count."""
    term = 1 / f
    total, j = term.copy(), 0
    while len(f) and (term > NEGLIGIBLE * total).any():
        j += 1
        term = term * (j * (1 - p) / (f + j))
        total += term
    return np.asarray(p * total)


def household_risk(risk: Floats, household: NDArray[np.int64]) -> Floats:
    """Return the chance that anybody of a record's household is re-identified (n,): 1 − Π (1 − r) over its members.

    ``household`` (n,): whose household each record is of, -1 where nobody knows, which is a household of its own
    (Franconi and Polettini 2004).
    """
    shared = household >= 0
    size = int(household.max(initial=-1)) + 1
    with np.errstate(divide="ignore"):
        safe = np.bincount(household[shared], weights=np.log1p(-risk[shared]), minlength=size)
    return np.where(shared, -np.expm1(safe[np.maximum(household, 0)]) if size else 0.0, risk)


def threshold_of(risk: Floats, largest_share: float) -> float | None:
    """Return the risk from which on records must be protected for a global risk (expected re-identifications as a share
    of the records) below ``largest_share``; ``None`` when no protection is needed, or none helps.

    Of the distinct risks, falling, it is the first to which all larger ones can be lowered.
    """
    falling = np.sort(risk)[::-1]
    allowed = largest_share * len(risk)
    if not len(risk) or falling.sum() < allowed:
        return None
    first = np.flatnonzero(np.diff(falling, prepend=np.inf))
    rest = np.concatenate([np.cumsum(falling[::-1])[::-1], [0.0]])
    fits = rest[first] + falling[first] * first < allowed
    return float(falling[first[np.argmax(fits)]]) if fits.any() else None
