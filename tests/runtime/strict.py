#!/usr/bin/python3
"""A client of FMUs that trusts nobody: written from the text of FMI 2.0 and 3.0 and from modelDescription.xml alone. It makes the calls in
the order of the standard's state machines and holds every answer against what the standard, the description or another call says.

Usage: strict.py FILE.fmu... [--schemas FOLDER] (with fmi2/ and fmi3/ in it; needs xmllint). A line for each FMU and kind; exit status 1: one
breaks a rule."""
import ctypes as C
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
import zipfile

COMMON2 = """GetTypesPlatform GetVersion SetDebugLogging Instantiate FreeInstance SetupExperiment EnterInitializationMode
ExitInitializationMode Terminate Reset GetReal GetInteger GetBoolean GetString SetReal SetInteger SetBoolean SetString GetFMUstate SetFMUstate
FreeFMUstate SerializedFMUstateSize SerializeFMUstate DeSerializeFMUstate GetDirectionalDerivative""".split()
EXCHANGE2 = """EnterEventMode NewDiscreteStates EnterContinuousTimeMode CompletedIntegratorStep SetTime SetContinuousStates GetDerivatives
GetEventIndicators GetContinuousStates GetNominalsOfContinuousStates""".split()
STEPS2 = """SetRealInputDerivatives GetRealOutputDerivatives DoStep CancelStep GetStatus GetRealStatus GetIntegerStatus GetBooleanStatus
GetStringStatus""".split()
TYPES3 = "Float32 Float64 Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64 Boolean String Binary Clock".split()
ALL3 = """GetVersion SetDebugLogging InstantiateModelExchange InstantiateCoSimulation InstantiateScheduledExecution FreeInstance
EnterInitializationMode ExitInitializationMode EnterEventMode Terminate Reset GetNumberOfVariableDependencies GetVariableDependencies
GetFMUState SetFMUState FreeFMUState SerializedFMUStateSize SerializeFMUState DeserializeFMUState GetDirectionalDerivative
GetAdjointDerivative EnterConfigurationMode ExitConfigurationMode GetIntervalDecimal GetIntervalFraction GetShiftDecimal GetShiftFraction
SetIntervalDecimal SetIntervalFraction SetShiftDecimal SetShiftFraction EvaluateDiscreteStates UpdateDiscreteStates
EnterContinuousTimeMode CompletedIntegratorStep SetTime SetContinuousStates GetContinuousStateDerivatives GetEventIndicators
GetContinuousStates GetNominalsOfContinuousStates GetNumberOfEventIndicators GetNumberOfContinuousStates EnterStepMode
GetOutputDerivatives DoStep ActivateModelPartition""".split() + ["Get" + t for t in TYPES3] + ["Set" + t for t in TYPES3]
OK, WARNING, DISCARD, ERROR = 0, 1, 2, 3


class Broken(Exception):
    """A rule"""


def expect(condition, text):
    if not condition:
        raise Broken(text)


def doubles(values):
    return (C.c_double * max(len(values), 1))(*values)


class Description:
    def __init__(self, folder):
        root = ET.parse(os.path.join(folder, "modelDescription.xml")).getroot()
        self.two = root.get("fmiVersion") == "2.0"
        self.token = root.get("guid" if self.two else "instantiationToken")
        self.kinds = {k: root.find(t) for k, t in (("me", "ModelExchange"), ("cs", "CoSimulation")) if root.find(t) is not None}
        expect(self.kinds, "neither ModelExchange nor CoSimulation")
        self.variables = []
        for e in root.find("ModelVariables"):
            self.variables.append({**e.attrib, **(e[0].attrib if self.two else {})})
        by = {int(v["valueReference"]): v for v in self.variables}
        s = root.find("ModelStructure")
        if self.two:
            index = lambda e: self.variables[int(e.get("index")) - 1]
            self.outputs, self.rates = ([index(e) for e in s.iterfind(w + "/Unknown")] for w in ("Outputs", "Derivatives"))
            self.states = [self.variables[int(v["derivative"]) - 1] for v in self.rates]
            self.nevents = int(root.get("numberOfEventIndicators", 0))
        else:
            pick = lambda w: [by[int(e.get("valueReference"))] for e in s.iterfind(w)]
            self.outputs, self.rates = pick("Output"), pick("ContinuousStateDerivative")
            self.states = [by[int(v["derivative"])] for v in self.rates]
            self.nevents = len(pick("EventIndicator"))
        expect([v["name"] for v in self.outputs] == [v["name"] for v in self.variables if v.get("causality") == "output"],
               "ModelStructure has other outputs than the variables")
        self.inputs = [v for v in self.variables if v.get("causality") == "input"]
        e = root.find("DefaultExperiment")
        self.stop, self.step, self.tolerance = (float(e.get(k)) for k in ("stopTime", "stepSize", "tolerance"))


