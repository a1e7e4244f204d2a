// Issue point 5: dry friction with `stick` and a Stribeck curve. It breaks loose with v = 0 and v' = 0, so that the
// velocity is below the errors of any integrator for a while; events must come at their times all the same, each once.
#include "models/gallery_run.h"
#include "seeded.h"
#include "stick_slip.h"

typedef struct method {
    kd_integrator_kind integrator;
    kd_formulation     formulation;
} method;

static const method METHODS[] = {
    {KD_RADAU, KD_PSF}, {KD_BDF, KD_GGL}, {KD_SDIRK, KD_PSF}, {KD_DOPRI5, KD_ODE}, {KD_DOP853, KD_ODE}};
enum { NMETHODS = sizeof METHODS / sizeof *METHODS };

static kd_eval note(const kd_event *event, const kd_state *before, const kd_state *after, void *context)
{
    changes *log = context;
    (void)before, (void)after;
    if (event->kind != KD_EVENT_STICK && event->kind != KD_EVENT_SLIDE) return KD_EVAL_OK;
    assert_true(log->n < MOST_CHANGES);
    const char *name = strstr(event->text, "grip");
    assert_non_null(name);
    log->t[log->n] = event->t;
    log->block[log->n] = name[4] - '0';
    log->direction[log->n++] = event->direction;
    return KD_EVAL_OK;
}

static kd_status kardan_changes(const row_of_blocks *r, const method *m, kd_coordinates c, double rtol, double t_end,
                                changes *out, char *message, size_t size)
{
    char                  text[4000];
    kd_model             *model = NULL;
    kd_system            *system = NULL;
    kd_state             *x = NULL;
    kd_system_options     options = kd_system_options_default();
    kd_simulation_options opt = kd_simulation_options_default();
    write_model(r, text, sizeof text);
    must(kd_model_read_text("blocks", text, strlen(text), NULL, 0, &model, message, size), "read", c, message);
    options.coordinates = c;
    must(kd_system_create(model, &options, &system, message, size), "system", c, message);
    must(kd_state_create(kd_system_eom(system), &x), "state", c, "");
    must(kd_system_start(system, x, message, size), "start", c, message);
    opt.formulation = m->formulation;
    opt.integrator = m->integrator;
    opt.rtol = opt.atol = rtol;
    opt.events.listener = note;
    opt.events.context = out;
    out->n = 0;
    kd_status status =
        kd_simulate(kd_system_eom(system), kd_system_inputs(system), &opt, x, t_end, NULL, message, size);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status;
}

static void describe(const row_of_blocks *r, const method *m, kd_coordinates c)
{
    print_error("%s, %s coordinates, %d %s%s, speed %.6g\n", kd_integrator_word(m->integrator),
                c == KD_CARTESIAN ? "cartesian" : "joint", r->n, r->turns ? "shafts" : "blocks",
                r->across ? " with forces across" : "", r->speed);
    for (int i = 0; i < r->n; i++)
        print_error("  m %.6g k %.6g coulomb %.6g breakaway %.6g stribeck %.6g\n", r->m[i], r->k[i], r->sliding[i],
                    r->before[i], r->stribeck[i]);
}

// Same changes, in the same order, at the same times
static bool agree(const changes *a, const changes *b, double tolerance)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->block[i] == b->block[i] && a->direction[i] == b->direction[i] && fabs(a->t[i] - b->t[i]) <= tolerance;
    return same;
}

static void assert_changes(const row_of_blocks *r, const method *m, kd_coordinates c, double rtol, double t_end,
                           const changes *wanted, double tolerance)
{
    char      message[1000] = "";
    changes   found;
    kd_status status = kardan_changes(r, m, c, rtol, t_end, &found, message, sizeof message);
    if (status >= 0 && agree(&found, wanted, tolerance)) return;
    describe(r, m, c);
    print_error("  %s %s\n", kd_status_sentence(status), message);
    for (int i = 0; i < wanted->n || i < found.n; i++)
        print_error("  %2d: block %d %+d at %.10f, wanted %d %+d at %.10f\n", i, found.block[i], found.direction[i],
                    i < found.n ? found.t[i] : NAN, wanted->block[i], wanted->direction[i],
                    i < wanted->n ? wanted->t[i] : NAN);
    fail();
}

// An end that is not close to a change; changes behind it are dropped
static double end_between(changes *w, double t_end)
{
    while (w->n > 0 && t_end - w->t[w->n - 1] < 1e-2) {
        w->n--;
        t_end = w->n > 0 ? 0.5 * (w->t[w->n] + w->t[w->n - 1]) : 0.5 * w->t[0];
    }
    return t_end;
}

// ---- the block of the issue -----------------------------------------------------------------------------------------

