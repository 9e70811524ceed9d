"""A number that is set by a slider or typed into the field beside it. Both always show what holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from anonymizer.settings import AT_MOST, SETTINGS
from ui.controls import slider_ends
from ui.glossary import meaning
from ui.session import show_value, widget_state
from ui.workspace import Workspace

FIELD_WIDTH = 84
"""Pixels of a field: without its buttons, which the slider makes needless."""
LARGEST_K, LARGEST_ALPHA, ALPHA_STEP = 200, 0.5, 0.005
"""Where the sliders of k, in a large table, and of α end, and the step of α."""
CHANCES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
PEOPLE = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
STOPS: dict[str, Sequence[float]] = {
    "l": range(1, 11),
    "entropy_l": [1 + step / 4 for step in range(37)],
    "risk_max": CHANCES,
    "risk_mean": CHANCES,
    "k_map": PEOPLE,
}
"""Where a slider stops, for limits that are no shares: those stop at every twentieth."""
OFF = "off"
"""The stop of a slider, and the words of an empty field, where a limit is off."""
SHARES = [step / 20 for step in range(21)]


@dataclass(frozen=True)
class Scale:
    """``least`` and ``most`` that may be typed, in steps of ``step``; where the slider stops, or, in even steps, where
    it ends."""

    least: float
    most: float
    step: float
    stops: tuple[float | str, ...] = ()
    end: float = 0


def number(
    label: str,
    scale: Scale,
    value: float | None,
    take: Callable[[Any], None],
    *,
    slider: str,
    field: str,
    help: str | None = None,
) -> None:
    """Draw a slider and a field for one number; ``take`` is told what was chosen by either.

    ``slider``, ``field``: keys of the widgets. A field that is emptied means off where the scale has that, else nothing
    changes.
    """
    whole = isinstance(scale.step, int)
    as_number, form = (int, "%d") if whole else (float, "%g")

    def stop_text(stop: float | str) -> str:
        return OFF if isinstance(stop, str) else f"{stop:,}" if whole else f"{stop:g}"

    def change(key: str) -> None:
        answer = widget_state(key)
        if answer not in (None, OFF):
            take(int(answer) if answer == int(answer) else answer)
        elif OFF in scale.stops:
            take(None)

    look: dict[str, Any] = {"help": help, "on_change": change}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", wrap=False):
        if scale.stops:
            stops = with_stop(scale.stops, value)
            show_value(slider, OFF if value is None else value)
            st.select_slider(label, stops, format_func=stop_text, key=slider, args=(slider,), **look)
        else:
            now = as_number(value or 0)
            st.slider(
                label, as_number(scale.least), max(as_number(scale.end), now), show_value(slider, now, instead=True),
                scale.step, form if whole else "%.3f", slider, args=(slider,), **look,
            )  # fmt: skip
        show_value(field, None if value is None else as_number(value))
        st.number_input(
            label, as_number(scale.least), as_number(scale.most), None, scale.step, form, field, args=(field,),
            placeholder=OFF if OFF in scale.stops else None, label_visibility="collapsed", width=FIELD_WIDTH, **look,
        )  # fmt: skip


def with_stop(stops: tuple[float | str, ...], value: float | None) -> tuple[float | str, ...]:
    """Return stops with a value that was typed in its place among them; off stays where it is."""
    numbers = sorted({stop for stop in (*stops, value) if stop is not None and not isinstance(stop, str)})
    return (OFF, *numbers) if stops[0] == OFF else (*numbers, OFF) if stops[-1] == OFF else tuple(numbers)


def set_one(ws: Workspace, name: str, value: float | None) -> None:
    """Set one setting."""
    ws.set(**{name: value})


def limit_number(ws: Workspace, name: str, page: str) -> bool:
    """Draw the slider and the field of a limit that can be off, which is where it is loosest; ``page`` begins their
    keys. Return False where it has no scale: a limit from outside that is no share."""
    setting = SETTINGS[name]
    if name not in STOPS and setting.most > 1:
        return False
    whole = setting.kind == "count"
    numbers = [stop for stop in STOPS.get(name, SHARES) if setting.least <= stop <= setting.most]
    stops = (*numbers, OFF) if name in AT_MOST else (OFF, *numbers)
    step = 1 if whole else 0.25 if name == "entropy_l" else 1.0 if setting.most > 1 else 0.01
    scale = Scale(setting.least, setting.most, step, stops)
    number(
        setting.title, scale, ws.settings[name], partial(set_one, ws, name), slider=f"{page} {name} slider",
        field=f"{page} {name}", help=meaning(name),
    )  # fmt: skip
    return True


def k_slider(ws: Workspace, page: str) -> None:
    """Draw the slider of k and its field. The slider ends at the number of records at the latest, and never below the
    k that is set."""
    largest = max(10, ws.k, ws.n_records)
    scale = Scale(int(SETTINGS["k"].least), largest, 1, end=min(LARGEST_K, largest))
    number(
        SETTINGS["k"].title, scale, ws.k, partial(set_one, ws, "k"), slider=f"{page} k", field=f"{page} k field",
        help=meaning("k"),
    )  # fmt: skip
    slider_ends("more detail", "less risk")


def alpha_number(label: str, value: float, take: Callable[[Any], None], key: str, help: str | None = None) -> None:
    """Draw the slider of an α, which ends at .5, or beyond where a larger one is set, and its field."""
    scale = Scale(0.0, 1.0, ALPHA_STEP, end=LARGEST_ALPHA)
    number(label, scale, value, take, slider=key, field=f"{key} field", help=help)
