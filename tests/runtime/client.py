#!/usr/bin/python3
"""A strict client of FMUs, independent of kardan: reads the description by itself and follows the sequence of calls of the
standard with ctypes. Usage: client.py FILE.fmu [me|cs]. Exit status 0: everything was as the standard says."""
import ctypes as C
import math
import os
import re
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile


def fail(text):
    sys.exit("client.py: " + text)


def expect(condition, text):
    if not condition:
        fail(text)


NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|'(?:[^'\\]|\\.)+')(?:\[[0-9]+(?:,[0-9]+)*\])?"
STRUCTURED = re.compile(rf"^(?:{NAME}(?:\.{NAME})*|der\({NAME}(?:\.{NAME})*(?:,[0-9]+)?\))$")


class Description:
    """modelDescription.xml, with the rules that a client relies on"""

    def __init__(self, text):
        root = ET.fromstring(text)
        self.version = root.get("fmiVersion")
        expect(self.version in ("2.0", "3.0"), "fmiVersion " + str(self.version))
        two = self.version == "2.0"
        self.token = root.get("guid" if two else "instantiationToken")
        self.kinds = {k: root.find(n).get("modelIdentifier") for k, n in
                      (("me", "ModelExchange"), ("cs", "CoSimulation")) if root.find(n) is not None}
        units = {u.get("name") for u in root.iterfind("UnitDefinitions/Unit")}
        self.variables = []
        for e in root.find("ModelVariables"):
            typed = e[0] if two else e
            expect(typed.tag in ("Real", "Float64"), "type " + typed.tag)
            v = dict(e.attrib)
            v.update(typed.attrib)
            expect(STRUCTURED.match(v["name"]), "the name is not structured: " + v["name"])
            expect("unit" not in v or v["unit"] in units, "unit of " + v["name"])
            self.variables.append(v)
        names = [v["name"] for v in self.variables]
        expect(len(set(names)) == len(names), "a name is there twice")
        self.reference = {v["name"]: int(v["valueReference"]) for v in self.variables}
        structure = root.find("ModelStructure")
        if two:
            pick = lambda list_: [self.variables[int(u.get("index")) - 1] for u in structure.iterfind(list_ + "/Unknown")]
            outputs, rates, initial = pick("Outputs"), pick("Derivatives"), pick("InitialUnknowns")
            self.indicators = int(root.get("numberOfEventIndicators", "0"))
            state = lambda v: self.variables[int(v["derivative"]) - 1]
        else:
            by = {int(v["valueReference"]): v for v in self.variables}
            pick = lambda tag: [by[int(u.get("valueReference"))] for u in structure.iterfind(tag)]
            outputs, rates, initial = pick("Output"), pick("ContinuousStateDerivative"), pick("InitialUnknown")
            self.indicators = len(pick("EventIndicator"))
            state = lambda v: by[int(v["derivative"])]
        self.states = [state(v) for v in rates]
        expect([v["name"] for v in outputs] == [v["name"] for v in self.variables if v.get("causality") == "output"],
               "outputs of the structure are not those of the variables")
        listed = {v["name"] for v in initial}
        for v in outputs + rates + self.states:
            expect(v.get("initial") == "exact" or v["name"] in listed, v["name"] + " is no initial unknown")
        self.outputs = outputs
        experiment = root.find("DefaultExperiment")
        self.stop, self.step = float(experiment.get("stopTime")), float(experiment.get("stepSize"))
        self.tolerance = float(experiment.get("tolerance", "1e-6"))


