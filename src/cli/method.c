// method.c: a sensible method for everyone who does not want to think about it.
//
// psf with radau keeps the constraints on all levels to rounding, and was the fastest on chains of 10 to 70 bodies in
// Cartesian coordinates, too (70 bodies, 4 steps: psf 5.9 s, ggl 10 s). ida does not run on psf: there it is ggl. Where
// the constraints are redundant only the decomposition by singular values works.
#include "cli/method.h"

#include <string.h>

#include "cli/rank.h"
#include "core/text.h"

enum { LARGE = 200 }; // unknowns from which the Newton matrices of ggl and its relatives are sparse

static const char *const DECOMPOSITIONS[] = {"lu", "qr", "svd"};

const char *kd_method_decomposition(const kd_method *m)
{
    return DECOMPOSITIONS[m->options.formulation_options.constraints];
}

const char *kd_method_coordinates(const kd_subject *s)
{
    return s->coordinates == KD_CARTESIAN ? "cartesian" : "joint";
}

bool kd_method_read(kd_method *m)
{
    const char *formulations[KD_FORMULATION_COUNT], *integrators[KD_INTEGRATOR_COUNT];
    for (int i = 0; i < KD_FORMULATION_COUNT; i++) formulations[i] = kd_formulation_word((kd_formulation)i);
    for (int i = 0; i < KD_INTEGRATOR_COUNT; i++) integrators[i] = kd_integrator_word((kd_integrator)i);
    m->options = kd_simulation_options_default();
    if (m->formulation) {
        int i = kd_cli_choose("formulation", m->formulation, formulations, KD_FORMULATION_COUNT);
        if (i < 0) return false;
        m->options.formulation = (kd_formulation)i;
    }
    if (m->integrator) {
        int i = kd_cli_choose("integrator", m->integrator, integrators, KD_INTEGRATOR_COUNT);
        if (i < 0) return false;
        m->options.integrator = (kd_integrator)i;
    }
    if (m->decomposition) {
        int i = kd_cli_choose("decomposition", m->decomposition, DECOMPOSITIONS, 3);
        if (i < 0) return false;
        m->options.formulation_options.constraints = (kd_decomposition)i;
    }
    return true;
}

static void choose_tolerances(kd_method *m)
{
    const kd_simulation_options *o = &m->options;
    bool                         is_ida = o->integrator == KD_IDA;
    if (m->atol <= 0) m->atol = m->rtol > 0 ? m->rtol : is_ida ? o->ida.atol : o->radau.atol;
    if (m->rtol <= 0) m->rtol = is_ida ? o->ida.rtol : o->radau.rtol;
    m->options.rtol = m->rtol;
    m->options.atol = m->atol;
}

static bool is_redundant(const kd_subject *s)
{
    if (s->system) return s->info.nsingular > 0; // what is redundant everywhere is left out
    kd_dims  d = kd_eom_dims(s->eom);
    kd_rank *rank = NULL;
    if (d.nlambda + d.nmu == 0 || kd_rank_create(s->eom, kd_subject_inputs(s), &rank) < 0) return false;
    int found = kd_rank_at(rank, s->x);
    kd_rank_destroy(rank);
    return found >= 0 && found < d.nlambda + d.nmu;
}

static void tell_coordinates(kd_method *m, const kd_subject *s)
{
    if (!s->system) return;
    if (s->coordinates == KD_CARTESIAN)
        kd_text_append(m->reason, sizeof m->reason, "cartesian coordinates (%d bod%s), ", s->info.nbodies,
                       s->info.nbodies == 1 ? "y" : "ies");
    else if (s->info.nloops == 0)
        kd_text_append(m->reason, sizeof m->reason, "joint coordinates (tree without loops), ");
    else
        kd_text_append(m->reason, sizeof m->reason, "joint coordinates (tree with %d loop%s), ", s->info.nloops,
                       s->info.nloops == 1 ? "" : "s");
}

// Why the formulation is good here
static const char *praise(const kd_method *m, kd_dims d)
{
    if (d.nlambda + d.nmu + d.ns == 0) return "no constraints, so that all formulations are the same";
    switch (m->options.formulation) {
    case KD_PSF:
        return "keeps the constraints on all levels to rounding";
    case KD_GGL:
        return "keeps the constraints on position and velocity level";
    default:
        return kd_formulation_sentence(m->options.formulation);
    }
}

void kd_method_choose(kd_method *m, const kd_subject *s)
{
    kd_simulation_options *o = &m->options;
    kd_dims                d = kd_eom_dims(s->eom);
    bool                   is_large = d.nv + d.nlambda + d.nmu > LARGE;
    bool                   asked = m->formulation && m->integrator;
    if (!m->formulation && o->integrator == KD_IDA) o->formulation = KD_GGL;
    if (is_large && o->formulation != KD_PSF && o->formulation != KD_PSF1) o->formulation_options.sparse = true;
    choose_tolerances(m);
    m->reason[0] = '\0';
    tell_coordinates(m, s);
    kd_text_append(m->reason, sizeof m->reason, "%s with %s", kd_formulation_word(o->formulation),
                   kd_integrator_word(o->integrator));
    if (asked)
        kd_text_append(m->reason, sizeof m->reason, ", as asked for");
    else if (!m->formulation && o->integrator == KD_IDA)
        kd_text_append(m->reason, sizeof m->reason, ": a formulation that ida runs on");
    else
        kd_text_append(m->reason, sizeof m->reason, ": %s", praise(m, d));
    if (!m->decomposition && is_redundant(s)) {
        o->formulation_options.constraints = KD_DECOMPOSE_SVD;
        kd_text_append(m->reason, sizeof m->reason, "; svd, as constraints are redundant at the start");
    }
}
