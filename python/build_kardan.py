"""Makes the extension kardan._kardan with cffi (API mode). The declarations are those of the installed headers: nothing is
written twice. pkg-config tells where headers and the static library are (kardan-static)."""

import os
import re
import shlex
import subprocess

import cffi


def pkg_config(*words):
    command = ["pkg-config", *words, "kardan-static"]
    return shlex.split(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def declarations(flags):
    """The public headers behind the preprocessor, without what they include from elsewhere."""
    command = [os.environ.get("CC", "cc").split()[0], "-E", "-D__attribute__(x)=", *flags, "-x", "c", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, input="#include <kardan/kardan.h>\n").stdout
    kept, ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = "/kardan/" in marker.group(1)
        elif ours and line.strip() and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


GLUE = """
typedef enum kdpy_signal_kind { KDPY_OF_MODEL, KDPY_CONSTANT, KDPY_LINEAR, KDPY_SPLINE, KDPY_CALL } kdpy_signal_kind;
typedef struct kdpy_signal {
    kdpy_signal_kind kind;
    double value;
    int n;
    const double *t, *y, *bend;
} kdpy_signal;
typedef struct kdpy_inputs {
    const kd_inputs *model;
    int nu;
    kdpy_signal *signal;
    void *handle;
} kdpy_inputs;
typedef struct kdpy_watch {
    double next, every;
    void *handle;
} kdpy_watch;
kd_eval kdpy_inputs_eval(double t, void *context, double *u, double *du, double *ddu);
void kdpy_spline(int n, const double *t, const double *y, double *bend, double *work);
kd_eval kdpy_look(const kd_state *x, bool at_time, void *watch);
bool kdpy_go_on(const kd_compare_progress *progress, void *watch);
void kdpy_define(kd_eom_def *def, unsigned slots, bool energies, bool derivative, void *handle);

extern "Python+C" {
    int kdpy_input(void *handle, int i, double t, double *u);
    int kdpy_tick(void *handle, double t);
    int kdpy_function(void *handle, int slot, const kd_point *x, double *out);
    int kdpy_energies(void *handle, const kd_point *x, kd_energies *out);
    int kdpy_derivative(void *handle, const kd_point *x, int fn, int var, double *out);
    kd_eval kdpy_force(double t, const double *value, const double *rate, const double *state, void *context,
                       double *force, double *state_rate);
    bool kdpy_study(const kd_study_progress *progress, void *context);
    kd_status kdpy_complete(kd_model *model, void *context);
    kd_status kdpy_make(const double *value, void *context, const kd_eom **eom, const kd_inputs **inputs);
}
"""

ffi = cffi.FFI()
ffi.cdef(declarations(pkg_config("--cflags")) + GLUE)
link = pkg_config("--libs")
ffi.set_source(
    "kardan._kardan",
    '#include "glue.h"',
    sources=["kardan/glue.c"],
    include_dirs=[os.path.join(os.path.dirname(os.path.abspath(__file__)), "kardan")],
    extra_compile_args=["-O2", *pkg_config("--cflags")],
    extra_link_args=[*link, *shlex.split(os.environ.get("KARDAN_LINK_FLAGS", ""))],
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
