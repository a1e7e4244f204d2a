"""What Python costs: import, a run over the same run in C, two threads over one, a large table. Usage: python bench.py [--json]"""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np

# the package that is measured is the installed one, not the sources beside this file
sys.path = [folder for folder in sys.path if pathlib.Path(folder or ".").resolve() != pathlib.Path(__file__).resolve().parent]
MODELS = pathlib.Path(os.environ.get("KARDAN_SOURCE", pathlib.Path(__file__).parents[1])) / "models"
rows = []


def row(name, value, unit, goal, better):
    rows.append({"name": name, "value": value, "unit": unit, "goal": goal, "better": better})


def best(function, repetitions):
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def import_time():
    code = "import numpy, time; a = time.perf_counter(); import kardan; print(time.perf_counter() - a)"
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(7))


def overhead():
    """simulate() over the C calls that it is made of, in this process, on the same small model and the same run."""
    import kardan
    from kardan._core import ffi, lib

    m = kardan.load(MODELS / "pendulum.yaml")
    system, path = m._now.system, os.fsencode(MODELS / "pendulum.yaml")

    def in_c():
        x, r = ffi.new("kd_state **"), ffi.new("kd_recorder **")
        options = ffi.new("kd_recorder_options *", lib.kd_recorder_options_default())
        options.intervals = 20
        lib.kd_state_create(m._now.eom, x)
        lib.kd_system_start(system, x[0], ffi.NULL, 0)
        lib.kd_recorder_create(system, options, r, ffi.NULL, 0)
        lib.kd_recorder_simulate(r[0], ffi.NULL, x[0], 0.05)
        lib.kd_recorder_destroy(r[0])
        lib.kd_state_destroy(x[0])

    def in_python():
        m.simulate(0.05, intervals=20)

    best(in_c, 50), best(in_python, 50)
    pairs = [(best(in_c, 20), best(in_python, 20)) for _ in range(20)]
    return 1e6 * (min(p[1] for p in pairs) - min(p[0] for p in pairs))


def threads():
    """Wall time of two runs one after the other over that of two threads."""
    import kardan

    m = kardan.load(MODELS / "slider-crank.yaml")

    def one():
        m.simulate(100, intervals=500)

    def two():
        pair = [threading.Thread(target=one) for _ in range(2)]
        for t in pair:
            t.start()
        for t in pair:
            t.join()

    one()
    return 2 * best(one, 5) / best(two, 5)


def table():
    """Time to have all channels of a result with 10^6 rows in hand: no copy, so it does not grow with the rows."""
    import kardan

    m = kardan.load(MODELS / "pendulum.yaml")
    r = m.simulate(10, intervals=1_000_000)
    return 1e3 * best(lambda: [r[name] for name in r.channels], 5), len(r), len(r.channels), bool(np.shares_memory(r["x"], r.table))


def main():
    row("import", 1e3 * import_time(), "ms", 50, "lower")
    row("overhead", overhead(), "us", 200, "lower")
    row("threads", threads(), "times", 1.8, "higher")
    seconds, n, columns, shared = table()
    row("table", seconds, f"ms for {columns} channels of {n} rows, {'views' if shared else 'COPIES'}", 5, "lower")
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
        return
    for r in rows:
        good = r["value"] <= r["goal"] if r["better"] == "lower" else r["value"] >= r["goal"]
        print(f"{r['name']:<10} {r['value']:10.3g} {r['unit']:<50} goal {r['goal']:g} {'' if good else 'MISSED'}")


main()
