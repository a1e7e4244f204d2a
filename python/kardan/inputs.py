"""Inputs u(t) of a model: numbers, tables, functions in place of what the model says."""

from __future__ import annotations

from collections.abc import MutableMapping

import numpy as np

from ._core import ArgumentError, callback, ffi, lib, nearest, pointer_to, text

_STEP = 1e-3  # [s] of the differences that give rates of functions without derivatives


class Table:
    """A measured signal: values over rising times, a cubic spline (not-a-knot) or straight lines; held outside of its rows.

    Rates come with it, which drives need. A linear table has kinks that a run passes with small steps."""

    def __init__(self, t, y, kind: str = "spline"):
        self.t = np.ascontiguousarray(t, dtype=float).reshape(-1)
        self.y = np.ascontiguousarray(y, dtype=float).reshape(-1)
        if self.t.size != self.y.size or self.t.size == 0:
            raise ArgumentError(f"a table has as many times as values, and at least one; here {self.t.size} and {self.y.size}")
        if not (np.all(np.isfinite(self.t)) and np.all(np.isfinite(self.y))):
            row = int(np.argmin(np.isfinite(self.t) & np.isfinite(self.y)))
            raise ArgumentError(f"a table has finite numbers only; row {row} has {self.t[row]}, {self.y[row]}")
        if np.any(np.diff(self.t) <= 0):
            row = int(np.argmax(np.diff(self.t) <= 0)) + 1
            raise ArgumentError(f"times of a table rise; in row {row} {self.t[row]} follows {self.t[row - 1]}")
        if kind not in ("spline", "linear"):
            raise ArgumentError(f"a table is a 'spline' or 'linear', not '{kind}'")
        self.kind = kind
        self.bend = np.zeros_like(self.y)
        if kind == "spline":
            work = np.empty_like(self.y)
            lib.kdpy_spline(self.t.size, pointer_to(self.t), pointer_to(self.y), pointer_to(self.bend), pointer_to(work))


class Signal:
    """A function of time with its rates: value(t), and rate(t), acceleration(t) where constraints move with the input.

    Missing rates are differences of the function over a millisecond, good for about 7 and 4 digits of smooth functions."""

    def __init__(self, value, rate=None, acceleration=None):
        self.value, self.rate, self.acceleration = value, rate, acceleration

    def at(self, t: float) -> tuple[float, float, float]:
        u, h = float(self.value(t)), _STEP
        if self.rate is not None and self.acceleration is not None:
            return u, float(self.rate(t)), float(self.acceleration(t))
        # central differences of fourth order
        f = [float(self.value(t + k * h)) for k in (-2, -1, 1, 2)]
        rate = float(self.rate(t)) if self.rate is not None else (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
        return u, rate, (-f[0] + 16 * f[1] - 30 * u + 16 * f[2] - f[3]) / (12 * h * h)


def signal_of(value):
    """Number, (t, y), Table, function or Signal; None: as the model says."""
    if value is None or isinstance(value, (Table, Signal)):
        return value
    if callable(value):
        return Signal(value)
    if isinstance(value, (tuple, list)) and len(value) == 2 and np.ndim(value[0]) == 1:
        return Table(*value)
    if np.ndim(value) == 0 and not isinstance(value, str):
        number = float(value)
        if not np.isfinite(number):
            raise ArgumentError(f"an input is a finite number, not {number}")
        return number
    raise ArgumentError("an input is a number, a pair (times, values), a kardan.Table, a function of t or a kardan.Signal")


class Inputs(MutableMapping):
    """Inputs of a model by name: `m.inputs["steer"] = lambda t: 0.1*t`, a number, `(t, y)`; `del` gives the model's back."""

    def __init__(self, names: list[str]):
        self.names = names
        self._given: dict[str, object] = {}

    def _find(self, name: str) -> str:
        short = name[6:] if name.startswith("input.") else name
        if short not in self.names:
            raise KeyError(f"there is no input '{name}'{nearest(short, self.names)}")
        return short

    def __getitem__(self, name):
        return self._given.get(self._find(name))

    def __setitem__(self, name, value):
        self._given[self._find(name)] = signal_of(value)

    def __delitem__(self, name):
        self._given.pop(self._find(name), None)

    def __iter__(self):
        return iter(self.names)

    def __len__(self):
        return len(self.names)

    def __repr__(self):
        return "<kardan inputs " + ", ".join(f"{n}{' (given)' if self._given.get(n) is not None else ''}" for n in self.names) + ">"

    def snapshot(self) -> dict:
        return {name: s for name, s in self._given.items() if s is not None}


class Bound:
    """Inputs of one run as the library wants them: changed later, they are another run's."""

    def __init__(self, names: list[str], given: dict, of_model):
        self.failure: BaseException | None = None
        self.signals = [given.get(name) for name in names]
        self.handle = ffi.new_handle(self)
        self.array = ffi.new("kdpy_signal[]", max(1, len(names)))
        for c, s in zip(self.array, self.signals):
            if isinstance(s, Table):
                c.kind = lib.KDPY_SPLINE if s.kind == "spline" else lib.KDPY_LINEAR
                c.n, c.t, c.y, c.bend = s.t.size, pointer_to(s.t), pointer_to(s.y), pointer_to(s.bend)
            elif isinstance(s, Signal):
                c.kind = lib.KDPY_CALL
            elif s is not None:
                c.kind, c.value = lib.KDPY_CONSTANT, s
        self.context = ffi.new("kdpy_inputs *", {"model": of_model, "nu": len(names), "signal": self.array, "handle": self.handle})
        self.inputs = ffi.new("kd_inputs *", {"eval": ffi.addressof(lib, "kdpy_inputs_eval"), "context": self.context})


@callback(error=-1)
def kdpy_input(handle, i, t, u):
    u[0], u[1], u[2] = ffi.from_handle(handle).signals[i].at(t)
    return 0


def names_of(eom, n: int, kind) -> list[str]:
    buffer = ffi.new("char[]", 256)
    return [text(lib.kd_eom_name(eom, kind, i, buffer, 256)) for i in range(n)]
