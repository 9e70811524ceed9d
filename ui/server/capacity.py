"""What this server gives to all its sessions, and to one: the operator's limits."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from anonymizer.reading.options import MIB, memory_of_computer, operator_number

VARIABLES = {
    "sessions": "COPSE_SESSIONS",
    "turns": "COPSE_TURNS",
    "memory": "COPSE_MEMORY",
    "session_memory": "COPSE_SESSION_MEMORY",
}
"""The environment variables of the operator: sessions, turns of heavy work at once, and MiB of all sessions and one."""
MOST_TURNS = 4
"""Unless the operator says otherwise: half of the work holds the interpreter's lock."""


@dataclass(frozen=True)
class Capacity:
    """``sessions``: open at once. ``turns``: of heavy work at once. ``memory``: bytes that the tables of all sessions
    and what is worked out of them may take; ``session_memory``: those of one."""

    sessions: int
    turns: int
    memory: int
    session_memory: int


def operator_capacity(environment: Mapping[str, str] = os.environ) -> Capacity:
    """Return the limits that the operator set in the environment.

    By default 40 sessions, as many turns as there are cores and at most four, and half of this computer's memory, for
    all sessions or for one. Raises :class:`ParameterError` for what is no number above zero.
    """
    values = {name: operator_number(environment.get(variable, ""), variable) for name, variable in VARIABLES.items()}
    memory = int((values["memory"] or memory_of_computer() / 2 / MIB) * MIB)
    return Capacity(
        sessions=max(1, int(values["sessions"] or 40)),
        turns=max(1, int(values["turns"] or min(os.cpu_count() or 1, MOST_TURNS))),
        memory=memory,
        session_memory=int(values["session_memory"] * MIB) if values["session_memory"] else memory,
    )
