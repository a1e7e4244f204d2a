// scale_certificate.c: what the certificate costs: processor time of runs of the default with it and without.
#include "scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common_run.h"
#include "core/text.h"

#define TOLERANCE 1e-6
#define STEPS 300
#define ROUNDS 3         // of all models; shorter runs are measured again,
#define REPEATED 0.1     // [s] until so much time is used up,
#define MOST_REPEATED 25 // or so often: other programs share the machine

typedef struct run {
    kd_certifier  *certifier; // NULL: without
    kd_simulation *simulation;
    long           left;
    double         t;
} run;

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    run *r = context;
    if (at_time) return KD_EVAL_OK;
    r->t = x->t;
    if (r->certifier && kd_certifier_see(r->certifier, r->simulation, x) < 0) return KD_EVAL_STOP;
    return r->left-- > 0 ? KD_EVAL_OK : KD_EVAL_STOP;
}

// Processor time of the run alone; NaN: it failed
static double run_once(const scale_subject *s, bool certified, double t_end, kd_state *x, double *t)
{
    char                  message[300];
    run                   r = {.left = STEPS};
    kd_simulation_options o = scale_options(s, SCALE_DEFAULT, TOLERANCE);
    double                seconds = NAN;
    o.output = see;
    o.context = &r;
    o.accelerations = false;
    kd_state_copy(s->start, x);
    if (certified && kd_certifier_create(s->eom, kd_system_inputs(s->system), &r.certifier) < 0) return NAN;
    if (kd_simulation_create(s->eom, kd_system_inputs(s->system), &o, x, &r.simulation, message, sizeof message) >= 0) {
        const double started = bench_cpu_seconds();
        if (kd_simulation_run(r.simulation, t_end) >= 0) seconds = bench_cpu_seconds() - started;
        *t = r.t;
    }
    kd_simulation_destroy(r.simulation);
    kd_certifier_destroy(r.certifier);
    return seconds;
}

static double share_of(bench *b, scale_kind kind, int n)
{
    char          message[400] = "";
    scale_subject s;
    kd_state     *x = NULL;
    double        least[2] = {INFINITY, INFINITY}, t = 0, used = 0;
    const bool    good = scale_open(&s, kind, n, message, sizeof message) && kd_state_create(s.eom, &x) >= 0;
    if (good && !isnan(run_once(&s, false, s.t_end, x, &t)))
        for (int r = 0; r < ROUNDS || (r < MOST_REPEATED && used < REPEATED); r++)
            for (int certified = 0; certified < 2; certified++) {
                double       ignored;
                const double seconds = run_once(&s, certified, fmin(t, s.t_end), x, &ignored);
                least[certified] = fmin(least[certified], seconds);
                used += seconds;
            }
    const double share = isfinite(least[0] + least[1]) ? fmax(0, 1 - least[0] / least[1]) : NAN;
    bench_say(b, "  %-24s %10.3f ms without the certificate, %10.3f ms with it: %5.1f %%\n", s.name, 1e3 * least[0],
              1e3 * least[1], 100 * share);
    fflush(stdout);
    kd_state_destroy(x);
    scale_close(&s);
    return share;
}

void scale_certificate(bench *b)
{
    static const struct {
        scale_kind kind;
        int        n;
    } scales[] = {{SCALE_CHAIN, 30}, {SCALE_CHAIN_CARTESIAN, 10}, {SCALE_LOOPS, 10}, {SCALE_ROPE, 20},
                  {SCALE_TREE, 31},  {SCALE_LATTICE, 3},          {SCALE_CONVOY, 10}};
    const int nscales = (int)(sizeof scales / sizeof *scales), ngallery = scale_gallery_count();
    double    sum = 0, worst = 0;
    int       count = 0, beyond = 0;
    char      worst_name[64] = "", note[200];
    bench_say(b, "\nwhat the certificate takes\n");
    for (int i = 0; i < ngallery + nscales; i += bench_quick(b) ? 5 : 1) {
        const scale_kind kind = i < ngallery ? SCALE_GALLERY : scales[i - ngallery].kind;
        const char      *name = i < ngallery ? scale_gallery_name(i) : scale_word(kind);
        if (!bench_wants(b, "certificate.share") && !bench_wants(b, "certificate.of.%s", name)) continue;
        const double share = share_of(b, kind, i < ngallery ? i : scales[i - ngallery].n);
        if (isnan(share)) continue;
        bench_row(b, bench_no_goal(false), NAN, share, "", "", "certificate.of.%s", name);
        sum += share;
        count++;
        beyond += share > 0.15;
        if (share < worst) continue;
        worst = share;
        kd_text(worst_name, sizeof worst_name, "%s", name);
    }
    if (!bench_wants(b, "certificate.share")) return;
    kd_text(note, sizeof note, "mean of %d models, share of the whole run; %d of them are beyond, most: %s %.2f", count,
            beyond, worst_name, worst);
    bench_row(b, bench_below(0.15), NAN, count > 0 ? sum / count : NAN, "", note, "certificate.share");
}