// Times by scipy's DOP853 (rtol 1e-13, atol 1e-15) from 1e-6 sqrt(m/k) behind each breakaway, v = k vb tau^2 / (2 m)
// there, to v = 0; breakaways in closed form, (Fs/k + x)/vb.
static const struct {
    double stribeck;
    int    n;
    double t[8];
} STORED[] = {
    {0.005,
     8,
     {0.08750000000000001, 0.34301130865476503, 0.414198606915908, 0.6697099155706183, 0.7408972138318065,
      0.9964085224864389, 1.0675958207476905, 1.3231071294023613}},
    {0.05,
     8,
     {0.08750000000000001, 0.34060347723601303, 0.4307817365994533, 0.6838852138354647, 0.7740634731989049,
      1.0271669504349161, 1.1173452097983565, 1.3704486870343673}},
    {1,
     8,
     {0.08750000000000001, 0.3881348675941849, 0.4019991750202124, 0.7026340426143939, 0.7164983500404271,
      1.0171332176346137, 1.0309975250606445, 1.3316323926548308}},
};

static row_of_blocks block_of_issue(double stribeck)
{
    return (row_of_blocks){
        .n = 1, .m = {1}, .k = {400}, .sliding = {2.3}, .before = {3.5}, .stribeck = {stribeck}, .speed = 0.1};
}

// The reference of these tests agrees with another program.
static void reference_is_right(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof STORED / sizeof *STORED; k++) {
        row_of_blocks r = block_of_issue(STORED[k].stribeck);
        changes       w;
        reference_changes(&r, STORED[k].t[7] + 0.01, 1e-5, &w);
        assert_int_equal(w.n, STORED[k].n);
        for (int i = 0; i < w.n; i++) {
            assert_int_equal(w.direction[i], i % 2 == 0);
            assert_close(w.t[i], STORED[k].t[i], 1e-9);
        }
    }
}

// All event times, with every method in both coordinate sets, at the default tolerance and at a tight one.
static void block(void **state)
{
    static const double stribeck[] = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
    (void)state;
    for (size_t k = 0; k < sizeof stribeck / sizeof *stribeck; k++) {
        row_of_blocks r = block_of_issue(stribeck[k]);
        changes       w;
        reference_changes(&r, 2, 1e-5, &w);
        const double t_end = end_between(&w, 2);
        for (int m = 0; m < NMETHODS; m++)
            for (int c = 0; c < 2; c++) {
                assert_changes(&r, &METHODS[m], BOTH[c], 1e-6, t_end, &w, 2e-4);
                if (k % 3 == 0) assert_changes(&r, &METHODS[m], BOTH[c], 1e-9, t_end, &w, 1e-6);
            }
    }
}

// ---- random ones ----------------------------------------------------------------------------------------------------

static row_of_blocks random_blocks(uint64_t *rng, int n, bool turns, bool across)
{
    row_of_blocks r = {.n = n, .turns = turns, .across = across, .speed = seeded_log(rng, 0.02, 0.5)};
    for (int i = 0; i < n; i++) {
        r.m[i] = seeded_log(rng, 0.1, 10);
        r.k[i] = r.m[i] * seeded_log(rng, 30, 3000);
        r.sliding[i] = r.m[i] * seeded_log(rng, 0.5, 5);
        r.before[i] = r.sliding[i] * seeded_between(rng, 1.02, 2);
        r.stribeck[i] = seeded_log(rng, 1e-3, 1);
    }
    return r;
}

// So long that blocks tear loose some times
static double time_of(const row_of_blocks *r)
{
    double t = 0;
    for (int i = 0; i < r->n; i++) t += r->before[i] / (r->k[0] * r->speed) + 4 * sqrt(r->m[i] / r->k[i]);
    return fmin(3 * t, 4);
}

// Every method, both coordinate sets
static void try_all(const row_of_blocks *r, double tolerance)
{
    const double longest = time_of(r);
    changes      w;
    reference_changes(r, longest, longest / 2e5, &w);
    const double t_end = end_between(&w, longest);
    for (int m = 0; m < NMETHODS; m++)
        for (int c = 0; c < 2; c++) assert_changes(r, &METHODS[m], BOTH[c], 1e-9, t_end, &w, tolerance);
}

// Masses, stiffnesses, speeds, ratios and Stribeck velocities of three decades
static void random_sliders(void **state)
{
    (void)state;
    uint64_t rng = 5;
    for (int k = 0; k < 6; k++) {
        row_of_blocks r = random_blocks(&rng, 1, false, false);
        try_all(&r, 1e-5);
    }
}

// Shafts in revolute joints
static void random_shafts(void **state)
{
    (void)state;
    uint64_t rng = 6;
    for (int k = 0; k < 3; k++) {
        row_of_blocks r = random_blocks(&rng, 1, true, false);
        try_all(&r, 1e-5);
    }
}

// Friction by the force across the joint, which is a multiplier
static void random_across(void **state)
{
    (void)state;
    uint64_t rng = 7;
    for (int k = 0; k < 3; k++) {
        row_of_blocks r = random_blocks(&rng, 1, false, true);
        try_all(&r, 1e-5);
    }
}

// Two in a row: while one begins to move, the other one sticks or slides.
static void random_pairs(void **state)
{
    (void)state;
    uint64_t rng = 8;
    for (int k = 0; k < 4; k++) {
        row_of_blocks r = random_blocks(&rng, 2, k % 2 == 1, false);
        try_all(&r, 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reference_is_right), cmocka_unit_test(block),
                                       cmocka_unit_test(random_sliders),     cmocka_unit_test(random_shafts),
                                       cmocka_unit_test(random_across),      cmocka_unit_test(random_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
