"""Whatever a method, a model, a limit, a format or an attack of your own is made of: see docs/EXTENDING.md.

Each name stands for what its room has, the dictionaries included, so an entry is one everywhere; when a module moves,
what is imported from here stays.
"""

from anonymizer.attacks.outcome import Outcome, Rate
from anonymizer.checking.evidence import Check, Evidence
from anonymizer.checking.privacy_models import MODELS
from anonymizer.groups.limits import MARGINS, Margin, class_columns
from anonymizer.groups.prune import CRITERIA as PRUNING_CRITERIA
from anonymizer.groups.prune import Steps, by_ratio
from anonymizer.growing.grow import CRITERIA as SPLITTING_CRITERIA
from anonymizer.growing.grow import grow_from, tree_of
from anonymizer.growing.records import RecordSource
from anonymizer.reading.files import READERS, SIGNATURES, read_table
from anonymizer.reading.options import Content
from anonymizer.releasing.generalize import GENERALIZERS, GUARANTEES, Guarantee
from anonymizer.releasing.tiers import Groups, Parts
from anonymizer.settings import NAMES, SETTINGS, Setting
from anonymizer.studies.attack import ATTACKS, Scene, attack

__all__ = [
    "ATTACKS", "GENERALIZERS", "GUARANTEES", "MARGINS", "MODELS", "NAMES", "PRUNING_CRITERIA", "READERS", "SETTINGS",
    "SIGNATURES", "SPLITTING_CRITERIA", "Check", "Content", "Evidence", "Groups", "Guarantee", "Margin", "Outcome",
    "Parts", "Rate", "RecordSource", "Scene", "Setting", "Steps", "attack", "by_ratio", "class_columns", "grow_from",
    "read_table", "tree_of",
]  # fmt: skip
