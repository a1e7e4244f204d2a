#!/usr/bin/python3
"""Model exchange by a foreign integrator: DOP853 of scipy on the derivatives of an FMU, events located on its dense output and
passed as the standard says, against co-simulation of the same FMU with a tolerance of 1e-12.
Usage: exchange.py FILE.fmu T_END BOUND [SECONDS]. Prints the largest difference of states, relative to their sizes; exit status 1
where it is above BOUND, 2 where the explicit method would take more than SECONDS."""
import ctypes as C
import os
import sys
import tempfile
import time
import zipfile

import numpy as np
from scipy.integrate import DOP853

from client import Description, Instance, expect

RTOL, POINTS = 1e-12, 20


class Exchange:
    """States, derivatives and events of an instance"""

    def __init__(self, instance, d):
        self.i, self.n, self.m, self.two = instance, len(d.states), d.indicators, d.version == "2.0"
        self.evaluations = 0

    def vector(self, two, three, n, *before):
        x = (C.c_double * max(n, 1))()
        self.i.call(two, three, *before, x, C.c_size_t(n))
        return np.array(x[:n])

    def states(self):
        return self.vector("GetContinuousStates", "GetContinuousStates", self.n)

    def place(self, t, y):
        self.i.call("SetTime", "SetTime", C.c_double(t))
        self.i.call("SetContinuousStates", "SetContinuousStates", (C.c_double * self.n)(*y), C.c_size_t(self.n))

    def rates(self, t, y):
        self.evaluations += 1
        self.place(t, y)
        return self.vector("GetDerivatives", "GetContinuousStateDerivatives", self.n)

    def signs(self, t, y):
        self.place(t, y)
        return self.vector("GetEventIndicators", "GetEventIndicators", self.m) > 0

    def completed(self):
        if self.two:
            event, stop = C.c_int(), C.c_int()
            self.i.call("CompletedIntegratorStep", "", C.c_int(1), C.byref(event), C.byref(stop))
        else:
            event, stop = C.c_bool(), C.c_bool()
            self.i.call("", "CompletedIntegratorStep", C.c_bool(1), C.byref(event), C.byref(stop))
        return bool(event.value), bool(stop.value)

    def update(self, enter):
        """Event mode, and out of it; the time of the next event"""
        if enter:
            self.i.call("EnterEventMode", "EnterEventMode")
        again, stop, following = True, False, np.inf
        while again and not stop:
            if self.two:
                class Info(C.Structure):
                    _fields_ = [(k, C.c_int) for k in ("again", "stop", "nominals", "values", "has_next")] + [("next", C.c_double)]
                info = Info()
                self.i.call("NewDiscreteStates", "", C.byref(info))
                again, stop, has_next, following = info.again, info.stop, info.has_next, info.next
            else:
                flag = [C.c_bool() for _ in range(5)]
                at = C.c_double()
                self.i.call("", "UpdateDiscreteStates", *[C.byref(f) for f in flag], C.byref(at))
                again, stop, has_next, following = flag[0].value, flag[1].value, flag[4].value, at.value
            if not has_next:
                following = np.inf
        self.i.call("EnterContinuousTimeMode", "EnterContinuousTimeMode")
        return following, bool(stop)


def first_crossing(x, dense, t0, t1, before):
    """The earliest time behind t0 at which a sign is another one, to rounding"""
    low, high = t0, t1
    while high - low > 4e-16 * max(abs(high), high - t0):
        middle = low + (high - low) / 2
        if middle <= low or middle >= high:
            break
        if (x.signs(middle, dense(middle)) != before).any():
            high = middle
        else:
            low = middle
    return high


def integrate(x, t_end, deadline):
    """States at POINTS + 1 times; None: it takes too long"""
    t, rows = 0.0, []
    following, stop = x.update(False)
    y = x.states()
    times = list(np.linspace(0, t_end, POINTS + 1))
    rows.append(y)
    times.pop(0)
    while times and not stop:
        end = min(times[-1], following)
        if not end > t:
            following, stop = x.update(True)
            y = x.states()
            expect(following > t, "a time event is announced for the past")
            continue
        solver = DOP853(x.rates, t, y, end, rtol=RTOL, atol=RTOL * (1e-3 + np.abs(y)))
        signs = x.signs(t, y)
        step_event = event = False
        while solver.status == "running" and not step_event and not event:
            if time.process_time() > deadline:
                return None
            expect(solver.step() is None, "the foreign integrator failed")
            dense = solver.dense_output()
            t, y = solver.t, solver.y.copy()
            event = x.m > 0 and (x.signs(t, y) != signs).any()
            if event:
                t = first_crossing(x, dense, solver.t_old, t, signs)
                y = dense(t)
            while times and times[0] <= t:
                at = times.pop(0)
                rows.append(dense(at))
            x.place(t, y)
            step_event, stop = x.completed()
        if step_event or event or t >= following:
            following, stop = x.update(True)
            y = x.states()
    return np.array(rows)


def main():
    path, t_end, bound = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    deadline = time.process_time() + (float(sys.argv[4]) if len(sys.argv) > 4 else 20)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        d = Description(open(os.path.join(folder, "modelDescription.xml"), encoding="utf-8").read())
        me = Instance(folder, d, "me")
        me.start(0, RTOL, t_end)
        x = Exchange(me, d)
        rows = integrate(x, t_end, deadline)
        if rows is None:
            print("too stiff for an explicit method")
            sys.exit(2)
        cs = Instance(folder, d, "cs")
        cs.start(0, RTOL, t_end)
        references = [d.reference[v["name"]] for v in d.states]
        exact = [cs.get(references)]
        for k in range(len(rows) - 1):
            cs.step(k * t_end / POINTS, t_end / POINTS)
            exact.append(cs.get(references))
        exact = np.array(exact)
        size = np.abs(exact).max(axis=0) + 1e-3 * np.abs(exact).max() + 1e-300
        # a row on a jump is on one side or the other
        worst = np.sort((np.abs(rows - exact) / size).max(axis=1))[-1]
        print(f"{worst:.3g} ({x.evaluations} evaluations)")
        sys.exit(int(worst > bound))


if __name__ == "__main__":
    main()
