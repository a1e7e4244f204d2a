// corrector_pictures.c: S0 figures 3 to 5, the structure of the carriage's Newton matrix and its column groups, and
// figure 7, the instants at which the matrix of the chain of 16 pendulums is evaluated or updated.
#include "core/memory.h"
#include "core/text.h"
#include "corrector.h"
#include "report/spy.h"
#include "report/structure.h"
#include <math.h>
#include <stdio.h>

enum { MAX_INSTANTS = 10000, CURVE = 401 };

static void report(const char *what, const char *message)
{
    fprintf(stderr, "figure of %s: %s\n", what, message);
}

static void structure_of_carriage(const bench *b)
{
    corrector_problem      problem;
    kd_dae                *dae = NULL;
    kd_structure          *structure = NULL;
    kd_formulation_options o = kd_formulation_options_default();
    char                   message[BENCH_PATH + 200] = "the folder for plots cannot be made";
    const char            *folder = bench_plots(b);
    o.derivatives = KD_DERIVATIVES_GROUPED;
    bool ok = corrector_open_model(&problem, "carriage", NULL, KD_JOINT, message, sizeof message) && folder;
    ok = ok &&
         kd_formulation_create(problem.eom, &problem.inputs, problem.x, KD_GGL, &o, &dae, message, sizeof message) >= 0;
    ok = ok && kd_formulation_structure(dae, &structure) >= 0;
    ok = ok && kd_structure_save(structure, kd_model_title(problem.model), folder, "corrector-carriage", message,
                                 sizeof message) >= 0;
    if (!ok) report("the carriage", message);
    kd_structure_destroy(structure);
    kd_dae_destroy(dae);
    corrector_close(&problem);
}

static void see(const kd_attempt_report *r, void *context)
{
    kd_instants_see(context, r);
}

static void instants_of(const bench *b, const corrector_problem *problem, const corrector_method *method,
                        const double *t, const double *y, const char *folder)
{
    char         message[BENCH_PATH + 200] = "no memory", path[BENCH_PATH + 100], title[160];
    kd_instants *instants;
    if (kd_instants_create(MAX_INSTANTS, &instants) < 0) {
        report(method->name, message);
        return;
    }
    corrector_outcome o = corrector_run(problem, method, 1e-4, 1e-6, INFINITY, see, instants);
    bench_say(b, "%s: %ld evaluations, %ld updates\n", method->name, o.stats.jacobians, o.stats.updates);
    kd_text(path, sizeof path, "%s/corrector-chain16-%s.svg", folder,
            method->update == KD_UPDATE_FULL ? "standard" : "extended");
    kd_text(title, sizeof title, "Chain of 16 pendulums, %s", method->name);
    if (kd_instants_save(instants, title, "x of the suspension", t, y, CURVE, 1, path, message, sizeof message) < 0)
        report(method->name, message);
    kd_instants_destroy(instants);
}

static void instants_of_chain(const bench *b)
{
    static const corrector_method methods[] = {
        {.name = "DASSL's rules",
         .integrator = KD_BDF,
         .form = KD_GGL,
         .derivatives = KD_DERIVATIVES_DENSE,
         .explicit_form = true,
         .dassl_rules = true},
        {.name = "extended partitioned updates",
         .integrator = KD_BDF,
         .form = KD_GGL,
         .derivatives = KD_DERIVATIVES_DENSE,
         .explicit_form = true,
         .update = KD_UPDATE_EXTENDED},
    };
    corrector_problem problem;
    char              message[300] = "";
    double            t[CURVE], x[CURVE];
    const char       *folder = bench_plots(b);
    if (!folder || !corrector_open_example(&problem, "pendulum-chain16", message, sizeof message)) {
        report("the chain", folder ? message : "the folder for plots cannot be made");
        return;
    }
    problem.t_end = 200;
    for (int i = 0; i < CURVE; i++) {
        t[i] = problem.t_end * i / (CURVE - 1);
        x[i] = 2 + 0.3 * sin(0.05 * t[i]);
    }
    bench_say(b, "\nS0 figure 7, chain of 16 pendulums\n");
    for (int k = 0; k < 2; k++) instants_of(b, &problem, &methods[k], t, x, folder);
    corrector_close(&problem);
}

void corrector_pictures(bench *b)
{
    if (!bench_wants(b, "figures")) return;
    structure_of_carriage(b);
    instants_of_chain(b);
}
