"""Equilibrium, trim, linear equations, modes, frequency responses, comparison of methods."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from ._core import ArgumentError, Error, Message, Unavailable, callback, check, doubles, encode, ffi, lib, matrix, nearest, own, pointer_to, text
from .dynamics import Dynamics, Watch, raise_failure
from .state import State

_STABILITY = ["unknown", "stable", "indifferent", "unstable"]


@dataclass(frozen=True)
class Equilibrium:
    """A position in which all forces balance."""

    state: State
    stability: str
    residual: float  #: largest force that remains [N], [N m]
    constraint: float  #: largest violation of a constraint that remains
    moved: float  #: largest increment from the start [m], [rad]
    iterations: int
    message: str
    adjusted: dict  #: trim: inputs and parameters with the values that were found


def _inputs(dynamics, equations):
    bound = dynamics._bound(equations)
    return bound, (bound.inputs if bound else equations.inputs)


def _describe(result, state, message, adjusted=None) -> Equilibrium:
    return Equilibrium(state, _STABILITY[result.stability], result.residual, result.constraint, result.moved, result.iterations, str(message), adjusted or {})


def equilibrium(dynamics: Dynamics, start, keep_motion, stable, tolerance) -> Equilibrium:
    equations = dynamics._now
    x = dynamics._take_start(equations, start)
    options = ffi.new("kd_equilibrium_options *", lib.kd_equilibrium_options_default())
    options.keep_motion, options.stable = bool(keep_motion), bool(stable)
    if tolerance is not None:
        options.tolerance = float(tolerance)
    result, message = ffi.new("kd_equilibrium_result *"), Message()
    bound, inputs = _inputs(dynamics, equations)
    status = lib.kd_equilibrium(equations.eom, inputs, options, x._x, result, message.buffer, message.size)
    raise_failure(bound, *dynamics._failures())
    check(status, message, news=False)
    return _describe(result, x, message)


class _Family:
    """Models with other parameters, for trim."""

    def __init__(self, model, names):
        self.model, self.names, self.made, self.failure = model, names, None, None
        self.handle = ffi.new_handle(self)


@callback(error=lib.KD_ERR_MODEL)
def kdpy_make(value, handle, eom, inputs):
    self = ffi.from_handle(handle)
    if self.made is None:
        self.made = self.model._make()
    # the values of now, with those that are sought
    n = lib.kd_model_parameters(self.model._c, ffi.NULL, 0)
    now = lib.kd_system_parameters(self.model._now.system)
    theta = ffi.new("double[]", [now[i] for i in range(n)])
    for k, name in enumerate(self.names):
        theta[self.model.parameters._index(name)] = value[k]
    message = Message()
    check(lib.kd_system_set_parameters(self.made.system, theta, message.buffer, message.size), message)
    self.bound, inputs[0] = _inputs(self.model, self.made)
    eom[0] = self.made.eom
    return lib.KD_OK


def trim(dynamics: Dynamics, adjust, start, free, moving, turn, tolerance) -> Equilibrium:
    equations, names = dynamics._now, [adjust] if isinstance(adjust, str) else list(adjust)
    inputs_of, parameters = dynamics.inputs.names, list(getattr(dynamics, "parameters", {}) or {})
    x = dynamics._take_start(equations, start)
    if not moving and turn is None:
        x.v[:] = 0
    x.a[:] = 0
    # inputs by number, parameters as members of a family of models
    family_names = [n for n in names if n not in inputs_of]
    for n in family_names:
        if n not in parameters:
            raise ArgumentError(f"there is no input or parameter '{n}'{nearest(n, inputs_of + parameters)}")
    array = ffi.new("kd_adjustable[]", max(1, len(names)))
    u = _values_of_inputs(dynamics, equations, x.t)
    for c, n in zip(array, names):
        if n in inputs_of:
            c.kind, c.index, c.value = lib.KD_U, inputs_of.index(n), u[inputs_of.index(n)]
        else:
            c.kind, c.index, c.value = lib.KD_VAR_COUNT, family_names.index(n), dynamics.parameters[n]
    options = ffi.new("kd_trim_options *", lib.kd_trim_options_default())
    if tolerance is not None:
        options.tolerance = float(tolerance)
    keep = _set_free(equations, options, [free] if isinstance(free, str) else list(free))
    if turn is not None:
        keep.append(_set_turn(dynamics, equations, options, float(turn), x, bool(free)))
    family = _Family(dynamics, family_names)
    if family_names:
        c = ffi.new("kd_family *", {"n": len(family_names), "make": lib.kdpy_make, "context": family.handle})
        options.family = c
        keep.append(c)
    result, message = ffi.new("kd_equilibrium_result *"), Message()
    bound, inputs = _inputs(dynamics, equations)
    status = lib.kd_trim(equations.eom, inputs, options, x._x, array, len(names), result, message.buffer, message.size)
    raise_failure(bound, family, *dynamics._failures())
    check(status, message, news=False)
    return _describe(result, x, message, {n: c.value for c, n in zip(array, names)})


def _values_of_inputs(dynamics, equations, t):
    n = equations.dims.nu
    u = [ffi.new("double[]", max(1, n)) for _ in range(3)]
    bound, inputs = _inputs(dynamics, equations)
    if n and inputs != ffi.NULL and inputs.eval != ffi.NULL:
        inputs.eval(t, inputs.context, *u)
    return [u[0][i] for i in range(n)]


def _set_free(equations, options, words) -> list:
    """Increments and velocities whose names begin with one of the words may change."""
    nv = equations.dims.nv
    if not words:
        return []
    free_p, free_v = ffi.new("bool[]", nv), ffi.new("bool[]", nv)
    velocity = [equations.name(lib.KD_NAME_V, i) for i in range(nv)]
    # joint.hinge.v -> joint.hinge.q; body.cab.com_v.x -> body.cab.com.x
    position = [n.replace(".com_v.", ".com.") if ".com_v." in n else ".".join([*n.split(".")[:-1], "q" + n.split(".")[-1][1:]]) if n.split(".")[-1][:1] == "v" else n for n in velocity]
    for word in words:
        hit = False
        for i in range(nv):
            for name, flags in ((position[i], free_p), (velocity[i], free_v)):
                if name == word or name.startswith((word + ".", word + " ", word + "[")):
                    flags[i] = hit = True
        if not hit:
            raise ArgumentError(f"free: there is no coordinate '{word}'{nearest(word, position + velocity)}")
    options.free_p, options.free_v = free_p, free_v
    return [free_p, free_v]


def _set_turn(dynamics, equations, options, rate: float, x, chosen: bool):
    """A steady turn of the body that moves freely or in a plane; unless something else was chosen all but its place is free."""
    c, nv = ffi.new("kd_turn *"), equations.dims.nv
    if (hasattr(dynamics, "_is_cartesian") and dynamics._is_cartesian()) or not lib.kd_turn_find(equations.eom, rate, c):
        raise ArgumentError("a turn needs a model in joint coordinates with a body that moves freely or in a plane (joints free, planar)")
    free_p, free_v = ffi.new("bool[]", nv), ffi.new("bool[]", nv)
    if not chosen:
        lib.kd_turn_release(equations.eom, c, x._x, free_p, free_v)
        options.free_p, options.free_v = free_p, free_v
    options.turn = c
    return c, free_p, free_v


class Linear:
    """x' = A x + B u, y = C x + D u with the names of states, inputs and outputs."""

    def __init__(self, dynamics: Dynamics, state):
        equations = dynamics._now
        x = dynamics._take_start(equations, state)
        out, message = ffi.new("kd_linear **"), Message()
        bound, inputs = _inputs(dynamics, equations)
        status = lib.kd_linearize(equations.eom, inputs, ffi.NULL, x._x, out, message.buffer, message.size)
        raise_failure(bound, *dynamics._failures())
        check(status, message)
        self._c = l = own(out[0], lib.kd_linear_destroy, equations.held)
        self.t, self.message = l.t, str(message)
        self.A, self.B = matrix(l.A, l.nx, l.nx), matrix(l.B, l.nx, l.nu)
        self.C, self.D = matrix(l.C, l.ny, l.nx), matrix(l.D, l.ny, l.nu)
        self.B1, self.B2 = matrix(l.B1, l.nx, l.nu), matrix(l.B2, l.nx, l.nu)
        self.D1, self.D2 = matrix(l.D1, l.ny, l.nu), matrix(l.D2, l.ny, l.nu)
        self.M, self.R_v, self.R_p = matrix(l.M, l.nv, l.nv), matrix(l.R_v, l.nv, l.nv), matrix(l.R_p, l.nv, l.nv)
        self.F, self.J = matrix(l.F, l.nv, l.nu), matrix(l.J, l.nconstraints, l.nv)
        self.states = [text(l.state_name[i]) for i in range(l.nx)]
        self.inputs = [text(l.input_name[i]) for i in range(l.nu)]
        self.outputs = [text(l.output_name[i]) for i in range(l.ny)]
        self.speed, self.force = l.speed, l.force

    def modes(self) -> Modes:
        return Modes(self)

    def response(self, frequencies) -> np.ndarray:
        """C inv(i omega - A) B + D at frequencies [Hz]: (len, ny, nu), complex; rates of inputs included."""
        f = np.ascontiguousarray(frequencies, dtype=float).reshape(-1)
        omega = 2 * np.pi * f
        n, ny, nu = f.size, self._c.ny, self._c.nu
        re, im = np.zeros(ny * nu * n), np.zeros(ny * nu * n)
        if re.size:
            check(lib.kd_linear_response(self._c, n, pointer_to(omega), pointer_to(re), pointer_to(im)))
        return (re + 1j * im).reshape(n, nu, ny).transpose(0, 2, 1)

    def to_control(self):
        """The same as control.StateSpace of the package python-control."""
        try:
            import control
        except ImportError as missing:
            raise Unavailable("to_control needs the package control") from missing
        return control.StateSpace(self.A, self.B, self.C, self.D)

    def __repr__(self):
        return f"<kardan linear equations: {len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs>"


