"""A state of equations of motion: time, positions, velocities, inner states, multipliers."""

from __future__ import annotations

import numpy as np

from ._core import ArgumentError, check, ffi, lib, own, view

_GROUPS = {"p": "np", "v": "nv", "r": "nr", "w": "nw", "s": "ns", "lambda_": "nlambda", "mu": "nmu", "a": "nv", "z": "nz"}


class State:
    """What a simulation is at an instant. Arrays `p v r w s lambda_ mu a z` are views and may be written to; `t` is the time.

    Copies and pickles are exact. A state belongs to its equations: another model refuses it."""

    def __init__(self, equations, pointer=None):
        self._equations = equations  # of which it is; keeps them alive
        self._dims = lib.kd_eom_dims(equations.eom)
        if pointer is None:
            out = ffi.new("kd_state **")
            check(lib.kd_state_create(equations.eom, out))
            pointer = out[0]
        self._x = own(pointer, lib.kd_state_destroy, equations.held)

    @property
    def t(self) -> float:
        return self._x.t

    @t.setter
    def t(self, value: float):
        self._x.t = float(value)

    def _array(self, name: str) -> np.ndarray:
        field = getattr(self._x, "lambda" if name == "lambda_" else name)
        return view(field, getattr(self._dims, _GROUPS[name]), self._x, writable=True)

    p = property(lambda self: self._array("p"), doc="positions (np)")
    v = property(lambda self: self._array("v"), doc="velocities (nv)")
    r = property(lambda self: self._array("r"), doc="inner states (nr)")
    w = property(lambda self: self._array("w"), doc="auxiliary variables (nw)")
    s = property(lambda self: self._array("s"), doc="contact coordinates (ns)")
    lambda_ = property(lambda self: self._array("lambda_"), doc="multipliers of holonomic constraints (nlambda)")
    mu = property(lambda self: self._array("mu"), doc="multipliers of nonholonomic constraints (nmu)")
    a = property(lambda self: self._array("a"), doc="accelerations (nv)")
    z = property(lambda self: self._array("z"), doc="discrete states (nz)")

    def copy(self) -> State:
        other = State(self._equations)
        check(lib.kd_state_copy(self._x, other._x))
        return other

    __copy__ = copy

    def __deepcopy__(self, memo) -> State:
        return self.copy()

    def _bytes(self) -> bytes:
        # the block of all numbers, then the rows that hold
        block = bytes(ffi.buffer(ffi.cast("char *", self._x.p), 8 * self._x.size))
        rows = bytes(ffi.buffer(self._x.active_lambda, self._dims.nlambda)) if self._dims.nlambda else b""
        rows += bytes(ffi.buffer(self._x.active_mu, self._dims.nmu)) if self._dims.nmu else b""
        return block + rows

    def _set_bytes(self, data: bytes):
        size = 8 * self._x.size
        if len(data) != size + self._dims.nlambda + self._dims.nmu:
            raise ArgumentError("the state is that of other equations")
        ffi.memmove(ffi.cast("char *", self._x.p), data[:size], size)
        rows = data[size:]
        if self._dims.nlambda:
            ffi.memmove(self._x.active_lambda, rows[: self._dims.nlambda], self._dims.nlambda)
        if self._dims.nmu:
            ffi.memmove(self._x.active_mu, rows[self._dims.nlambda :], self._dims.nmu)

    def __getstate__(self):
        return {"equations": self._equations, "t": self.t, "data": self._bytes(), "unsolved": bool(self._x.unsolved)}

    def __setstate__(self, saved):
        self.__init__(saved["equations"])
        self.t = saved["t"]
        self._x.unsolved = saved["unsolved"]
        self._set_bytes(saved["data"])

    def __repr__(self) -> str:
        return f"<kardan.State t={self.t:.6g}, {self._dims.np} positions, {self._dims.nlambda + self._dims.nmu} constraints>"