def refs(variables):
    return [int(v["valueReference"]) for v in variables]


class Unit:
    """An instance with the calls of one version"""

    def __init__(self, folder, d, kind, event_mode=False, early=False, token=None, update=None):
        self.d, self.kind, self.two, self.said = d, kind, d.two, []
        name = d.kinds[kind].get("modelIdentifier") if kind in d.kinds else next(iter(d.kinds.values())).get("modelIdentifier")
        self.lib = C.CDLL(os.path.join(folder, "binaries", "linux64" if d.two else "x86_64-linux", name + ".so"))
        token = (token or d.token).encode()
        resources = os.path.join(folder, "resources")
        if d.two:
            logger = C.CFUNCTYPE(None, C.c_void_p, C.c_char_p, C.c_int, C.c_char_p, C.c_char_p)
            take, give = C.CFUNCTYPE(C.c_void_p, C.c_size_t, C.c_size_t), C.CFUNCTYPE(None, C.c_void_p)
            self.log = logger(lambda e, n, s, c, m: self.said.append((s, m.decode())))

            class Callbacks(C.Structure):
                _fields_ = [("log", logger), ("allocate", take), ("free", give), ("step", C.c_void_p), ("environment", C.c_void_p)]
            self.callbacks = Callbacks(self.log, take(), give(), None, None)
            make = self.lib.fmi2Instantiate
            make.restype = C.c_void_p
            self.c = make(b"strict", 0 if kind == "me" else 1, token, ("file://" + resources).encode(), C.byref(self.callbacks), 0, 1)
        else:
            logger = C.CFUNCTYPE(None, C.c_void_p, C.c_int, C.c_char_p, C.c_char_p)
            self.log = logger(lambda e, s, c, m: self.said.append((s, m.decode())))
            no, yes = C.c_bool(0), C.c_bool(1)
            make = self.lib.fmi3InstantiateModelExchange if kind == "me" else self.lib.fmi3InstantiateCoSimulation
            make.restype = C.c_void_p
            more = () if kind == "me" else (C.c_bool(event_mode), C.c_bool(early), None, C.c_size_t(0))
            shape = C.CFUNCTYPE(None, C.c_void_p, C.c_double, C.c_bool, C.c_bool, C.c_bool, C.c_bool, C.POINTER(C.c_bool),
                                C.POINTER(C.c_double))
            self.update = shape(update) if update else None
            last = () if kind == "me" else (self.update,)
            self.c = make(b"strict", token, (resources + os.sep).encode(), no, yes, *more, None, self.log, *last)
        self.event_mode = event_mode

    def raw(self, name, *arguments):
        return getattr(self.lib, ("fmi2" if self.two else "fmi3") + name)(C.c_void_p(self.c), *arguments)

    def call(self, name, *arguments):
        status = self.raw(name, *arguments)
        expect(status in (OK, WARNING), f"{name} answers {status}: {self.said[-1:]}")

    def refused(self, name, *arguments):
        said = len(self.said)
        status = self.raw(name, *arguments)
        expect(status == ERROR, f"{name} should be an error and answers {status}")
        expect(len(self.said) > said, f"{name} fails without a word")

    def get(self, references):
        n = len(references)
        value = doubles([math.nan] * n)
        self.call("GetReal" if self.two else "GetFloat64", (C.c_uint * max(n, 1))(*references), C.c_size_t(n), value,
                  *(() if self.two else (C.c_size_t(n),)))
        return value[:n]

    def set(self, references, values):
        n = len(references)
        self.call("SetReal" if self.two else "SetFloat64", (C.c_uint * max(n, 1))(*references), C.c_size_t(n), doubles(values),
                  *(() if self.two else (C.c_size_t(n),)))

    def vector(self, name, n):
        x = doubles([math.nan] * n)
        self.call(name, x, C.c_size_t(n))
        return x[:n]

    def start(self, tolerance=None):
        tolerance = tolerance or self.d.tolerance
        if self.two:
            self.call("SetupExperiment", 1, C.c_double(tolerance), C.c_double(0), 1, C.c_double(self.d.stop))
            self.call("EnterInitializationMode")
        else:
            self.call("EnterInitializationMode", C.c_bool(1), C.c_double(tolerance), C.c_double(0), C.c_bool(1), C.c_double(self.d.stop))
        values = self.get(refs(self.d.variables))
        self.call("ExitInitializationMode")
        if self.kind == "me" or self.event_mode:
            self.events()
        return values

    def events(self):
        """Event mode until nothing is new, and out of it. The time of the next event, whether the states have changed"""
        again, changed = True, False
        while again:
            if self.two:
                class Info(C.Structure):
                    _fields_ = [(k, C.c_int) for k in ("again", "stop", "nominals", "values", "has_next")] + [("next", C.c_double)]
                i = Info()
                self.call("NewDiscreteStates", C.byref(i))
                again, stop, new, has_next, following = i.again, i.stop, i.values, i.has_next, i.next
            else:
                f, at = [C.c_bool() for _ in range(5)], C.c_double()
                self.call("UpdateDiscreteStates", *[C.byref(x) for x in f], C.byref(at))
                again, stop, new, has_next, following = f[0].value, f[1].value, f[3].value, f[4].value, at.value
            changed = changed or bool(new)
        if not stop:
            self.call("EnterContinuousTimeMode" if self.kind == "me" else "EnterStepMode")
        return (following if has_next else math.inf), changed

    def step(self, t, h, no_rewind=True):
        """What was reached, and whether an event wants to be handled or the end is asked for"""
        if self.two:
            status = self.raw("DoStep", C.c_double(t), C.c_double(h), int(no_rewind))
            expect(status in (OK, WARNING, DISCARD), f"DoStep answers {status}: {self.said[-1:]}")
            return t + h, False, status == DISCARD
        event, stop, early, last = C.c_bool(), C.c_bool(), C.c_bool(), C.c_double()
        self.call("DoStep", C.c_double(t), C.c_double(h), C.c_bool(no_rewind), C.byref(event), C.byref(stop), C.byref(early),
                  C.byref(last))
        expect(early.value or stop.value or last.value == t + h, "lastSuccessfulTime is not the end of a step that was not early")
        expect(t < last.value <= t + h or stop.value, "lastSuccessfulTime lies outside of the step")
        return last.value, event.value, stop.value

    def directional(self, unknown, known, seed, adjoint=False):
        n, m = len(unknown), len(known)
        out = doubles([math.nan] * (m if adjoint else n))
        vr = lambda r: (C.c_uint * max(len(r), 1))(*r)
        size = C.c_size_t
        if self.two:
            self.call("GetDirectionalDerivative", vr(unknown), size(n), vr(known), size(m), doubles(seed), out)
        else:
            self.call("GetAdjointDerivative" if adjoint else "GetDirectionalDerivative", vr(unknown), size(n), vr(known), size(m),
                      doubles(seed), size(len(seed)), out, size(m if adjoint else n))
        return out[:m if adjoint else n]

    def save(self):
        state = C.c_void_p()
        self.call("GetFMUstate" if self.two else "GetFMUState", C.byref(state))
        return state

    def restore(self, state):
        self.call("SetFMUstate" if self.two else "SetFMUState", state)

    def forget(self, state):
        self.call("FreeFMUstate" if self.two else "FreeFMUState", C.byref(state))
        expect(not state.value, "a freed state is not NULL")

    def pack(self, state):
        w = "FMUstate" if self.two else "FMUState"
        n = C.c_size_t()
        self.call("Serialized" + w + "Size", state, C.byref(n))
        room = (C.c_ubyte * n.value)()
        self.call("Serialize" + w, state, room, n)
        return bytes(room)

    def unpack(self, data):
        state = C.c_void_p()
        self.call("DeSerializeFMUstate" if self.two else "DeserializeFMUState", (C.c_ubyte * len(data))(*data), C.c_size_t(len(data)),
                  C.byref(state))
        return state

    def end(self, terminate=True):
        if terminate:
            self.call("Terminate")
        free = getattr(self.lib, "fmi2FreeInstance" if self.two else "fmi3FreeInstance")
        free.restype = None
        free(C.c_void_p(self.c))


