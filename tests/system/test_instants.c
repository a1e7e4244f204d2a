// tests/system/test_instants.c: samples and events of models through the functions of kd_eom, the motion in between
// known exactly: what blocks compute, when they are due, what events change.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "system/system.h"

#define assert_near(a, b, tolerance)                                                                                   \
    do {                                                                                                               \
        if (fabs((a) - (b)) > (tolerance)) print_error("%s: %.17g instead of %.17g\n", #a, (double)(a), (double)(b));  \
        assert_true(fabs((a) - (b)) <= (tolerance));                                                                   \
    } while (0)

// ---- a model on the desk --------------------------------------------------------------------------------------------

typedef struct desk {
    kd_model     *model;
    kd_system    *system;
    const kd_eom *eom;
    kd_dims       n;
    kd_state     *x;
    kd_eom_data  *data;
    double        u[30], z[60], y[20];
} desk;

static const char head[] =
    "kardan: 1\n"
    "gravity: [0, 0, 0]\n"
    "bodies: {cart: {mass: 2, inertia: [1, 1, 1]}}\n"
    "joints: {s: {type: prismatic, bodies: [ground, cart], point: [0, 0, 0], axis: [1, 0, 0]}}\n";

static void finish_desk(desk *d, kd_coordinates coordinates)
{
    kd_system_options opt = kd_system_options_default();
    char              message[500] = "";
    opt.coordinates = coordinates;
    if (kd_system_create(d->model, &opt, &d->system, message, sizeof message) < 0) fail_msg("%s", message);
    d->eom = kd_system_eom(d->system);
    d->n = kd_eom_dims(d->eom);
    assert_int_equal(kd_state_create(d->eom, &d->x), KD_OK);
    assert_int_equal(kd_system_start(d->system, d->x, message, sizeof message), KD_OK);
    assert_int_equal(kd_eom_data_create(d->eom, &d->data), KD_OK);
}

static desk desk_of(const char *text, kd_coordinates coordinates)
{
    desk d = {0};
    char whole[4000], message[1000];
    snprintf(whole, sizeof whole, "%s%s", head, text);
    if (kd_model_read_text("desk", whole, strlen(whole), NULL, 0, &d.model, message, sizeof message) < 0)
        fail_msg("%s", message);
    finish_desk(&d, coordinates);
    return d;
}

static void desk_destroy(desk *d)
{
    kd_eom_data_destroy(d->data);
    kd_state_destroy(d->x);
    kd_system_destroy(d->system);
    kd_model_destroy(d->model);
}

// Acceleration stage at the state of the desk
static void stand(desk *d)
{
    const int        nu = d->n.nu;
    const kd_inputs *inputs = kd_system_inputs(d->system);
    assert_int_equal(inputs->eval(d->x->t, inputs->context, d->u, d->u + nu, d->u + 2 * nu), KD_EVAL_OK);
    kd_eom_at_time(d->data, d->x->t, d->u, d->u + nu, d->u + 2 * nu, d->x->z);
    kd_eom_at_position(d->data, d->x->p, d->x->s);
    kd_eom_at_velocity(d->data, d->x->v, d->x->r);
    kd_eom_at_acceleration(d->data, d->x->a, d->x->w, d->x->lambda, d->x->mu);
}

static void sample(desk *d)
{
    stand(d);
    assert_int_equal(kd_eom_discrete(d->data, d->z), KD_EVAL_OK);
    memcpy(d->x->z, d->z, (size_t)d->n.nz * sizeof(double));
}

static double next(desk *d)
{
    stand(d);
    return kd_eom_next_sample(d->data);
}

// Goes to the next sampling time, and samples there.
static double go(desk *d)
{
    d->x->t = next(d);
    sample(d);
    return d->x->t;
}

// Value of a place in z by its name
static double *place(const desk *d, const char *name)
{
    char buffer[200];
    for (int i = 0; i < d->n.nz; i++)
        if (strcmp(kd_eom_name(d->eom, KD_NAME_Z, i, buffer, sizeof buffer), name) == 0) return &d->x->z[i];
    fail_msg("no %s", name);
    return NULL;
}

// ---- times ----------------------------------------------------------------------------------------------------------

// Sample k is at offset + k period to the last bit after many of them; blocks with different periods meet, in one call.
static void clocks_do_not_drift(void **state)
{
    (void)state;
    desk d =
        desk_of("blocks:\n"
                "  slow: {type: expression, period: 0.3, states: {n: 0}, next: {n: n + 1}, output: t}\n"
                "  fast: {type: expression, period: 0.1, states: {n: 0}, next: {n: n + 1}, output: t}\n"
                "  late: {type: expression, period: 0.1, offset: 0.05, states: {n: 0}, next: {n: n + 1}, output: t}\n"
                "sensors: {all: block.slow.out + block.fast.out + block.late.out}\n",
                KD_JOINT);
    sample(&d);
    assert_true(*place(&d, "block.fast.n") == 1 && *place(&d, "block.slow.n") == 1 && *place(&d, "block.late.n") == 0);
    for (int k = 1; k <= 30000; k++) {
        assert_true(go(&d) == 0.05 + 0.1 * (k - 1)); // not a sum of 0.1 again and again
        const double t = go(&d);
        assert_true(t == 0.1 * k || (k % 3 == 0 && t == 0.3 * (k / 3)));
        assert_true(*place(&d, "block.fast.n") == k + 1);
        assert_true(*place(&d, "block.slow.n") == 1 + k / 3);
        assert_true(*place(&d, "block.late.n") == k);
    }
    desk_destroy(&d);
}

// Samples that are made too late, or a rounding error too early, are made once; those that were passed are left out.
static void late_and_early_samples(void **state)
{
    (void)state;
    desk d = desk_of("blocks: {a: {type: expression, period: 0.1, states: {n: 0}, next: {n: n + 1}, output: t}}\n"
                     "sensors: {n: block.a.out}\n",
                     KD_JOINT);
    sample(&d);
    sample(&d); // not due again
    assert_true(*place(&d, "block.a.n") == 1);
    d.x->t = 0.1 - 1e-8;
    sample(&d); // early
    assert_true(*place(&d, "block.a.n") == 2);
    d.x->t = 0.1;
    sample(&d); // it was this one
    assert_true(*place(&d, "block.a.n") == 2 && next(&d) == 0.2);
    d.x->t = 0.25;
    sample(&d); // late
    assert_true(*place(&d, "block.a.n") == 3 && next(&d) == 0.1 * 3);
    d.x->t = 1.04;
    sample(&d); // several passed
    assert_true(*place(&d, "block.a.n") == 4 && next(&d) == 0.1 * 11);
    d.x->t = 0.1;
    assert_int_equal(kd_system_start(d.system, d.x, NULL, 0), KD_OK); // a start at 0.1 begins with the sample there
    assert_true(*place(&d, "block.a.sample") == 1);
    sample(&d);
    assert_true(*place(&d, "block.a.n") == 1);
    desk_destroy(&d);
}

// ---- controllers ----------------------------------------------------------------------------------------------------

// PI control of m v' = -d v + u against the recursion of its samples, in both coordinate sets (numbers of the exact
// discrete solution).
static void sampled_pi(void **state)
{
    (void)state;
    static const struct {
        int    k;
        double v, z, u;
    } known[] = {{1, 0.197520703773338, 0.05, 6.61983436981329},
                 {10, 0.890131264226897, 0.224926581873044, 1.778656213677},
                 {100, 1.00016320972641, 0.250325833434467, 0.999997655926627},
                 {200, 1.00001291825372, 0.250025790083243, 0.999999814303248}};
    for (int c = 0; c < 2; c++) {
        desk         d = desk_of("blocks: {c: {type: pid, period: 0.05, input: 1 - joint.s.v, kp: 8, ki: 4}}\n"
                                         "forces: {f: {type: joint_spring, joint: s, damping: 1, law: block.c.out}}\n",
                         c == 0 ? KD_JOINT : KD_CARTESIAN);
        const double a = exp(-1.0 * 0.05 / 2.0);
        for (int k = 0, i = 0; k <= 200; k++) {
            const double z = *place(&d, "block.c.z"); // at the sample: before it
            d.x->t = 0.05 * k;
            sample(&d);
            const double u = *place(&d, "block.c.out");
            if (k == known[i].k) {
                assert_near(d.x->v[0], known[i].v, 2e-14);
                assert_near(z, known[i].z, 2e-14);
                assert_near(u, known[i].u, 2e-13);
                i++;
            }
            d.x->v[0] = a * d.x->v[0] + (1.0 - a) * u;
        }
        desk_destroy(&d);
    }
}

// PID with a measured rate, PID by expressions and PID in C give the same numbers, those of the exact recursion.
static kd_eval user_pid(double t, const double *input, double *state, void *context, double *output)
{
    (void)t;
    const double *gain = context;
    output[0] = gain[0] * input[0] + gain[1] * input[1] + gain[2] * state[0];
    state[0] += 0.1 * input[0];
    return KD_EVAL_OK;
}

static void pid_three_ways(void **state)
{
    (void)state;
    static const char *const text[] = {
        "blocks: {c: {type: pid, period: 0.1, input: 1 - joint.s.q, rate: -joint.s.v, kp: 4, kd: 3, ki: 1}}\n",
        "blocks: {c: {type: expression, period: 0.1, input: {e: 1 - joint.s.q, w: joint.s.v}, states: {z: 0},\n"
        "             output: 4*e - 3*w + z, next: {z: z + 0.1*e}}}\n",
        ""};
    static double gain[] = {4, 3, 1};
    for (int k = 0; k < 3; k++) {
        desk d = {0};
        if (k < 2) {
            d = desk_of(text[k], KD_JOINT);
        } else {
            assert_int_equal(kd_model_create(&d.model), KD_OK);
            kd_body_def  body = kd_body_def_default();
            kd_joint_def joint = kd_joint_def_default(KD_PRISMATIC);
            kd_block_def block = kd_block_def_default(KD_BLOCK_USER);
            body.mass = 2;
            for (int i = 0; i < 6; i++) body.inertia[i] = i < 3;
            joint.to.body = "cart";
            block.period = 0.1;
            block.ninputs = 2, block.nstates = 1, block.noutputs = 1;
            block.input[0] = "1 - joint.s.q", block.input[1] = "-joint.s.v";
            block.sample = user_pid, block.context = gain;
            assert_int_equal(kd_model_add_body(d.model, "cart", &body), KD_OK);
            assert_int_equal(kd_model_add_joint(d.model, "s", &joint), KD_OK);
            assert_int_equal(kd_model_add_block(d.model, "c", &block), KD_OK);
            assert_int_equal(kd_model_finish(d.model), KD_OK);
            finish_desk(&d, KD_JOINT);
            assert_int_equal(kd_model_write(d.model, "never.yaml", NULL, 0), KD_ERR_UNSUPPORTED);
        }
        for (int i = 0; i < 100; i++) { // m = 1
            d.x->t = 0.1 * i;
            sample(&d);
            const double u = *place(&d, "block.c.out");
            d.x->p[0] += 0.1 * d.x->v[0] + 0.005 * u;
            d.x->v[0] += 0.1 * u;
        }
        assert_near(d.x->p[0], 1.01440488668887, 2e-14);
        assert_near(d.x->v[0], -0.00467834026814, 2e-14);
        assert_near(*place(&d, "block.c.z"), 0.04508153611845, 2e-14);
        desk_destroy(&d);
    }
}

// Rates by differences: none at the first sample, then e' exactly for a ramp, through the lag behind it.
static void rate_by_differences(void **state)
{
    (void)state;
    desk   d = desk_of("blocks:\n"
                         "  sharp: {type: pid, period: 0.1, input: 5 + 2*t, kd: 1}\n"
                         "  soft:  {type: pid, period: 0.1, input: 5 + 2*t, kd: 1, filter: 0.4}\n"
                         "sensors: {both: block.sharp.out + block.soft.out}\n",
                       KD_JOINT);
    double soft = 0.0;
    for (int k = 0; k < 20; k++) {
        d.x->t = 0.1 * k;
        sample(&d);
        if (k > 0) soft = (0.4 * soft + 0.2) / 0.5; // 0.4 d' + d = 2, implicit Euler
        assert_near(*place(&d, "block.sharp.out"), k == 0 ? 0.0 : 2.0, 1e-13);
        assert_near(*place(&d, "block.soft.out"), soft, 1e-13);
    }
    assert_true(soft > 1.9);
    desk_destroy(&d);
}

// At its limit the sum stops, and comes back at once when the error changes its sign.
static void sum_stops_at_limits(void **state)
{
    (void)state;
    desk   d = desk_of("blocks: {c: {type: pid, period: 0.1, input: 1 - 2*step(t - 0.95), ki: 1, kp: 1, lower: -1.5, "
                         "upper: 1.2}}\n"
                         "sensors: {u: block.c.out}\n",
                       KD_JOINT);
    double z = 0.0;
    for (int k = 0; k < 40; k++) {
        const double e = k < 10 ? 1.0 : -1.0, free = e + z;
        d.x->t = 0.1 * k;
        sample(&d);
        assert_near(*place(&d, "block.c.out"), fmin(1.2, fmax(-1.5, free)), 1e-13);
        if (!(free > 1.2 && e > 0.0) && !(free < -1.5 && e < 0.0)) z += 0.1 * e;
        assert_near(*place(&d, "block.c.z"), z, 1e-13);
    }
    assert_near(z, -0.6, 1e-12); // it went one step beyond
    desk_destroy(&d);
}

// ---- linear blocks --------------------------------------------------------------------------------------------------

// The trapezoidal rule for 1/(T s + 1) and a second-order system by their own recursions; the same systems as
// polynomials of z and as matrices.
static void linear_blocks(void **state)
{
    (void)state;
    desk d = desk_of(
        "blocks:\n"
        "  lag:  {type: transfer, period: 0.1, input: cos(3*t), numerator: [1], denominator: [0.2, 1], continuous: "
        "true}\n"
        "  lagz: {type: transfer, period: 0.1, input: cos(3*t), numerator: [0.2, 0.2], denominator: [1, -0.6]}\n"
        "  lags: {type: state_space, period: 0.1, input: cos(3*t), A: 0.6, B: 1, C: 0.32, D: 0.2}\n"
        "  two:  {type: transfer, period: 0.1, input: cos(3*t), numerator: [1, 2, 3], denominator: [1, 0.6, 4],\n"
        "         continuous: true}\n"
        "  gain: {type: transfer, period: 0.1, input: cos(3*t), numerator: [3], denominator: [2]}\n"
        "sensors: {s: block.lag.out + block.lagz.out + block.lags.out + block.two.out + block.gain.out}\n",
        KD_JOINT);
    double x = 0.0, u0 = 0.0, y2[3] = {0}, u2[3] = {0};
    for (int k = 0; k < 60; k++) {
        const double u = cos(0.3 * k);
        d.x->t = 0.1 * k;
        sample(&d);
        // 0.2 (y - y0)/0.1 + (y + y0)/2 = (u + u0)/2
        x = (u + u0 + (4.0 - 1.0) * x) / (4.0 + 1.0);
        u0 = u;
        assert_near(*place(&d, "block.lag.out"), x, 1e-13);
        assert_near(*place(&d, "block.lagz.out"), x, 1e-13);
        assert_near(*place(&d, "block.lags.out"), x, 1e-13);
        assert_near(*place(&d, "block.gain.out"), 1.5 * u, 1e-14);
        // second order: (D^2 + 0.6 D M + 4 M^2) y = (D^2 + 2 D M + 3 M^2) u with D = 20 (z - 1), M = z + 1
        const double s = 20.0;
        u2[2] = u2[1], u2[1] = u2[0], u2[0] = u;
        y2[2] = y2[1], y2[1] = y2[0];
        const double right = (s * s + 2 * s + 3) * u2[0] + (-2 * s * s + 6) * u2[1] + (s * s - 2 * s + 3) * u2[2];
        y2[0] = (right - (-2 * s * s + 8) * y2[1] - (s * s - 0.6 * s + 4) * y2[2]) / (s * s + 0.6 * s + 4);
        assert_near(*place(&d, "block.two.out"), y2[0], 1e-12);
    }
    desk_destroy(&d);
}

// Two inputs, two outputs: products of matrices, outputs from the states of before.
static void state_space_of_two(void **state)
{
    (void)state;
    desk d = desk_of("blocks: {c: {type: state_space, period: 0.1, input: {a: t, b: 2*t + 1}, A: [[1, 2], [3, 4]],\n"
                     "             B: [[5, 6], [7, 8]], C: [[1, -1], [2, 1], [0, 1]], D: [[1, 0], [0, 1], [1, 1]],\n"
                     "             start: [1, -1], start_output: [7, 8, 9]}}\n"
                     "sensors: {y: block.c.out1 + block.c.out2 + block.c.out3 + block.c.z1 + block.c.z2}\n",
                     KD_JOINT);
    assert_true(*place(&d, "block.c.out1") == 7 && *place(&d, "block.c.out3") == 9);
    sample(&d); // u = (0, 1), z = (1, -1)
    assert_true(*place(&d, "block.c.out1") == 2 && *place(&d, "block.c.out2") == 2 && *place(&d, "block.c.out3") == 0);
    assert_true(*place(&d, "block.c.z1") == 5 && *place(&d, "block.c.z2") == 7);
    stand(&d);
    assert_int_equal(kd_eom_eval(d.data, KD_Y, d.y), KD_EVAL_OK);
    assert_true(d.y[0] == 2 + 2 + 0 + 5 + 7);
    desk_destroy(&d);
}

// ---- what is read ---------------------------------------------------------------------------------------------------

// A block sees the outputs of those before it at once, of those behind it from the sample before; through sensors and
// controllers with states, too. Accelerations and forces are those of before.
static void order_of_blocks(void **state)
{
    (void)state;
    desk d =
        desk_of("blocks:\n"
                "  first:  {type: expression, period: 0.1, input: block.last.out, output: u}\n"
                "  middle: {type: expression, period: 0.1, states: {n: 0}, next: {n: n + 1}, output: n + 1}\n"
                "  last:   {type: expression, period: 0.1, output: [sensor.twice + state.c.out]}\n"
                "  force:  {type: expression, period: 0.1, input: [joint.s.a, force.f.force], output: [u1, u2]}\n"
                "states: {c: {type: pi, input: 3*block.middle.out, kp: 10, ki: 0}}\n"
                "forces: {f: {type: joint_spring, joint: s, law: 4*block.middle.out}}\n"
                "sensors: {twice: 2*block.middle.out, seen: block.first.out, a: block.force.out1 - block.force.out2}\n",
                KD_JOINT);
    for (int k = 0; k < 5; k++) {
        d.x->t = 0.1 * k;
        d.x->a[0] = 2.0 * k; // m a = 4 out of before
        sample(&d);
        assert_near(*place(&d, "block.middle.out"), k + 1, 0);
        assert_near(*place(&d, "block.last.out"), 32 * (k + 1), 0);
        assert_near(*place(&d, "block.first.out"), 32 * k, 0);
        assert_near(*place(&d, "block.force.out1"), 2 * k, 1e-14);
        assert_near(*place(&d, "block.force.out2"), 4 * k, 1e-14);
        stand(&d); // all is as if nobody had sampled in between
        assert_int_equal(kd_eom_eval(d.data, KD_Y, d.y), KD_EVAL_OK);
        assert_near(d.y[0], 2 * (k + 1), 0);
    }
    desk_destroy(&d);
}

// Each block shows its own variables only, so that the work of a sample grows with the number of blocks, not with its
// square; in a chain against the order of variables all see the new values of the one before.
static void blocks_show_their_own(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    char text[2000] = "sensors: {s: block.b11.out + block.b3.out}\nblocks:\n"; // slots of the last come first
    for (int i = 0; i < COUNT; i++) {
        const size_t n = strlen(text);
        if (i == 0)
            snprintf(text + n, sizeof text - n, "  b0: {type: expression, period: 0.1, output: block.b11.out + 1}\n");
        else
            snprintf(text + n, sizeof text - n,
                     "  b%d: {type: expression, period: 0.1, states: {n: 0}, next: {n: n + 1}, output: block.b%d.out + "
                     "1}\n",
                     i, i - 1);
    }
    desk             d = desk_of(text, KD_JOINT);
    const kd_system *s = d.system;
    int              shown = 0;
    for (int i = 0; i < COUNT; i++) {
        const int first = s->block[i].z, end = first + 2 + (i > 0);
        for (int k = s->z_slot_at[first]; k < s->z_slot_at[end]; k++, shown++) {
            const kd_slot at = s->slot[s->z_slot[k]];
            assert_int_equal(at.kind, KD_SLOT_DISCRETE);
            assert_in_range(at.index, first, end - 1);
        }
    }
    assert_int_equal(shown, s->nz_slots);
    assert_int_equal(shown, COUNT + COUNT - 1); // outputs, and states of all but the first
    for (int k = 1; k <= 3; k++) {
        sample(&d);
        assert_near(*place(&d, "block.b11.out"), COUNT * k, 0);
        assert_near(*place(&d, "block.b0.out"), COUNT * (k - 1) + 1, 0);
        d.x->t += 0.1;
    }
    desk_destroy(&d);
}

// A sample does not change what the equations answer at its point.
static void sampling_leaves_the_point(void **state)
{
    (void)state;
    desk   d = desk_of("blocks: {c: {type: pid, period: 0.1, input: 1 - joint.s.v, kp: 8, ki: 4}}\n"
                         "forces: {f: {type: joint_spring, joint: s, damping: 1, law: block.c.out}}\n"
                         "sensors: {u: block.c.out}\n",
                       KD_JOINT);
    double before[2], after[2];
    stand(&d);
    assert_int_equal(kd_eom_eval(d.data, KD_RESIDUAL, before), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(d.data, KD_Y, before + 1), KD_EVAL_OK);
    assert_int_equal(kd_eom_discrete(d.data, d.z), KD_EVAL_OK);
    assert_true(d.z[0] == 8);
    assert_int_equal(kd_eom_eval(d.data, KD_RESIDUAL, after), KD_EVAL_OK);
    assert_int_equal(kd_eom_eval(d.data, KD_Y, after + 1), KD_EVAL_OK);
    assert_memory_equal(before, after, sizeof before);
    desk_destroy(&d);
}

// Derivatives with outputs of blocks and variables in laws are those of differences: z is constant.
static void derivatives_hold_z(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        desk d =
            desk_of("blocks: {c: {type: pid, period: 0.1, input: 1 - joint.s.v, kp: 8, ki: 4, start_output: 0.7}}\n"
                    "variables: {stiff: 3}\n"
                    "events: {e: {when: joint.s.q - 1, set: {variable.stiff: 4}}}\n"
                    "states: {lag: {type: lag, input: block.c.out*joint.s.v, time_constant: 0.3, start: 0.2}}\n"
                    "forces: {f: {type: joint_spring, joint: s, damping: 1, law: block.c.out*sin(q) - "
                    "variable.stiff*q^2 + state.lag*block.c.z}}\n"
                    "sensors: {u: block.c.out*joint.s.q}\n",
                    c == 0 ? KD_JOINT : KD_CARTESIAN);
        char report[2000] = "";
        for (int i = 0; i < d.n.nv; i++) d.x->v[i] = 0.0;
        *place(&d, "block.c.z") = 0.4;
        assert_int_equal(kd_eom_check(d.eom, kd_system_inputs(d.system), d.x, NULL, report, sizeof report), KD_OK);
        assert_string_equal(report, "");
        desk_destroy(&d);
    }
}