class Instance:
    """The functions of a version behind one set of names"""

    def __init__(self, folder, d, kind):
        self.two = d.version == "2.0"
        platform = "linux64" if self.two else "x86_64-linux"
        self.lib = C.CDLL(os.path.join(folder, "binaries", platform, d.kinds[kind] + ".so"))
        resources = os.path.join(folder, "resources")
        if self.two:
            logger = C.CFUNCTYPE(None, C.c_void_p, C.c_char_p, C.c_int, C.c_char_p, C.c_char_p)
            self.log = logger(lambda e, n, s, c, m: s >= 3 and print("FMU:", m))

            class Callbacks(C.Structure):
                _fields_ = [("log", logger), ("allocate", C.c_void_p), ("free", C.c_void_p), ("step", C.c_void_p),
                            ("environment", C.c_void_p)]
            self.callbacks = Callbacks(self.log, None, None, None, None)
            make = self.lib.fmi2Instantiate
            make.restype = C.c_void_p
            self.c = make(b"python", 0 if kind == "me" else 1, d.token.encode(), ("file://" + resources).encode(),
                          C.byref(self.callbacks), 0, 0)
        else:
            logger = C.CFUNCTYPE(None, C.c_void_p, C.c_int, C.c_char_p, C.c_char_p)
            self.log = logger(lambda e, s, c, m: s >= 3 and print("FMU:", m.decode()))
            if kind == "me":
                make = self.lib.fmi3InstantiateModelExchange
                make.restype = C.c_void_p
                self.c = make(b"python", d.token.encode(), (resources + "/").encode(), C.c_bool(0), C.c_bool(0), None, self.log)
            else:
                make = self.lib.fmi3InstantiateCoSimulation
                make.restype = C.c_void_p
                self.c = make(b"python", d.token.encode(), (resources + "/").encode(), C.c_bool(0), C.c_bool(0), C.c_bool(0),
                              C.c_bool(0), None, C.c_size_t(0), None, self.log, None)
        expect(self.c, "it could not be instantiated")

    def call(self, two, three, *arguments, allowed=(0, 1)):
        name = ("fmi2" + two) if self.two else ("fmi3" + three)
        status = getattr(self.lib, name)(C.c_void_p(self.c), *arguments)
        expect(status in allowed, f"{name} answered {status}")
        return status

    def start(self, t, tolerance, stop):
        if self.two:
            self.call("SetupExperiment", "", C.c_int(1), C.c_double(tolerance), C.c_double(t), C.c_int(1), C.c_double(stop))
            self.call("EnterInitializationMode", "")
        else:
            self.call("", "EnterInitializationMode", C.c_bool(1), C.c_double(tolerance), C.c_double(t), C.c_bool(1),
                      C.c_double(stop))
        self.call("ExitInitializationMode", "ExitInitializationMode")

    def get(self, references):
        n = len(references)
        vr, value = (C.c_uint * n)(*references), (C.c_double * n)()
        more = () if self.two else (C.c_size_t(n),)
        self.call("GetReal", "GetFloat64", vr, C.c_size_t(n), value, *more)
        return list(value)

    def step(self, t, h):
        """True: the model asks for the end"""
        if self.two:
            return self.call("DoStep", "", C.c_double(t), C.c_double(h), C.c_int(1), allowed=(0, 1, 2)) == 2
        event, stop, early, last = C.c_bool(), C.c_bool(), C.c_bool(), C.c_double()
        self.call("", "DoStep", C.c_double(t), C.c_double(h), C.c_bool(1), C.byref(event), C.byref(stop), C.byref(early),
                  C.byref(last))
        expect(not early.value, "it returned early, which was not allowed")
        return stop.value

    def free(self):
        self.call("Terminate", "Terminate")
        free = self.lib.fmi2FreeInstance if self.two else self.lib.fmi3FreeInstance
        free.restype = None
        free(C.c_void_p(self.c))


def cosimulate(instance, d, steps):
    h = d.step
    values = []
    for k in range(steps):
        instance.step(k * h, h)
        values.append(instance.get([d.reference[v["name"]] for v in d.outputs]))
    expect(all(math.isfinite(x) for row in values for x in row), "an output is no number")
    return values


def main():
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(sys.argv[1]) as archive:
            expect(archive.testzip() is None, "the archive is damaged")
            archive.extractall(folder)
        d = Description(open(os.path.join(folder, "modelDescription.xml"), encoding="utf-8").read())
        for kind in sys.argv[2:] or d.kinds:
            instance = Instance(folder, d, kind)
            instance.start(0, 1e-6, d.stop)
            references = [d.reference[v["name"]] for v in d.variables if not v["name"].startswith("event.indicator")]
            expect(all(math.isfinite(x) for x in instance.get(references)), "a start value is no number")
            if kind == "cs":
                first = cosimulate(instance, d, 5)
                instance.call("Reset", "Reset")
                instance.start(0, 1e-6, d.stop)
                expect(cosimulate(instance, d, 5) == first, "after a reset the outputs are others")
            instance.free()
    print("good")


if __name__ == "__main__":
    main()
