"""Models: files, or the same words as Python dictionaries; parameters that live."""

from __future__ import annotations

import fnmatch
import json
import math
import os
from collections.abc import Mapping, MutableMapping

import numpy as np

from ._core import ArgumentError, Message, callback, check, encode, ffi, lib, nearest, own, text, warn
from .dynamics import Dynamics, Equations_, raise_failure
from .inputs import Inputs
from .state import State


class Force:
    """A force element written in Python.

    measures: paths that it acts along ("joint.way.q", "force.strut.length"). law(t, value, rate, state) answers the force along each
    measure, by virtual work, and with inner states (forces, rates of the states); start: their first values. Arrays may be
    kept only as copies. Raising ends the run, and the exception comes out of it; answering None asks for a smaller step."""

    def __init__(self, measures, law, start=()):
        self.measures = [measures] if isinstance(measures, str) else list(measures)
        self.law = law
        self.start = np.ascontiguousarray(start, dtype=float).reshape(-1)
        self.failure: BaseException | None = None
        self._handle = ffi.new_handle(self)

    def __getstate__(self):
        return {"measures": self.measures, "law": self.law, "start": self.start}

    def __setstate__(self, saved):
        self.__init__(**saved)

    def add(self, model, name: str, keep: list):
        texts = [ffi.new("char[]", encode(m)) for m in self.measures]
        array = ffi.new("const char *[]", texts)
        first = ffi.new("double[]", list(self.start)) if self.start.size else ffi.NULL
        definition = ffi.new("kd_user_force_def *", lib.kd_user_force_def_default())
        definition.nmeasures, definition.measure = len(texts), array
        definition.nstates, definition.start = self.start.size, first
        definition.eval, definition.context = lib.kdpy_force, self._handle
        keep += [texts, array, first, definition, self]
        return lib.kd_model_add_user_force(model, encode(name), definition)


@callback(error=lib.KD_EVAL_STOP)
def kdpy_force(t, value, rate, state, handle, force, state_rate):
    self = ffi.from_handle(handle)
    n, m = len(self.measures), self.start.size
    answer = self.law(t, _array(value, n), _array(rate, n), _array(state, m))
    if answer is None:
        return lib.KD_EVAL_RETRY
    forces, rates = answer if m else (answer, ())
    _array(force, n)[:] = forces
    if m:
        _array(state_rate, m)[:] = rates
    return lib.KD_EVAL_OK


def _array(pointer, n):
    return np.frombuffer(ffi.buffer(pointer, 8 * n)) if n else np.empty(0)


class _Completion:
    """Adds to a model, before it is finished, what no file can hold."""

    def __init__(self, forces: Mapping[str, Force], keep: list):
        self.forces, self.keep, self.failure, self.refused = forces, keep, None, None
        self.handle = ffi.new_handle(self)


@callback(error=lib.KD_ERR_ARGUMENT)
def kdpy_complete(model, handle):
    self = ffi.from_handle(handle)
    for name, force in self.forces.items():
        status = force.add(model, name, self.keep)
        if status < 0:
            self.refused = (name, status, text(lib.kd_model_message(model)))
            return status
    return lib.KD_OK


class Parameters(MutableMapping):
    """Parameters of a model by name. Setting one changes the model without reading it again; results made before keep theirs."""

    def __init__(self, model: Model):
        self._model = model

    def _list(self):
        n = lib.kd_model_parameters(self._model._c, ffi.NULL, 0)
        array = ffi.new("kd_parameter_info[]", max(n, 1))
        lib.kd_model_parameters(self._model._c, array, n)
        return array, n

    def _values(self):
        pointer = lib.kd_system_parameters(self._model._now.system)
        return pointer if pointer != ffi.NULL else None

    def __getitem__(self, name: str) -> float:
        i = self._index(name)
        values = self._values()
        return values[i] if values else self._list()[0][i].value

    def _index(self, name: str) -> int:
        i = lib.kd_model_parameter_index(self._model._c, encode(name))
        if i < 0:
            raise KeyError(f"there is no parameter '{name}'{nearest(name, self)}")
        return i

    def __setitem__(self, name: str, value: float):
        self.update({name: value})

    def update(self, other=(), /, **more):
        """Change several at once: the model is checked when all have their values."""
        array, n = self._list()
        wanted = {**dict(other), **more}
        values = self._values()
        theta = [values[i] if values else array[i].value for i in range(n)]
        for name, value in wanted.items():
            i = self._index(name)
            if not array[i].independent:
                raise ArgumentError(f"parameter '{name}' follows from others: {text(array[i].text)}")
            theta[i] = float(value)
        self._model._change(theta)

    def __delitem__(self, name):
        raise TypeError("parameters of a model cannot be taken away")

    def __iter__(self):
        array, n = self._list()
        return iter([text(array[i].name) for i in range(n)])

    def __len__(self):
        return lib.kd_model_parameters(self._model._c, ffi.NULL, 0)

    def __repr__(self):
        return "<kardan parameters " + ", ".join(f"{k}={v:g}" for k, v in self.items()) + ">"


