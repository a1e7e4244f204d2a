// Options of formulations do what they say: each test fails where its option is ignored or its rule is switched off.
#include "eom/systems.h" // cmocka
#include <kardan/kardan.h>

#include "gallery.h"
#include "pendulum.h"

#define DEGREE (3.14159265358979323846 / 180)

// ---- state space: S2's rule of a new partition ----------------------------------------------------------------------

typedef struct turning {
    kd_simulation *simulation;
    long           selectors; // so far
    int            changes;
    double         angle[20]; // [degrees] of the pendulum where the coordinates had been changed
} turning;

static kd_eval note_changes(const kd_state *x, bool at_time, void *context)
{
    turning *t = context;
    (void)at_time;
    if (!t->simulation) return KD_EVAL_OK;
    long selectors = kd_simulation_stats(t->simulation).selectors;
    if (selectors > t->selectors && t->changes < 20) t->angle[t->changes++] = atan2(x->p[0], -x->p[1]) / DEGREE;
    t->selectors = selectors;
    return KD_EVAL_OK;
}

// A pendulum that turns evenly, (sin q, -cos q): its condition number is that of the two entries of G = 2 p', 1 up to
// 45 degrees and tan q behind. The coordinates are chosen anew where it has grown by a quarter, at atan(1.25) = 51.34
// degrees and every 90 degrees from there, not later.
static void new_partition_at_a_quarter_more(void **state)
{
    (void)state;
    kd_eom      *eom;
    kd_state    *x;
    turning      t = {0};
    const double step = 0.5 * DEGREE;
    assert_int_equal(kd_pendulum_create(0, (double[]){0, -1}, (double[]){1, 0}, false, &eom, &x), KD_OK);
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = KD_STATESPACE;
    opt.integrator = KD_SDIRK;
    opt.rtol = opt.atol = 1e-6;
    opt.integrator_options.h_max = step;
    opt.output = note_changes;
    opt.context = &t;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &t.simulation, NULL, 0), KD_OK);
    t.selectors = kd_simulation_stats(t.simulation).selectors;
    assert_int_equal(kd_simulation_run(t.simulation, 2 * 3.14159265358979), KD_OK);
    assert_int_equal(t.changes, 4);
    for (int i = 0; i < t.changes; i++) {
        double late = remainder(t.angle[i] - atan(1.25) / DEGREE, 90); // seen at the end of the step behind the change
        if (!(late > 0 && late < 2.1 * step / DEGREE)) fail_msg("change %d at %.2f degrees", i, t.angle[i]);
    }
    kd_simulation_destroy(t.simulation);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// At 45 degrees coordinates of the tangent have the speed of the bob, those of the partition one of its components.
static void tangent_is_not_partition(void **state)
{
    (void)state;
    const double root = sqrt(0.5), speed = 1.7;
    for (int k = 0; k < 2; k++) {
        kd_eom   *eom;
        kd_state *x;
        kd_dae   *dae;
        double    y[8], ydot[8];
        assert_int_equal(
            kd_pendulum_create(9.81, (double[]){root, -root}, (double[]){speed * root, speed * root}, false, &eom, &x),
            KD_OK);
        assert_int_equal(kd_initial_consistent(eom, NULL, NULL, x, NULL, 0), KD_OK);
        kd_formulation_options opt = kd_formulation_options_default();
        opt.parametrisation = k == 0 ? KD_PARAMETRISATION_PARTITION : KD_PARAMETRISATION_TANGENT;
        assert_int_equal(kd_formulation_create(eom, NULL, x, KD_STATESPACE, &opt, &dae, NULL, 0), KD_OK);
        assert_int_equal(dae->n, 2);
        kd_formulation_pack(dae, x, y);
        assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
        assert_true(fabs(fabs(ydot[0]) - (k == 0 ? speed * root : speed)) < 1e-12);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- psf ------------------------------------------------------------------------------------------------------------

// A fresh linearisation of psf at a start
static kd_dae *linearized_at(const kd_formulation_options *opt, const kd_eom *eom, kd_state *x)
{
    kd_dae *dae;
    double  y[20], ydot[20] = {0};
    assert_true(kd_initial_consistent(eom, NULL, NULL, x, NULL, 0) >= 0);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_PSF, opt, &dae, NULL, 0), KD_OK);
    kd_formulation_pack(dae, x, y);
    if (dae->methods->start) assert_int_equal(dae->methods->start(dae->impl, 0, y, ydot), KD_EVAL_OK);
    dae->h = 1e-4; // the invariant determines the velocity all over so short a step
    assert_true(dae->methods->linearize(dae->impl, 0, y, ydot, true) >= 0);
    assert_true(dae->methods->linearize(dae->impl, 0, y, ydot, false) >= 0); // without the caution of a new start
    return dae;
}

