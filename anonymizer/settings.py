"""Every choice beside the schema: its default, its rule and its words, once.

:data:`SETTINGS` is the one list. The pipeline, the command line, the report, the project file and the pages read it,
and an entry that is added from outside is a choice in all of them. A choice among names asks the dictionaries that
:func:`offer` was given, at the moment it is made, so a method that is added to its dictionary can be chosen at once.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from anonymizer.errors import ParameterError

MOST = 10**9
"""The largest count that a setting may be: more records than any table has here."""

ATTACK_SECONDS = 20.0
"""Seconds for the attack that runs the method again, where nobody says another time."""

TESTS = ("inner", "leaves")
"""Where ``significance`` is tested: on the nodes that could be pruned (the papers) or on the groups themselves."""

FORMS = ("printed", "adjusted")
"""The covariance test as the paper prints it, or with Bartlett's factor for few rows."""

DICTIONARIES: dict[str, list[Collection[str]]] = {"tested": [TESTS], "test_form": [FORMS]}
"""For each setting that is a name, the dictionaries whose keys it may be: see :func:`offer`."""


NAMES: dict[str, dict[str, str]] = {
    "grouping": {
        "least": "Least pruning",
        "regions": "Regions with room",
        "error-risk": "Error-risk pruning",
        "error-digression": "Error-digression pruning",
        "median-mondrian": "Median Mondrian",
        "infogain-mondrian": "InfoGain Mondrian",
        "regression-mondrian": "Regression Mondrian",
    },
    "cost": {
        "detail": "By width",
        "ranks": "Half by width, half by rank",
    },
    "generalizer": {
        "uniform": "Uniform boxes",
        "tiered": "Tiered boxes",
        "tiered-strict": "Strictly tiered boxes",
        "refine": "Refined groups",
        "pack": "Packed groups",
        "polish": "Polished groups",
        "pack-persons": "Packed persons",
    },
    "criterion": {
        "detail": "Detail of the columns",
        "entropy": "Entropy of the classes",
        "gini": "Gini impurity of the classes",
        "sse": "Squared error of the numbers",
        "blend": "Blend of target and columns",
        "in-order": "Columns in their order",
    },
    "writing": {
        "sets": "Sets",
        "groups": "Public groups",
        "concatenate": "Concatenated",
        "weighted": "Concatenated with counts",
    },
    "numbers": {"public": "Round ends", "range": "Exact ends", "mean": "Mean", "median": "Median"},
    "order": {"content": "By content", "secret": "Shuffled"},
    "sets": {"full": "In full", "named": "By a short name"},
    "tested": {"inner": "Inner nodes (as in the paper)", "leaves": "Groups themselves"},
    "test_form": {"printed": "As printed", "adjusted": "Adjusted for few rows (Bartlett)"},
    "attacker": {"prosecutor": "Prosecutor", "journalist": "Journalist", "marketer": "Marketer"},
    "measure": {
        "groups": "Groups",
        "smallest": "Smallest group",
        "risk": "Highest risk",
        "gcp": "Detail lost (GCP)",
        "error": "Error",
        "unexplained": "Squared error left",
        "discernibility": "Discernibility",
        "two_way": "Cross tables: rows in a wrong cell",
        "ranges": "Counts of ranges of two or three columns",
        "hellinger": "Hellinger distance of single columns",
        "divergence": "Kullback-Leibler distance of single columns, bits",
        "ranks": "Detail lost by ranks",
        "correlations": "Change of correlations",
        "coefficients": "Coefficients inside the 95% interval",
        "tidi": "Lowest TIDI",
        "rsd": "Lowest RSD",
        "posterior": "Surest guess",
        "mape": "MAPE",
        "rmse": "RMSE",
        "mae": "MAE",
        "r2": "R²",
        "slope": "Calibration slope",
    },
    "use": {
        "two_way": "Cross tables",
        "ranges": "Counts of people",
        "ranks": "Detail by ranks",
        "hellinger": "Shares of one column",
        "divergence": "Shares of one column",
        "correlations": "Correlations",
        "coefficients": "Regressions",
        "rsd": "Keeping numbers secret",
        "error": "Predicting classes",
        **dict.fromkeys(("mape", "rmse", "mae", "r2", "slope"), "Predicting numbers"),
    },
}
"""What methods, attackers and measures are called, once for pages, pictures, reports and the command line."""


def name_of(kind: str, key: str) -> str:
    """Return what something is called: the name in :data:`NAMES`; of an entry from outside without one, its key."""
    return NAMES.get(kind, {}).get(key, key)