class Modes:
    """Eigenvalues [1/s], frequencies [Hz], damping ratios and shapes (increments of all coordinates, one column for each)."""

    def __init__(self, linear: Linear):
        out = ffi.new("kd_modes **")
        check(lib.kd_modes_create(linear._c, out))
        m = own(out[0], lib.kd_modes_destroy, linear._c)
        self.eigenvalues = doubles(m.real, m.n) + 1j * doubles(m.imaginary, m.n)
        self.frequencies, self.damping = doubles(m.frequency, m.n), doubles(m.damping, m.n)
        self.shapes = matrix(m.shape_re, m.nv, m.n) + 1j * matrix(m.shape_im, m.nv, m.n)
        self.names = [text(m.increment_name[i]) for i in range(m.nv)]

    def __len__(self):
        return self.eigenvalues.size

    def __repr__(self):
        return f"<kardan modes: {', '.join(f'{f:.4g} Hz' for f in self.frequencies[:6])}{', ..' if len(self) > 6 else ''}>"


class Comparison:
    """Runs of many methods: `runs` (dictionaries), `table` and `advice` in words."""

    def __init__(self, c):
        def words(function):
            size = function(c, ffi.NULL, 0) + 1
            buffer = ffi.new("char[]", size)
            function(c, buffer, size)
            return text(buffer)

        self.table, self.advice = words(lib.kd_comparison_table), words(lib.kd_comparison_advice)
        self.data = json.loads(words(lib.kd_comparison_json))
        self.uncertainty, self.stopped = c.uncertainty, bool(c.stopped)
        self.runs = self.data.get("runs", [])

    def __str__(self):
        return self.table + "\n" + self.advice

    def __repr__(self):
        return f"<kardan comparison of {len(self.runs)} runs>"