// ---- events ---------------------------------------------------------------------------------------------------------

typedef struct after_event {
    double  p[20], v[20], r[10], z[20];
    kd_jump jump;
} after_event;

static void trigger(desk *d, const signed char *crossed, after_event *to)
{
    *to = (after_event){0};
    memcpy(to->p, d->x->p, (size_t)d->n.np * sizeof(double));
    memcpy(to->v, d->x->v, (size_t)d->n.nv * sizeof(double));
    memcpy(to->r, d->x->r, (size_t)d->n.nr * sizeof(double));
    memcpy(to->z, d->x->z, (size_t)d->n.nz * sizeof(double));
    to->jump.p = to->p, to->jump.v = to->v, to->jump.r = to->r, to->jump.z = to->z;
    stand(d);
    assert_int_equal(kd_eom_event(d->data, crossed, &to->jump), KD_EVAL_OK);
}

static const char events[] = "variables: {a: 1, b: 2}\n"
                             "states: {x: {type: ode, input: 0, start: 5}}\n"
                             "events:\n"
                             "  swap:  {when: joint.s.q - 1, set: {variable.a: variable.b, variable.b: variable.a}}\n"
                             "  turn:  {when: joint.s.v + state.x, crossing: falling, set: {joint.s.v: -0.5*joint.s.v, "
                             "state.x: joint.s.a}, message: it "
                             "turns}\n"
                             "  end:   {when: energy.kinetic - sensor.limit, crossing: rising, stop: true}\n"
                             "sensors: {limit: variable.a + 2*variable.b}\n";

