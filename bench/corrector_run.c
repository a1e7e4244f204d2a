// corrector_run.c: problems from model files and from the gallery, their references, and single runs.
#include "core/memory.h"
#include "core/text.h"
#include "corrector.h"
#include "gallery.h"
#include <math.h>
#include <string.h>

enum { MAX_SETTINGS = 8, PSF_LIMIT = 60, LARGE = 200 };
#define MAX_STEPS 20000000L
#define CLOCK_STEPS 16   // steps between two looks at the clock, for small problems
#define ERROR_FLOOR 1e-3 // |ref| below which the error is absolute

// ---- problems -------------------------------------------------------------------------------------------------------

// "a=1 b=2" in place
static int split_settings(char *text, kd_setting *settings)
{
    int   n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word && n < MAX_SETTINGS; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = '\0';
        settings[n++] = (kd_setting){word, value};
    }
    return n;
}

static bool make_consistent(corrector_problem *problem, char *message, size_t size)
{
    kd_initial_options options = kd_initial_options_default();
    return kd_initial_consistent(problem->eom, &problem->inputs, &options, problem->x, message, size) >= 0;
}

bool corrector_open_model(corrector_problem *problem, const char *file, const char *settings,
                          kd_coordinates coordinates, char *message, size_t size)
{
    char              path[400], text[200];
    kd_setting        list[MAX_SETTINGS];
    kd_system_options options = kd_system_options_default();
    *problem = (corrector_problem){.name = file};
    options.coordinates = coordinates;
    kd_text(path, sizeof path, "%s/%s.yaml", KD_MODELS_DIR, file);
    kd_text(text, sizeof text, "%s", settings ? settings : "");
    int n = split_settings(text, list);
    if (kd_model_read(path, list, n, &problem->model, message, size) < 0) return false;
    if (kd_system_create(problem->model, &options, &problem->system, message, size) < 0) return false;
    problem->eom = kd_system_eom(problem->system);
    problem->inputs = *kd_system_inputs(problem->system);
    problem->t_end = kd_model_run(problem->model)->t_end;
    return kd_state_create(problem->eom, &problem->x) >= 0 &&
           kd_system_start(problem->system, problem->x, message, size) >= 0 && make_consistent(problem, message, size);
}

bool corrector_open_example(corrector_problem *problem, const char *name, char *message, size_t size)
{
    const kd_example *example = kd_gallery_find(name);
    *problem = (corrector_problem){.name = name};
    if (!example || example->create(&problem->written, &problem->x, &problem->inputs) < 0) {
        kd_text(message, size, "%s: no such example, or no memory", name);
        return false;
    }
    problem->eom = problem->written;
    problem->t_end = example->t_end;
    return make_consistent(problem, message, size);
}

void corrector_close(corrector_problem *problem)
{
    kd_state_destroy(problem->x);
    kd_eom_destroy(problem->written);
    kd_system_destroy(problem->system);
    kd_model_destroy(problem->model);
    kd_free(problem->reference);
    *problem = (corrector_problem){0};
}

// ---- one solver -----------------------------------------------------------------------------------------------------

typedef struct solver {
    kd_dae        *dae;
    kd_integrator *bdf; // one of the three
    kd_integrator *ida;
    kd_integrator *radau;
    double        *start, *at; // (dae->n) initial values, those of an instant
    kd_state      *x;          // of the last instant
    int            reached;    // instants behind
    double        *kept;       // (np x instants) positions there; NULL: they are compared with the reference
    double         squares;    // sum over the instants
    char           message[300];
} solver;

static kd_status create_bdf(solver *s, const corrector_method *m, double rtol, double atol)
{
    kd_integrator_options o = kd_integrator_options_default();
    o.rtol = rtol;
    o.atol = atol;
    o.max_steps = MAX_STEPS;
    o.bdf.dassl_rules = m->dassl_rules;
    return kd_integrator_create(s->dae, KD_BDF, &o, &s->bdf, s->message, sizeof s->message);
}

static kd_status create_ida(solver *s, const corrector_method *m, double rtol, double atol)
{
    kd_integrator_options o = kd_integrator_options_default();
    o.rtol = rtol;
    o.atol = atol;
    o.max_steps = MAX_STEPS;
    o.ida.suppress_algebraic = !m->all_in_error;
    o.ida.own_linear_algebra = m->own_linear;
    return kd_integrator_create(s->dae, KD_IDA, &o, &s->ida, s->message, sizeof s->message);
}

