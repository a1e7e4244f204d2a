"""kardan: multibody system dynamics.

    import kardan
    m = kardan.load("truck.yaml", payload=2000)
    r = m.simulate(t_end=10, rtol=1e-8)
    r["cab.z"], r.time, r.certificate

Guide: docs/guide/python.md"""

from ._core import ArgumentError, Error, FileError, KardanWarning, ModelError, SimulationError, Unavailable
from ._core import lib as _lib
from ._core import text as _text
from .dynamics import Simulation
from .equations import Equations
from .inputs import Signal, Table
from .model import Force, Model, build, load
from .results import Certificate, Event, Result
from .state import State
from .study import Estimate, Row, Search, Study

__version__ = _text(_lib.kd_version())

__all__ = [
    "ArgumentError", "Certificate", "Equations", "Error", "FileError", "Estimate", "Event", "Force", "KardanWarning", "Model", "ModelError", "Result", "Row", "Search", "Signal",
    "Simulation", "SimulationError", "State", "Study", "Table", "Unavailable", "build", "load",
]