def compare(dynamics: Dynamics, t_end, tolerances, only, budget, all, progress) -> Comparison:
    equations = dynamics._now
    sides, keep = ffi.new("kd_compare_side[2]"), []
    count = 1
    x = dynamics._take_start(equations, None)
    _set_side(sides[0], dynamics, equations, x, keep)
    # a model in the other coordinates as well, where it can be
    if equations.system != ffi.NULL:
        other = _other_coordinates(dynamics)
        if other is not None:
            _set_side(sides[1], other, other._now, other._start(other._now), keep)
            count = 2
            keep.append(other)
    options = ffi.new("kd_compare_options *", lib.kd_compare_options_default())
    options.t_end, options.budget, options.all = float(t_end), float(budget), bool(all)
    if tolerances is not None:
        array = ffi.new("double[]", sorted((float(x) for x in tolerances), reverse=True))
        options.tolerances, options.ntolerances = array, len(array)
        keep.append(array)
    if only is not None:
        word = ffi.new("char[]", encode(only))
        options.only = word
        keep.append(word)
    watch = Watch(progress)
    options.go_on, options.context = ffi.addressof(lib, "kdpy_go_on"), watch.c
    out, message = ffi.new("kd_comparison **"), Message()
    status = lib.kd_compare(sides, count, options, out, message.buffer, message.size)
    raise_failure(watch, *dynamics._failures())
    check(status, message, news=False)
    c = own(out[0], lib.kd_comparison_destroy)
    return Comparison(c)


def _set_side(side, dynamics, equations, x, keep):
    is_cartesian = equations.system != ffi.NULL and getattr(dynamics, "_is_cartesian", lambda: False)()
    word = ffi.new("char[]", b"" if equations.system == ffi.NULL else b"cartesian" if is_cartesian else b"joint")
    bound = dynamics._bound(equations)
    side.word, side.eom, side.start = word, equations.eom, x._x
    side.inputs = bound.inputs if bound else equations.inputs
    side.system = equations.system
    side.redundant = equations.system != ffi.NULL and lib.kd_system_info_of(equations.system).nsingular > 0
    keep += [word, bound, x]


def _other_coordinates(model):
    import warnings

    from .model import Model

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = Model(**{**model._source, "coordinates": "joint" if model._is_cartesian() else "cartesian"}, parameters={n: model.parameters[n] for n in model._independent()})
        other.inputs._given.update(model.inputs.snapshot())
        return other
    except Error:
        return None
