"""What models and equations written in Python have in common: runs, running simulations, analyses."""

from __future__ import annotations

import weakref

import numpy as np

from ._core import ArgumentError, Message, SimulationError, callback, check, encode, error_of, ffi, lib, nearest, own, pointer_to, text, warn
from .inputs import Bound, Inputs, names_of
from .results import Result, stats_of
from .state import State

_EVERY = 0.05  # [s] between two looks of Python at a run


class Equations_:
    """A set of equations with everything that they need to live: shared by states, runs and results."""

    def __init__(self, eom, inputs, held, keep=None, system=ffi.NULL, recipe=None):
        self.eom, self.inputs, self.system = eom, inputs, system
        self.held, self.keep = held, keep  # the object of the library that they are or belong to; what else is to live
        self.recipe = recipe  # a function that tells how to make them again, for pickles
        self.dims = lib.kd_eom_dims(eom)
        self.users = weakref.WeakSet()  # results and simulations made of them: they may not be changed any more

    def __reduce__(self):
        if self.recipe is None:
            raise TypeError("states of equations that are written in Python cannot be pickled; their arrays p, v, .. can")
        return self.recipe(self)

    def name(self, kind, i: int) -> str:
        buffer = ffi.new("char[]", 256)
        return text(lib.kd_eom_name(self.eom, kind, i, buffer, 256))

    def input_names(self) -> list[str]:
        names = names_of(self.eom, self.dims.nu, lib.KD_NAME_U)
        return [n[6:] if n.startswith("input.") else n for n in names]


class Watch:
    """Looks at a run from time to time: Ctrl-C, and who wants to see progress."""

    def __init__(self, progress=None):
        self.progress, self.failure = progress, None
        self.handle = ffi.new_handle(self)
        self.c = ffi.new("kdpy_watch *", {"every": _EVERY, "handle": self.handle})


@callback(error=-1)
def kdpy_tick(handle, t):
    # Python looks for signals while this runs: KeyboardInterrupt comes up here
    watch = ffi.from_handle(handle)
    return int(watch.progress is not None and watch.progress(t) is False)


class Options:
    """kd_simulation_options with all that they point to."""

    def __init__(self, c, keep):
        self.c, self.keep = c, keep




def _choose(kind: str, word: str, count: int, word_of) -> int:
    names = [text(word_of(i)) for i in range(count)]
    if word not in names:
        raise ArgumentError(f"there is no {kind} '{word}'{nearest(word, names)}: {', '.join(names)}")
    return names.index(word)


