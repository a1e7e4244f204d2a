"""What tests share: the gallery, the command line, a model of a few lines."""

import os
import pathlib

import pytest

SOURCE = pathlib.Path(os.environ["KARDAN_SOURCE"])


@pytest.fixture(scope="session")
def gallery():
    return SOURCE / "models"


@pytest.fixture(scope="session")
def command():
    path = os.environ["KARDAN_COMMAND"]
    if not os.path.exists(path):
        pytest.skip("the command line is not built")
    return path


@pytest.fixture
def pendulum():
    """A rod that swings about the y axis; its small swings have omega^2 = 3 g / (2 l)."""
    return {
        "kardan": 1,
        "title": "rod",
        "parameters": {"l": 1.0, "m": 2.0},
        "inputs": {"torque": {"start": 0}},
        "bodies": {"rod": {"position": [0, 0, "-l/2"], "mass": "m", "inertia": ["m*l^2/12", "m*l^2/12", 1e-3]}},
        "joints": {"hinge": {"type": "revolute", "bodies": ["ground", "rod"], "point": [0, 0, 0], "axis": [0, 1, 0], "q": 0.1}},
        "forces": {"motor": {"type": "joint_spring", "joint": "hinge", "stiffness": 0, "law": "input.torque"}},
        "sensors": {"angle": {"value": "joint.hinge.q", "unit": "rad"}},
        "run": {"t_end": 2, "rtol": 1e-9},
    }
