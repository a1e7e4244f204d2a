// Point 9: the cross-check sees what both methods could step over, answers 3 whenever converged motions differ, and its
// sentence says what it saw.
#define _POSIX_C_SOURCE 200809L // popen
#include "trust/certified_run.h"

#include "case.h"
#include "cli/json.h"
#include "project/command.h"

#define KARDAN "'" KD_BINARY_DIR "/kardan' "
#define OUT KD_BINARY_DIR "/test-point09-cross"

// ---- by the library -------------------------------------------------------------------------------------------------

typedef struct crossed {
    kd_cross_check *check;
} crossed;

static kd_eval see(const kd_state *x, bool at_time, void *context)
{
    crossed *c = context;
    return at_time && kd_cross_check_see(c->check, x) < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
}

// A unit mass whose force is that of the run, and for the other methods, if `sees`, with a pulse: as a run that stepped
// over it
typedef struct pulse {
    double at, width, size;
    bool   sees;
} pulse;
static kd_eval unit(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = 1;
    return KD_EVAL_OK;
}
static kd_eval pulse_force(const kd_point *x, void *context, double *out)
{
    const pulse *p = context;
    const double s = (x->t - p->at) / p->width;
    out[0] = -x->p[0] + (p->sees ? p->size * exp(-s * s) : 0);
    return KD_EVAL_OK;
}

static void cross(pulse *p, bool is_missed, double start, kd_integrator_kind integrator, kd_cross_result *result)
{
    enum { TIMES = 100 };
    kd_eom_def def = kd_eom_def_default();
    kd_eom    *eom;
    kd_state  *x, *x0;
    crossed    c;
    double     times[TIMES];
    def.dims.np = def.dims.nv = 1;
    def.context = p;
    def.M = unit;
    def.f = pulse_force;
    for (int i = 0; i < TIMES; i++) times[i] = 10.0 * (i + 1) / TIMES;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x0), KD_OK);
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x0->p[0] = start;
    kd_state_copy(x0, x);
    kd_simulation_options opt = with_method(integrator, 1e-6);
    const kd_compare_side side = {.eom = eom, .start = x0};
    assert_true(kd_cross_check_create(&side, 1, &opt, times, TIMES, &c.check, NULL, 0) >= 0);
    opt.output = see;
    opt.context = &c;
    opt.times = times;
    opt.ntimes = TIMES;
    p->sees = !is_missed;
    assert_true(kd_simulate(eom, NULL, &opt, x, 10, NULL, NULL, 0) >= 0);
    p->sees = true;
    kd_cross_options o = kd_cross_options_default();
    assert_int_equal(kd_cross_check_run(c.check, &o, result), KD_OK);
    kd_cross_check_destroy(c.check);
    kd_state_destroy(x);
    kd_state_destroy(x0);
    kd_eom_destroy(eom);
}

// A run that slept through a pulse of 1/100 to 1/1000 of the time is called wrong, whatever the method, the sentence
// names channel and time; one that saw the pulse agrees.
static void missed_pulses_are_seen(void **state)
{
    (void)state;
    static const kd_integrator_kind METHOD[] = {KD_RADAU, KD_SDIRK, KD_DOP853, KD_DOPRI5};
    kd_cross_result                *r = malloc(sizeof *r);
    assert_non_null(r);
    srand(test_seed(95));
    for (int k = 0; k < 16; k++) {
        pulse p = {between(2, 8), of_order(0.01, 0.1), of_order(10, 1000), true};
        cross(&p, true, k % 2 ? 1 : 0, METHOD[k % 4], r);
        if (!r->gross || kd_cross_is_good(r)) print_error("pulse at %g, %g wide: %s\n", p.at, p.width, r->sentence);
        assert_true(r->gross && !kd_cross_is_good(r));
        assert_true(r->partner_h_max <= 10.0 / 500);
        assert_true(r->channel[0].t > p.at - 3 * p.width && strstr(r->sentence, r->channel[0].name));
        p.size = 0;
        cross(&p, false, k % 2 ? 1 : 0, METHOD[k % 4], r);
        if (r->gross || !kd_cross_is_good(r)) print_error("no pulse: %s\n", r->sentence);
        assert_true(!r->gross && kd_cross_is_good(r));
        assert_non_null(strstr(r->sentence, k % 2 ? "the same motion: " : "nothing moves, neither here nor"));
        assert_null(strstr(r->sentence, "the error is"));
    }
    free(r);
}

// ---- by the command -------------------------------------------------------------------------------------------------

// A smooth pulse on a mass at rest and a force in a band of a coordinate, at random places: the cross-check and the run
// are of one mind, status 0 and clean, or 3 and not clean.
static void answers_are_consistent(void **state)
{
    (void)state;
    srand(test_seed(96));
    for (int k = 0; k < 4; k++) {
        char law[200], line[1000];
        if (k % 2)
            snprintf(law, sizeof law, "100*exp(-((t - %.4f)/%.4f)^2)", between(3, 8), of_order(0.01, 0.05));
        else
            snprintf(law, sizeof law, "if(q > %.4f and q < %.4f, -30, 0)", 3.0 + k, 3.015 + k);
        FILE *file = fopen(OUT "/pulse.yaml", "w");
        assert_non_null(file);
        fprintf(
            file,
            "kardan: 1\ntitle: pulse\ngravity: [0, 0, 0]\nbodies:\n  block: {mass: 1, inertia: [1, 1, 1]}\njoints:\n"
            "  j: {type: prismatic, bodies: [ground, block], axis: [1, 0, 0], point: [0, 0, 0], v: %d}\n"
            "forces:\n  motor: {type: joint_spring, joint: j, law: \"%s\"}\n",
            k % 2 ? 0 : 1, law);
        fclose(file);
        snprintf(line, sizeof line,
                 KARDAN "simulate '" OUT "/pulse.yaml' --t-end 10 --json --cross-check --output '" OUT "'");
        command_result r = run_command(line);
        must_be_json(r.text);
        const bool clean = strstr(r.text, "\"clean\": true") != NULL, gross = strstr(r.text, "\"gross\": true") != NULL;
        if (r.status != (gross ? 3 : 0) || clean == gross) print_error("%s: %d\n%s\n", law, r.status, r.text);
        assert_int_equal(r.status, gross ? 3 : 0);
        assert_true(clean != gross);
    }
}

// --clean asks for a clean certificate with nothing left unsearched
static void clean_can_be_demanded(void **state)
{
    (void)state;
    command_result r =
        run_command(KARDAN "simulate '" KD_SOURCE_DIR "/models/pendulum.yaml' --t-end 1 --clean --output '" OUT "'");
    assert_int_equal(r.status, 0);
    must_contain(r.text, "verdict: clean\n");
    r = run_command(KARDAN "simulate andrews --t-end 0.01 --clean --output '" OUT "'");
    assert_int_equal(r.status, 3);
    must_contain(r.text, "clean, but not searched: inside of steps");
}

static int prepare(void **state)
{
    (void)state;
    return run_command("rm -rf '" OUT "' && mkdir '" OUT "'").status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missed_pulses_are_seen),
        cmocka_unit_test(answers_are_consistent),
        cmocka_unit_test(clean_can_be_demanded),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
