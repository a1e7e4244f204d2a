"""Inputs from Python: numbers, tables, functions, with their rates."""

import numpy as np
import pytest

import kardan
from kardan.inputs import Bound, signal_of
from kardan._kardan import ffi, lib


def evaluate(signal, t):
    bound = Bound(["u"], {"u": signal_of(signal)}, ffi.NULL)
    u = [ffi.new("double[1]") for _ in range(3)]
    assert lib.kdpy_inputs_eval(t, bound.context, *u) == lib.KD_EVAL_OK
    return [x[0] for x in u]


@pytest.mark.parametrize("n", [4, 5, 20, 301])
def test_spline_is_that_of_scipy(n):
    """Value and two derivatives of tables at random times are scipy's, to rounding."""
    interpolate = pytest.importorskip("scipy.interpolate")
    random = np.random.default_rng(n)
    t = np.cumsum(random.uniform(0.05, 1, n))
    y = random.normal(size=n)
    spline = interpolate.CubicSpline(t, y, bc_type="not-a-knot")
    for at in random.uniform(t[0], t[-1], 100):
        ours = evaluate(kardan.Table(t, y), at)
        for k in range(3):
            assert ours[k] == pytest.approx(spline(at, k), rel=1e-9, abs=1e-9 * 10 ** (2 * k))


def test_outside_of_a_table():
    assert evaluate(([1.0, 2.0, 4.0], [3.0, 5.0, 6.0]), 0) == [3, 0, 0]
    assert evaluate(kardan.Table([1, 2, 4], [3, 5, 6], "linear"), 9) == [6, 0, 0]
    assert evaluate(kardan.Table([1, 2, 4], [3, 5, 6], "linear"), 1.5) == [4, 2, 0]


def test_rates_of_functions_by_differences():
    u = evaluate(np.sin, 0.7)
    assert u[0] == np.sin(0.7) and abs(u[1] - np.cos(0.7)) < 1e-10 and abs(u[2] + np.sin(0.7)) < 1e-7
    assert evaluate(kardan.Signal(np.sin, np.cos, lambda t: -np.sin(t)), 0.7) == [np.sin(0.7), np.cos(0.7), -np.sin(0.7)]


def test_torque_by_number_table_and_function(pendulum):
    """The same torque in three forms gives the same motion, that of a model which has it as an expression."""
    m = kardan.build(pendulum)
    pendulum["inputs"]["torque"] = "0.5*sin(3*t)"
    wanted = kardan.build(pendulum).simulate(2)["angle"]
    m.inputs["torque"] = lambda t: 0.5 * np.sin(3 * t)
    assert np.max(np.abs(m.simulate(2)["angle"] - wanted)) < 1e-7
    t = np.linspace(0, 2, 4001)
    m.inputs["torque"] = (t, 0.5 * np.sin(3 * t))
    assert np.max(np.abs(m.simulate(2)["angle"] - wanted)) < 1e-7
    m.inputs["torque"] = 0.0
    assert np.max(np.abs(m.simulate(2)["angle"] - wanted)) > 1e-2
    del m.inputs["torque"]
    assert m.inputs["torque"] is None


def test_input_that_raises(pendulum):
    """An exception in a function ends the run and comes out of it as it was."""
    m = kardan.build(pendulum)

    def torque(t):
        if t > 0.5:
            raise LookupError("no torque")
        return 0.0

    m.inputs["torque"] = torque
    with pytest.raises(LookupError, match="no torque"):
        m.simulate(2)


def test_wrong_inputs(pendulum):
    m = kardan.build(pendulum)
    with pytest.raises(KeyError, match="did you mean 'torque'"):
        m.inputs["torqe"] = 1
    with pytest.raises(kardan.ArgumentError, match="row 2"):
        m.inputs["torque"] = ([0, 1, 1], [0, 0, 0])
    with pytest.raises(kardan.ArgumentError, match="row 1"):
        m.inputs["torque"] = ([0, 1, 2], [0, np.nan, 0])
    with pytest.raises(kardan.ArgumentError, match="finite"):
        m.inputs["torque"] = np.inf
    with pytest.raises(kardan.ArgumentError):
        m.inputs["torque"] = "fast"