// Switching functions are the expressions; the new values see the state of before, directions are obeyed, and the
// result says what has moved.
static void events_set_and_stop(void **state)
{
    (void)state;
    desk        d = desk_of(events, KD_JOINT);
    after_event to;
    double      value[3];
    char        name[60];
    d.x->p[0] = 1.5, d.x->v[0] = 3.0, d.x->a[0] = 7.0;
    stand(&d);
    assert_int_equal(d.n.nswitch, 3);
    assert_int_equal(kd_eom_eval(d.data, KD_SWITCH, value), KD_EVAL_OK);
    assert_near(value[0], 0.5, 1e-15);
    assert_near(value[1], 8.0, 1e-15);
    assert_near(value[2], 9.0 - 5.0, 1e-14); // m v^2/2
    assert_string_equal(kd_eom_name(d.eom, KD_NAME_SWITCH, 1, name, sizeof name), "event 'turn'");
    trigger(&d, (const signed char[]){1, 0, 0}, &to);
    assert_true(to.z[0] == 2 && to.z[1] == 1 && !to.jump.moved && !to.jump.stop);
    assert_string_equal(to.jump.text, "swap");
    trigger(&d, (const signed char[]){0, 1, -1}, &to); // the other directions
    assert_true(to.v[0] == 3 && to.r[0] == 5 && !to.jump.moved && !to.jump.stop && to.jump.text[0] == '\0');
    trigger(&d, (const signed char[]){0, -1, 0}, &to);
    assert_true(to.v[0] == -1.5 && to.r[0] == 7 && to.z[0] == 1 && to.jump.moved);
    assert_string_equal(to.jump.text, "it turns");
    trigger(&d, (const signed char[]){-1, -1, 1}, &to);
    assert_true(to.v[0] == -1.5 && to.z[0] == 2 && to.z[1] == 1 && to.jump.moved && to.jump.stop);
    assert_string_equal(to.jump.text, "swap; it turns; end");
    desk_destroy(&d);
}