def in_text(name: str) -> str:
    """Return a name as it stands within a sentence: ``packed groups``, but ``InfoGain Mondrian`` and ``RSD``."""
    word = name.partition(" ")[0]
    return name if word[1:] != word[1:].lower() or len(word) < 3 else name[0].lower() + name[1:]


def method_text(grouping: str, generalizer: str, weight: float | None = None) -> str:
    """Return how groups and boxes are made, in words: ``Least pruning with packed groups``; ``weight``: of a blend."""
    made = name_of("grouping", grouping) if weight is None else f"Blend of weight {weight:g}"
    return f"{made} with {in_text(name_of('generalizer', generalizer))}"


SHORT: dict[str, dict[str, dict[str, str]]] = {
    "generalizer": {"concatenate": {"generalizer": "uniform", "writing": "concatenate"}}
}
"""Values that are short for several: by setting and value, the settings that are meant."""


def offer(setting: str, names: Collection[str]) -> None:
    """Let the keys of a dictionary, as they will be when it is asked, be values of a setting."""
    DICTIONARIES.setdefault(setting, []).append(names)


def names_of(setting: str) -> tuple[str, ...]:
    """Return the names that a setting may have now, in the order of its dictionaries."""
    return tuple(name for names in DICTIONARIES.get(setting, []) for name in names)


@dataclass(frozen=True)
class Setting:
    """One choice: what it may be, what it is when nothing is said, and what it is called.

    ``kind``: a "count" (whole number), a "number", a "name" (of a dictionary), or a "text"; numbers lie between
    ``least`` and ``most``, and texts are as long. ``optional``: it may also be ``None``, off. ``part``: "limit" on
    every group, "tree" (how it grows), "cells" (how they are written), "file" (how it is laid out), "analysis" (what is
    compared before and after), or "attackers" (which linking risk a steward accepts of each); the last two change no
    release. ``checked``: a checker can require it of a released file. ``title`` and ``text``: a
    few words and a sentence for pages and the command line.
    """

    default: Any
    kind: Literal["count", "number", "name", "text"]
    part: Literal["limit", "tree", "cells", "file", "analysis", "attackers"]
    title: str
    text: str
    least: float = 1
    most: float = MOST
    optional: bool = False
    checked: bool = False

    def allows(self, name: str, value: Any) -> bool:
        """Return True when ``value`` may be the setting called ``name``."""
        if value is None:
            return self.optional
        if self.kind == "name":
            return isinstance(value, str) and value in names_of(name)
        if self.kind == "text":
            return isinstance(value, str) and self.least <= len(value) <= self.most and value.isprintable()
        right = (int,) if self.kind == "count" else (int, float)
        if isinstance(value, bool) or not isinstance(value, right):
            return False
        return self.least <= value <= self.most

    def range_text(self, name: str) -> str:
        """Return what the setting may be, in words."""
        if self.kind == "name":
            text = "one of " + ", ".join(names_of(name))
        elif self.kind == "text":
            text = f"a text on one line, of at most {self.most:,.0f} letters"
        else:
            text = f"a {'whole ' if self.kind == 'count' else ''}number from {self.least:,g} to {self.most:,.0f}"
        return text + (", or nothing" if self.optional else "")


def _limit(title: str, text: str, least: float, most: float) -> Setting:
    return Setting(None, "number", "limit", title, text, least, most, optional=True, checked=True)


LEAST_RISK = 1e-6
"""The smallest risk that can be asked for."""

OF_POPULATION = ("risk_max", "risk_mean", "k_map")
"""Limits that depend on what is known of the population."""

HOW_TESTED = ("tested", "test_form")
"""How α is tested: no limits by themselves."""

AT_MOST = ("t", "share_max", "risk_max", "risk_mean", "suppression")
"""What is stricter the smaller it is; all other limits are stricter the larger they are."""

STEERED = "; levels steer the groups, numbers are only checked: their spread steers"
"""What limits on values do with columns of numbers."""

_REGRESSION = "a regression to compare before and after: income ~ age + sex, or job=clerk ~ age for odds of a level"

