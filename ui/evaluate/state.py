"""What is chosen on the Evaluate page."""

from dataclasses import dataclass

from anonymizer.settings import SETTINGS


@dataclass
class EvaluateState:
    """The choices of a comparison. ``sample``: records that take part, 0 for all, ``None`` when nobody chose;
    ``significance``: α of the covariance test, 0 for none; ``measure``: against which loss is drawn."""

    groupings: tuple[str, ...] = ("regions", "error-risk", "error-digression", "median-mondrian")
    weights: tuple[float, ...] = (0.2, 0.8)
    generalizers: tuple[str, ...] = ("uniform", "pack")
    ks: tuple[int, ...] = (10, 20, 30)
    folds: int = 5
    sample: int | None = None
    writing: str = "sets"
    numbers: str = SETTINGS["numbers"].default
    significance: float = 0.0
    measure: str = ""
