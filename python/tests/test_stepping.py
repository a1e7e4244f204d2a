"""Running simulations, states, real-time steppers."""

import copy
import pickle

import numpy as np
import pytest

import kardan


def test_run_in_pieces_equals_one_run(pendulum):
    m = kardan.build(pendulum)
    s = m.start(rtol=1e-10)
    for t in (0.3, 0.8, 1.0):
        s.run(t)
        assert s.t == t
    assert abs(s["joint.hinge.q"] - m.simulate(1, rtol=1e-10)["angle"][-1]) < 1e-8
    assert s["angle"] == s["joint.hinge.q"] == s.state.p[0]
    with pytest.raises(KeyError, match="did you mean"):
        s["joint.hing.q"]


def test_states_are_values(pendulum):
    """A state can be copied, pickled and changed; another model refuses it."""
    m = kardan.build(pendulum)
    x = m.start().run(0.5).state
    y, z = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    for other in (y, z):
        assert other.t == x.t and np.array_equal(other.p, x.p) and np.array_equal(other.v, x.v)
    y.p[0] = 3
    assert x.p[0] != 3
    r, q = m.simulate(1, start=x), m.simulate(1, start=z)
    assert np.array_equal(r["angle"], q["angle"]) and r.time[0] == 0.5
    pendulum["states"] = {"lag": {"type": "lag", "input": "joint.hinge.q", "time_constant": 1}}
    with pytest.raises(kardan.ArgumentError, match="other equations"):
        kardan.build(pendulum).simulate(1, start=x)


def test_models_are_pickled(pendulum):
    m = kardan.build(pendulum)
    m.parameters["l"] = 1.5
    n = pickle.loads(pickle.dumps(m))
    assert n.parameters["l"] == 1.5 and np.array_equal(n.simulate(0.5)["angle"], m.simulate(0.5)["angle"])


def the_same(a, b):
    """All numbers of two states, to the last bit."""
    return a.t == b.t and a._bytes() == b._bytes()


@pytest.mark.parametrize("name", ["slider-crank", "quarter-car", "semi-active-truck", "bouncing-ball", "stick-slip"])
@pytest.mark.parametrize("method", [{}, {"integrator": "bdf"}, {"integrator": "radau", "formulation": "psf"}, {"automatic": True}])
def test_running_simulations_are_values(gallery, name, method, tmp_path):
    """Copied, pickled (also into another process' bytes) and saved in the middle of its steps, a simulation goes on bit for bit."""
    path = gallery / f"{name}.yaml"
    if not path.exists():
        pytest.skip(f"no model {name}")
    m = kardan.load(path)
    s = m.start(**method).run(0.137)
    other, third = copy.copy(s), pickle.loads(pickle.dumps(s))
    fourth = m.resume(s.save(tmp_path / "run.state"), **method)
    assert the_same(s.state, other.state) and the_same(s.state, third.state)
    ends = [x.run(0.4).state for x in (s, other, third, fourth)]
    assert all(the_same(ends[0], e) for e in ends[1:])
    assert third.method == s.method and third.stats["steps"] == s.stats["steps"]


def test_values_of_other_models_are_refused(pendulum):
    s = kardan.build(pendulum).start().run(0.1)
    data = s.to_bytes()
    pendulum["states"] = {"lag": {"type": "lag", "input": "joint.hinge.q", "time_constant": 1}}
    with pytest.raises(kardan.Error):
        kardan.build(pendulum).resume(data)
    with pytest.raises(kardan.Error):
        kardan.build(pendulum).resume(data[: len(data) // 2])


def test_simulations_with_inputs_and_changed_parameters(pendulum):
    """What was given to the model, and was changed in it later, belongs to the simulation that was started before."""
    m = kardan.build(pendulum)
    m.parameters["l"] = 1.5
    s = m.start().run(0.2)
    m.parameters["l"] = 3
    again = pickle.loads(pickle.dumps(s))
    assert the_same(again.run(0.5).state, s.run(0.5).state)


def test_steppers_are_values(gallery):
    m = kardan.load(gallery / "slider-crank.yaml")
    a = m.realtime(1e-3)
    a.run(50)
    b, c = copy.copy(a), pickle.loads(pickle.dumps(a))
    rows = [x.run(50) for x in (a, b, c)]
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2]) and the_same(a.state, c.state)


def test_restart(pendulum):
    m = kardan.build(pendulum)
    s = m.start(rtol=1e-10)
    x = s.run(0.5).state
    a = s.run(1).state.p[0]
    assert abs(s.restart(x).run(1).state.p[0] - a) < 1e-8


def test_arrays_of_a_state_keep_it(pendulum):
    p = kardan.build(pendulum).start().run(0.1).state.p
    kept = p.copy()
    junk = [np.ones(50) for _ in range(1000)]
    assert np.array_equal(p, kept)
    del junk


def test_realtime_approaches_the_motion(pendulum):
    """Errors of the stepper fall with the step, and inputs arrive."""
    m = kardan.build(pendulum)
    wanted = m.simulate(1, rtol=1e-10)["angle"][-1]
    error = []
    for h in (4e-3, 2e-3, 1e-3):
        rt = m.realtime(h)
        rt.run(round(1 / h))
        error.append(abs(rt.state.p[0] - wanted))
    assert 1.5 < error[0] / error[1] < 5 and 1.5 < error[1] / error[2] < 5
    rt = m.realtime(1e-3)
    for _ in range(100):
        y = rt.step({"torque": 1.0})
    assert y["angle"] > m.simulate(0.1)["angle"][-1] + 1e-3
    with pytest.raises(KeyError, match="did you mean 'torque'"):
        rt.step({"torq": 1})
    with pytest.raises(kardan.ArgumentError, match="did you mean 'jacobian'"):
        m.realtime(1e-3, jacobin="j2")


def test_order_of_the_end(pendulum, monkeypatch):
    """Whatever the collector of cycles takes first: nothing ends before what needs it, and everything ends, once."""
    import gc
    import random

    from kardan import _core

    ended, end = [], _core._Life.__del__

    def log(life):
        ended.append(id(life))
        end(life)

    monkeypatch.setattr(_core._Life, "__del__", log)
    for seed in range(20):
        gc.collect()
        before = set(_core._lives)
        m = kardan.build(pendulum)
        things = [m, m.start(), m.realtime(0.01), m.equations.at(), m.linearize(), m.simulate(0.1), m.start().copy()]
        own = kardan.Equations(np=1, M=lambda x: [[1.0]], f=lambda x: -x.p, start={"p": [1.0]})
        things += [own, own.start(), own.equations.at(), own.simulate(0.1), own.simulate(0.1).state]
        lives = [life for key, life in _core._lives.items() if key not in before]
        needs = [(id(life), id(need)) for life in lives for need in life.needs]
        assert len(needs) > 15
        random.Random(seed).shuffle(things)
        # a ring through all of them, each of which holds itself as well
        for i, thing in enumerate(things):
            thing.ring = (thing, things[i - 1])
        ended.clear()
        del m, own, things, thing, lives
        # the collector does not look into arrays: what they hold comes a round later
        for _ in range(3):
            gc.collect()
        place = {life: i for i, life in enumerate(ended)}
        assert all(place[a] < place[b] for a, b in needs)
        assert len(place) == len(ended) and set(_core._lives) <= before
