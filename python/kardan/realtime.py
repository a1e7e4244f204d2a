"""Steps of fixed length and fixed work, for simulation against a clock."""

from __future__ import annotations

import numpy as np

from ._core import ArgumentError, Message, as_doubles, check, encode, error_of, ffi, lib, nearest, own, pointer_to, text
from .inputs import names_of
from .state import State

_WORDS = {
    "jacobian": ["explicit", "j1", "j2", "j3", "exact"],
    "stabilisation": ["none", "baumgarte", "projection", "ggl", "regularisation"],
    "projector": ["step", "start", "predicted"],
}


class Realtime:
    """A stepper: `y = rt.step({"steer": 0.1})` makes one step with these inputs and answers the outputs by name.

    options: jacobian, stabilisation, projector (words of `kardan realtime --help`), index, velocities_first, ahead, refresh,
    alpha, beta, epsilon, deadline."""

    def __init__(self, dynamics, step: float, start, options: dict):
        equations = dynamics._now
        self._options = dict(options)
        opt = ffi.new("kd_realtime_options *", lib.kd_realtime_options_default())
        opt.h = float(step)
        known = [name for name, _ in ffi.typeof("kd_realtime_options").fields if name not in ("h", "cookie", "external", "part")]
        for name, value in options.items():
            if name not in known:
                raise ArgumentError(f"a stepper has no option '{name}'{nearest(name, known)}")
            if name in _WORDS:
                if value not in _WORDS[name]:
                    raise ArgumentError(f"{name} is one of {', '.join(_WORDS[name])}, not '{value}'")
                value = _WORDS[name].index(value)
            setattr(opt, name, value)
        x = dynamics._take_start(equations, start)
        self._dynamics, self._equations = dynamics, equations
        self.outputs = names_of(equations.eom, equations.dims.ny, lib.KD_NAME_Y)
        self.inputs = equations.input_names()
        bound = dynamics._bound(equations)
        # only inputs that the model leaves open come with each step
        self._u, self._y = np.zeros(equations.dims.nu), np.zeros(equations.dims.ny)
        out, message = ffi.new("kd_realtime **"), Message()
        self._external = ffi.new("bool[]", max(1, equations.dims.nu))
        opt.external = self._external
        status = lib.kd_realtime_create(equations.eom, bound.inputs if bound else equations.inputs, opt, x._x, out, message.buffer, message.size)
        check(status, message)
        self._c = own(out[0], lib.kd_realtime_destroy, equations.held, memory=(self._external, opt))
        self.h = float(step)
        equations.users.add(self)
        self._opt, self._bound, self._x = opt, bound, x

    def _open(self, names):
        """Inputs that are given from now on: the stepper is made again at its state, once for each new name."""
        for name in names:
            if name not in self.inputs:
                raise KeyError(f"there is no input '{name}'{nearest(name, self.inputs)}")
        if all(self._external[self.inputs.index(n)] for n in names):
            return
        for n in names:
            self._external[self.inputs.index(n)] = True
        out, message = ffi.new("kd_realtime **"), Message()
        status = lib.kd_realtime_create(self._equations.eom, self._bound.inputs if self._bound else self._equations.inputs, self._opt, lib.kd_realtime_state(self._c), out, message.buffer, message.size)
        check(status, message, news=False)
        self._c = own(out[0], lib.kd_realtime_destroy, self._equations.held, memory=(self._external, self._opt))

    def step(self, inputs=None) -> dict:
        """One step with inputs {name: number}; those that were not named yet are the model's. Answers the outputs."""
        if inputs:
            self._open(inputs)
            for name, value in inputs.items():
                self._u[self.inputs.index(name)] = value
        status = lib.kd_realtime_step(self._c, pointer_to(self._u), pointer_to(self._y))
        if status < 0:
            raise error_of(status, text(lib.kd_realtime_message(self._c)))
        return dict(zip(self.outputs, self._y.tolist()))

    def run(self, steps: int) -> np.ndarray:
        """Several steps with the inputs as they are; outputs (steps, ny)."""
        rows = np.zeros((int(steps), max(1, self._y.size)))
        for row in rows:
            status = lib.kd_realtime_step(self._c, pointer_to(self._u), pointer_to(self._y))
            if status < 0:
                raise error_of(status, text(lib.kd_realtime_message(self._c)))
            row[: self._y.size] = self._y
        return rows[:, : self._y.size]

    @property
    def t(self) -> float:
        return lib.kd_realtime_state(self._c).t

    @property
    def state(self) -> State:
        x = State(self._equations)
        check(lib.kd_state_copy(lib.kd_realtime_state(self._c), x._x))
        return x

    @property
    def defects(self) -> dict:
        out = ffi.new("kd_realtime_defect *")
        check(lib.kd_realtime_defects(self._c, out))
        return {"position": out.position, "velocity": out.velocity}

    def restore(self, state: State):
        """Go on from a state of the past."""
        check(lib.kd_realtime_restore(self._c, state._x))

    # ---- copies and pickles go on with the same bits
    def to_bytes(self) -> bytes:
        """All that further steps depend on."""
        out, message, size = ffi.new("kd_saved **"), Message(), ffi.new("size_t *")
        check(lib.kd_realtime_save(self._c, out, message.buffer, message.size), message)
        saved = own(out[0], lib.kd_saved_destroy)
        return bytes(ffi.buffer(lib.kd_saved_bytes(saved, size), size[0]))

    def _go_on(self, opened: list, u, data: bytes) -> Realtime:
        """What another stepper was: inputs that were given, their values, the rest."""
        self._open(opened)
        self._u[:] = u
        out, message = ffi.new("kd_saved **"), Message()
        check(lib.kd_saved_of_bytes(ffi.from_buffer(data), len(data), out, message.buffer, message.size), message)
        saved = own(out[0], lib.kd_saved_destroy)
        check(lib.kd_realtime_go_on(self._c, saved, message.buffer, message.size), message)
        return self

    def _past(self):
        return [n for i, n in enumerate(self.inputs) if self._external[i]], self._u.copy(), self.to_bytes()

    def copy(self) -> Realtime:
        """Another one that goes on from here, bit for bit."""
        return Realtime(self._dynamics, self.h, None, self._options)._go_on(*self._past())

    __copy__ = copy

    def __deepcopy__(self, memo) -> Realtime:
        return self.copy()

    def __reduce__(self):
        if self._equations.recipe is None:
            raise TypeError("steppers of equations that are written in Python cannot be pickled; copy() makes another one in this process")
        _, (source, parameters) = self._equations.recipe(self._equations)
        return _unpickled, (source, parameters, self._dynamics.inputs.snapshot(), self.h, self._options, *self._past())

    def __repr__(self):
        return f"<kardan.Realtime at t = {self.t:.6g} s, steps of {self.h:g} s>"


def _unpickled(source, parameters, given, h, options, opened, u, data) -> Realtime:
    from .model import Model

    m = Model(**source, parameters=parameters)
    m.inputs._given.update(given)
    return Realtime(m, h, None, options)._go_on(opened, u, data)