// At the start of a pendulum; the caller destroys all three
static kd_dae *linearized(const kd_formulation_options *opt, kd_eom **eom, kd_state **x)
{
    assert_int_equal(kd_pendulum_create(13.75, (double[]){0, -1}, (double[]){2.9, 0}, true, eom, x), KD_OK);
    return linearized_at(opt, *eom, *x);
}

// A known invariant takes the place of a differential equation inside of a step: one unknown of the Newton system less
// than the two of one degree of freedom.
static void invariants_act_inside_of_steps(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        kd_eom                *eom;
        kd_state              *x;
        kd_formulation_options opt = kd_formulation_options_default();
        opt.invariants = with;
        kd_dae *dae = linearized(&opt, &eom, &x);
        assert_int_equal(dae->nreduced, with ? 1 : 2);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// A free point on a line at an angle, with the invariant (across + along) v: across the line velocities are known
// already
typedef struct line {
    double direction[2], along, speed;
} line;

static kd_eval line_M(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    out[1] = out[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval line_f(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[1] = 0;
    return KD_EVAL_OK;
}

static kd_eval line_g(const kd_point *x, void *context, double *out)
{
    const line *l = context;
    out[0] = l->direction[0] * x->p[1] - l->direction[1] * x->p[0];
    return KD_EVAL_OK;
}

static kd_eval line_e(const kd_point *x, void *context, double *out)
{
    const line *l = context;
    out[0] = l->direction[0] * x->v[1] - l->direction[1] * x->v[0] +
             l->along * (l->direction[0] * x->v[0] + l->direction[1] * x->v[1] - l->speed);
    return KD_EVAL_OK;
}

// An invariant that hardly depends on the free velocities is not used inside of steps: its rounding would be divided by
// so little.
static void degenerate_invariants_are_left_out(void **state)
{
    (void)state;
    for (int k = 0; k < 24; k++) {
        const bool   usable = k % 2 == 0;
        const double angle = 0.3 + 0.5 * k, part = fmod(0.618 * k, 1);
        line         l = {{cos(angle), sin(angle)}, usable ? 1e-5 * pow(1e5, part) : 1e-8 * pow(30, part), 1.3};
        kd_eom_def   def = kd_eom_def_default();
        kd_formulation_options opt = kd_formulation_options_default();
        kd_eom                *eom;
        kd_state              *x;
        def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .ne = 1};
        def.context = &l;
        def.M = line_M;
        def.f = line_f;
        def.g = line_g;
        def.e = line_e;
        opt.invariants = true;
        assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
        assert_int_equal(kd_state_create(eom, &x), KD_OK);
        for (int i = 0; i < 2; i++) x->v[i] = l.speed * l.direction[i];
        kd_dae *dae = linearized_at(&opt, eom, x);
        if (dae->nreduced != (usable ? 1 : 2)) fail_msg("part %g: %d unknowns", l.along, dae->nreduced);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

static kd_state *end_of(const char *name, const kd_simulation_options *opt, kd_eom **eom, kd_stats *stats)
{
    const kd_example *example = kd_gallery_find(name);
    kd_state         *x;
    kd_inputs         inputs;
    assert_int_equal(example->create(eom, &x, &inputs), KD_OK);
    assert_int_equal(kd_simulate(*eom, &inputs, opt, x, example->t_end, stats, NULL, 0), KD_OK);
    return x;
}

// DECOMPD: a decomposition by QR rounds in other ways than LU does: not the same bits, but the same motion. Newton
// matrices of each kind: selectors, combined rows, patterns, coordinates of the state space and of the form ode.
static void differential_part_by_qr(void **state)
{
    static const kd_formulation forms[] = {KD_PSF, KD_PSF1, KD_GGL, KD_STATESPACE, KD_ODE};
    (void)state;
    for (size_t m = 0; m < sizeof forms / sizeof *forms; m++) {
        kd_state *x[2];
        kd_eom   *eom[2];
        for (int k = 0; k < 2; k++) {
            kd_stats              stats;
            kd_simulation_options opt = kd_simulation_options_default();
            opt.formulation = forms[m];
            opt.integrator = KD_RADAU;
            opt.rtol = opt.atol = 1e-7;
            opt.formulation_options.differential_qr = k == 1;
            x[k] = end_of("caraxis", &opt, &eom[k], &stats);
        }
        double apart = 0;
        for (int i = 0; i < kd_eom_dims(eom[0]).np; i++) apart = fmax(apart, fabs(x[0]->p[i] - x[1]->p[i]));
        if (!(apart > 0 && apart < 1e-7)) fail_msg("%s: %g apart", kd_formulation_word(forms[m]), apart);
        for (int k = 0; k < 2; k++) {
            kd_state_destroy(x[k]);
            kd_eom_destroy(eom[k]);
        }
    }
}

// Multipliers in the error norm are told to the integrator as such, and steps become others.
static void multipliers_are_controlled(void **state)
{
    (void)state;
    kd_stats stats[2];
    for (int with = 0; with < 2; with++) {
        kd_eom                *eom;
        kd_state              *x;
        kd_formulation_options formulation = kd_formulation_options_default();
        formulation.control_multipliers = with;
        kd_dae *dae = linearized(&formulation, &eom, &x);
        int     multipliers = 0;
        for (int i = 0; i < dae->n; i++) {
            if (dae->component[i] != KD_COMPONENT_MULTIPLIER) continue;
            multipliers++;
            assert_int_equal(dae->controlled[i], with);
            assert_int_equal(dae->index[i], with ? 2 : 0); // controlled, they act on v through h
        }
        assert_int_equal(multipliers, 1);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = KD_PSF;
        opt.integrator = KD_RADAU;
        opt.rtol = opt.atol = 1e-5;
        opt.formulation_options.control_multipliers = with;
        x = end_of("andrews", &opt, &eom, &stats[with]);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    if (stats[1].accepted == stats[0].accepted) fail_msg("%ld and %ld steps", stats[0].accepted, stats[1].accepted);
}

// The same in forms whose unknowns are p, v, ..., lambda: those of index 1 act through h unless they are controlled.
static void multipliers_of_other_forms_are_controlled(void **state)
{
    static const struct {
        kd_formulation form;
        int            index[2]; // of multipliers, without and with control
    } rows[] = {{KD_PSF1, {2, 2}},   {KD_GGL, {2, 2}},    {KD_ODASSL, {2, 2}},     {KD_INDEX3, {3, 3}},
                {KD_INDEX2, {2, 2}}, {KD_INDEX1, {2, 1}}, {KD_BAUMGARTE1, {2, 1}}, {KD_BAUMGARTE2, {2, 2}}};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof rows / sizeof *rows; k++) {
        const bool             with = k % 2 == 1;
        const kd_formulation   form = rows[k / 2].form;
        kd_formulation_options opt = kd_formulation_options_default();
        kd_eom                *eom;
        kd_state              *x;
        kd_dae                *dae;
        int                    multipliers = 0;
        opt.control_multipliers = with;
        assert_int_equal(kd_pendulum_create(13.75, (double[]){0, -1}, (double[]){2.9, 0}, false, &eom, &x), KD_OK);
        assert_true(kd_initial_consistent(eom, NULL, NULL, x, NULL, 0) >= 0);
        assert_int_equal(kd_formulation_create(eom, NULL, x, form, &opt, &dae, NULL, 0), KD_OK);
        for (int i = 0; i < dae->n; i++) {
            if (dae->component[i] == KD_COMPONENT_INTERNAL) assert_false(dae->controlled[i]);
            if (dae->component[i] != KD_COMPONENT_MULTIPLIER) continue;
            multipliers++;
            if (dae->controlled[i] != with || dae->index[i] != rows[k / 2].index[with])
                fail_msg("%s, control %d: %d, index %d", kd_formulation_word(form), with, dae->controlled[i],
                         dae->index[i]);
        }
        assert_int_equal(multipliers, 1);
        kd_dae_destroy(dae);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

// ---- structure of the mass matrix -----------------------------------------------------------------------------------

static int mass_calls;

// A bob of mass 2 on a line of length 1; the entries beside the diagonal are never to be looked at where the structure
// says so
static kd_eval bob_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    mass_calls++;
    M[0] = M[3] = 2;
    M[1] = M[2] = *(const double *)context;
    return KD_EVAL_OK;
}
static kd_eval bob_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    f[1] = -2 * 9.81;
    return KD_EVAL_OK;
}
static kd_eval bob_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0] + x->p[1] * x->p[1] - 1;
    return KD_EVAL_OK;
}

static kd_eom *make_bob(kd_mass_structure structure, double *beside, kd_state **x)
{
    kd_eom    *eom;
    kd_eom_def def = kd_eom_def_default();
    def.title = "bob";
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1};
    def.M = bob_M;
    def.f = bob_f;
    def.g = bob_g;
    def.context = beside;
    def.mass_structure = structure;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, x), KD_OK);
    (*x)->p[0] = 1;
    return eom;
}

