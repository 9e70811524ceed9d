"""What is open on the page between tree and release."""

from dataclasses import dataclass


@dataclass
class GateState:
    """``writing``: the key of the finding for which a reason is being written; "" for none."""

    writing: str = ""
