"""Studies: many runs of a model by a study file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ._core import ArgumentError, Message, callback, check, encode, ffi, lib, nearest, own, pointer_to, text
from .dynamics import raise_failure


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval; NaN: not known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A row of a study: parameters and outputs by name; `reason` of a failure, ""."""

    number: int
    parameters: dict[str, float]
    outputs: dict[str, float]
    clean: bool
    status: str
    reason: str = ""


@dataclass(frozen=True)
class Search:
    """One search of a study with `optimise`: its output (None: a point of the front), its runs, its best row (None: there is none)."""

    objective: str | None
    runs: int
    best: Row | None
    end: str
    gradient_error: float = field(default=float("nan"))


class _Look:
    def __init__(self, progress):
        self.progress, self.failure = progress, None
        self.handle = ffi.new_handle(self)


@callback(error=False)
def kdpy_study(progress, handle):
    # Python looks for signals while this runs
    self = ffi.from_handle(handle)
    return self.progress is None or self.progress(progress.done, progress.rows) is not False


class Study:
    """A study file: `s = kardan.Study("truck-study.yaml"); s.run("results/truck"); s["comfort"]`, an array over the rows.

    In place of a file: a dictionary with the words of study files; models are looked for from `folder` on."""

    def __init__(self, source, folder="."):
        out, message = ffi.new("kd_study **"), Message(20000)
        if isinstance(source, Mapping):
            from .model import _plain

            words = json.dumps(_plain(source), indent=1, allow_nan=False).encode()
            check(lib.kd_study_read_text(encode(os.path.join(os.fspath(folder), "study")), words, len(words), out, message.buffer, message.size), message)
        else:
            check(lib.kd_study_read(encode(source), out, message.buffer, message.size), message)
        self._c = own(out[0], lib.kd_study_destroy)
        self.title = text(lib.kd_study_title(self._c))
        self.outputs = [text(lib.kd_study_output(self._c, i)) for i in range(lib.kd_study_outputs(self._c))]
        self._parameters = [text(lib.kd_study_parameter(self._c, i)) for i in range(lib.kd_study_parameters(self._c))]

    def __len__(self) -> int:
        return lib.kd_study_rows(self._c)

    def run(self, folder=None, *, threads: int = 0, limit: float = 0, retry: bool = False, fresh: bool = False, mpi: bool = False, progress=None) -> Study:
        """Make all rows that are missing; in a folder they are kept and gone on with. progress(done, rows) may answer False. mpi: among
        the processes of mpirun, of which the first has all rows at the end."""
        options, message = ffi.new("kd_study_run_options *", lib.kd_study_run_options_default()), Message()
        look = _Look(progress)
        keep = ffi.new("char[]", encode(folder)) if folder is not None else ffi.NULL
        options.folder, options.threads, options.limit, options.retry, options.fresh, options.mpi = keep, threads, limit, retry, fresh, mpi
        options.go_on, options.context = lib.kdpy_study, look.handle
        status = lib.kd_study_run(self._c, options, message.buffer, message.size)
        raise_failure(look)
        check(status, message)
        return self

    def load(self, folder) -> Study:
        """The rows that a folder holds, without making any."""
        message = Message()
        check(lib.kd_study_load(self._c, encode(folder), message.buffer, message.size), message)
        return self

    def row(self, number: int) -> Row | None:
        """A row that is done; None: it is not."""
        r, n = lib.kd_study_row_of(self._c, number), len(self._parameters)
        if not r.done:
            return None
        buffer = ffi.new("double[]", max(1, n))
        check(lib.kd_study_point(self._c, number, buffer))
        return Row(number, dict(zip(self._parameters, list(buffer[0:n]))), dict(zip(self.outputs, list(r.output[0 : len(self.outputs)]))), r.clean,
                   text(lib.kd_status_name(r.status)), text(r.reason))

    # ---- what was kept of the runs
    @property
    def channels(self) -> list[str]:
        """Channels of all rows that the study keeps (`keep: {channels: [..]}`)."""
        return [text(lib.kd_study_channel(self._c, i)) for i in range(lib.kd_study_channels(self._c))]

    @property
    def reports(self) -> list[int]:
        """Rows that get a page of their own (`keep: {reports: [..]}`)."""
        n = lib.kd_study_reports(self._c, ffi.NULL, 0)
        rows = ffi.new("int[]", max(1, n))
        lib.kd_study_reports(self._c, rows, n)
        return list(rows[0:n])

    def channel(self, name: str, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of a channel that was kept, in one row of a study with a folder."""
        names, n, message = self.channels, ffi.new("int *"), Message()
        if name not in names:
            raise KeyError(f"the study keeps no channel '{name}'{nearest(name, names)}")
        i = names.index(name)
        check(lib.kd_study_channel_of(self._c, row, i, ffi.NULL, ffi.NULL, 0, n, message.buffer, message.size), message)
        t, y = np.empty(n[0]), np.empty(n[0])
        check(lib.kd_study_channel_of(self._c, row, i, pointer_to(t), pointer_to(y), n[0], n, message.buffer, message.size), message)
        return t, y

    # ---- the best parameters
    @property
    def objectives(self) -> list[str]:
        """Outputs that a study with `optimise` makes as small, or as large, as possible."""
        return [self.outputs[lib.kd_study_objective(self._c, i, ffi.NULL)] for i in range(lib.kd_study_objectives(self._c))]

    def best(self, objective: str | None = None) -> Row | None:
        """The row that is best and keeps all constraints; None: there is none. objective: which, of several."""
        names = self.objectives
        if not names:
            raise ArgumentError("the study does not search: it has no `optimise`")
        if objective is not None and objective not in names:
            raise KeyError(f"there is no objective '{objective}'{nearest(objective, names)}")
        row = lib.kd_study_best(self._c, names.index(objective) if objective is not None else 0)
        return self.row(row) if row >= 0 else None

    @property
    def front(self) -> list[Row]:
        """Rows that no other beats in all objectives, by the first of them."""
        n = lib.kd_study_front(self._c, ffi.NULL, 0)
        rows = ffi.new("int[]", max(1, n))
        lib.kd_study_front(self._c, rows, n)
        return [self.row(rows[i]) for i in range(n)]

    @property
    def searches(self) -> list[Search]:
        found, names = [lib.kd_study_search_of(self._c, i) for i in range(lib.kd_study_searches(self._c))], self.objectives
        return [Search(names[q.objective] if q.objective >= 0 else None, q.runs, self.row(q.best) if q.best >= 0 else None, text(q.end), q.gradient_error)
                for q in found]

    # ---- arrays and figures
    def _output(self, name: str) -> int:
        if name not in self.outputs:
            raise KeyError(f"there is no output '{name}'{nearest(name, self.outputs)}")
        return self.outputs.index(name)

    def __getitem__(self, name: str) -> np.ndarray:
        i = self._output(name)
        rows = (lib.kd_study_row_of(self._c, row) for row in range(len(self)))
        return np.array([r.output[i] if r.done and r.status >= 0 else np.nan for r in rows])

    @property
    def parameters(self) -> Mapping[str, np.ndarray]:
        """Values of the parameters over the rows, by name."""
        values, buffer = np.empty((len(self), len(self._parameters))), ffi.new("double[]", max(1, len(self._parameters)))
        for row in range(len(self)):
            check(lib.kd_study_point(self._c, row, buffer))
            values[row] = [buffer[i] for i in range(len(self._parameters))]
        return {name: values[:, i] for i, name in enumerate(self._parameters)}

    @property
    def failures(self) -> dict[int, str]:
        """Reasons of rows that failed."""
        rows = ((row, lib.kd_study_row_of(self._c, row)) for row in range(len(self)))
        return {row: text(r.reason) for row, r in rows if r.done and r.status < 0}

    def mean(self, output: str) -> Estimate:
        """Mean over the rows that did not fail."""
        return _estimate(lib.kd_study_mean(self._c, self._output(output)))

    def deviation(self, output: str) -> Estimate:
        """Standard deviation."""
        return _estimate(lib.kd_study_deviation(self._c, self._output(output)))

    def quantile(self, output: str, q: float) -> Estimate:
        """The value below which the share q of the rows lies."""
        if not 0 <= q <= 1:
            raise ArgumentError(f"a quantile is asked for by a number from 0 to 1, not {q}")
        return _estimate(lib.kd_study_quantile(self._c, self._output(output), q))

    def probability(self, output: str) -> Estimate:
        """Share of rows in which a condition is true."""
        return _estimate(lib.kd_study_probability(self._c, self._output(output)))

    def index(self, output: str, parameter: str, total: bool = False) -> Estimate:
        """Sobol's index of first order, or the total one, of a design for sensitivity."""
        if parameter not in self._parameters:
            raise KeyError(f"there is no parameter '{parameter}'{nearest(parameter, self._parameters)}")
        return _estimate(lib.kd_study_index(self._c, self._output(output), self._parameters.index(parameter), total))

    def effect(self, output: str, parameter: str) -> tuple[Estimate, float]:
        """Morris' elementary effects: mean of their sizes, and their deviation."""
        if parameter not in self._parameters:
            raise KeyError(f"there is no parameter '{parameter}'{nearest(parameter, self._parameters)}")
        i, j = self._output(output), self._parameters.index(parameter)
        return _estimate(lib.kd_study_effect(self._c, i, j)), lib.kd_study_effect_deviation(self._c, i, j).value

    def identify(self) -> dict:
        """Parameters from measurements, of a study with `identify:`: {name: Estimate}; those that the data do not determine have an
        infinite interval. The whole answer is in `self.identification`."""
        out, message = ffi.new("kd_identification *"), Message()
        check(lib.kd_study_identify(self._c, out, message.buffer, message.size), message)
        n = out.nparameters
        self.identification = {
            "misfit": out.misfit, "undetermined": text(out.unknown), "runs": out.runs, "gradient_error": out.gradient_error,
            "correlation": np.array([out.correlation[i] for i in range(n * n)]).reshape(n, n),
        }
        return {name: Estimate(out.value[i], out.low[i], out.high[i]) for i, name in enumerate(self._parameters)}

    def save(self, path) -> str:
        """Table (.csv, .h5) or page (.html)."""
        message, ending = Message(), os.path.splitext(str(path))[1]
        writer = {".html": lib.kd_study_save_page, ".h5": lib.kd_study_save_hdf5, ".hdf5": lib.kd_study_save_hdf5}.get(ending, lib.kd_study_save_csv)
        check(writer(self._c, encode(path), message.buffer, message.size), message)
        return str(path)

    def __repr__(self):
        return f"<kardan.Study '{self.title}', {len(self)} rows>"


def _estimate(e) -> Estimate:
    return Estimate(e.value, e.low, e.high)