// A diagonal matrix is taken as one, and a constant one is evaluated once per linear system at most, not at every step.
static void check_mass_structure(kd_formulation form, kd_integrator_kind integrator, kd_update update)
{
    const kd_mass_structure structures[] = {KD_MASS_FULL, KD_MASS_DIAGONAL, KD_MASS_FULL_CONSTANT,
                                            KD_MASS_DIAGONAL_CONSTANT};
    double                  end[4];
    int                     calls[4];
    long                    mass[4];
    for (int k = 0; k < 4; k++) {
        bool                  diagonal = k % 2 == 1;
        double                beside = diagonal ? 0.7 : 0;
        kd_state             *x;
        kd_stats              stats;
        kd_eom               *eom = make_bob(structures[k], &beside, &x);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = form;
        opt.integrator = integrator;
        opt.formulation_options.update = update;
        opt.rtol = opt.atol = 1e-8;
        mass_calls = 0;
        assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, &stats, NULL, 0), KD_OK);
        end[k] = x->p[0];
        calls[k] = mass_calls;
        mass[k] = stats.mass;
        if (fabs(end[k] - end[0]) > 1e-6) fail_msg("form %d, structure %d: %g instead of %g", form, k, end[k], end[0]);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
    if (!(10 * calls[2] < calls[0] && 10 * calls[3] < calls[1]))
        fail_msg("form %d, method %d: %d, %d, constant %d, %d", form, integrator, calls[0], calls[1], calls[2],
                 calls[3]);
    assert_true(mass[2] <= 2 && mass[3] <= 2);
    assert_true(mass[0] > 2 && mass[1] > 2);
}

