"""Own equations and forces in Python; the equations of models as arrays."""

import numpy as np
import pytest

import kardan


def cart(**more):
    """A pendulum that hangs from a cart on a spring: docs/guide/own-equations.md"""
    return kardan.Equations(
        np=3, nlambda=1, title="pendulum on a cart",
        M=lambda x: np.diag([2.0, 1.0, 1.0]),
        f=lambda x: [-40 * x.p[0], 0, -9.81],
        g=lambda x: [0.5 * ((x.p[1] - x.p[0]) ** 2 + x.p[2] ** 2 - 1)],
        energies=lambda x: (x.v[0] ** 2 + 0.5 * (x.v[1] ** 2 + x.v[2] ** 2), 20 * x.p[0] ** 2 + 9.81 * x.p[2]),
        start={"p": [0, 0.8, -0.6]}, **more)


def reference(t_end):
    """The same by two minimal coordinates and scipy."""
    integrate = pytest.importorskip("scipy.integrate")

    def rhs(t, y):
        x, a, v, w = y  # cart, angle of the rod from the downward vertical
        M = np.array([[3, np.cos(a)], [np.cos(a), 1]])
        dv = np.linalg.solve(M, [np.sin(a) * w * w - 40 * x, -9.81 * np.sin(a)])
        return [v, w, *dv]

    y = integrate.solve_ivp(rhs, (0, t_end), [0, np.arctan2(0.8, 0.6), 0, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return [y[0], y[0] + np.sin(y[1]), -np.cos(y[1])]


def test_own_equations_against_scipy():
    r = cart().simulate(2, rtol=1e-9)
    assert np.allclose(r.state.p, reference(2), atol=1e-6)
    assert abs(r["energy balance"][-1]) < 1e-6
    for words in ({"formulation": "ggl", "integrator": "bdf"}, {"integrator": "dop853"}):
        assert np.allclose(cart().simulate(2, rtol=1e-9, **words).state.p, reference(2), atol=1e-5)


def test_derivatives_are_checked():
    """A derivative that is right passes the check; one with a wrong sign is named."""
    right = cart(derivatives={("g", "p"): lambda x: [[-(x.p[1] - x.p[0]), x.p[1] - x.p[0], x.p[2]]]})
    right.check()
    assert np.allclose(right.simulate(1, rtol=1e-9).state.p, cart().simulate(1, rtol=1e-9).state.p, atol=1e-7)
    wrong = cart(derivatives={("g", "p"): lambda x: [[x.p[1] - x.p[0], x.p[1] - x.p[0], x.p[2]]]})
    with pytest.raises(kardan.Error, match="g"):
        wrong.check()


def test_functions_that_raise_or_answer_nonsense():
    def f(x):
        if x.t > 0.5:
            raise FloatingPointError("too late")
        return [0, 0, -9.81]

    e = kardan.Equations(np=3, M=lambda x: np.eye(3), f=f)
    with pytest.raises(FloatingPointError, match="too late"):
        e.simulate(1)
    with pytest.raises(kardan.ArgumentError, match="3 numbers are needed, 2"):
        kardan.Equations(np=3, M=lambda x: np.eye(3), f=lambda x: [0, 0]).simulate(1)
    with pytest.raises(kardan.ArgumentError, match="3 x 3"):
        kardan.Equations(np=3, M=lambda x: np.eye(2), f=lambda x: [0, 0, 0]).simulate(1)
    with pytest.raises(kardan.ArgumentError, match="no 'gg'"):
        kardan.Equations(np=3, M=lambda x: np.eye(3), f=lambda x: [0, 0, 0], gg=1)
    with pytest.raises(kardan.Error):
        kardan.Equations(np=3, nlambda=1, M=lambda x: np.eye(3), f=lambda x: [0, 0, 0])


def test_inputs_of_own_equations():
    e = kardan.Equations(np=1, inputs=["push"], M=lambda x: [[2.0]], f=lambda x: [x.u[0]], start={"p": [0], "v": [1]})
    e.inputs["push"] = 3.0
    assert e.simulate(2, rtol=1e-10).state.p[0] == pytest.approx(2 + 0.75 * 4, abs=1e-8)


def test_force_in_python(pendulum):
    """A damper and a magnet with an inner state, written in Python, move as their twins in the model language."""
    plain = kardan.build(pendulum)
    pendulum["forces"]["brake"] = {"type": "joint_spring", "joint": "hinge", "stiffness": 3, "damping": 0.7, "rest": 0}
    wanted = kardan.build(pendulum).simulate(2)["angle"]
    del pendulum["forces"]["brake"]
    brake = kardan.Force("joint.hinge.q", lambda t, q, v, s: [-3 * q[0] - 0.7 * v[0]])
    ours = kardan.build(pendulum, forces={"brake": brake}).simulate(2)["angle"]
    assert np.max(np.abs(ours - wanted)) < 1e-7
    assert np.max(np.abs(plain.simulate(2)["angle"] - wanted)) > 1e-2
    lag = kardan.Force("joint.hinge.q", lambda t, q, v, s: ([-s[0]], [(q[0] - s[0]) / 0.1]), start=[0.1])
    pendulum["states"] = {"lag": {"type": "lag", "input": "joint.hinge.q", "time_constant": 0.1, "start": 0.1}}
    pendulum["forces"]["motor"]["law"] = "-state.lag"
    twin = kardan.build(pendulum).simulate(2)["angle"]
    del pendulum["states"], pendulum["forces"]["motor"]["law"]
    assert np.max(np.abs(kardan.build(pendulum, forces={"lag": lag}).simulate(2)["angle"] - twin)) < 1e-7


def test_force_that_raises(pendulum):
    def wrong(t, q, v, s):
        raise KeyError("coil")

    m = kardan.build(pendulum, forces={"coil": kardan.Force("joint.hinge.q", wrong)})
    with pytest.raises(KeyError, match="coil"):
        m.simulate(1)
    with pytest.raises(kardan.Error, match="did you mean 'hinge'"):
        kardan.build(pendulum, forces={"coil": kardan.Force("joint.hing.q", wrong)})


def test_arrays_of_equations(gallery):
    """M a - f + GZ' lambda = 0 at a consistent state; levels vanish; derivatives are differences of what they derive."""
    m = kardan.load(gallery / "slider-crank.yaml")
    point = m.equations.at(m.start().run(0.3).state)
    a, lam, _ = point.accelerations()
    M, f, GZ = point.mass(), point.force(), point.GZ()
    assert np.allclose(M @ a - f + GZ.T @ lam, 0, atol=1e-9) and np.allclose(M, M.T)
    assert np.max(np.abs(point.value("g"))) < 1e-13 and np.max(np.abs(point.value("gI"))) < 1e-12
    e, h = np.array([0.3, -0.2, 0.5]), 1e-6
    moved = []
    for sign in (1, -1):
        x = point.state.copy()
        x.p[:] = m.equations.oplus(x.p, sign * h * e)
        moved.append(m.equations.at(x).value("g"))
    assert np.allclose((moved[0] - moved[1]) / (2 * h), GZ @ e, atol=1e-8)
    sparse = pytest.importorskip("scipy.sparse")
    assert sparse.issparse(point.sparse("mass", "a")) and np.allclose(point.sparse("mass", "a").toarray(), M)
    assert np.allclose(point.sparse("residual", "p").toarray(), point.derivative("residual", "p"))
    assert point.energies()["kinetic"] == pytest.approx(0.5 * point.state.v @ M @ point.state.v)
    with pytest.raises(kardan.ArgumentError, match="no function"):
        point.value("x")
