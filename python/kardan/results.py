"""What a run leaves behind: channels over time, certificate, statistics, events; tables and pages as files."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass

import numpy as np

from ._core import ArgumentError, Message, Unavailable, check, encode, ffi, lib, nearest, text, view


@dataclass(frozen=True)
class Event:
    """Something that happened at an instant."""

    t: float
    kind: str
    element: str
    direction: int
    text: str


@dataclass(frozen=True)
class Check:
    """One check of a certificate; verdict is "good", "bad" or "not searched"."""

    name: str
    verdict: str
    figure: float
    sentence: str


class Certificate:
    """What a run is worth. `clean`: all checks are good; `checks`; figures as attributes of `data` (the JSON of kardan)."""

    def __init__(self, certificate, owner):
        self._owner = owner
        buffer = ffi.new("char[]", 65536)
        lib.kd_certificate_json(certificate, buffer, 65536)
        self.data: dict = json.loads(text(buffer))
        lib.kd_certificate_describe(certificate, buffer, 65536)
        self.words = text(buffer)
        verdict = ffi.new("kd_clean *")
        lib.kd_certificate_verdict(certificate, verdict)
        self.clean = bool(verdict.clean)
        self.sentence = text(verdict.sentence)
        self.checks = [
            Check(text(c.name), text(lib.kd_check_word(c.verdict)), c.figure, text(c.sentence))
            for c in verdict.check[0 : verdict.nchecks]
        ]
        self.not_searched = [c.name for c in self.checks if c.verdict == "not searched"]

    def __getitem__(self, name):
        return self.data[name]

    def __bool__(self):
        return self.clean

    def __str__(self):
        return self.words

    def __repr__(self):
        return f"<kardan certificate: {self.sentence}>"

    def _repr_html_(self):
        import html

        rows = "".join(
            f"<tr><td>{html.escape(c.name)}</td><td>{html.escape(c.verdict)}</td><td style='text-align:left'>"
            f"{html.escape(c.sentence)}</td></tr>"
            for c in self.checks
        )
        return f"<b>{html.escape(self.sentence)}</b><table><tr><th>check</th><th>verdict</th><th>what was found</th></tr>{rows}</table>"


def stats_of(stats) -> dict:
    return {name: getattr(stats, name) for name, _ in ffi.typeof("kd_stats").fields}


class Result:
    """Channels over time: `r.time`, `r["sensor"]`, `r["joint.hinge.q"]`; read-only views of what the library recorded.

    The arrays keep what they need alive: they stay valid when the result is gone."""

    def __init__(self, recorder, system, state, status: int):
        self._recorder = recorder  # held
        self._system = system  # handle that keeps model and equations
        self._status = status
        self.state = state  #: at the end
        self.message = text(lib.kd_recorder_message(recorder))
        rows = lib.kd_recorder_rows(recorder)
        stride = ffi.new("size_t *")
        pointer = lib.kd_recorder_table(recorder, stride)
        self.time = view(lib.kd_recorder_times(recorder), rows, recorder)
        flat = view(pointer, rows * stride[0], recorder)
        self.table = flat.reshape(rows, stride[0])  #: rows x all recorded numbers
        self._certificate: Certificate | None = None

    # ---- numbers
    @functools.cached_property
    def channels(self) -> list[str]:
        """Names of all channels."""
        count = lib.kd_recorder_columns(self._recorder)
        return [text(lib.kd_recorder_name(self._recorder, i)) for i in range(count)]

    def __getitem__(self, name: str) -> np.ndarray:
        if name in ("t", "time"):
            return self.time
        column = lib.kd_recorder_find(self._recorder, encode(name))
        if column < 0:
            raise KeyError(f"there is no channel '{name}'{nearest(name, self.channels)}")
        return self.table[:, lib.kd_recorder_place(self._recorder, column)]

    def __contains__(self, name: str) -> bool:
        return lib.kd_recorder_find(self._recorder, encode(name)) >= 0

    def __iter__(self):
        return iter(self.channels)

    def __len__(self) -> int:
        return len(self.time)

    def unit(self, name: str) -> str:
        """Unit of a channel; "" if it is not known."""
        self[name]
        return "s" if name in ("t", "time") else text(lib.kd_recorder_unit(self._recorder, lib.kd_recorder_find(self._recorder, encode(name))))

    @property
    def certificate(self) -> Certificate:
        if self._certificate is None:
            self._certificate = Certificate(lib.kd_recorder_certificate(self._recorder), self)
        return self._certificate

    @property
    def clean(self) -> bool:
        return self.certificate.clean

    @property
    def stats(self) -> dict:
        return stats_of(lib.kd_recorder_certificate(self._recorder).stats)

    @property
    def status(self) -> str:
        return text(lib.kd_status_name(self._status))

    @property
    def events(self) -> list[Event]:
        found = (lib.kd_recorder_event(self._recorder, i) for i in range(lib.kd_recorder_events_count(self._recorder)))
        return [Event(e.t, text(lib.kd_event_word(e.kind)), text(e.element), e.direction, text(e.text)) for e in found]

    # ---- elsewhere
    def to_pandas(self, channels=None):
        """A pandas.DataFrame over time; the one place where numbers are copied."""
        try:
            import pandas
        except ImportError as missing:
            raise Unavailable("to_pandas needs the package pandas") from missing
        names = self.channels if channels is None else list(channels)
        return pandas.DataFrame({n: self[n] for n in names}, index=pandas.Index(self.time, name="time"))

    def plot(self, *channels: str, axes=None):
        """Plots over time with matplotlib, one below the other; sensors where none is named. Gives the axes back."""
        try:
            from matplotlib import pyplot
        except ImportError as missing:
            raise Unavailable("plot needs the package matplotlib; report() makes a page without it") from missing
        names = list(channels) or self.channels[: min(4, len(self.channels))]
        if axes is None:
            _, axes = pyplot.subplots(len(names), 1, sharex=True, squeeze=False)
        axes = np.atleast_1d(np.asarray(axes, dtype=object)).reshape(-1)
        for axis, name in zip(axes, names):
            unit = self.unit(name)
            axis.plot(self.time, self[name])
            axis.set_ylabel(f"{name} [{unit}]" if unit else name)
        axes[len(names) - 1].set_xlabel("time [s]")
        return axes

    def report(self, path) -> str:
        """The page with certificate, plots and the moving drawing; one file."""
        return self._save(lib.kd_recorder_save_report, path)

    def save(self, path) -> str:
        """Table (.csv), HDF5 (.h5, .hdf5), page (.html) or plots (.svg), by the ending of the name."""
        writers = {
            "csv": lib.kd_recorder_save_csv,
            "h5": lib.kd_recorder_save_hdf5,
            "hdf5": lib.kd_recorder_save_hdf5,
            "html": lib.kd_recorder_save_report,
            "svg": lib.kd_recorder_save_svg,
        }
        ending = str(path).rsplit(".", 1)[-1].lower()
        if ending not in writers:
            raise ArgumentError(f"'{path}': results are saved as .csv, .h5, .html or .svg")
        return self._save(writers[ending], path)

    def _save(self, writer, path) -> str:
        message = Message()
        check(writer(self._recorder, encode(path), message.buffer, message.size), message)
        return str(path)

    def _repr_html_(self):
        # the page in a frame of its own: its scripts see nothing of the notebook
        import base64
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.html")
            self.report(path)
            with open(path, "rb") as page:
                data = base64.b64encode(page.read()).decode()
        frame = f'<iframe sandbox="allow-scripts" width="100%" height="640" src="data:text/html;base64,{data}"></iframe>'
        return self.certificate._repr_html_() + frame

    def __repr__(self):
        end = f"{self.time[-1]:.6g}" if len(self) else "-"
        return f"<kardan.Result {len(self)} rows x {len(self.channels)} channels to t = {end} s, {self.certificate.sentence}>"