class Dynamics:
    """Base of `Model` and `Equations`."""

    _now: Equations_  # the equations as they are now
    inputs: Inputs

    # ---- to be said by those who have them
    def _run_options(self, equations: Equations_):
        return ffi.new("kd_simulation_options *", lib.kd_simulation_options_default())

    def _set_by_run(self) -> dict:
        return {}

    def _start(self, equations: Equations_) -> State:
        raise NotImplementedError

    def _default_end(self) -> float:
        return 10.0

    def _recorder(self, equations: Equations_, options):
        raise NotImplementedError

    # ---- options
    def _options(self, equations, *, rtol=None, atol=None, formulation=None, integrator=None, automatic=None, max_step=None, max_steps=None, verify=True, options=None) -> Options:
        c, keep = self._run_options(equations), []
        run = self._set_by_run()
        for name, value in (options or {}).items():
            word = ffi.new("char[]", encode("yes" if value is True else "no" if value is False else value))
            keep.append(word)
            message = Message(600)
            check(lib.kd_option_set(c, encode(name), word, message.buffer, message.size), message)
        if integrator is not None:
            c.integrator = _choose("integrator", integrator, lib.KD_INTEGRATOR_COUNT, lib.kd_integrator_word)
        if formulation is not None:
            c.formulation = _choose("formulation", formulation, lib.KD_FORMULATION_COUNT, lib.kd_formulation_word)
        elif c.integrator != lib.KD_INTEGRATOR_CHOSEN and (integrator is not None or options) and not run.get("formulation"):
            c.formulation = lib.kd_method_formulation(c)
        if automatic and (integrator is not None or formulation is not None):
            raise ArgumentError("automatic and a named method exclude each other")
        if automatic:
            c.formulation, c.integrator = lib.KD_FORMULATION_CHOSEN, lib.KD_INTEGRATOR_CHOSEN
        elif automatic is not None and c.integrator == lib.KD_INTEGRATOR_CHOSEN:
            c.integrator = lib.KD_RADAU
            if c.formulation == lib.KD_FORMULATION_CHOSEN:
                c.formulation = lib.kd_method_formulation(c)
        if rtol is not None:
            c.rtol, c.atol = float(rtol), float(rtol)
        if atol is not None:
            c.atol = float(atol)
        if max_step is not None:
            c.integrator_options.h_max = float(max_step)
        if max_steps is not None:
            c.integrator_options.max_steps = int(max_steps)
        c.verify = bool(verify)
        return Options(c, keep)

    def _bound(self, equations: Equations_, given=None) -> Bound | None:
        given = self.inputs.snapshot() if given is None else given
        return Bound(self.inputs.names, given, equations.inputs) if given else None

    def _take_start(self, equations, start, from_equilibrium=False) -> State:
        if start is not None and from_equilibrium:
            raise ArgumentError("start and from_equilibrium are two starts; choose one")
        if from_equilibrium:
            return self.equilibrium(keep_motion=True).state
        if start is None:
            return self._start(equations)
        if isinstance(start, Result):
            start = start.state
        x = State(equations)
        if lib.kd_state_copy(start._x, x._x) < 0:
            raise ArgumentError("the start is a state of other equations")
        return x

    # ---- runs
    def simulate(self, t_end: float | None = None, *, intervals: int | None = None, times=None, steps: bool = False, rows: int | None = None, start=None,
                 from_equilibrium: bool = False, progress=None, channels=None, plots=None, **method) -> Result:
        """Run from the start of the model, or from the state `start`, to t_end [s], and record.

        rtol, atol, formulation, integrator, automatic, max_step, max_steps, verify and options={"radau.max_newton": 7} choose the method;
        what is not given is as the model says, or as `kardan simulate` chooses it. intervals or times: rows of the result;
        steps: every accepted step, too. progress(t) is called about 20 times a second and ends the run by answering False.

        Raises SimulationError, with what was recorded, when a run fails."""
        equations = self._now
        t_end = self._default_end() if t_end is None else float(t_end)
        opt = self._options(equations, **method)
        bound = self._bound(equations)
        x = self._take_start(equations, start, from_equilibrium)
        if start is None and not from_equilibrium:
            self._know_start(equations, opt.c)
        if method.get("max_step") is None and "steps.h_max" not in (method.get("options") or {}) and not self._set_by_run().get("max_step"):
            opt.c.integrator_options.h_max = lib.kd_system_driven_step(equations.system, t_end - x.t)
        recording = ffi.new("kd_recorder_options *", lib.kd_recorder_options_default())
        keep = [opt, bound]
        if intervals is not None:
            recording.intervals = int(intervals)
        if rows is not None:
            recording.rows = int(rows)
        recording.steps = bool(steps)
        recording.inputs = bound.inputs if bound else ffi.NULL
        for words, field, count in ((channels, "channels", "nchannels"), (plots, "plots", "nplots")):
            if words is not None:
                texts = [ffi.new("char[]", encode(w)) for w in words]
                array = ffi.new("const char *[]", texts)
                keep += [texts, array]
                setattr(recording, field, array)
                setattr(recording, count, len(texts))
        if times is not None:
            array = np.ascontiguousarray(times, dtype=float).reshape(-1)
            if array.size and (not np.all(np.isfinite(array)) or np.any(np.diff(array) <= 0)):
                raise ArgumentError("times of output rise, and are finite")
            keep.append(array)
            opt.c.times, opt.c.ntimes = pointer_to(array), array.size
            t_end = max(t_end, float(array[-1])) if array.size else t_end
        watch = Watch(progress)
        opt.c.output, opt.c.context = ffi.addressof(lib, "kdpy_look"), watch.c
        recorder = self._recorder(equations, recording)
        status = lib.kd_recorder_simulate(recorder, opt.c, x._x, t_end)
        raise_failure(watch, bound, *self._failures())
        return self._result(recorder, equations, x, status, keep)

    def _failures(self):
        return ()

    def _know_start(self, equations, c):
        pass

    def _result(self, recorder, equations, x, status, keep) -> Result:
        result = Result(recorder, equations, x, status)
        result._keep = keep
        equations.users.add(result)
        if status == lib.KD_ERR_MEMORY:
            raise MemoryError("kardan: out of memory")
        if status < 0:
            raise error_of(status, result.message, None if not len(result) else SimulationError, **({"result": result} if len(result) else {}))
        if status > 0 and status != lib.KD_STOPPED and result.message:
            warn(result.message)
        return result

    def start(self, *, start=None, from_equilibrium: bool = False, **method) -> Simulation:
        """A running simulation, to be driven step by step: `s = m.start(); s.run(1.0); s["joint.hinge.q"]`."""
        equations = self._now
        x = self._take_start(equations, start, from_equilibrium)
        opt = self._options(equations, **method)
        if start is None and not from_equilibrium:
            self._know_start(equations, opt.c)
        return Simulation(self, equations, opt, self._bound(equations), x, method, self.inputs.snapshot())

    def resume(self, saved, **method) -> Simulation:
        """A simulation that goes on from a file of `Simulation.save` (or `kardan simulate --write-state`), or from its bytes, with the same bits. The
        method must be the one that it was started with."""
        return _resumed(self, self._now, method, self.inputs.snapshot(), saved)

    def state(self) -> State:
        """The start, consistent with all constraints."""
        return self._start(self._now)

    # ---- analyses
    def equilibrium(self, start=None, *, keep_motion: bool = False, stable: bool = False, tolerance: float | None = None):
        """Static equilibrium next to the start: an `Equilibrium` with its state."""
        from .analysis import equilibrium

        return equilibrium(self, start, keep_motion, stable, tolerance)

    def trim(self, adjust, start=None, *, free=(), moving: bool = False, turn: float | None = None, tolerance: float | None = None):
        """Inputs and parameters (`adjust`: names) with which the model stays where it is, or moves on steadily (moving), or in a steady
        turn to the left (turn: its rate [rad/s], with the speed of the start)."""
        from .analysis import trim

        return trim(self, adjust, start, free, moving, turn, tolerance)

    def linearize(self, state=None):
        """Linear equations x' = A x + B u, y = C x + D u around a state (None: the start)."""
        from .analysis import Linear

        return Linear(self, state)

    def modes(self, state=None):
        """Eigenvalues, frequencies, damping ratios and mode shapes around a state (None: the start)."""
        return self.linearize(state).modes()

    def frequency(self, frequencies, state=None):
        """Frequency response C inv(i omega - A) B + D at frequencies [Hz]: an array (len, ny, nu) of complex numbers."""
        return self.linearize(state).response(frequencies)

    def compare(self, t_end: float | None = None, *, tolerances=None, only: str | None = None, budget: float = 120.0, all: bool = False, progress=None):
        """The same motion by many methods: what each costs and how accurate it is."""
        from .analysis import compare

        return compare(self, self._default_end() if t_end is None else t_end, tolerances, only, budget, all, progress)

    def realtime(self, step: float = 1e-3, *, start=None, **options):
        """A stepper with fixed steps and fixed work, for simulation against a clock."""
        from .realtime import Realtime

        return Realtime(self, step, start, options)

    @property
    def equations(self):
        """The equations of motion themselves: residual, mass matrix, constraints and their derivatives at states."""
        from .equations import Evaluator

        return Evaluator(self._now, self)


