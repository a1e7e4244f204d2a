"""Equations of motion: those of a model to look into, and own ones written in Python."""

from __future__ import annotations

import numpy as np

from ._core import ArgumentError, Error, Message, Unavailable, as_doubles, callback, check, encode, ffi, lib, own, pointer_to, text
from .dynamics import Dynamics, Equations_
from .inputs import Inputs
from .state import State

_FN = {"kinematics": "KD_KINEMATICS", "residual": "KD_RESIDUAL", "b": "KD_B", "d": "KD_D", "c": "KD_C", "g": "KD_G", "gI": "KD_GI", "gII": "KD_GII", "h": "KD_H",
       "hI": "KD_HI", "q": "KD_Q", "e": "KD_E", "y": "KD_Y", "switch": "KD_SWITCH", "force": "KD_FORCE", "mass": "KD_MASS"}
_VAR = {"p": "KD_P", "v": "KD_V", "a": "KD_A", "r": "KD_R", "w": "KD_W", "s": "KD_S", "lambda": "KD_LAMBDA", "mu": "KD_MU", "u": "KD_U", "theta": "KD_THETA", "t": "KD_T"}


def _constant(table: dict, word: str, what: str) -> int:
    if word not in table:
        raise ArgumentError(f"there is no {what} '{word}': {', '.join(table)}")
    return getattr(lib, table[word])


class Evaluator:
    """The functions of equations of motion at states, as numpy arrays (docs/notation.md has the letters).

    m.equations.at(x).residual() is M a - f + (GZ)' lambda + (HZ)' mu; mass, constraints, derivatives likewise."""

    def __init__(self, equations: Equations_, dynamics: Dynamics):
        self._equations, self._dynamics = equations, dynamics

    @property
    def dims(self) -> dict:
        return {name: getattr(self._equations.dims, name) for name, _ in ffi.typeof("kd_dims").fields}

    def names(self, kind: str) -> list[str]:
        """Names of components: "p", "v", "r", "w", "s", "lambda", "mu", "u", "z", "theta", "y"."""
        size = {"lambda": "nlambda", "mu": "nmu"}.get(kind, "n" + kind)
        if size not in self.dims:
            raise ArgumentError(f"there are no names of '{kind}'")
        constant = getattr(lib, "KD_NAME_" + kind.upper())
        return [self._equations.name(constant, i) for i in range(self.dims[size])]

    def at(self, state: State | None = None) -> Point:
        """An evaluation point at a state; None: the start."""
        return Point(self._equations, self._dynamics, state if state is not None else self._dynamics._start(self._equations))

    def oplus(self, p, e) -> np.ndarray:
        """The position p moved by the increment e (nv numbers): quaternions stay on their sphere."""
        out = ffi.new("kd_eom_data **")
        check(lib.kd_eom_data_create(self._equations.eom, out))
        data = own(out[0], lib.kd_eom_data_destroy, self._equations.held)
        p, e = as_doubles(p, self._equations.dims.np, "p"), as_doubles(e, self._equations.dims.nv, "e")
        moved = np.zeros(self._equations.dims.np)
        if lib.kd_eom_oplus(data, pointer_to(p), pointer_to(e), pointer_to(moved)) != lib.KD_EVAL_OK:
            raise Error(text(lib.kd_eom_data_message(data)))
        return moved

    def check(self, state: State | None = None) -> str:
        """Compare every derivative and constraint level that is given with differences; names what disagrees."""
        state = state if state is not None else self._dynamics._start(self._equations)
        message = Message(20000)
        bound = self._dynamics._bound(self._equations)
        status = lib.kd_eom_check(self._equations.eom, bound.inputs if bound else self._equations.inputs, state._x, ffi.NULL, message.buffer, message.size)
        if status < 0:
            raise Error(str(message) or text(lib.kd_status_sentence(status)), text(lib.kd_status_name(status)))
        return str(message)


