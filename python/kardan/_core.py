"""The bridge to the library: texts, statuses as exceptions, arrays without copies."""

from __future__ import annotations

import warnings
import weakref

import numpy as np

from ._kardan import ffi, lib

MESSAGE = 8000  # bytes of a message


class Error(Exception):
    """Something went wrong in kardan. `status` is the name of the status, "KD_ERR_NEWTON"."""

    def __init__(self, message: str, status: str = ""):
        super().__init__(message)
        self.status = status


class ModelError(Error, ValueError):
    """A model file, a parameter or an element is wrong; the message names file, line and element."""


class ArgumentError(Error, ValueError):
    """An argument is wrong or missing."""


class Unavailable(Error, NotImplementedError):
    """kardan was built without this part, or these equations do not have it."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class SimulationError(Error, RuntimeError):
    """A run failed. `result` has what was recorded until then (None: nothing)."""

    def __init__(self, message: str, status: str = "", result=None):
        super().__init__(message, status)
        self.result = result


class KardanWarning(UserWarning):
    """News that do not fail: starts that were corrected, implausible inertias."""


_KINDS = {
    "KD_ERR_MODEL": ModelError,
    "KD_ERR_FILE": FileError,
    "KD_ERR_ARGUMENT": ArgumentError,
    "KD_ERR_TOLERANCE": ArgumentError,
    "KD_ERR_DEFINITION": ArgumentError,
    "KD_ERR_UNAVAILABLE": Unavailable,
    "KD_ERR_UNSUPPORTED": Unavailable,
}


def text(pointer) -> str:
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def encode(word) -> bytes:
    return str(word).encode("utf-8")


class Message:
    """Room for what a function of the library says."""

    def __init__(self, size: int = MESSAGE):
        self.size = size
        self.buffer = ffi.new("char[]", size)

    def __str__(self) -> str:
        return text(self.buffer)


def error_of(status: int, message: str, kind=None, **more) -> Error:
    name, sentence = text(lib.kd_status_name(status)), text(lib.kd_status_sentence(status))
    words = message.strip() or sentence
    if kind is None:
        kind = _KINDS.get(name, SimulationError)
    return kind(words, name, **more)


def check(status: int, message="", news: bool = True) -> int:
    """Raise what failed, warn of news, give the status back."""
    if status == lib.KD_ERR_MEMORY:
        raise MemoryError(str(message) or "kardan: out of memory")
    if status < 0:
        raise error_of(status, str(message))
    if status > 0 and news and str(message).strip():
        warn(str(message).strip())
    return status


def warn(words: str) -> None:
    warnings.warn(words, KardanWarning, stacklevel=_depth())


def _depth() -> int:
    """How many frames belong to this package: warnings name the line of the user."""
    import sys

    depth, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("kardan"):
        depth, frame = depth + 1, frame.f_back
    return depth


def callback(error: int):
    """A function that the library calls. What it raises, Ctrl-C included, ends the run and is kept in the object behind `handle`, to be
    raised again when the library has come back (dynamics.raise_failure)."""

    def keep(_, failure, trace):
        ffi.from_handle(trace.tb_frame.f_locals["handle"]).failure = failure

    return ffi.def_extern(error=error, onerror=keep)


_lives: dict[int, _Life] = {}  # of the objects of the library that are held, by the place of their holder


class _Life:
    """An object of the library, from when it is held until nobody holds it and nothing is left that needs it."""

    def __init__(self, pointer, destroy, needs, memory):
        self.pointer, self.destroy, self.needs, self.memory = pointer, destroy, needs, memory

    def __del__(self):
        self.destroy(self.pointer)


def own(pointer, destroy, *needs, memory=()):
    """The pointer, held: destroyed when nobody has it any more, and before any of `needs`, which are held pointers themselves; memory: what
    it points to. Lives refer to lives alone, never to objects of Python: whatever order the collector of cycles takes, this one holds."""
    held = ffi.cast(ffi.typeof(pointer), pointer)
    _lives[id(held)] = _Life(pointer, destroy, [_lives[id(n)] for n in needs], memory)
    weakref.finalize(held, _lives.pop, id(held), None).atexit = False
    return held


def doubles(pointer, n: int) -> np.ndarray:
    """A copy of n numbers."""
    return np.frombuffer(ffi.buffer(pointer, 8 * n)).copy() if n > 0 else np.empty(0)


def matrix(pointer, rows: int, columns: int) -> np.ndarray:
    """A copy of a column-major matrix."""
    if pointer == ffi.NULL or rows * columns == 0:
        return np.zeros((rows, columns))
    return doubles(pointer, rows * columns).reshape(columns, rows).T.copy()


def view(pointer, n: int, owner, writable: bool = False) -> np.ndarray:
    """n numbers where they are. The array keeps owner alive, which keeps the memory: it cannot dangle. owner: a held pointer; an object of
    Python could lead back to the array, a cycle that the collector, which does not look into arrays, would never find."""
    if n == 0 or pointer == ffi.NULL:
        return np.empty(0)
    # cffi keeps the destructor, and with it the owner, as long as the buffer of the array lives
    held = ffi.gc(ffi.cast("char *", pointer), lambda _, owner=owner: None)
    array = np.frombuffer(ffi.buffer(held, 8 * n))
    array.flags.writeable = writable
    return array


def as_doubles(values, n: int, what: str) -> np.ndarray:
    array = np.ascontiguousarray(values, dtype=float).reshape(-1)
    if array.size != n:
        raise ArgumentError(f"{what}: {n} numbers are needed, {array.size} were given")
    return array


def pointer_to(array: np.ndarray):
    return ffi.cast("double *", ffi.from_buffer(array)) if array.size else ffi.NULL


def nearest(word: str, names) -> str:
    """' did you mean ..?' for messages."""
    import difflib

    close = difflib.get_close_matches(word, list(names), 1, 0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