# ---- checks ---------------------------------------------------------------------------------------------------------

def check_functions(lib, d):
    names = ["fmi2" + n for n in COMMON2 + (EXCHANGE2 if "me" in d.kinds else []) + (STEPS2 if "cs" in d.kinds else [])] if d.two \
        else ["fmi3" + n for n in ALL3]
    missing = [n for n in names if not hasattr(lib, n)]
    expect(not missing, "not exported: " + " ".join(missing))
    version = getattr(lib, "fmi2GetVersion" if d.two else "fmi3GetVersion")
    version.restype = C.c_char_p
    expect(version().decode().startswith("2.0" if d.two else "3.0"), "GetVersion")
    if d.two:
        lib.fmi2GetTypesPlatform.restype = C.c_char_p
        expect(lib.fmi2GetTypesPlatform() == b"default", "GetTypesPlatform")


def check_refusals(folder, d, kind):
    other = {"me": "cs", "cs": "me"}[kind]
    u = Unit(folder, d, kind, token="{wrong}")
    expect(not u.c and u.said, "a wrong token is taken, or refused without a word")
    if other not in d.kinds:
        u = Unit(folder, d, other)
        expect(not u.c and u.said, f"an FMU without {other} is instantiated as {other}, or refused without a word")
    if not d.two:
        u = Unit(folder, d, kind)
        make = u.lib.fmi3InstantiateScheduledExecution
        make.restype = C.c_void_p
        expect(not make(b"x", d.token.encode(), (folder + "/resources/").encode(), C.c_bool(0), C.c_bool(0), None, u.log, None, None, None),
               "scheduled execution is not offered and is instantiated")
        u.end(False)


