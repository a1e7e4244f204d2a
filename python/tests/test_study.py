"""Studies from Python are those of the command line."""

import numpy as np
import pytest

import kardan


def test_ishigami(gallery, tmp_path):
    """Indices lie in their intervals; numpy agrees with the outputs and the mean."""
    s = kardan.Study(gallery / "studies/ishigami.yaml").run(threads=2)
    for parameter, first, total in (("x1", 0.3139, 0.5576), ("x2", 0.4424, 0.4424), ("x3", 0, 0.2437)):
        a, b = s.index("y", parameter), s.index("y", parameter, total=True)
        assert a.low <= first <= a.high and b.low <= total <= b.high
    x = s.parameters
    assert np.allclose(s["y"], np.sin(x["x1"]) + 7 * np.sin(x["x2"]) ** 2 + 0.1 * x["x3"] ** 4 * np.sin(x["x1"]))
    assert s.mean("y").value == pytest.approx(s["y"][::5].mean())
    s.save(tmp_path / "a.html"), s.save(tmp_path / "a.csv")


def test_rows_are_runs(gallery, tmp_path):
    """A row of a study is the run of the model with its parameters, bit for bit, and goes on in its folder."""
    s = kardan.Study(gallery / "studies/quarter-car.yaml").run(tmp_path / "rows")
    m = kardan.load(gallery / "quarter-car.yaml", bump=0.012)
    for row in (0, 11):
        m.parameters.update({name: values[row] for name, values in s.parameters.items()})
        r = m.simulate(3, intervals=600)
        assert r["wheel-load"].min() == s["lightest"][row]
    calls = []
    again = kardan.Study(gallery / "studies/quarter-car.yaml").run(tmp_path / "rows", progress=lambda done, rows: calls.append((done, rows)))
    assert np.array_equal(again["comfort"], s["comfort"]) and calls[0] == (40, 40) and not s.failures


def test_channels_are_kept(gallery, tmp_path):
    """Channels of a row are those of its run, bit for bit; what is not there is said."""
    s = kardan.Study({"model": "quarter-car.yaml", "run": {"t_end": 1, "intervals": 100}, "parameters": {"ks": {"range": [1e4, 3e4]}},
                      "design": {"latin": 5}, "outputs": {"comfort": {"rms": "comfort"}},
                      "keep": {"channels": ["wheel-load", "comfort"], "reports": [3, "worst"]}}, folder=gallery).run(tmp_path / "rows")
    m = kardan.load(gallery / "quarter-car.yaml")
    for row in range(5):
        m.parameters["ks"] = s.parameters["ks"][row]
        r = m.simulate(1, intervals=100)
        t, y = s.channel("wheel-load", row)
        assert np.array_equal(t, r.time) and np.array_equal(y, r["wheel-load"])
    assert s.channels == ["wheel-load", "comfort"] and s.reports == sorted({3, int(np.argmax(s["comfort"]))})
    with pytest.raises(KeyError, match="did you mean 'comfort'"):
        s.channel("comfrt", 0)
    with pytest.raises(kardan.ArgumentError):
        s.channel("comfort", 5)


def test_identification(tmp_path):
    """The stiffness of an oscillator from its swing, with the interval; the closed form makes the data."""
    (tmp_path / "m.yaml").write_text(
        "kardan: 1\nparameters: {k: 100}\ngravity: [0, 0, 0]\nbodies: {b: {mass: 2, inertia: [1, 1, 1]}}\n"
        "joints: {j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [1, 0, 0], q: 0.1}}\n"
        "forces: {s: {type: joint_spring, joint: j, stiffness: k, rest: 0}}\nrun: {t_end: 2, rtol: 1e-9}\n")
    t = np.linspace(0, 2, 50)
    noise = np.random.default_rng(5).normal(scale=1e-3, size=50)
    np.savetxt(tmp_path / "d.csv", np.column_stack([t, 0.1 * np.cos(np.sqrt(120 / 2) * t) + noise]), delimiter=",", header="t,x", comments="")
    (tmp_path / "s.yaml").write_text("model: m.yaml\nparameters: {k: {range: [60, 200]}}\nidentify: {data: d.csv, fit: {joint.j.q: {column: x, sigma: 1e-3}}}\n")
    s = kardan.Study(tmp_path / "s.yaml")
    k = s.identify()["k"]
    assert abs(k.value - 120) < 3 * (k.high - k.low) / 3.92 and 0.5 < s.identification["misfit"] < 1.6


def test_wrong_studies(gallery, tmp_path):
    (tmp_path / "s.yaml").write_text("parameters: {x: {rang: [0, 1]}}\ndesign: {grid: 2}\noutputs: {y: x}\n")
    with pytest.raises(kardan.ModelError, match="did you mean 'range'"):
        kardan.Study(tmp_path / "s.yaml")
    s = kardan.Study(gallery / "studies/ishigami.yaml")
    with pytest.raises(KeyError, match="no output"):
        s["z"]