static void mass_structure_is_used(void **state)
{
    (void)state;
    check_mass_structure(KD_PSF, KD_RADAU, KD_UPDATE_FULL);
    check_mass_structure(KD_PSF1, KD_RADAU, KD_UPDATE_FULL);
    check_mass_structure(KD_PSF1, KD_BDF, KD_UPDATE_FULL);
    check_mass_structure(KD_GGL, KD_RADAU, KD_UPDATE_FULL);
    check_mass_structure(KD_GGL, KD_BDF, KD_UPDATE_PARTITIONED);
    check_mass_structure(KD_ODASSL, KD_BDF, KD_UPDATE_FULL);
    check_mass_structure(KD_INDEX2, KD_RADAU, KD_UPDATE_FULL);
}

// What stands beside the diagonal does not reach the Newton matrix either: the same bits with and without it.
static void nothing_beside_the_diagonal(void **state)
{
    static const kd_formulation forms[] = {KD_PSF, KD_PSF1, KD_GGL, KD_INDEX1, KD_ODE, KD_STATESPACE};
    (void)state;
    for (size_t m = 0; m < sizeof forms / sizeof *forms; m++) {
        double end[2];
        for (int k = 0; k < 2; k++) {
            double                beside = k == 0 ? 0 : 0.7;
            kd_state             *x;
            kd_eom               *eom = make_bob(KD_MASS_DIAGONAL, &beside, &x);
            kd_simulation_options opt = kd_simulation_options_default();
            opt.formulation = forms[m];
            opt.integrator = KD_RADAU;
            assert_int_equal(kd_simulate(eom, NULL, &opt, x, 2, NULL, NULL, 0), KD_OK);
            end[k] = x->p[0];
            kd_state_destroy(x);
            kd_eom_destroy(eom);
        }
        if (end[0] != end[1])
            fail_msg("%s: %.17g, %.17g with entries beside", kd_formulation_word(forms[m]), end[0], end[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_partition_at_a_quarter_more),
        cmocka_unit_test(tangent_is_not_partition),
        cmocka_unit_test(invariants_act_inside_of_steps),
        cmocka_unit_test(differential_part_by_qr),
        cmocka_unit_test(multipliers_are_controlled),
        cmocka_unit_test(mass_structure_is_used),
        cmocka_unit_test(nothing_beside_the_diagonal),
        cmocka_unit_test(degenerate_invariants_are_left_out),
        cmocka_unit_test(multipliers_of_other_forms_are_controlled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