class Model(Dynamics):
    """A mechanism of bodies, joints and forces. Made by `kardan.load` or `kardan.build`."""

    def __init__(self, *, path=None, source=None, name="model", coordinates=None, channels=(), library=(), forces=None, parameters=None):
        self._source = dict(path=path, source=source, name=name, coordinates=coordinates, channels=channels, library=library, forces=forces)
        self._forces = dict(forces or {})
        self._keep: list = []
        self._c = self._read(path, source, name, library, parameters or {})
        for i in range(lib.kd_model_warning_count(self._c)):
            warn(text(lib.kd_model_warning(self._c, i)))
        self._watch = self._expand([channels] if isinstance(channels, str) else list(channels or ()))
        self._coordinates = coordinates
        self._now = self._make()
        self.inputs = Inputs(self._now.input_names())
        self.parameters = Parameters(self)
        self.path = None if path is None else os.fspath(path)

    # ---- making
    def _read(self, path, source, name, library, parameters):
        if path is not None and os.fspath(path).lower().endswith(".urdf"):
            return self._read_urdf(path, library, parameters)
        out, message = ffi.new("kd_model **"), Message(64000)
        reading = ffi.new("kd_model_source *", lib.kd_model_source_default())
        keep = []
        if path is not None:
            keep.append(ffi.new("char[]", os.fsencode(path)))
            reading.path = keep[-1]
        else:
            keep += [ffi.new("char[]", source.encode()), ffi.new("char[]", encode(name))]
            reading.text, reading.length, reading.name = keep[0], len(source.encode()), keep[1]
        settings = [(ffi.new("char[]", encode(k)), ffi.new("char[]", encode(repr(float(v)) if not isinstance(v, str) else v))) for k, v in parameters.items()]
        array = ffi.new("kd_setting[]", [{"name": k, "value": v} for k, v in settings])
        folders = [ffi.new("char[]", os.fsencode(f)) for f in library]
        folder_array = ffi.new("const char *[]", folders)
        keep += [settings, array, folders, folder_array]
        reading.settings, reading.nsettings = array, len(settings)
        reading.libraries, reading.nlibraries = folder_array, len(folders)
        completion = _Completion(self._forces, self._keep)
        if self._forces:
            reading.complete, reading.context = lib.kdpy_complete, completion.handle
        status = lib.kd_model_read_by(reading, out, message.buffer, message.size)
        raise_failure(completion)
        if completion.refused:
            name, status, words = completion.refused
            check(status, f"force '{name}': {words}" if words else f"force '{name}' is not allowed")
        check(status, message)
        return own(out[0], lib.kd_model_destroy)

    def _read_urdf(self, path, library, parameters):
        if parameters or self._forces:
            raise ArgumentError("a URDF file has no parameters, and takes no forces; kardan convert makes a model file of it")
        out, message = ffi.new("kd_model **"), Message(64000)
        options = ffi.new("kd_urdf_options *", lib.kd_urdf_options_default())
        folders = [ffi.new("char[]", os.fsencode(f)) for f in library]
        array = ffi.new("const char *[]", folders)
        options.package, options.npackages = array, len(folders)
        check(lib.kd_model_read_urdf(os.fsencode(path), options, out, ffi.NULL, 0, message.buffer, message.size), message)
        return own(out[0], lib.kd_model_destroy)

    def _expand(self, patterns: list[str]) -> list[str]:
        """Paths that patterns name; "all": every path that there is."""
        if not patterns:
            return []
        paths = list(self.paths())
        chosen: list[str] = []
        for pattern in patterns:
            found = paths if pattern == "all" else fnmatch.filter(paths, pattern)
            if not found:
                raise ArgumentError(f"channels: nothing is called '{pattern}'{nearest(pattern, paths)}")
            chosen += [p for p in found if p not in chosen]
        return chosen

    def _make(self) -> Equations_:
        options = ffi.new("kd_system_options *", lib.kd_system_options_of(self._c))
        # plots of the file stay watched; channels come behind them
        watch = [text(options.watch[i]) for i in range(options.nwatch)]
        texts = [ffi.new("char[]", encode(w)) for w in watch + [w for w in self._watch if w not in watch]]
        array = ffi.new("const char *[]", texts)
        options.watch, options.nwatch = array, len(texts)
        if self._coordinates is not None:
            if self._coordinates not in ("joint", "cartesian"):
                raise ArgumentError(f"coordinates are 'joint' or 'cartesian', not '{self._coordinates}'")
            options.coordinates = lib.KD_CARTESIAN if self._coordinates == "cartesian" else lib.KD_JOINT
        out, message = ffi.new("kd_system **"), Message()
        check(lib.kd_system_create(self._c, options, out, message.buffer, message.size), message, news=False)
        system = own(out[0], lib.kd_system_destroy, self._c)
        raise_failure(*self._failures())
        return Equations_(lib.kd_system_eom(system), lib.kd_system_inputs(system), system, self._keep, system, self._recipe)

    def _recipe(self, equations: Equations_):
        values = lib.kd_system_parameters(equations.system)
        array, n = self.parameters._list()
        given = {text(array[i].name): values[i] for i in range(n) if array[i].independent}
        return _make_again, (self._source, given)

    def _change(self, theta: list[float]):
        """Other values of the parameters. Equations that results stand on stay as they are: others take their place."""
        equations = self._make() if len(self._now.users) else self._now
        message = Message()
        array = ffi.new("double[]", theta)
        check(lib.kd_system_set_parameters(equations.system, array, message.buffer, message.size), message)
        self._now = equations

    def with_parameters(self, **values) -> Model:
        """The same model read again with other parameters, counts included."""
        given = {n: self.parameters[n] for n in self._independent()} | values
        return Model(**self._source, parameters=given)

    def _independent(self):
        array, n = self.parameters._list()
        return [text(array[i].name) for i in range(n) if array[i].independent]

    # ---- pickling: the model is read again
    def __getstate__(self):
        return {"source": self._source, "parameters": {n: self.parameters[n] for n in self._independent()}, "inputs": self.inputs.snapshot()}

    def __setstate__(self, saved):
        self.__init__(**saved["source"], parameters=saved["parameters"])
        self.inputs._given.update(saved["inputs"])

    # ---- what runs need
    def _is_cartesian(self) -> bool:
        word = self._coordinates or text(self._run().coordinates)
        return word == "cartesian"

    def _run(self):
        return lib.kd_model_run(self._c)

    def _run_options(self, equations):
        options, message = ffi.new("kd_simulation_options *"), Message()
        check(lib.kd_system_run_options(equations.system, options, message.buffer, message.size), message)
        return options

    def _set_by_run(self):
        run = self._run()
        return {"formulation": run.formulation != ffi.NULL, "integrator": run.integrator != ffi.NULL, "max_step": run.max_step > 0 or self._sets("steps.h_max")}

    def _sets(self, option: str) -> bool:
        run = self._run()
        return any(text(run.option[i].name) == option for i in range(run.noptions))

    def _default_end(self):
        return self._run().t_end

    def _start(self, equations) -> State:
        x, message = State(equations), Message()
        status = lib.kd_system_start(equations.system, x._x, message.buffer, message.size)
        raise_failure(*self._failures())
        check(status, message, news=False)
        return x

    def _know_start(self, equations, options):
        # assembled just now; where constraints depend on each other at the start the simulation says so
        options.initial.known = lib.kd_system_info_of(equations.system).nsingular == 0

    def _recorder(self, equations, options):
        out, message = ffi.new("kd_recorder **"), Message()
        path = None
        if self.path and os.path.exists(self.path) and not self.path.lower().endswith(".urdf"):
            path = ffi.new("char[]", os.fsencode(self.path))
            options.model_file = path
        check(lib.kd_recorder_create(equations.system, options, out, message.buffer, message.size), message)
        return own(out[0], lib.kd_recorder_destroy, equations.held, memory=(path,))

    def _failures(self):
        return tuple(self._forces.values())

    # ---- questions
    @property
    def title(self) -> str:
        return text(lib.kd_model_title(self._c))

    @property
    def run(self) -> dict:
        """What the file says under `run`."""
        r = self._run()
        return {"t_end": r.t_end, "rtol": r.rtol, "atol": r.atol, "intervals": r.intervals, "integrator": text(r.integrator), "formulation": text(r.formulation)}

    def names(self, section: str) -> list[str]:
        """Names of a section: "body", "joint", "force", "constraint", "sensor", "input", "state", .."""
        words = [text(lib.kd_section_word(i)) for i in range(lib.KD_SECTION_COUNT)]
        if section not in words:
            raise ArgumentError(f"there is no section '{section}'{nearest(section, words)}")
        s = words.index(section)
        return [text(lib.kd_model_name(self._c, s, i)) for i in range(lib.kd_model_count(self._c, s))]

    bodies = property(lambda self: self.names("body"))
    joints = property(lambda self: self.names("joint"))
    forces = property(lambda self: self.names("force"))
    sensors = property(lambda self: self.names("sensor"))

    def paths(self):
        """All paths that sensors, laws and channels can read."""
        buffer = ffi.new("char[]", 400)
        for section in range(lib.KD_SECTION_COUNT):
            for i in range(max(lib.kd_model_count(self._c, section), int(section == lib.KD_SECTION_ENERGY))):
                k = 0
                while lib.kd_model_path(self._c, section, i, k, buffer, 400) > 0:
                    yield text(buffer)
                    k += 1

    @property
    def info(self) -> dict:
        found = lib.kd_system_info_of(self._now.system)
        return {name: getattr(found, name) for name, _ in ffi.typeof("kd_system_info").fields}

    def describe(self) -> str:
        """Tree, loops, degrees of freedom and redundant constraints in words."""
        size = lib.kd_system_describe(self._now.system, ffi.NULL, 0) + 1
        buffer = ffi.new("char[]", size)
        lib.kd_system_describe(self._now.system, buffer, size)
        return text(buffer)

    def save(self, path, flat: bool = False) -> str:
        """Write the model as a file, as it was read; flat: without subsystems."""
        message = Message()
        check((lib.kd_model_write_flat if flat else lib.kd_model_write)(self._c, os.fsencode(path), message.buffer, message.size), message)
        return os.fspath(path)

    def __repr__(self):
        return f"<kardan.Model '{self.title}', {len(self.bodies)} bodies, {self.info['dof']} degrees of freedom>"


def _make_again(source: dict, parameters: dict) -> Equations_:
    return Model(**source, parameters=parameters)._now


def load(path, *, coordinates: str | None = None, channels=(), library=(), forces: Mapping[str, Force] | None = None, **parameters) -> Model:
    """Read a model file (.yaml, .urdf); further keywords are values of its parameters.

    channels: paths that results record without sensors, with * and ?; "all": every path. forces: force elements in Python."""
    return Model(path=path, coordinates=coordinates, channels=channels, library=library, forces=forces, parameters=parameters)


def build(words: Mapping | str, *, name: str = "model", coordinates: str | None = None, channels=(), forces: Mapping[str, Force] | None = None, **parameters) -> Model:
    """A model from a dictionary with the words of model files, or from the text of one."""
    source = words if isinstance(words, str) else json.dumps(_plain(words), indent=1, allow_nan=False)
    return Model(source=source, name=name, coordinates=coordinates, channels=channels, forces=forces, parameters=parameters)


def _plain(value):
    """Numbers and lists as model files have them; infinity is written .inf there."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            raise ArgumentError("a model has no numbers that are not a number (NaN)")
        return number if math.isfinite(number) else (".inf" if number > 0 else "-.inf")
    return value
