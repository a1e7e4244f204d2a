#!/usr/bin/python3
"""Co-simulation of a model as an FMU against `kardan simulate`, and both against a run of simulate with tolerances of 1e-12.

Usage: agreement.py KARDAN MODEL.yaml... Both make errors of their own; what an FMU may not do is be farther from the truth than
simulate is: 10 tolerances, or 10 times the error of simulate where that is more. Prints a line for each model; exit status 1: one is
farther. Rows on a jump of an output (an impact at the very communication point) are on one side or the other and do not count."""
import csv
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

from client import Description, Instance

TOLERANCES, TIMES = 10, 10


def simulate(kardan, model, *options):
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run([kardan, "simulate", model, "--quiet", "--no-drawing", "-o", folder, *options], capture_output=True,
                                text=True)
        name = os.path.splitext(os.path.basename(model))[0]
        if answer.returncode not in (0, 3):
            return None
        rows = [r for r in csv.reader(open(f"{folder}/{name}.csv", encoding="utf-8")) if r and not r[0].startswith("#")]
    return rows[0], np.array([[float(x) for x in r] for r in rows[1:]])


def cosimulate(kardan, model):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([kardan, "export", "fmu", model, "--quiet", "--output", f"{folder}/model.fmu"], check=True)
        with zipfile.ZipFile(f"{folder}/model.fmu") as archive:
            archive.extractall(folder)
        d = Description(open(f"{folder}/modelDescription.xml", encoding="utf-8").read())
        names = [v["name"] for v in d.outputs]
        instance = Instance(folder, d, "cs")
        instance.start(0, d.tolerance, d.stop)
        references = [d.reference[n] for n in names]
        rows = [[0.0] + instance.get(references)]
        for k in range(int(round(d.stop / d.step))):
            if instance.step(k * d.step, d.step):
                break
            rows.append([(k + 1) * d.step] + instance.get(references))
        instance.free()
    return names, np.array(rows), d.tolerance


def column(table, name, times):
    """Values at these times, NaN where there is no row; of two rows at one time the second"""
    names, data = table
    at = np.minimum(np.searchsorted(data[:, 0], times + 1e-9 * (1 + times), side="right") - 1, len(data) - 1)
    values = data[at, names.index(name)].copy()
    values[np.abs(data[at, 0] - times) > 1e-8 * (1 + times)] = np.nan
    return values


def compare(kardan, model):
    names, rows, tolerance = cosimulate(kardan, model)
    run, exact = simulate(kardan, model), simulate(kardan, model, "--rtol", "1e-12", "--atol", "1e-12")
    if run is None or exact is None:
        return "no run with tolerances of 1e-12", True
    worst, who = (0, 0, 0), ""
    for j, name in enumerate(names):
        name = name.replace("'", "")
        if name not in run[0]:
            continue
        t, cs = rows[:, 0], rows[:, j + 1]
        sim, ref = column(run, name, t), column(exact, name, t)
        size = np.nanmax(np.abs(ref))
        # a jump between neighbours that is as large as the difference
        step = np.abs(np.diff(ref, prepend=ref[0]))
        jump = np.maximum(step, np.append(step[1:], 0))
        still = ~((np.abs(cs - ref) > 0.3 * jump) & (jump > 0.05 * size))
        unit = tolerance * size + 1e-3 * tolerance
        e = [np.nanmax(np.abs(a - b)[still], initial=0) / unit for a, b in ((cs, ref), (sim, ref), (cs, sim))]
        if e[0] / max(TOLERANCES, TIMES * e[1]) >= worst[0] / max(TOLERANCES, TIMES * worst[1]):
            worst, who = e, name
    good = worst[0] <= max(TOLERANCES, TIMES * worst[1])
    return f"FMU {worst[0]:.3g}, simulate {worst[1]:.3g}, one from the other {worst[2]:.3g} tolerances ({who})", good


def main():
    wrong = 0
    for model in sys.argv[2:]:
        words, good = compare(sys.argv[1], model)
        print(f"{os.path.basename(model)}: {words}{'' if good else '   WRONG'}", flush=True)
        wrong += not good
    sys.exit(int(wrong > 0))


main()
