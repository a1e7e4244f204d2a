"""Studies against programs of others: indices and effects by numpy, searches and identification by scipy."""

import numpy as np
import pytest

import kardan

scipy_optimize = pytest.importorskip("scipy.optimize")


def searched(study, **run):
    try:
        return study.run(**run)
    except kardan.Unavailable as missing:
        pytest.skip(str(missing))


def test_sobol_indices_by_numpy(gallery):
    """Saltelli's and Jansen's estimators, written here from the papers, on the same rows: within their common error of kardan's."""
    s = kardan.Study(gallery / "studies/ishigami.yaml").run(threads=2)
    y = s["y"].reshape(-1, 5)
    A, B, AB = y[:, 0], y[:, 1], y[:, 2:]
    variance = np.concatenate([A, B]).var()
    for i in range(3):
        first = np.mean(B * (AB[:, i] - A)) / variance  # Saltelli 2010
        total = np.mean((A - AB[:, i]) ** 2) / (2 * variance)  # Jansen 1999
        a, b = s.index("y", f"x{i + 1}"), s.index("y", f"x{i + 1}", total=True)
        assert abs(a.value - first) < 2 * (a.high - a.low) and abs(b.value - total) < 2 * (b.high - b.low)


def test_morris_by_numpy():
    """Effects from the rows alone: whichever parameter changed between two rows of a path, over the change as a share of its range."""
    f = lambda x, y, z: x**2 + 3 * y * z + np.sin(5 * z)
    ranges = {"x": (0, 2), "y": (-1, 1), "z": (1, 4)}
    s = kardan.Study({"parameters": {n: {"range": list(r)} for n, r in ranges.items()}, "design": {"morris": 60, "seed": 9}, "outputs": {"f": "x^2 + 3*y*z + sin(5*z)"}})
    s.run(threads=2)
    x = np.column_stack([s.parameters[n] for n in ranges])
    assert np.allclose(s["f"], f(*x.T), rtol=1e-14)
    width = np.array([b - a for a, b in ranges.values()])
    effects = {n: [] for n in ranges}
    for path in range(60):
        rows = slice(4 * path, 4 * path + 4)
        for before, after, change in zip(s["f"][rows], s["f"][rows][1:], np.diff(x[rows], axis=0) / width):
            (moved,) = np.flatnonzero(change)
            assert abs(change[moved]) == pytest.approx(2 / 3)
            effects[list(ranges)[moved]].append((after - before) / change[moved])
    for n, e in effects.items():
        assert len(e) == 60
        size, deviation = s.effect("f", n)
        assert size.value == pytest.approx(np.mean(np.abs(e)), rel=1e-12) and deviation == pytest.approx(np.std(e, ddof=1), rel=1e-9)
        assert size.high - size.value == pytest.approx(1.959964 * np.std(np.abs(e), ddof=1) / np.sqrt(60), rel=1e-6)


@pytest.mark.parametrize("method", ["cobyla", "slsqp", "mma"])
def test_minima_of_scipy(method):
    """A smooth problem with two constraints (Hock and Schittkowski 43 in four variables): SLSQP of scipy and the published optimum, -44."""
    f = "x^2 + y^2 + 2*z^2 + w^2 - 5*x - 5*y - 21*z + 7*w"
    g = ["x^2 + y^2 + z^2 + w^2 + x - y + z - w <= 8", "x^2 + 2*y^2 + z^2 + 2*w^2 - x - w <= 10", "2*x^2 + y^2 + z^2 + 2*x - y - w <= 5"]
    s = kardan.Study({"parameters": {n: {"range": [-3, 3]} for n in "xyzw"}, "outputs": {"f": f},
                      "optimise": {"minimise": "f", "constraints": g, "method": method, "runs": 4000, "tolerance": 1e-8}})
    best = searched(s).best()
    fun = lambda v: v[0]**2 + v[1]**2 + 2*v[2]**2 + v[3]**2 - 5*v[0] - 5*v[1] - 21*v[2] + 7*v[3]
    cons = [lambda v: 8 - (v[0]**2 + v[1]**2 + v[2]**2 + v[3]**2 + v[0] - v[1] + v[2] - v[3]), lambda v: 10 - (v[0]**2 + 2*v[1]**2 + v[2]**2 + 2*v[3]**2 - v[0] - v[3]),
            lambda v: 5 - (2*v[0]**2 + v[1]**2 + v[2]**2 + 2*v[0] - v[1] - v[3])]
    other = scipy_optimize.minimize(fun, np.zeros(4), method="SLSQP", bounds=[(-3, 3)] * 4, constraints=[{"type": "ineq", "fun": c} for c in cons], options={"ftol": 1e-12})
    assert other.fun == pytest.approx(-44, abs=1e-6)
    assert best.outputs["f"] == pytest.approx(other.fun, abs=2e-4)
    assert np.allclose(list(best.parameters.values()), other.x, atol=2e-3)


