"""Text read as a table, and what is said of it."""

from typing import Any

from anonymizer.reading.files import ReadOptions, read_table


def read(text: str | bytes, **options: Any) -> Any:
    return read_table(text.encode() if isinstance(text, str) else text, options=ReadOptions(**options))


def notes(reading: Any, level: str | None = None) -> str:
    return "\n".join(f.text + " " + f.remedy for f in reading.problems if level in (None, f.level))