def raise_failure(*sources):
    """What Python code raised inside of a run is raised again behind it, as it was."""
    for source in sources:
        failure = getattr(source, "failure", None)
        if failure is not None:
            source.failure = None
            raise failure


class Simulation:
    """A simulation that goes on when it is told to. `s.run(t)` goes to the time t; `s["joint.hinge.q"]` reads; `s.state` copies."""

    def __init__(self, dynamics: Dynamics, equations: Equations_, opt: Options, bound, x: State, method: dict, given: dict):
        self._dynamics, self._equations, self._opt, self._bound, self._x = dynamics, equations, opt, bound, x
        self._method, self._given = method, given  # what another one like it is made of
        self._watch = Watch()
        opt.c.output, opt.c.context = ffi.addressof(lib, "kdpy_look"), self._watch.c
        out, message = ffi.new("kd_simulation **"), Message()
        inputs = bound.inputs if bound else equations.inputs
        status = lib.kd_simulation_create(equations.eom, inputs, opt.c, x._x, out, message.buffer, message.size)
        raise_failure(bound, *dynamics._failures())
        check(status, message)
        self._s = own(out[0], lib.kd_simulation_destroy, equations.held, x._x, memory=(opt.c, self._watch.c))
        equations.users.add(self)

    @property
    def t(self) -> float:
        return self._x.t

    def run(self, t: float) -> Simulation:
        """Go on to the time t [s]."""
        status = lib.kd_simulation_run(self._s, float(t))
        raise_failure(self._watch, self._bound, *self._dynamics._failures())
        words = text(lib.kd_simulation_message(self._s))
        if status < 0:
            raise error_of(status, words)
        if status == lib.KD_STIFF and words:
            warn(words)
        return self

    def __getitem__(self, name: str) -> float:
        probe = lib.kd_simulation_probe(self._s)
        if probe == ffi.NULL:
            raise MemoryError("kardan: no memory for a probe")
        channel = lib.kd_probe_find(probe, encode(name))
        if channel < 0:
            names = [text(lib.kd_probe_name(probe, i)) for i in range(lib.kd_probe_count(probe))]
            raise KeyError(f"there is no channel '{name}'{nearest(name, names)}")
        value = lib.kd_probe_value(probe, channel)
        if value != value and lib.kd_probe_status(probe) < 0:
            raise error_of(lib.kd_probe_status(probe), text(lib.kd_probe_message(probe)))
        return value

    @property
    def channels(self) -> list[str]:
        probe = lib.kd_simulation_probe(self._s)
        return [text(lib.kd_probe_name(probe, i)) for i in range(lib.kd_probe_count(probe))]

    @property
    def state(self) -> State:
        """A copy of the present state."""
        return self._x.copy()

    @property
    def stats(self) -> dict:
        return stats_of(lib.kd_simulation_stats(self._s))

    @property
    def method(self) -> tuple[str, str]:
        """Formulation and integrator that are at work."""
        return text(lib.kd_formulation_word(lib.kd_simulation_formulation(self._s))), text(lib.kd_integrator_word(lib.kd_simulation_integrator(self._s)))

    def restart(self, state: State) -> Simulation:
        """Go on from another state, which is made consistent first; the past is forgotten."""
        if lib.kd_state_copy(state._x, self._x._x) < 0:
            raise ArgumentError("the state is one of other equations")
        status = lib.kd_simulation_restart(self._s)
        raise_failure(self._watch, self._bound, *self._dynamics._failures())
        check(status, text(lib.kd_simulation_message(self._s)))
        return self

    # ---- a running simulation is a value: copies, pickles and files go on with the same bits
    def _saved(self):
        out, message = ffi.new("kd_saved **"), Message()
        check(lib.kd_simulation_save(self._s, out, message.buffer, message.size), message)
        return own(out[0], lib.kd_saved_destroy)

    def to_bytes(self) -> bytes:
        """All that the rest of the run depends on. `m.resume(bytes)` goes on."""
        saved, size = self._saved(), ffi.new("size_t *")
        pointer = lib.kd_saved_bytes(saved, size)
        return bytes(ffi.buffer(pointer, size[0]))

    def save(self, path) -> str:
        """The same as a file, which `m.resume(path)` and `kardan simulate --continue` read."""
        saved, message = self._saved(), Message()
        check(lib.kd_saved_write(saved, encode(path), message.buffer, message.size), message)
        return str(path)

    def copy(self) -> Simulation:
        """Another one that goes on from here, bit for bit."""
        return _resumed(self._dynamics, self._equations, self._method, self._given, self.to_bytes())

    __copy__ = copy

    def __deepcopy__(self, memo) -> Simulation:
        return self.copy()

    def __reduce__(self):
        if self._equations.recipe is None:
            raise TypeError("simulations of equations that are written in Python cannot be pickled; copy() makes another one in this process")
        _, (source, parameters) = self._equations.recipe(self._equations)
        return _unpickled, (source, parameters, self._method, self._given, self.to_bytes())

    def __repr__(self):
        return f"<kardan.Simulation at t = {self.t:.6g} s, {' + '.join(self.method)}>"


def _resumed(dynamics: Dynamics, equations: Equations_, method: dict, given: dict, saved) -> Simulation:
    """A simulation as it was created once, then set to what was saved."""
    out, message = ffi.new("kd_saved **"), Message()
    if isinstance(saved, (bytes, bytearray, memoryview)):
        data = bytes(saved)
        check(lib.kd_saved_of_bytes(ffi.from_buffer(data), len(data), out, message.buffer, message.size), message)
    else:
        check(lib.kd_saved_read(encode(saved), out, message.buffer, message.size), message)
    held = own(out[0], lib.kd_saved_destroy)
    x, opt = dynamics._start(equations), dynamics._options(equations, **method)
    dynamics._know_start(equations, opt.c)
    s = Simulation(dynamics, equations, opt, dynamics._bound(equations, given), x, method, given)
    check(lib.kd_simulation_restore(s._s, held, message.buffer, message.size), message)
    return s


def _unpickled(source: dict, parameters: dict, method: dict, given: dict, data: bytes) -> Simulation:
    from .model import Model

    m = Model(**source, parameters=parameters)
    m.inputs._given.update(given)
    return _resumed(m, m._now, method, given, data)
