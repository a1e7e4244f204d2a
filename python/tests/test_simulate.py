"""Runs from Python are those of the command line, bit for bit, and their numbers are the library's own."""

import csv
import gc
import io
import signal
import subprocess
import threading
import time
import warnings

import numpy as np
import pytest

import kardan

warnings.simplefilter("ignore", kardan.KardanWarning)

# runs of minutes, and one whose table is made of something else than its file
SLOW = {"hmmwv", "closed-loop-car", "semi-active-truck", "ladder", "n-four-bar", "wheel-profiles", "car-trailer", "dice"}


def read_table(path):
    rows = [row for row in csv.reader(io.StringIO("".join(line for line in open(path) if not line.startswith("#"))))]
    return rows[0], np.array([[float(x) for x in row] for row in rows[1:]])


def names():
    import os
    import pathlib

    return sorted(p.stem for p in (pathlib.Path(os.environ["KARDAN_SOURCE"]) / "models").glob("*.yaml"))


@pytest.mark.parametrize("name", names())
def test_gallery_equals_the_command_line(name, gallery, command, tmp_path):
    """The same rows, bit for bit, over a quarter of a second of every gallery model."""
    end = "0.02" if name in SLOW else "0.25"
    path = gallery / f"{name}.yaml"
    run = subprocess.run([command, "simulate", path, "--t-end", end, "--intervals", "20", "--plain", "--no-drawing", "--quiet", "--output", tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    head, table = read_table(tmp_path / f"{name}.csv")
    model = kardan.load(path)
    result = model.simulate(float(end), intervals=20, max_step=None)
    assert len(result) == len(table)
    assert np.array_equal(result.time, table[:, 0])
    for j, channel in enumerate(head[1:], start=1):
        ours = result[channel.split(" [")[0]]
        assert np.array_equal(ours, table[:, j], equal_nan=True), channel


def test_small_swings(pendulum):
    """The frequency of small swings is that of the closed form."""
    pendulum["joints"]["hinge"]["q"] = 1e-4
    r = kardan.build(pendulum).simulate(2, rtol=1e-10)
    omega = np.sqrt(1.5 * 9.81)
    assert np.max(np.abs(r["angle"] - 1e-4 * np.cos(omega * r.time))) < 1e-9
    assert r.clean and r.unit("angle") == "rad"


def test_views_do_not_dangle(gallery):
    """Channels are views without copies, cannot be written, and outlive result, model and everything."""
    r = kardan.load(gallery / "slider-crank.yaml").simulate(0.2)
    x, t, kept = r["x"], r.time, r["x"].copy()
    assert x.base is not None and np.shares_memory(x, r.table)
    with pytest.raises(ValueError):
        x[0] = 1
    del r
    gc.collect()
    junk = [np.full(2000, 7.0) for _ in range(2000)]
    assert np.array_equal(x, kept) and t[-1] == 0.2
    del junk


def test_large_result_without_copy(pendulum):
    """A long table is not copied: its channel is a view of the library's memory."""
    r = kardan.build(pendulum).simulate(2, intervals=200000)
    assert len(r) == 200001
    assert r["angle"].base is not None and np.shares_memory(r["angle"], r.table)


def test_results_keep_their_parameters(pendulum, tmp_path):
    """A change of parameters reaches the next run, and not the result of the last one, whose page is still made of its own."""
    m = kardan.build(pendulum)
    a = m.simulate(1)
    before = a["angle"].copy()
    m.parameters["l"] = 2
    b = m.simulate(1)
    assert np.array_equal(a["angle"], before)
    assert a._system is not b._system
    m.parameters["l"] = 1
    assert np.array_equal(m.simulate(1)["angle"], before)
    a.report(tmp_path / "a.html")
    assert (tmp_path / "a.html").stat().st_size > 10000


def test_parameters_equal_reading_again(gallery):
    """A living parameter gives the bits of a model that was read with it."""
    path = gallery / "slider-crank.yaml"
    m = kardan.load(path)
    m.parameters.update(l=0.35, speed=25)
    assert np.array_equal(m.simulate(0.3)["x"], kardan.load(path, l=0.35, speed=25).simulate(0.3)["x"])
    assert np.array_equal(m.simulate(0.3)["x"], m.with_parameters(l=0.35).simulate(0.3)["x"])


def test_method_and_options(gallery):
    """Methods by their words; what does not fit or is unknown is refused with advice."""
    m = kardan.load(gallery / "slider-crank.yaml")
    reference = m.simulate(0.5, rtol=1e-11)
    for words in ({"formulation": "ggl", "integrator": "bdf"}, {"integrator": "dop853"}, {"formulation": "statespace", "integrator": "sdirk"}):
        r = m.simulate(0.5, rtol=1e-9, **words)
        assert np.max(np.abs(r["x"] - reference["x"])) < 1e-6, words
    m.simulate(0.1, options={"radau.max_newton": 7})
    with pytest.raises(kardan.ArgumentError, match="did you mean 'radau'"):
        m.simulate(0.1, integrator="radua")
    with pytest.raises(kardan.ArgumentError, match="max_newton"):
        m.simulate(0.1, options={"radau.max_newtn": 7})
    with pytest.raises(kardan.Error):
        m.simulate(0.1, rtol=-1)


def test_failure_keeps_what_was_recorded(pendulum):
    """A run that fails raises with its rows; the message names the element."""
    pendulum["forces"]["motor"]["law"] = "1/(0.5 - t)"
    with pytest.raises(kardan.SimulationError) as caught:
        kardan.build(pendulum).simulate(1, intervals=100)
    assert caught.value.status.startswith("KD_ERR") and len(caught.value.result) > 40
    assert caught.value.result.time[-1] < 0.51


def test_wrong_models():
    """Messages are those of kardan, with line and element."""
    with pytest.raises(kardan.ModelError, match="did you mean 'rod'"):
        kardan.build({"kardan": 1, "bodies": {"rod": {"mass": 1, "inertia": [1, 1, 1]}}, "joints": {"j": {"type": "revolute", "bodies": ["ground", "rodd"], "point": [0, 0, 0], "axis": [0, 0, 1]}}})
    with pytest.raises(kardan.FileError, match="nowhere.yaml"):
        kardan.load("nowhere.yaml")
    with pytest.raises(kardan.ArgumentError, match="NaN"):
        kardan.build({"kardan": 1, "bodies": {"b": {"mass": float("nan")}}})


def test_names_that_are_not_there(gallery):
    r = kardan.load(gallery / "slider-crank.yaml").simulate(0.01)
    with pytest.raises(KeyError, match="did you mean 'thrust'"):
        r["thrst"]
    m = kardan.load(gallery / "slider-crank.yaml")
    with pytest.raises(KeyError, match="did you mean 'speed'"):
        m.parameters["sped"] = 1
    assert "x" in r and "nothing" not in r


def test_channels_without_sensors(gallery):
    m = kardan.load(gallery / "slider-crank.yaml", channels=["body.piston.pos.*", "joint.slide.force.?"])
    r = m.simulate(0.1)
    assert np.max(np.abs(r["body.piston.pos.x"] - r["x"])) < 1e-14
    assert "joint.slide.force.z" in r
    with pytest.raises(kardan.ArgumentError, match="body.pistn"):
        kardan.load(gallery / "slider-crank.yaml", channels=["body.pistn.*"])


def test_threads_do_not_wait_for_each_other(gallery):
    """The interpreter's lock is free during a run: another thread works on meanwhile, and both get the same numbers.
    Long runs, in which it comes to work also on a machine that is busy."""
    m = kardan.load(gallery / "slider-crank.yaml")
    alone = m.simulate(100)["x"].copy()
    results, ticks, done = [None, None], [0], threading.Event()

    def count():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    threads = [threading.Thread(target=lambda i=i: results.__setitem__(i, m.simulate(100)["x"])) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    done.set()
    counter.join()
    assert ticks[0] > 3
    assert np.array_equal(results[0], alone) and np.array_equal(results[1], alone)


def test_interrupt(pendulum):
    """Ctrl-C ends a run of hours, as KeyboardInterrupt."""
    m = kardan.build(pendulum)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background leaves it ignored
    threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        m.simulate(1e7, intervals=10)


def test_progress_ends_a_run(pendulum):
    seen = []
    r = kardan.build(pendulum).simulate(1e7, intervals=10, progress=lambda t: seen.append(t) or False)
    assert len(seen) == 1 and r.status == "KD_STOPPED" and r.time[-1] < 1e7


def test_progress_that_raises(pendulum):
    def wrong(t):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        kardan.build(pendulum).simulate(1e7, intervals=10, progress=wrong)


def test_events_and_times(gallery):
    r = kardan.load(gallery / "impact-ball.yaml").simulate(1.0)
    assert r.events and r.events[0].kind == "impact"
    t = np.array([0.1, 0.25, 0.7])
    r = kardan.load(gallery / "slider-crank.yaml").simulate(0.7, times=t)
    assert np.array_equal(r.time, [0, *t])
    with pytest.raises(kardan.ArgumentError, match="rise"):
        kardan.load(gallery / "slider-crank.yaml").simulate(1, times=[0.2, 0.1])


def test_files(gallery, tmp_path, command):
    """Table, page, HDF5 and plots; a name without known ending is refused."""
    r = kardan.load(gallery / "slider-crank.yaml").simulate(0.1, intervals=5)
    for ending in ("csv", "html", "svg", "h5"):
        try:
            assert (tmp_path / f"a.{ending}").samefile(r.save(tmp_path / f"a.{ending}"))
        except kardan.Unavailable:
            assert ending == "h5"
    head, table = read_table(tmp_path / "a.csv")
    assert np.array_equal(table[:, 1 + r.channels.index("x")], r["x"])
    with pytest.raises(kardan.ArgumentError, match="csv"):
        r.save(tmp_path / "a.xls")
    with pytest.raises(kardan.Error, match="nowhere"):
        r.save("/nowhere/at/all.csv")


def test_notebook_and_tables(gallery):
    r = kardan.load(gallery / "slider-crank.yaml").simulate(0.1, intervals=5)
    assert "<iframe sandbox" in r._repr_html_() and "verdict" in r.certificate._repr_html_()
    assert "clean" in repr(r) and "verdict: clean" in str(r.certificate)
    pandas = pytest.importorskip("pandas")
    frame = r.to_pandas(["x", "speed"])
    assert isinstance(frame, pandas.DataFrame) and np.array_equal(frame["x"], r["x"]) and frame.index.name == "time"
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert len(r.plot("x", "speed")) == 2
