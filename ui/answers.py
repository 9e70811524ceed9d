"""Answers that are computed once, each kept as long as what it depends on stays the same."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

from anonymizer.flow import Turn

Answer = TypeVar("Answer")


class Answers:
    """Answers by name, each with the key that it depends on. A key is compared by ``==``: tables and trees by identity.

    Kept in the session's workspace alone: whoever holds answers may hold the table. ``turn``: what stands around
    whatever is computed.
    """

    def __init__(self, turn: Turn = nullcontext) -> None:
        self._turn = turn
        self._entries: dict[str, tuple[Any, Any]] = {}

    def get(self, name: str, key: Any, compute: Callable[[], Answer]) -> Answer:
        """Return the answer of this name, computed now unless it is kept under an equal key."""
        if name in self._entries and self._entries[name][0] == key:
            return self._entries[name][1]  # type: ignore[no-any-return]
        self._entries.pop(name, None)
        with self._turn(False):
            answer = compute()
        self._entries[name] = (key, answer)
        return answer

    def last(self, name: str) -> Any:
        """Return the newest answer of this name, whatever it depends on; ``None`` when there is none."""
        return self._entries.get(name, (None, None))[1]

    def differs(self, name: str, key: Any) -> bool:
        """Return True when the key is another than the last time this was asked, so that what belongs to it begins
        anew."""
        same = name in self._entries and self._entries[name][0] == key
        self._entries[name] = (key, None)
        return not same

    def clear(self) -> None:
        """Drop every answer."""
        self._entries.clear()