def test_minimum_of_a_model(gallery):
    """Stiffness and damper of the quarter car that are most comfortable while the wheel stays on the road: scipy drives the model itself."""
    words = {"model": "quarter-car.yaml", "run": {"t_end": 1.5, "intervals": 150, "rtol": 1e-9}, "set": {"bump": 0.012},
             "parameters": {"ks": {"range": [8000, 40000]}, "cs": {"range": [300, 6000]}},
             "outputs": {"comfort": {"rms": "comfort"}, "lightest": {"min": "wheel-load"}},
             "optimise": {"minimise": "comfort", "constraints": ["lightest >= 500"], "starts": 3, "runs": 300, "tolerance": 1e-6}}
    best = searched(kardan.Study(words, folder=gallery), threads=2).best()
    m = kardan.load(gallery / "quarter-car.yaml", bump=0.012)

    def outputs(u):
        m.parameters.update(ks=8000 + 32000 * u[0], cs=300 + 5700 * u[1])
        r = m.simulate(1.5, intervals=150, rtol=1e-9)
        a, b, h = r["comfort"][:-1], r["comfort"][1:], np.diff(r.time)
        return np.sqrt(np.sum(h * (a * a + a * b + b * b) / 3) / 1.5), r["wheel-load"].min()  # straight lines between rows

    other = min((scipy_optimize.minimize(lambda u: outputs(u)[0], start, method="COBYLA", tol=1e-6, options={"rhobeg": 0.2, "maxiter": 400},
                                         constraints=[{"type": "ineq", "fun": lambda u: outputs(u)[1] / 500 - 1}, *bounds()]) for start in ([0.3, 0.3], [0.7, 0.6])),
                key=lambda o: o.fun)
    assert best.outputs["lightest"] >= 500 * (1 - 1e-6)
    assert best.outputs["comfort"] == pytest.approx(outputs([(best.parameters["ks"] - 8000) / 32000, (best.parameters["cs"] - 300) / 5700])[0], rel=1e-9)
    assert best.outputs["comfort"] < other.fun * 1.001


def bounds():
    return [{"type": "ineq", "fun": lambda u, i=i, s=s: s * u[i] + (s < 0)} for i in (0, 1) for s in (1, -1)]


def test_identification_by_scipy(tmp_path):
    """Stiffness and damping of an oscillator from noisy data: values and deviations of scipy.optimize.least_squares on the closed form."""
    (tmp_path / "m.yaml").write_text(
        "kardan: 1\nparameters: {k: 100, c: 2}\ngravity: [0, 0, 0]\nbodies: {b: {mass: 2, inertia: [1, 1, 1]}}\n"
        "joints: {j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [1, 0, 0], q: 0.1}}\n"
        "forces: {s: {type: joint_spring, joint: j, stiffness: k, rest: 0, damping: c}}\nrun: {t_end: 2, rtol: 1e-10}\n")
    t = np.linspace(0, 2, 80)

    def swing(p):
        k, c = p
        d = c / 4
        w = np.sqrt(k / 2 - d**2)
        return 0.1 * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))

    rng = np.random.default_rng(11)
    for _ in range(4):
        truth = rng.uniform([80, 1], [150, 4])
        data = swing(truth) + rng.normal(scale=1e-3, size=t.size)
        np.savetxt(tmp_path / "d.csv", np.column_stack([t, data]), delimiter=",", header="t,x", comments="", fmt="%.17g")
        s = kardan.Study({"model": "m.yaml", "parameters": {"k": {"range": [50, 200]}, "c": {"range": [0.5, 8]}},
                          "identify": {"data": "d.csv", "fit": {"joint.j.q": {"column": "x", "sigma": 1e-3}}}}, folder=tmp_path)
        found = s.identify()
        other = scipy_optimize.least_squares(lambda p: (swing(p) - data) / 1e-3, [100, 2], xtol=1e-12, ftol=1e-12, gtol=1e-12)
        covariance = np.linalg.inv(other.jac.T @ other.jac)
        for i, n in enumerate(("k", "c")):
            assert found[n].value == pytest.approx(other.x[i], rel=1e-5)
            assert (found[n].high - found[n].value) / 1.959964 == pytest.approx(np.sqrt(covariance[i, i]), rel=1e-3)
        assert s.identification["correlation"][0, 1] == pytest.approx(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]), abs=1e-3)


def test_fronts_and_folders(tmp_path):
    words = {"parameters": {"x": {"range": [0, 1]}, "y": {"range": [0, 1]}}, "outputs": {"a": "x + (y - 0.3)^2", "b": "1 - x^2 + (y - 0.3)^2"},
             "optimise": {"minimise": ["a", "b"], "front": 5, "runs": 400, "tolerance": 1e-6}}
    s = searched(kardan.Study(words), folder=tmp_path / "rows", threads=2)
    assert s.objectives == ["a", "b"] and len(s.searches) == 7
    a, b = np.array([[r.outputs["a"], r.outputs["b"]] for r in s.front]).T
    assert np.all(np.diff(a) > 0) and np.all(np.diff(b) < 0) and np.all(b - (1 - a**2) > -1e-9)
    assert s.best("a").outputs["a"] < 1e-6 and s.searches[3].objective is None
    again = kardan.Study(words).load(tmp_path / "rows")
    assert [r.number for r in again.front] == [r.number for r in s.front]
    with pytest.raises(KeyError, match="no objective"):
        s.best("c")
    with pytest.raises(kardan.ArgumentError, match="optimise"):
        kardan.Study({"parameters": {"x": {"range": [0, 1]}}, "design": {"grid": 3}, "outputs": {"y": "x"}}).best()