SETTINGS: dict[str, Setting] = {
    "k": Setting(
        10,
        "count",
        "limit",
        "Group size, k",
        "fewest look-alike rows of a group",
        checked=True,
    ),
    "grouping": Setting(
        None,
        "name",
        "tree",
        "Grouping",
        "how rows are put into groups; when nothing is said, regions with room to pack, or least where nothing is "
        "packed, and what a paper says for its trees",
        optional=True,
    ),
    "generalizer": Setting(
        "pack",
        "name",
        "cells",
        "Within a branch",
        "which rows of a group share a box",
    ),
    "writing": Setting("sets", "name", "cells", "Categories", "how levels are written"),
    "numbers": Setting("public", "name", "cells", "Numbers and dates", "how numbers and dates are written"),
    "suppression": Setting(
        0.0, "number", "cells", "Rows left out", "largest share of rows that may be left out", 0, 1, checked=True
    ),
    "suppression_weight": Setting(
        1.0, "number", "cells", "Weight of a row left out", "what leaving a row out costs, 1: all detail", 0, 1
    ),
    "order": Setting("content", "name", "file", "Order of the rows", "the order in which the rows of a file stand"),
    "sets": Setting("full", "name", "file", "Long sets", "how sets of many levels are written in the files"),
    "regression": Setting(
        None, "text", "analysis", "Regression before and after", _REGRESSION, most=1_000, optional=True
    ),
    "criterion": Setting(
        None,
        "name",
        "tree",
        "What a good split does",
        "what a split is chosen by; when nothing is said, detail, and for a pruning of the papers what they say: sse "
        "for a numeric target, else entropy",
        optional=True,
    ),
    "cost": Setting(
        "detail",
        "name",
        "tree",
        "Detail of numbers and dates",
        "how detail of numbers and dates counts where rows are cut and packed: by width, or half by rank, which keeps "
        "apart values that many rows are close to",
    ),
    "min_leaf": Setting(
        2, "count", "tree", "Fewest rows of a leaf, before pruning", "fewest rows of a leaf of the grown tree"
    ),
    "max_depth": Setting(
        None,
        "count",
        "tree",
        "Deepest level",
        "longest path of the grown tree; no limit when nothing is said",
        optional=True,
    ),
    "weight": Setting(
        0.5,
        "number",
        "tree",
        "Weight of the target",
        "weight of the target in a blended tree, 0 to 1",
        0,
        1,
    ),
    "share_max": _limit(
        "Share of one person",
        "largest share of the rows of a group that one person may own, 0 to 1; 0.1 is one row in ten",
        LEAST_RISK,
        1,
    ),
    "l": _limit(
        "l: different values",
        f"fewest different values of a sensitive column in a group{STEERED}",
        1,
        65_536,
    ),
    "entropy_l": _limit(
        "Entropy l: effective values",
        f"fewest effective values, exp(entropy), of a sensitive column{STEERED}",
        1,
        65_536,
    ),
    "t": _limit(
        "t: distance from the table",
        f"greatest distance of a sensitive distribution from the whole table's, 0 to 1{STEERED}",
        0,
        1,
    ),
    "rsd_min": _limit(
        "RSD: error left by a guess",
        "least share of a numeric column's squared error that a group leaves, 0 to 1",
        0,
        1,
    ),
    "spread_min": _limit(
        "Spread: standard deviation",
        "least share of a numeric column's standard deviation in a group, 0 to 1",
        0,
        1,
    ),
    "risk_max": _limit(
        "Risk of a row",
        "greatest chance that a link to any row is right, given what is known of the population",
        LEAST_RISK,
        1,
    ),
    "risk_mean": _limit(
        "Average risk",
        "greatest chance, on average over the rows, that a link is right, given what is known of the population",
        LEAST_RISK,
        1,
    ),
    "k_map": Setting(
        None,
        "count",
        "limit",
        "k-map: people of the population",
        "fewest people of a table of the population who fit the cells of a row",
        optional=True,
        checked=True,
    ),
    "significance": Setting(
        None,
        "number",
        "limit",
        "α: significance",
        "α of the covariance test of numeric sensitive columns, 0 to 1",
        0,
        1,
        optional=True,
    ),
    "tested": Setting("inner", "name", "limit", "Covariance test", "where α is tested: on inner nodes or on groups"),
    "test_form": Setting(
        "printed",
        "name",
        "limit",
        "Form of the test",
        "form of the covariance test: as printed, or adjusted by Bartlett",
    ),
    "prosecutor_limit": Setting(
        10,
        "count",
        "attackers",
        NAMES["attacker"]["prosecutor"],
        "at most one chance in so many, for who knows the person is in the file",
    ),
    "journalist_limit": Setting(
        10,
        "count",
        "attackers",
        NAMES["attacker"]["journalist"],
        "at most one chance in so many, for who wants to find anybody",
    ),
    "marketer_limit": Setting(
        20,
        "count",
        "attackers",
        NAMES["attacker"]["marketer"],
        "at most one chance in so many, for who wants to find as many as possible",
    ),
}
"""Every setting by name, in the order in which they are said."""

PARTS = ("limit", "tree", "cells", "file", "analysis", "attackers")
RUN = ("limit", "tree", "cells", "file", "analysis")
"""The parts that a run depends on: what a report records, and what another run needs."""


BUILT_IN = frozenset(SETTINGS)
"""The names of the settings that come with this package: all others are extensions."""


