"""Compiled loops: numba's ``njit``, with machine code that several processes may keep in one place at once.

A loop that another one calls becomes part of that one's machine code. numba optimizes it and writes its machine code
alone first, at each depth of calls, which took a third of the time to compile; here only a loop that Python calls has
machine code of its own. All whole numbers that stand in calls of a loop are of one version of it.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import types
from numba._dynfunc import make_function
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import CPUCodeLibrary
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher

__all__ = ["njit"]

_compiler: Any = numba.njit
_save = IndexDataCacheFile.save
_template = Dispatcher.get_call_template
_overload = Dispatcher.get_overload
_executable = CPUContext.get_executable


def njit(loop: Callable[..., Any] | None = None, *, makes_arrays: bool = True, **options: Any) -> Any:
    """Return a loop that is compiled when it is first called, for the types of its arguments; it is kept on disk, and
    holds no lock of Python's. ``options``: of numba's.

    ``makes_arrays`` = False: it reads and writes the arrays of its caller and makes none, so nobody counts who uses
    them. Counting takes about half the time of a loop that is called for a few records; one that makes an array all the
    same does not compile.
    """
    decorate = _compiler(cache=True, nogil=True, no_cfunc_wrapper=True, _nrt=makes_arrays, **options)
    return decorate if loop is None else decorate(loop)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold a lock on a file beside ``path`` while the block lasts, where that is possible."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError:  # another user's, whose loops are here
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _save_alone(self: Any, key: Any, data: Any) -> None:
    """Save a version of a loop while no other process does: numba reads its list, adds to it and writes it, so that two
    at once would give two versions one file."""
    with _locked(f"{self._cache_path}/.copse-loops.lock"):
        _save(self, key, data)


IndexDataCacheFile.save = _save_alone  # type: ignore[method-assign]


def _part_of(loop: Any) -> Any:
    """Return what stands for a loop of ours in the loops that call it: a version without machine code of its own."""
    if not loop.py_func.__module__.startswith("anonymizer.") or "inline" in loop.targetoptions:
        return loop
    part = vars(loop).get("copse_part")
    if part is None:
        counts = loop.targetoptions.get("_nrt", True)
        part = _compiler(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=counts)(loop.py_func)
        loop.copse_part = part
    return part


def _template_of_part(self: Any, args: Any, kws: Any) -> Any:
    """Return how a loop is called from another: with whole numbers, not with the 0 or 1 that stands there, for numba
    would compile a version for each (98 of 479)."""
    part = _part_of(self)
    if part is not self:
        args = [types.unliteral(one) if isinstance(one, types.IntegerLiteral) else one for one in args]
    return _template(part, args, kws)


def _overload_of_part(self: Any, sig: Any) -> Any:
    """Return what a call in another loop stands for."""
    return _overload(_part_of(self), sig)


def _link(self: Any, library: Any) -> None:
    """Make another library part of this one, as it is, when this one needs it."""
    self._linking_libraries.append(library)


def _link_all(self: Any) -> None:
    """Put the code of all that is part of a library into it, once."""
    if self._finalized or "copse_whole" in vars(self):
        return
    self.copse_whole = True
    for library in dict.fromkeys(self._linking_libraries):
        self._reload_init.update(library._reload_init)
        self._final_module.link_in(library._get_module_for_linking(), preserve=True)


def _module_for_linking(self: Any) -> Any:
    """Return the code of a library as part of others, which may have it more than once; not optimized alone."""
    _link_all(self)
    if self._shared_module is None:
        module = self._final_module.clone()
        for function in module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"
        self._shared_module = module
    return self._shared_module


def _finalize(self: Any) -> None:
    """Optimize the code of a library with all its parts, and write its machine code."""
    self._raise_if_finalized()
    _link_all(self)
    self._optimize_final_module()
    self._final_module.verify()
    self._finalize_final_module()


def _executable_of_library(self: Any, library: Any, fndesc: Any, env: Any) -> Any:
    """Return what Python calls; of a part, which it cannot call, a name for it that needs no machine code."""
    wrapper = fndesc.llvm_cpython_wrapper_name
    if library._finalized or any(function.name == wrapper for function in library._final_module.functions):
        return _executable(self, library, fndesc, env)
    return make_function(fndesc.lookup_module(), fndesc.qualname, "Part of other loops.", 0, env, (library,))


Dispatcher.get_call_template = _template_of_part  # type: ignore[method-assign]
Dispatcher.get_overload = _overload_of_part  # type: ignore[method-assign]
CPUCodeLibrary.add_linking_library = _link  # type: ignore[method-assign]
CPUCodeLibrary._get_module_for_linking = _module_for_linking  # type: ignore[method-assign]
CPUCodeLibrary.finalize = _finalize  # type: ignore[method-assign]
CPUContext.get_executable = _executable_of_library  # type: ignore[method-assign]