// A velocity that is no coordinate cannot be set: in Cartesian coordinates, or of a joint that closes a loop.
static void velocities_that_cannot_be_set(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\n"
        "bodies: {a: {mass: 1, inertia: [1, 1, 1]}, b: {mass: 1, inertia: [1, 1, 1], position: [1, 0, "
        "0]}, c: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 1]}}\n"
        "joints:\n"
        "  one: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0]}\n"
        "  two: {type: revolute, bodies: [a, b], point: [0.5, 0, 0.8], axis: [0, 1, 0]}\n"
        "  three: {type: revolute, bodies: [ground, b], point: [1, 0, 0], axis: [0, 1, 0], cut: yes}\n"
        "events: {e: {when: joint.one.q - 1, set: {joint.three.v: 0}}}\n";
    kd_model         *m = NULL;
    kd_system        *s = NULL;
    kd_system_options opt = kd_system_options_default();
    char              message[500];
    assert_int_equal(kd_model_read_text("loop", text, strlen(text), NULL, 0, &m, message, sizeof message), KD_OK);
    assert_int_equal(kd_system_create(m, &opt, &s, message, sizeof message), KD_ERR_MODEL);
    assert_string_equal(message,
                        "event 'e': 'joint.three.v' cannot be set: the joint closes a loop, and its velocity is no "
                        "coordinate of the motion; take that of another joint of the loop");
    opt.coordinates = KD_CARTESIAN;
    assert_int_equal(kd_system_create(m, &opt, &s, message, sizeof message), KD_ERR_MODEL);
    assert_string_equal(message,
                        "event 'e': 'joint.three.v' cannot be set: velocities of joints are no coordinates of the "
                        "motion in Cartesian coordinates; take joint coordinates");
    kd_model_destroy(m);
}