def extension_limits() -> tuple[str, ...]:
    """Return the names of the limits that are extensions, in the order of :data:`SETTINGS`."""
    return tuple(name for name in setting_names("limit") if name not in BUILT_IN)


def setting_names(*parts: str) -> tuple[str, ...]:
    """Return the names of the settings of some parts, in the order of :data:`SETTINGS`."""
    return tuple(name for name, setting in SETTINGS.items() if setting.part in parts)


class Settings(Mapping[str, Any]):
    """One value for each of :data:`SETTINGS`, frozen: those that are named, and the default of every other.

    Values are attributes (``settings.k``) and items (``settings["k"]``). Equal settings have equal hashes. Raises
    :class:`ParameterError` for a name that is no setting, or a value that its rule does not allow.
    """

    parts: ClassVar[tuple[str, ...]] = PARTS
    __slots__ = ("_values",)
    _values: dict[str, Any]

    def __init__(self, **values: Any) -> None:
        names = setting_names(*self.parts)
        for name, full in SHORT.items():
            values |= full.get(str(values.get(name)), {})
        for name, value in values.items():
            if name not in names:
                raise ParameterError(
                    f"There is no setting {name!r}.", value=name, remedy=f"Choose among {', '.join(names)}."
                )
            values[name] = plain_number(value)
            check(name, values[name])
        object.__setattr__(self, "_values", {name: values.get(name, SETTINGS[name].default) for name in names})

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("Settings are frozen; but() makes others.")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._values:
            return self._values[name]
        raise AttributeError(name)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and dict(self) == dict(other)

    def __repr__(self) -> str:
        changed = (f"{name}={value!r}" for name, value in self.items() if value != SETTINGS[name].default)
        return f"{type(self).__name__}({', '.join(changed)})"

    def but(self, **changes: Any) -> Self:
        """Return other settings: these with some changed."""
        return type(self)(**{**self._values, **changes})

    def of(self, *parts: str) -> dict[str, Any]:
        """Return the values of some parts by name."""
        return {name: value for name, value in self._values.items() if SETTINGS[name].part in parts}

    @property
    def public_k(self) -> int | None:
        """The k of the public grids in which boxes are written; ``None`` where ends are values."""
        return self.k if self.numbers == "public" else None

    @property
    def limits(self) -> "Limits":
        """The limits that every group must satisfy."""
        return Limits(**self.of("limit"))


class Limits(Settings):
    """What is required of every group: the settings of the part "limit"; ``None`` is off.

    ``k``: records. ``share_max``: largest share of its rows that one person owns (0 to 1). ``l``: different values, and
    ``entropy_l``: effective number of values, exp(entropy), of every
    categorical sensitive column. ``t``: greatest distance of their distribution from the whole table's (0 to 1).
    ``rsd_min``, ``spread_min``: the value-disclosure limit on every numeric sensitive column: least RSD, and least
    standard deviation as a share of the file's (0 to 1). ``risk_max``, ``risk_mean``: greatest, and greatest average,
    chance that a link to a record is right (0 to 1), and ``k_map``: fewest people of the population who fit, by what is
    known of it. ``significance``: α of the covariance test, where ``tested``
    says, in the ``test_form`` it says; on "inner" nodes it steers pruning and promises nothing about groups.
    """

    parts = ("limit",)
    __slots__ = ()

    @property
    def required(self) -> dict[str, Any]:
        """The figures that the checker requires of the release, by name; the covariance test is a rule of pruning
        only."""
        return {name: value for name, value in self.items() if SETTINGS[name].checked}

    @property
    def of_population(self) -> bool:
        """True when any limit is on that depends on what is known of the population."""
        return any(self[name] is not None for name in OF_POPULATION)

    @property
    def of_values(self) -> bool:
        """True when any limit is on that looks at sensitive values."""
        others = ("k", *HOW_TESTED, "share_max", *OF_POPULATION)
        return any(value is not None for name, value in self.items() if name not in others)

    @property
    def beside_k(self) -> bool:
        """True when any limit beside k is on."""
        return any(value is not None for name, value in self.items() if name not in ("k", *HOW_TESTED))


def check(name: str, value: Any) -> None:
    """Raise :class:`ParameterError` when a setting may not have this value: what it may be instead."""
    setting = SETTINGS[name]
    if not setting.allows(name, value):
        text = repr(value) if not isinstance(value, int) or abs(value) <= MOST else "so large a number"
        what = f"There is no {name} {text}." if setting.kind == "name" else f"{name} cannot be {text}."
        raise ParameterError(what, value=value, remedy=f"Choose {setting.range_text(name)}.")


def plain_number(value: Any) -> Any:
    """Return a number of numpy as one of Python, and anything else as it is."""
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0 else value