def check_order(folder, d, kind):
    """Calls that are not allowed where they are made, and of types that no variable has: errors with a word, and it goes on"""
    u = Unit(folder, d, kind)
    expect(u.c, f"it cannot be instantiated: {u.said[-1:]}")
    one, n1, x = (C.c_uint * 1)(0), C.c_size_t(1), doubles([0])
    u.refused("ExitInitializationMode")
    u.refused("Terminate")
    if kind == "me":
        u.refused("SetTime", C.c_double(0))
        u.refused("EnterContinuousTimeMode")
    if d.two:
        u.refused("GetInteger", one, n1, (C.c_int * 1)())
        u.refused("SetBoolean", one, n1, (C.c_int * 1)())
        u.call("GetInteger", one, C.c_size_t(0), None)
    else:
        u.refused("GetInt32", one, n1, (C.c_int32 * 1)(), n1)
        u.refused("SetBoolean", one, n1, (C.c_bool * 1)(), n1)
        u.refused("GetString", one, n1, (C.c_char_p * 1)(), n1)
        u.call("GetInt32", one, C.c_size_t(0), None, C.c_size_t(0))
        u.refused("EnterConfigurationMode")
        u.refused("GetClock", one, n1, (C.c_bool * 1)())
        u.refused("SetClock", one, n1, (C.c_bool * 1)())
        u.refused("GetIntervalDecimal", one, n1, x, (C.c_int * 1)())
        u.refused("GetShiftDecimal", one, n1, x)
        u.refused("SetIntervalDecimal", one, n1, x)
        u.refused("ActivateModelPartition", C.c_uint(0), C.c_double(0))
    u.start()
    u.refused("EnterInitializationMode", *(() if d.two else (C.c_bool(0), C.c_double(0), C.c_double(0), C.c_bool(0), C.c_double(0))))
    if kind == "me":
        u.refused("GetContinuousStates", doubles([0] * (len(d.states) + 1)), C.c_size_t(len(d.states) + 1))
    # a reference that there is none of
    u.refused("GetReal" if d.two else "GetFloat64", (C.c_uint * 1)(4000000000), n1, x, *(() if d.two else (n1,)))
    bad = doubles([math.nan])
    if d.inputs:
        u.refused("SetReal" if d.two else "SetFloat64", (C.c_uint * 1)(*refs(d.inputs[:1])), n1, bad, *(() if d.two else (n1,)))
    u.get(refs(d.outputs))
    u.call("Reset")
    u.start()
    u.end()