class Point:
    """All functions at one state."""

    def __init__(self, equations: Equations_, dynamics: Dynamics, state: State):
        self._equations, self.state = equations, state.copy()
        self._bound = dynamics._bound(equations)
        out = ffi.new("kd_eom_data **")
        check(lib.kd_eom_data_create(equations.eom, out))
        self._d = own(out[0], lib.kd_eom_data_destroy, equations.held)
        check(lib.kd_eom_data_reserve(self._d))
        self._answer(lib.kd_eom_at_state(self._d, self._bound.inputs if self._bound else equations.inputs, self.state._x, lib.KD_STAGE_ACCELERATION))

    def _answer(self, answer):
        if answer != lib.KD_EVAL_OK:
            raise Error(text(lib.kd_eom_data_message(self._d)), text(lib.kd_status_name(lib.kd_eom_data_fault(self._d).status)))

    def value(self, fn: str) -> np.ndarray:
        """A function by its letter: residual, force, mass, b, d, c, g, gI, gII, h, hI, q, e, y."""
        number, dims = _constant(_FN, fn, "function"), self._equations.dims
        rows = lib.kd_eom_rows(self._equations.eom, number)
        if fn == "mass":
            out = np.zeros(dims.nv * dims.nv)
            self._answer(lib.kd_eom_eval(self._d, number, pointer_to(out)))
            return out.reshape(dims.nv, dims.nv).T.copy()
        out = np.zeros(rows)
        if rows:
            self._answer(lib.kd_eom_eval(self._d, number, pointer_to(out)))
        return out

    def residual(self) -> np.ndarray:
        """M a - f + (GZ)' lambda + (HZ)' mu with the a, lambda and mu of the state."""
        return self.value("residual")

    def mass(self) -> np.ndarray:
        return self.value("mass")

    def force(self) -> np.ndarray:
        """f"""
        return self.value("force")

    def Z(self) -> np.ndarray:
        """p' = Z v"""
        dims = self._equations.dims
        out = np.zeros(dims.np * dims.nv)
        self._answer(lib.kd_eom_Z(self._d, pointer_to(out)))
        return out.reshape(dims.nv, dims.np).T.copy()

    def _matrices(self):
        dims = self._equations.dims
        G, H = np.zeros(dims.nlambda * dims.nv), np.zeros(dims.nmu * dims.nv)
        self._answer(lib.kd_eom_constraint_matrices(self._d, pointer_to(G), pointer_to(H)))
        return G.reshape(dims.nv, dims.nlambda).T.copy(), H.reshape(dims.nv, dims.nmu).T.copy()

    def GZ(self) -> np.ndarray:
        """Derivative of the holonomic constraints along increments, contact coordinates eliminated."""
        return self._matrices()[0]

    def HZ(self) -> np.ndarray:
        return self._matrices()[1]

    def accelerations(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, lambda and mu together from dynamics, gII = 0 and hI = 0, of the positions and velocities of the state."""
        x = self.state.copy()
        options = ffi.new("kd_initial_options *", lib.kd_initial_options_default())
        options.assume = True
        message = Message()
        inputs = self._bound.inputs if self._bound else self._equations.inputs
        check(lib.kd_initial_consistent(self._equations.eom, inputs, options, x._x, message.buffer, message.size), message, news=False)
        return x.a.copy(), x.lambda_.copy(), x.mu.copy()

    def energies(self) -> dict:
        out = ffi.new("kd_energies *")
        self._answer(lib.kd_eom_energies(self._d, out))
        return {name: getattr(out, name) for name, _ in ffi.typeof("kd_energies").fields}

    def derivative(self, fn: str, var: str) -> np.ndarray:
        """Derivative of a function by a variable (p: along increments, nv columns)."""
        f, v = _constant(_FN, fn, "function"), _constant(_VAR, var, "variable")
        rows, columns = lib.kd_eom_rows(self._equations.eom, f), lib.kd_eom_columns(self._equations.eom, v)
        out = np.zeros(rows * columns)
        if out.size:
            blocks = ffi.new("kd_blocks *")
            blocks.block[f][v] = pointer_to(out)
            self._answer(lib.kd_eom_derivatives(self._d, lib.KD_PART_ALL, blocks))
        return out.reshape(columns, rows).T.copy()

    def sparse(self, fn: str, var: str):
        """The same as scipy.sparse.csc_matrix, without forming zeros; ("mass", "a"): M, ("gI", "v"): GZ."""
        try:
            from scipy.sparse import csc_matrix
        except ImportError as missing:
            raise Unavailable("sparse needs the package scipy; derivative() gives full matrices") from missing
        f, v = _constant(_FN, fn, "function"), _constant(_VAR, var, "variable")
        pattern = ffi.new("kd_pattern *")
        if not lib.kd_eom_pattern(self._equations.eom, f, v, pattern):
            return csc_matrix(self.mass() if fn == "mass" else self.derivative(fn, var))
        n = pattern.column[pattern.columns]
        column = np.frombuffer(ffi.buffer(pattern.column, 4 * (pattern.columns + 1)), dtype=np.intc).copy()
        row = np.frombuffer(ffi.buffer(pattern.row, 4 * n), dtype=np.intc).copy() if n else np.empty(0, np.intc)
        values = np.zeros(n)
        if n:
            self._answer(lib.kd_eom_sparse(self._d, f, v, lib.KD_PART_ALL, pointer_to(values)))
        return csc_matrix((values, row, column), shape=(pattern.rows, pattern.columns))


# ---- own equations ----------------------------------------------------------------------------------------------------

class View:
    """What a function of own equations sees: t, u, p, v, a, r, w, s, lambda_, mu, z as arrays that are valid during the call."""

    __slots__ = ("_x", "_n", "t")

    def __init__(self, x, n):
        self._x, self._n, self.t = x, n, x.t

    def __getattr__(self, name):
        field, size = _FIELDS[name]
        count, pointer = getattr(self._n, size), getattr(self._x, field)
        if not count or pointer == ffi.NULL:
            return np.empty(0)
        array = np.frombuffer(ffi.buffer(pointer, 8 * count))
        array.flags.writeable = False
        return array


_FIELDS = {"p": ("p", "np"), "v": ("v", "nv"), "a": ("a", "nv"), "r": ("r", "nr"), "w": ("w", "nw"), "s": ("s", "ns"), "lambda_": ("lambda", "nlambda"),
           "mu": ("mu", "nmu"), "u": ("u", "nu"), "z": ("z", "nz"), "du": ("du", "nu"), "ddu": ("ddu", "nu")}
_SLOTS = ["Z", "q", "residual", "M", "f", "b", "d", "c", "g", "gI", "gII", "h", "hI", "e", "y"]
_ROWS = {"q": "nq", "residual": "nv", "f": "nv", "b": "nr", "d": "nw", "c": "ns", "g": "nlambda", "gI": "nlambda", "gII": "nlambda", "h": "nmu", "hI": "nmu", "e": "ne", "y": "ny"}


class Equations(Dynamics):
    """Own equations of motion: functions of a `View`, mass matrix and forces at least (or residual).

        def M(x): return np.diag([2.0, 1.0, 1.0])
        def f(x): return [-40*x.p[0], 0, -9.81]
        def g(x): return [0.5*((x.p[1]-x.p[0])**2 + x.p[2]**2 - 1)]
        cart = kardan.Equations(np=3, nlambda=1, M=M, f=f, g=g, start={"p": [0, 0.8, -0.6]})

    Sizes np, nv (np), nr, nw, ns, nlambda, nmu, nq, ne, nu, ny; functions Z q residual M f b d c g gI gII h hI e y (eom.h has the
    equations); energies(x) answers (kinetic, potential[, dissipated, supplied]). derivatives: {("f", "p"): function}, others are
    differences; `check()` compares them. names: {"p": [..]}. A function that answers None asks for a smaller step."""

    def __init__(self, *, np: int, nv: int | None = None, title: str = "", start=None, energies=None, derivatives=None, names=None, inputs=(), constant_mass: bool = False, **given):
        sizes = {"np": np, "nv": np if nv is None else nv}
        for size in ("nr", "nw", "ns", "nlambda", "nmu", "nq", "ne", "ny"):
            sizes[size] = int(given.pop(size, 0))
        sizes["nu"] = len(inputs)
        unknown = [k for k in given if k not in _SLOTS]
        if unknown:
            raise ArgumentError(f"equations have no '{unknown[0]}': sizes np nv nr nw ns nlambda nmu nq ne ny, functions {' '.join(_SLOTS)}")
        self._functions = {k: v for k, v in given.items() if v is not None}
        self._energies_of, self._derivatives, self._names = energies, dict(derivatives or {}), dict(names or {})
        self.failure: BaseException | None = None
        self._first = dict(start or {})
        self._handle = ffi.new_handle(self)
        self._n = ffi.new("kd_dims *", sizes)
        self._now = self._make(title, constant_mass)
        self.title = title
        self.inputs = Inputs(list(inputs))

    def _make(self, title, constant_mass) -> Equations_:
        definition = ffi.new("kd_eom_def *", lib.kd_eom_def_default())
        name = ffi.new("char[]", encode(title))
        definition.title, definition.dims = name, self._n[0]
        slots = sum(1 << i for i, s in enumerate(_SLOTS) if s in self._functions)
        given = {}
        for fn, var in self._derivatives:
            f = _constant({**_FN, "M": "KD_MASS", "f": "KD_FORCE"}, fn, "function")
            given[f, _constant(_VAR, var, "variable")] = (self._derivatives[fn, var], f"derivative of {fn} by {var}")
            definition.given[f] |= 1 << _constant(_VAR, var, "variable")
        self._given = given
        lib.kdpy_define(definition, slots, self._energies_of is not None, bool(given), self._handle)
        if constant_mass:
            definition.mass_structure = lib.KD_MASS_FULL_CONSTANT
        out, message = ffi.new("kd_eom **"), Message()
        check(lib.kd_eom_create(definition, out, message.buffer, message.size), message)
        eom = own(out[0], lib.kd_eom_destroy, memory=(definition, name, self._n))
        return Equations_(eom, ffi.NULL, eom, self)

    def _start(self, equations) -> State:
        x = State(equations)
        for name, values in self._first.items():
            if name == "t":
                x.t = values
                continue
            if name not in ("p", "v", "r", "w", "s", "lambda_", "mu", "z"):
                raise ArgumentError(f"a start has p, v, r, w, s, lambda_, mu, z and t, but no '{name}'")
            array = getattr(x, name)
            array[:] = as_doubles(values, array.size, f"start: {name}")
        return x

    def _failures(self):
        return (self,)

    def _recorder(self, equations, options):
        out, message = ffi.new("kd_recorder **"), Message()
        title = ffi.new("char[]", encode(self.title))
        options.title = title
        inputs = options.inputs if options.inputs != ffi.NULL else equations.inputs
        check(lib.kd_recorder_create_for(equations.eom, inputs, options, out, message.buffer, message.size), message)
        return own(out[0], lib.kd_recorder_destroy, equations.held, memory=(title,))

    def check(self, state=None) -> str:
        """Compare the derivatives and constraint levels that are given with differences."""
        return self.equations.check(state)

    def __repr__(self):
        return f"<kardan.Equations '{self.title}', {self._n.np} positions, {self._n.nlambda + self._n.nmu} constraints>"


def _fill(out, answer, n):
    array = np.frombuffer(ffi.buffer(out, 8 * n)) if n else np.empty(0)
    array[:] = answer


def _fill_matrix(out, answer, rows, columns, name):
    block = np.asarray(answer, dtype=float)
    if block.shape != (rows, columns):
        raise ArgumentError(f"{name} is a matrix of {rows} x {columns}; the function answered {block.shape}")
    _fill(out, block.T.reshape(-1), block.size)


@callback(error=-1)
def kdpy_function(handle, slot, x, out):
    self, name = ffi.from_handle(handle), _SLOTS[slot]
    answer = self._functions[name](View(x, self._n))
    if answer is None:
        return 1
    if name in ("M", "Z"):
        _fill_matrix(out, answer, self._n.nv if name == "M" else self._n.np, self._n.nv, name)
    else:
        rows = getattr(self._n, _ROWS[name])
        _fill(out, as_doubles(answer, rows, f"function {name}"), rows)
    return 0


@callback(error=-1)
def kdpy_energies(handle, x, out):
    self = ffi.from_handle(handle)
    answer = tuple(self._energies_of(View(x, self._n)))
    out.kinetic, out.potential = answer[0], answer[1]
    if len(answer) > 2:
        out.dissipated, out.supplied = answer[2], answer[3]
    return 0


@callback(error=-1)
def kdpy_derivative(handle, x, fn, var, out):
    self = ffi.from_handle(handle)
    function, words = self._given[fn, var]
    # positions by plain coordinates, as functions see them
    columns = self._n.np if var == lib.KD_P else lib.kd_eom_columns(self._now.eom, var)
    _fill_matrix(out, function(View(x, self._n)), lib.kd_eom_rows(self._now.eom, fn), columns, words)
    return 0