static kd_status create_radau(solver *s, double rtol, double atol)
{
    kd_integrator_options o = kd_integrator_options_default();
    o.rtol = rtol;
    o.atol = atol;
    o.max_steps = MAX_STEPS;
    return kd_integrator_create(s->dae, KD_RADAU, &o, &s->radau, s->message, sizeof s->message);
}

static kd_status solver_create(solver *s, const corrector_problem *problem, const corrector_method *m, double rtol,
                               double atol)
{
    kd_formulation_options o = kd_formulation_options_default();
    *s = (solver){0};
    o.derivatives = m->derivatives;
    o.estimated = m->estimated;
    o.estimated_at_start = m->at_start;
    o.update = m->update;
    o.explicit_form = m->explicit_form;
    kd_status status = kd_formulation_create(problem->eom, &problem->inputs, problem->x, m->form, &o, &s->dae,
                                             s->message, sizeof s->message);
    if (status < 0) return status;
    status = m->integrator == KD_IDA     ? create_ida(s, m, rtol, atol)
             : m->integrator == KD_RADAU ? create_radau(s, rtol, atol)
                                         : create_bdf(s, m, rtol, atol);
    if (status >= 0) status = kd_state_create(problem->eom, &s->x);
    if (status < 0) return status;
    kd_state_copy(problem->x, s->x);
    s->start = kd_alloc((size_t)s->dae->n * sizeof *s->start);
    s->at = kd_alloc((size_t)s->dae->n * sizeof *s->at);
    if (!s->start || !s->at) return KD_ERR_MEMORY;
    kd_formulation_pack(s->dae, problem->x, s->start);
    return KD_OK;
}

static void solver_destroy(solver *s)
{
    kd_integrator_destroy(s->bdf);
    kd_integrator_destroy(s->ida);
    kd_integrator_destroy(s->radau);
    kd_dae_destroy(s->dae);
    kd_state_destroy(s->x);
    kd_free(s->start);
    kd_free(s->at);
}

static kd_status start(solver *s, double t)
{
    if (s->bdf) return kd_integrator_start(s->bdf, t, s->start);
    return s->ida ? kd_integrator_start(s->ida, t, s->start) : kd_integrator_start(s->radau, t, s->start);
}

static kd_status step(solver *s, double t_end)
{
    if (s->bdf) return kd_integrator_step(s->bdf, t_end);
    return s->ida ? kd_integrator_step(s->ida, t_end) : kd_integrator_step(s->radau, t_end);
}

static double time_of(const solver *s)
{
    if (s->bdf) return kd_integrator_time(s->bdf);
    return s->ida ? kd_integrator_time(s->ida) : kd_integrator_time(s->radau);
}

static const double *vector_of(const solver *s)
{
    if (s->bdf) return kd_integrator_x(s->bdf);
    return s->ida ? kd_integrator_x(s->ida) : kd_integrator_x(s->radau);
}

static kd_stats stats_of(const solver *s)
{
    if (s->bdf) return kd_integrator_stats(s->bdf);
    return s->ida ? kd_integrator_stats(s->ida) : kd_integrator_stats(s->radau);
}

static const char *message_of(const solver *s)
{
    if (s->bdf) return kd_integrator_message(s->bdf);
    return s->ida ? kd_integrator_message(s->ida) : kd_integrator_message(s->radau);
}

static double position_error(const double *p, const double *reference, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(p[i] - reference[i]) / fmax(ERROR_FLOOR, fabs(reference[i])));
    return worst;
}

static int instants_of(const corrector_problem *problem)
{
    return problem->instants > 0 ? problem->instants : 1;
}

// What the step that was just made passed, by dense output
static kd_status look(solver *s, const corrector_problem *problem)
{
    const int      count = instants_of(problem), np = kd_eom_dims(problem->eom).np;
    kd_integrator *made = s->bdf ? s->bdf : s->ida ? s->ida : s->radau;
    while ((s->kept || problem->reference) && s->reached < count) {
        const bool   last = s->reached + 1 == count;
        const double t = last ? problem->t_end : problem->t_end * (s->reached + 1) / count;
        if (time_of(s) < t) break;
        const kd_status status = last ? KD_OK : kd_integrator_dense(made, t, s->at);
        if (status < 0) return status;
        kd_formulation_unpack(s->dae, t, last ? vector_of(s) : s->at, s->x);
        const ptrdiff_t place = (ptrdiff_t)s->reached++ * np;
        if (s->kept) {
            memcpy(s->kept + place, s->x->p, (size_t)np * sizeof *s->kept);
            continue;
        }
        const double error = position_error(s->x->p, problem->reference + place, np);
        s->squares += error * error;
    }
    return KD_OK;
}