def check_values(folder, d, kind):
    u = Unit(folder, d, kind)
    given = [v for v in d.variables if "start" in v]
    for v, x in zip(given, u.get(refs(given))):
        expect(x == float(v["start"]), f"{v['name']} is {x} before initialisation, its start is {v['start']}")
    u.set(refs(given), [float(v["start"]) for v in given if True])
    values = u.start()
    for v, x in zip(d.variables, values):
        expect(math.isfinite(x), v["name"] + " is no number")
        expect("min" not in v or x >= float(v["min"]), v["name"] + " is below its min")
        expect("max" not in v or x <= float(v["max"]), v["name"] + " is above its max")
    time = [v for v in d.variables if v.get("causality") == "independent"]
    if time:
        expect(u.get(refs(time)) == [0], "the time is not the start time")
    u.end()


def check_derivatives(u, d, seed):
    """Directional derivatives against central differences, adjoint ones against directional ones"""
    r = random.Random(seed)
    x0, n = u.vector("GetContinuousStates", len(d.states)), len(d.states)
    unknown = refs(d.rates)
    v = [r.uniform(-1, 1) for _ in range(n)]
    rate = lambda: u.get(unknown)
    base = rate()

    def moved(h):
        u.call("SetContinuousStates", doubles([a + h * b for a, b in zip(x0, v)]), C.c_size_t(n))
        return rate()
    got = u.directional(unknown, refs(d.states), v)
    # two lengths of the difference, extrapolated; what they differ by is their error
    best, scale = None, max([abs(b) for b in base] + [abs(g) for g in got] + [1e-12])
    for h in (1e-4, 1e-5, 1e-6):
        one, two = ([(a - b) / (2 * k) for a, b in zip(moved(k), moved(-k))] for k in (h, h / 2))
        fine = [(4 * b - a) / 3 for a, b in zip(one, two)]
        error = max((abs(g - f) for g, f in zip(got, fine)), default=0) / scale
        best = error if best is None else min(best, error)
    u.call("SetContinuousStates", doubles(x0), C.c_size_t(n))
    off = max((abs(a - b) for a, b in zip(rate(), base)), default=0) / scale
    expect(off <= 1e-9, f"derivatives at the same states are others by {off:.1e}")
    if not d.two:
        w = [r.uniform(-1, 1) for _ in unknown]
        back = u.directional(unknown, refs(d.states), w, adjoint=True)
        left, right = sum(a * b for a, b in zip(w, got)), sum(a * b for a, b in zip(back, v))
        size = sum(abs(a * b) for a, b in zip(w, got)) + sum(abs(a * b) for a, b in zip(back, v)) + 1
        expect(abs(left - right) <= 1e-6 * size, f"adjoint derivatives are not those of the directional ones ({left}, {right})")
    return best


