"""Equilibrium, trim, linear equations, modes, comparison."""

import numpy as np
import pytest

import kardan


def test_modes_of_the_rod(pendulum):
    """omega^2 = 3 g / (2 l) at rest."""
    pendulum["joints"]["hinge"]["q"] = 0
    modes = kardan.build(pendulum).modes()
    assert modes.frequencies[0] == pytest.approx(np.sqrt(1.5 * 9.81) / (2 * np.pi), rel=1e-12)
    assert np.allclose(modes.eigenvalues.real, 0, atol=1e-12) and len(modes) == 2


def test_linear_equations_and_response(pendulum):
    """A, B against the closed form; the response against numpy."""
    pendulum["joints"]["hinge"]["q"] = 0
    l = kardan.build(pendulum).linearize()
    J = 2.0 / 3  # m l^2 / 3
    assert np.allclose(l.A, [[0, 1], [-1.5 * 9.81, 0]]) and np.allclose(l.B, [[0], [1 / J]])
    f = np.array([0.1, 0.4, 2.0])
    wanted = [(l.C @ np.linalg.solve(2j * np.pi * x * np.eye(2) - l.A, l.B) + l.D) for x in f]
    assert np.allclose(l.response(f), wanted)
    assert l.inputs == ["input.torque"] or l.inputs == ["torque"]


def test_equilibrium_and_trim(pendulum):
    m = kardan.build(pendulum)
    e = m.equilibrium()
    assert e.stability == "stable" and abs(e.state.p[0]) < 1e-9
    # torque that holds the rod at 0.1 rad: m g l/2 sin(q)
    held = m.trim("torque")
    assert held.adjusted["torque"] == pytest.approx(2 * 9.81 * 0.5 * np.sin(0.1), rel=1e-9)
    with pytest.raises(kardan.ArgumentError, match="did you mean 'torque'"):
        m.trim("torqe")


def test_trim_by_a_parameter(pendulum):
    """A spring of unknown rest angle that holds the rod."""
    pendulum["parameters"]["rest"] = 0.0
    pendulum["forces"]["spring"] = {"type": "joint_spring", "joint": "hinge", "stiffness": 5, "rest": "rest"}
    m = kardan.build(pendulum)
    found = m.trim(["rest"]).adjusted["rest"]
    assert 5 * (found - 0.1) == pytest.approx(2 * 9.81 * 0.5 * np.sin(0.1), rel=1e-8)
    assert m.parameters["rest"] == 0


def test_compare(pendulum):
    c = kardan.build(pendulum).compare(0.5, tolerances=[1e-4, 1e-6], only="psf+radau,ggl+bdf,ode+dop853", budget=20)
    assert len(c.runs) >= 4 and "radau" in c.table and c.uncertainty < 1e-3


def test_questions_about_a_model(gallery):
    m = kardan.load(gallery / "slider-crank.yaml")
    assert m.bodies == ["crank", "rod", "piston"] and "hinge" in m.joints and m.info["dof"] == 1
    assert "joint.hinge.q" in set(m.paths()) and "redundant" in m.describe()
    with pytest.raises(kardan.ArgumentError, match="did you mean 'joint'"):
        m.names("jonit")


def test_written_models_are_the_same(gallery, tmp_path):
    m = kardan.load(gallery / "slider-crank.yaml")
    n = kardan.load(m.save(tmp_path / "copy.yaml"))
    assert np.array_equal(m.simulate(0.2)["x"], n.simulate(0.2)["x"])


def test_trim_in_a_turn(gallery, command, tmp_path):
    """A car in a steady turn: what the command line finds, and it goes on so: its yaw rate stays."""
    import json
    import subprocess

    m = kardan.load(gallery / "closed-loop-car.yaml", u0=0, bump=0)
    found = m.trim(["angle", "torque"], turn=0.2)
    out = subprocess.run([command, "trim", str(gallery / "closed-loop-car.yaml"), "--set", "u0=0", "--set", "bump=0", "--turn", "0.2", "--adjust", "angle,torque", "--output", str(tmp_path)],
                         capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    for name, value in found.adjusted.items():
        assert any(abs(float(word) - value) <= 1e-4 * abs(value) for line in out.stdout.splitlines() if name in line for word in line.replace("=", " ").split() if is_number(word)), out.stdout
    with pytest.raises(kardan.ArgumentError, match="moves freely"):
        kardan.load(gallery / "truck5.yaml").trim(["first"], turn=0.2)


def is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True