static kd_status integrate(solver *s, const corrector_problem *problem, double max_seconds)
{
    const double limit = bench_cpu_seconds() + max_seconds;
    kd_status    status = start(s, problem->x->t);
    for (long n = 1; status >= 0 && time_of(s) < problem->t_end && (problem->steps == 0 || n <= problem->steps); n++) {
        if ((n % CLOCK_STEPS == 0 || s->dae->n > LARGE) && bench_cpu_seconds() > limit) {
            kd_text(s->message, sizeof s->message, "given up at t = %.6g after %.3g s", time_of(s), max_seconds);
            return KD_ERR_TOO_MANY_STEPS;
        }
        status = step(s, problem->t_end);
        if (status >= 0) status = look(s, problem);
    }
    if (status < 0) kd_text(s->message, sizeof s->message, "%s", message_of(s));
    return status;
}

corrector_outcome corrector_run(const corrector_problem *problem, const corrector_method *method, double rtol,
                                double atol, double max_seconds, corrector_observer observe, void *context)
{
    corrector_outcome out = {.error = NAN, .seconds = NAN};
    solver            s;
    out.status = solver_create(&s, problem, method, rtol, atol);
    if (out.status >= 0) {
        s.dae->observe = observe;
        s.dae->observer = context;
        double begin = bench_cpu_seconds();
        out.status = integrate(&s, problem, max_seconds);
        out.seconds = bench_cpu_seconds() - begin;
        out.stats = stats_of(&s);
    }
    if (out.status >= 0 && problem->reference && s.reached > 0) out.error = sqrt(s.squares / s.reached);
    if (out.status < 0) kd_text(out.message, sizeof out.message, "%s", s.message);
    solver_destroy(&s);
    return out;
}

void corrector_again(const corrector_problem *problem, const corrector_method *method, double rtol, double atol,
                     double max_seconds, bool first, corrector_outcome *best)
{
    if (!first && best->status < 0) return;
    corrector_outcome now = corrector_run(problem, method, rtol, atol, max_seconds, NULL, NULL);
    if (first || now.seconds < best->seconds) *best = now;
}

// ---- starts -----------------------------------------------------------------------------------------------------------

bool corrector_advance(corrector_problem *problem, double t, double tol, char *message, size_t size)
{
    const corrector_method m = {.integrator = KD_RADAU, .form = KD_GGL};
    corrector_problem      before = *problem;
    solver                 s;
    before.t_end = t;
    before.reference = NULL;
    kd_status status = solver_create(&s, &before, &m, tol, tol);
    if (status >= 0) status = integrate(&s, &before, INFINITY);
    if (status < 0) kd_text(message, size, "no start at t = %g: %s", t, s.message);
    if (status >= 0) kd_formulation_unpack(s.dae, t, vector_of(&s), problem->x);
    solver_destroy(&s);
    return status >= 0 && make_consistent(problem, message, size);
}

// ---- references -----------------------------------------------------------------------------------------------------

bool corrector_make_reference(corrector_problem *problem, double tol, char *message, size_t size)
{
    kd_dims          D = kd_eom_dims(problem->eom);
    corrector_method m = {.integrator = KD_RADAU, .form = D.nv <= PSF_LIMIT ? KD_PSF : KD_GGL};
    solver           s;
    double          *kept = kd_alloc((size_t)D.np * (size_t)instants_of(problem) * sizeof *kept);
    kd_status        status = solver_create(&s, problem, &m, tol, tol);
    s.kept = kept;
    if (!kept) status = KD_ERR_MEMORY;
    if (status >= 0) status = integrate(&s, problem, INFINITY);
    if (status < 0) kd_text(message, size, "no reference: %s", s.message);
    if (status < 0)
        kd_free(kept);
    else
        problem->reference = kept;
    solver_destroy(&s);
    return status >= 0;
}