def check_exchange(folder, d, words):
    u = Unit(folder, d, "me")
    u.start()
    n, h = len(d.states), 1e-4 * d.step
    if not d.two:
        for name, count in (("GetNumberOfContinuousStates", n), ("GetNumberOfEventIndicators", d.nevents)):
            c = C.c_size_t()
            u.call(name, C.byref(c))
            expect(c.value == count, f"{name} says {c.value}, the description {count}")
    expect(all(x > 0 for x in u.vector("GetNominalsOfContinuousStates", n)), "a nominal value is not above 0")
    expect(u.vector("GetContinuousStates", n) == u.get(refs(d.states)), "states by reference are others")
    rates = "GetDerivatives" if d.two else "GetContinuousStateDerivatives"
    one, two = u.vector(rates, n), u.get(refs(d.rates))
    off = max((abs(a - b) for a, b in zip(one, two)), default=0) / (max(map(abs, one), default=0) + 1e-3)
    expect(off <= 1e-9, f"derivatives by reference are others by {off:.1e}")
    u.vector("GetEventIndicators", d.nevents)
    # short steps of Euler's method as a client makes them; states are the client's
    t, x = 0.0, u.vector("GetContinuousStates", n)
    for _ in range(10):
        dx = u.vector(rates, n)
        t, x = t + h, [a + h * b for a, b in zip(x, dx)]
        u.call("SetTime", C.c_double(t))
        u.call("SetContinuousStates", doubles(x), C.c_size_t(n))
        expect(u.vector("GetContinuousStates", n) == x, "the states are not those that were set")
        if d.two:
            event, stop = C.c_int(), C.c_int()
            u.call("CompletedIntegratorStep", 1, C.byref(event), C.byref(stop))
        else:
            event, stop = C.c_bool(), C.c_bool()
            u.call("CompletedIntegratorStep", C.c_bool(1), C.byref(event), C.byref(stop))
        expect(u.vector("GetContinuousStates", n) == x, "the states have changed outside of event mode")
        if event.value:
            u.call("EnterEventMode")
            _, changed = u.events()
            fresh = u.vector("GetContinuousStates", n)
            expect(changed or fresh == x, "states have changed in event mode without a word")
            x = fresh
    if n:
        words.append(f"directional {check_derivatives(u, d, 1):.0e}")
    # saved: other states, back again
    if u.d.kinds["me"].get("canGetAndSetFMUstate" if d.two else "canGetAndSetFMUState") == "true":
        before, state = u.get(refs(d.variables)), u.save()
        u.call("SetTime", C.c_double(t + h))
        u.call("SetContinuousStates", doubles([a + 1e-3 for a in x]), C.c_size_t(n))
        u.get(refs(d.rates))
        data = u.pack(state)
        u.restore(state)
        expect(u.get(refs(d.variables)) == before, "a restored instance has other values")
        again = u.unpack(data)
        u.restore(again)
        expect(u.get(refs(d.variables)) == before, "an instance restored from bytes has other values")
        u.forget(state), u.forget(again)
    u.end()


def run(u, d, steps, first=0):
    rows = []
    for k in range(first, first + steps):
        _, _, stop = u.step(k * d.step, d.step, False)
        rows.append(u.get(refs(d.outputs)) + u.get(refs(d.states)))
        if stop:
            break
    return rows


