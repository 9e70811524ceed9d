"""Release personal data safely: grow a tree on what identifies people, merge look-alikes, check what leaves.

Start with :func:`anonymize`, or take its steps one by one: :func:`suggest`, :func:`encode`, :func:`grow`,
:func:`annotate`, :func:`prune`, :func:`generalize`, :func:`verify`. Nothing is compiled at import, and no room is
loaded before it is used, so that a process which only reads a file starts at once.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from anonymizer.loop_cache import choose_cache

if TYPE_CHECKING:
    from anonymizer.api import *  # noqa: F403

choose_cache()  # before anything imports numba


class Room(ModuleType):
    """A room that has the name of what is done in it: called, it is that function of :mod:`anonymizer.api`."""

    def __call__(self, *arguments: Any, **words: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module("anonymizer.api"), name)(*arguments, **words)


class Package(ModuleType):
    """This package, in which some rooms can be called; modules are set as attributes when they are first imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("disclosure", "forest", "hierarchy") and isinstance(value, ModuleType):
            value.__class__ = Room
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = Package


def __getattr__(name: str) -> Any:
    """Return a public name; raises :class:`AttributeError` for what is none."""
    if name == "sklearn":
        return import_module("anonymizer.sklearn")
    api = import_module("anonymizer.api")
    if name != "__all__" and name not in getattr(api, "__all__", ()):
        raise AttributeError(f"module 'anonymizer' has no attribute {name!r}")
    return getattr(api, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__getattr__("__all__"))