// An output that is no number, and a setting that is none, are told by their names.
static void numbers_that_are_none(void **state)
{
    (void)state;
    desk d = desk_of("blocks: {a: {type: expression, period: 0.1, input: t, output: [u, sqrt(u - 0.5)]}}\n"
                     "variables: {one: 1, two: 2}\n"
                     "events: {e: {when: t - 1, set: {variable.two: 1/(t - t)}}}\n",
                     KD_JOINT);
    stand(&d);
    assert_int_equal(kd_eom_discrete(d.data, d.z), KD_EVAL_RETRY);
    assert_string_equal(kd_eom_data_message(d.data), "discrete update returned NaN for 'block.a.out2' at t = 0");
    assert_int_equal(kd_eom_data_fault(d.data).status, KD_ERR_NOT_FINITE);
    memcpy(d.z, d.x->z, (size_t)d.n.nz * sizeof(double));
    kd_jump jump = {.p = d.x->p, .v = d.x->v, .r = d.x->r, .z = d.z};
    stand(&d);
    assert_int_equal(kd_eom_event(d.data, (const signed char[]){1}, &jump), KD_EVAL_RETRY);
    assert_string_equal(kd_eom_data_message(d.data), "event returned infinity for 'variable.two' at t = 0");
    desk_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_do_not_drift),
        cmocka_unit_test(late_and_early_samples),
        cmocka_unit_test(sampled_pi),
        cmocka_unit_test(pid_three_ways),
        cmocka_unit_test(rate_by_differences),
        cmocka_unit_test(sum_stops_at_limits),
        cmocka_unit_test(linear_blocks),
        cmocka_unit_test(state_space_of_two),
        cmocka_unit_test(order_of_blocks),
        cmocka_unit_test(blocks_show_their_own),
        cmocka_unit_test(sampling_leaves_the_point),
        cmocka_unit_test(derivatives_hold_z),
        cmocka_unit_test(events_set_and_stop),
        cmocka_unit_test(velocities_that_cannot_be_set),
        cmocka_unit_test(numbers_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