def check_steps(folder, d, words):
    steps = 6
    u = Unit(folder, d, "cs")
    u.start()
    rows = run(u, d, steps)
    expect(all(math.isfinite(x) for row in rows for x in row), "a value is no number")
    if len(rows) < steps:
        words.append("ends by itself")
        u.end()
        return
    # saved in the middle of a run, going on; the bytes in another instance
    state = u.save()
    data, further = u.pack(state), run(u, d, 4, steps)
    u.restore(state)
    expect(run(u, d, 4, steps) == further, "a restored run goes on with other bits")
    other = Unit(folder, d, "cs")
    other.start()
    restored = other.unpack(data)
    other.restore(restored)
    expect(run(other, d, 4, steps) == further, "a run restored from bytes in another instance goes on with other bits")
    for bad in (b"", data[:len(data) // 2], bytes(len(data)), data[:-1] + bytes([data[-1] ^ 1])):
        status = other.raw("DeSerializeFMUstate" if d.two else "DeserializeFMUState", (C.c_ubyte * max(len(bad), 1))(*bad),
                           C.c_size_t(len(bad)), C.byref(C.c_void_p()))
        expect(status == ERROR, "damaged bytes are taken as a saved state")
    other.forget(restored), other.end()
    u.forget(state)
    u.call("Reset")
    u.start()
    expect(run(u, d, steps) == rows, "after a reset the run has other bits")
    u.end()
    # two instances in threads
    found = [None, None]

    def alone(i):
        own = Unit(folder, d, "cs")
        own.start()
        found[i] = run(own, d, steps)
        own.end()
    threads = [threading.Thread(target=alone, args=(i,)) for i in range(2)]
    [x.start() for x in threads], [x.join() for x in threads]
    expect(found == [rows, rows], "instances in threads have other bits")
    if not d.two:
        check_event_mode(folder, d, rows, words)


def check_event_mode(folder, d, rows, words):
    seen = []
    hold = []

    def update(environment, t, set_requested, get_allowed, finished, may_return, early, when):
        seen.append(t)
        if get_allowed and hold:
            hold[0].get(refs(d.outputs))
        early[0], when[0] = False, t
    u = Unit(folder, d, "cs", event_mode=True, early=True, update=update)
    hold.append(u)
    u.start()
    end, t, events = len(rows) * d.step, 0.0, 0
    for k in range(len(rows)):
        to = (k + 1) * d.step
        while t < to * (1 - 1e-12):
            t, event, stop = u.step(t, to - t)
            expect(not stop, "with events it ends, without it does not")
            if event:
                events += 1
                u.call("EnterEventMode")
                u.events()
            expect(events < 10000, "events without end")
    final = u.get(refs(d.outputs)) + u.get(refs(d.states))
    expect(seen == sorted(seen) and (not seen or seen[-1] <= end * (1 + 1e-12)), "times of intermediate updates are not in order")
    expect(seen, "no intermediate update was made")
    size = [max(abs(row[i]) for row in rows) + 1e-3 for i in range(len(final))]
    off = max((abs(a - b) / s for a, b, s in zip(final, rows[-1], size)), default=0)
    words.append(f"{len(seen)} updates, {events} events, {off:.0e} beside plain steps")
    u.end()


def check(path, schemas):
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as archive:
            expect(archive.testzip() is None, "the archive is damaged")
            expect(all(not n.startswith("/") and ".." not in n and "\\" not in n for n in archive.namelist()), "names in the archive")
            archive.extractall(folder)
        d = Description(folder)
        if schemas:
            names = [("modelDescription.xml", "fmi2ModelDescription.xsd" if d.two else "fmi3ModelDescription.xsd")]
            extra = [("sources/buildDescription.xml", "fmi3BuildDescription.xsd"),
                     ("terminalsAndIcons/terminalsAndIcons.xml", "fmi3TerminalsAndIcons.xsd")]
            for name, schema in names + ([] if d.two else extra):
                if os.path.exists(os.path.join(folder, name)):
                    answer = subprocess.run(["xmllint", "--noout", "--schema", os.path.join(schemas, "fmi2" if d.two else "fmi3", schema),
                                             os.path.join(folder, name)], capture_output=True, text=True)
                    expect(answer.returncode == 0, answer.stderr[:600])
        for kind in d.kinds:
            words = []
            check_functions(Unit(folder, d, kind).lib, d)
            check_refusals(folder, d, kind)
            check_order(folder, d, kind)
            check_values(folder, d, kind)
            (check_exchange if kind == "me" else check_steps)(folder, d, words)
            print(f"{os.path.basename(path)} {'2.0' if d.two else '3.0'} {kind}: good  {', '.join(words)}", flush=True)


def main():
    arguments, schemas, wrong = sys.argv[1:], None, 0
    if "--schemas" in arguments:
        at = arguments.index("--schemas")
        schemas = arguments[at + 1] if shutil.which("xmllint") else None
        del arguments[at:at + 2]
    for path in arguments:
        try:
            check(path, schemas)
        except Broken as rule:
            wrong += 1
            print(f"{os.path.basename(path)}: WRONG: {rule}", flush=True)
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
