// One-sided rows and dry friction at instants: impacts, rest, release, stick and slip, many rows at once.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/failing_allocator.h"
#include "simulation/rows_of_events.h"

#define GRAVITY 9.81

// ---- helpers --------------------------------------------------------------------------------------------------------

#define assert_near(a, b, tolerance) near_to((a), (b), (tolerance), __LINE__)
static void near_to(double a, double b, double tolerance, int line)
{
    if (fabs(a - b) <= tolerance) return;
    fail_msg("line %d: %.17g instead of %.17g", line, a, b);
}

typedef struct heard {
    int           count;
    kd_event_kind kind[16];
    int           index[16], direction[16];
    char          text[160];
} heard;

static void listen(kd_event_kind kind, int index, int direction, const char *text, void *context)
{
    heard *h = context;
    assert_true(h->count < 16);
    h->kind[h->count] = kind;
    h->index[h->count] = index;
    h->direction[h->count++] = direction;
    snprintf(h->text, sizeof h->text, "%s", text);
}

typedef struct bench {
    kd_eom        *eom;
    kd_state      *x;
    kd_eom_data   *d;
    kd_event_rows *rows;
    heard          heard;
    char           message[256];
} bench;

static void set_up(bench *b, const kd_eom_def *def)
{
    kd_event_options opt = kd_event_options_default();
    memset(b, 0, sizeof *b);
    if (kd_eom_create(def, &b->eom, b->message, sizeof b->message) != KD_OK) fail_msg("%s", b->message);
    assert_int_equal(kd_state_create(b->eom, &b->x), KD_OK);
    assert_int_equal(kd_eom_data_create(b->eom, &b->d), KD_OK);
    assert_int_equal(kd_event_rows_create(b->d, NULL, &opt, &b->rows), KD_OK);
    assert_non_null(b->rows);
}

static void take_down(bench *b)
{
    kd_event_rows_destroy(b->rows);
    kd_eom_data_destroy(b->d);
    kd_state_destroy(b->x);
    kd_eom_destroy(b->eom);
}

static void begin(bench *b)
{
    kd_status status = kd_event_rows_start(b->rows, b->x, b->message, sizeof b->message);
    if (status != KD_OK) fail_msg("%s", b->message);
}

// Values of the switching functions at the state
static void values(bench *b, double *out)
{
    const kd_state *x = b->x;
    kd_eom_at_time(b->d, x->t, NULL, NULL, NULL, x->z);
    kd_eom_at_position(b->d, x->p, x->s);
    kd_eom_at_velocity(b->d, x->v, x->r);
    kd_eom_at_acceleration(b->d, x->a, x->w, x->lambda, x->mu);
    assert_int_equal(kd_event_rows_values(b->rows, b->d, x, out), KD_EVAL_OK);
}

// An instant at which one function falls through zero, or none in particular (-1)
static void instant(bench *b, int function)
{
    signed char crossed[16] = {0}, side[16] = {0};
    int         n = kd_event_rows_count(b->rows);
    if (function >= 0) crossed[function] = -1;
    b->heard.count = 0;
    kd_status status =
        kd_event_rows_instant(b->rows, b->x, crossed, side, listen, &b->heard, b->message, sizeof b->message);
    if (status != KD_OK) fail_msg("%s", b->message);
    for (int i = 0; i < n; i++) assert_int_equal(side[i], 1);
}

// ---- a ball above a floor, with an upward force --------------------------------------------------------------------

typedef struct ball {
    double lift, e;
} ball;

static kd_eval one(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    M[0] = 1;
    return KD_EVAL_OK;
}

static kd_eval ball_f(const kd_point *x, void *context, double *f)
{
    const ball *b = context;
    (void)x;
    f[0] = b->lift - GRAVITY;
    return KD_EVAL_OK;
}

static kd_eval ball_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0];
    return KD_EVAL_OK;
}

static kd_eval ball_gI(const kd_point *x, void *context, double *gI)
{
    (void)context;
    gI[0] = x->v[0];
    return KD_EVAL_OK;
}

static kd_eval ball_gII(const kd_point *x, void *context, double *gII)
{
    (void)context;
    gII[0] = x->a[0];
    return KD_EVAL_OK;
}

static const char *floor_name(kd_kind kind, int i, void *context)
{
    (void)i;
    (void)context;
    return kind == KD_NAME_LAMBDA ? "floor" : NULL;
}

static kd_eom_def ball_def(ball *b)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1};
    def.context = b;
    def.M = one;
    def.f = ball_f;
    def.g = ball_g;
    def.gI = ball_gI;
    def.gII = ball_gII;
    def.restitution = &b->e;
    def.name = floor_name;
    return def;
}

// Impacts of a ball that bounces to rest: speeds e^n v0, times to rounding, one rest, then the contact carries m g.
static void test_bounces(void **state)
{
    (void)state;
    ball       b = {.e = 0.8};
    kd_eom_def def = ball_def(&b);
    bench      s;
    set_up(&s, &def);
    const double t1 = sqrt(2 / GRAVITY), v0 = GRAVITY * t1;
    double       value[1];
    s.x->p[0] = 1;
    begin(&s);
    assert_int_equal(s.x->active_lambda[0], 0);
    int n = 0;
    s.x->t = t1;
    s.x->v[0] = -v0;
    s.x->p[0] = 0;
    for (;;) {
        assert_true(++n < 200);
        instant(&s, 0);
        assert_int_equal(s.heard.kind[0], KD_EVENT_IMPACT);
        if (s.heard.count > 1) break;
        assert_near(s.x->v[0], pow(b.e, n) * v0, 1e-13);
        s.x->t += 2 * s.x->v[0] / GRAVITY;
        s.x->v[0] = -s.x->v[0];
        if (n + 1 == 10) assert_near(s.x->t, 3.578892951020439, 1e-13);
    }
    assert_int_equal(s.heard.kind[1], KD_EVENT_REST);
    assert_near(s.x->t, t1 * 1.8 / 0.2, 1e-5);
    assert_true(2 * pow(b.e, n) * v0 / GRAVITY <= 1e-6);
    assert_true(2 * pow(b.e, n - 1) * v0 / GRAVITY > 1e-6);
    assert_near(s.x->v[0], 0, 0);
    assert_near(s.x->lambda[0], -GRAVITY, 1e-13);
    values(&s, value);
    assert_near(value[0], GRAVITY, 2e-9); // a little more: see OPENS
    take_down(&s);
}

// At the start: at rest on the floor the row holds; on its way up it is off; on its way down it bounces at once.
static void test_start(void **state)
{
    (void)state;
    ball       b = {.e = 0.5};
    kd_eom_def def = ball_def(&b);
    bench      s;
    set_up(&s, &def);
    begin(&s);
    assert_int_equal(s.x->active_lambda[0], 1);
    s.x->active_lambda[0] = 0;
    s.x->v[0] = 1;
    begin(&s);
    assert_int_equal(s.x->active_lambda[0], 0);
    assert_near(s.x->v[0], 1, 0);
    s.x->v[0] = -1;
    begin(&s);
    assert_int_equal(s.x->active_lambda[0], 0);
    assert_near(s.x->v[0], 0.5, 1e-15);
    s.x->v[0] = 0; // drawn up by more than its weight
    b.lift = 10;
    begin(&s);
    assert_int_equal(s.x->active_lambda[0], 0);
    s.x->p[0] = -0.25;
    assert_int_equal(kd_event_rows_start(s.rows, s.x, s.message, sizeof s.message), KD_ERR_INCONSISTENT);
    assert_non_null(strstr(s.message, "constraint 'floor'"));
    assert_non_null(strstr(s.message, "0.25"));
    take_down(&s);
}

// A growing force lifts the ball: the row opens where -lambda falls through zero; without restitution it lands and
// rests.
static void test_release(void **state)
{
    (void)state;
    ball       b = {.e = 0, .lift = 9};
    kd_eom_def def = ball_def(&b);
    bench      s;
    double     value[1];
    set_up(&s, &def);
    begin(&s);
    instant(&s, -1);
    assert_int_equal(s.heard.count, 0);
    values(&s, value);
    assert_near(value[0], GRAVITY - 9, 2e-9);
    b.lift = GRAVITY * (1 + 1e-15); // as an event locates it
    instant(&s, 0);
    assert_int_equal(s.heard.count, 1);
    assert_int_equal(s.heard.kind[0], KD_EVENT_RELEASE);
    assert_int_equal(s.x->active_lambda[0], 0);
    b.lift = 0;
    s.x->v[0] = -2;
    instant(&s, 0);
    assert_int_equal(s.heard.count, 2);
    assert_int_equal(s.heard.kind[0], KD_EVENT_IMPACT);
    assert_int_equal(s.heard.kind[1], KD_EVENT_REST);
    assert_near(s.x->v[0], 0, 0);
    assert_near(s.x->a[0], 0, 1e-14);
    // knocked off a floor that no longer presses: it flies although restitution is zero
    b.lift = 12;
    s.x->active_lambda[0] = 0;
    s.x->v[0] = -1;
    instant(&s, 0);
    assert_int_equal(s.heard.count, 1);
    assert_int_equal(s.x->active_lambda[0], 0);
    assert_near(s.x->a[0], 12 - GRAVITY, 1e-13);
    take_down(&s);
}

// ---- a table with four legs: z, two angles; load beside the middle -------------------------------------------------

typedef struct table {
    double x, y; // of the load
} table;

static const double leg_x[4] = {1, -1, -1, 1}, leg_y[4] = {1, 1, -1, -1};

static kd_eval table_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    M[0] = 1;
    M[4] = M[8] = 0.3;
    return KD_EVAL_OK;
}

static kd_eval table_f(const kd_point *x, void *context, double *f)
{
    const table *t = context;
    (void)x;
    f[0] = -10;
    f[1] = -10 * t->x;
    f[2] = -10 * t->y;
    return KD_EVAL_OK;
}

static void legs(const double *q, double *out)
{
    for (int i = 0; i < 4; i++) out[i] = q[0] + leg_x[i] * q[1] + leg_y[i] * q[2];
}

static kd_eval table_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    legs(x->p, g);
    return KD_EVAL_OK;
}

static kd_eval table_gI(const kd_point *x, void *context, double *gI)
{
    (void)context;
    legs(x->v, gI);
    return KD_EVAL_OK;
}

static kd_eval table_gII(const kd_point *x, void *context, double *gII)
{
    (void)context;
    legs(x->a, gII);
    return KD_EVAL_OK;
}

// Four legs are one too many: whatever the load, no leg pulls and none sinks in; a load beyond the legs tips the table.
static void test_table(void **state)
{
    (void)state;
    const double e[4] = {0.5, 0.5, 0.5, 0.5};
    table        t = {0, 0};
    kd_eom_def   def = kd_eom_def_default();
    bench        s;
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 4};
    def.context = &t;
    def.M = table_M;
    def.f = table_f;
    def.g = table_g;
    def.gI = table_gI;
    def.gII = table_gII;
    def.restitution = e;
    set_up(&s, &def);
    for (int i = -15; i <= 15; i++) {
        for (int j = -15; j <= 15; j++) {
            double gII[4], sum = 0;
            t = (table){0.1 * i, 0.1 * j};
            memset(s.x->active_lambda, 0, 4);
            begin(&s);
            legs(s.x->a, gII);
            for (int k = 0; k < 4; k++) {
                assert_true(s.x->lambda[k] <= 1e-9);
                assert_true(gII[k] >= -1e-8);
                assert_near(s.x->lambda[k] * gII[k], 0, 1e-8);
                sum -= s.x->lambda[k];
            }
            if (abs(i) <= 10 && abs(j) <= 10) assert_near(sum, 10, 1e-10);
            int held = 0; // three legs are enough: the fourth neither carries nor asks for attention
            for (int k = 0; k < 4; k++) held += s.x->active_lambda[k];
            assert_true(held <= 3);
            double value[4];
            values(&s, value);
            for (int k = 0; k < 4; k++)
                if (held == 3 && !s.x->active_lambda[k]) assert_near(value[k], 1, 0);
            if (abs(i) > 10 || abs(j) > 10) assert_true(s.x->a[0] > 1e-3); // its middle rises
        }
    }
    take_down(&s);
}

// A flat fall onto four legs: all are hit together and the table bounces as a whole; on one leg it turns.
static void test_table_falls(void **state)
{
    (void)state;
    const double e[4] = {0.5, 0.5, 0.5, 0.5};
    table        t = {0, 0};
    kd_eom_def   def = kd_eom_def_default();
    bench        s;
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 4};
    def.context = &t;
    def.M = table_M;
    def.f = table_f;
    def.g = table_g;
    def.gI = table_gI;
    def.gII = table_gII;
    def.restitution = e;
    set_up(&s, &def);
    s.x->v[0] = -2;
    instant(&s, 1);
    assert_int_equal(s.heard.count, 4);
    assert_near(s.x->v[0], 1, 1e-13);
    assert_near(s.x->v[1], 0, 1e-13);
    s.x->v[0] = -1e-7; // too slow for a bounce: it rests, again on three legs
    instant(&s, 1);
    assert_int_equal(s.x->active_lambda[0] + s.x->active_lambda[1] + s.x->active_lambda[2] + s.x->active_lambda[3], 3);
    assert_near(s.x->v[0], 0, 1e-20);
    assert_near(s.x->a[0], 0, 1e-12);
    memset(s.x->active_lambda, 0, 4);
    s.x->p[0] = 0.01; // leg 0 alone touches
    s.x->p[1] = s.x->p[2] = -0.005;
    s.x->v[0] = -2;
    instant(&s, 0);
    assert_int_equal(s.heard.count, 1);
    assert_near(s.x->v[0] + s.x->v[1] + s.x->v[2], 1, 1e-13);
    assert_near(0.3 * s.x->v[1], s.x->v[0] + 2, 1e-13); // impulse along the leg
    take_down(&s);
}

// ---- a mass on a belt (stick-slip), and one on a rough floor --------------------------------------------------------

typedef struct belt {
    double k, speed, sliding, breakaway;
} belt;

static kd_eval belt_f(const kd_point *x, void *context, double *f)
{
    const belt *b = context;
    f[0] = -b->k * x->p[0] - b->sliding * x->z[0];
    return KD_EVAL_OK;
}

static kd_eval belt_h(const kd_point *x, void *context, double *h)
{
    const belt *b = context;
    h[0] = x->v[0] - b->speed;
    return KD_EVAL_OK;
}

static kd_eval belt_hI(const kd_point *x, void *context, double *hI)
{
    (void)context;
    hI[0] = x->a[0];
    return KD_EVAL_OK;
}

static kd_eval belt_breakaway(const kd_point *x, void *context, double *limit)
{
    const belt *b = context;
    (void)x;
    limit[0] = b->breakaway;
    return KD_EVAL_OK;
}

static kd_eom_def belt_def(belt *b)
{
    static const int place = 0;
    kd_eom_def       def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 1, .nv = 1, .nmu = 1, .nz = 1};
    def.context = b;
    def.M = one;
    def.f = belt_f;
    def.h = belt_h;
    def.hI = belt_hI;
    def.friction = &place;
    def.breakaway = belt_breakaway;
    return def;
}

// Stick-slip on a belt: sticks at the start, slides back at k x = Fs with a jump of the acceleration, sticks again.
static void test_belt(void **state)
{
    (void)state;
    belt       b = {.k = 100, .speed = 0.1, .sliding = 6, .breakaway = 10};
    kd_eom_def def = belt_def(&b);
    bench      s;
    double     value[1];
    set_up(&s, &def);
    s.x->v[0] = 0.1;
    begin(&s);
    assert_int_equal(s.x->active_mu[0], 1);
    assert_near(s.x->z[0], 0, 0);
    s.x->p[0] = 0.05;
    instant(&s, -1);
    assert_int_equal(s.heard.count, 0);
    values(&s, value);
    assert_near(value[0], 5, 1e-13);
    s.x->p[0] = 0.1;
    s.x->mu[0] = -10;
    instant(&s, 0);
    assert_int_equal(s.heard.count, 1);
    assert_int_equal(s.heard.kind[0], KD_EVENT_SLIDE);
    assert_int_equal(s.heard.direction[0], -1);
    assert_near(s.x->z[0], -1, 0);
    assert_int_equal(s.x->active_mu[0], 0);
    assert_near(s.x->a[0], -4, 1e-13);
    values(&s, value);
    assert_near(value[0], 0, 1e-13);
    s.x->v[0] = 0.04;
    values(&s, value);
    assert_near(value[0], 0.06, 1e-15);
    s.x->p[0] = 0.02; // the end of slip
    s.x->v[0] = 0.1 + 1e-13;
    instant(&s, 0);
    assert_int_equal(s.heard.kind[0], KD_EVENT_STICK);
    assert_int_equal(s.x->active_mu[0], 1);
    assert_near(s.x->v[0], 0.1, 1e-16);
    assert_near(s.x->mu[0], -2, 1e-12);
    take_down(&s);
}

// A mass that swings against friction: where it stops far out it turns back at once, close to the middle it stays.
static void test_reverse(void **state)
{
    (void)state;
    belt       b = {.k = 100, .sliding = 6, .breakaway = 6};
    kd_eom_def def = belt_def(&b);
    bench      s;
    set_up(&s, &def);
    s.x->p[0] = 0.3;
    s.x->v[0] = 1;
    begin(&s);
    assert_near(s.x->z[0], 1, 0);
    s.x->v[0] = 0;
    instant(&s, 0);
    assert_int_equal(s.heard.count, 1);
    assert_int_equal(s.heard.kind[0], KD_EVENT_SLIDE);
    assert_int_equal(s.heard.direction[0], -1);
    assert_near(s.x->a[0], -24, 1e-12);
    s.x->p[0] = -0.05;
    instant(&s, 0);
    assert_int_equal(s.heard.kind[0], KD_EVENT_STICK);
    assert_near(s.x->a[0], 0, 1e-12);
    take_down(&s);
}

// ---- a block that falls onto a rough floor: friction follows the force of the one-sided row -------------------------
//     p = (x, y), floor y >= 0, push along x; h = x', sliding force -c |lambda| z

typedef struct block {
    double push, c, e;
    bool   stop; // its force answers no more
} block;

static kd_eval block_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    M[0] = M[3] = 2;
    return KD_EVAL_OK;
}

static kd_eval block_f(const kd_point *x, void *context, double *f)
{
    const block *b = context;
    if (b->stop) return KD_EVAL_STOP;
    f[0] = b->push - b->c * -x->lambda[0] * x->z[0];
    f[1] = -2 * GRAVITY;
    return KD_EVAL_OK;
}

static kd_eval block_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1];
    return KD_EVAL_OK;
}

static kd_eval block_h(const kd_point *x, void *context, double *h)
{
    (void)context;
    h[0] = x->v[0];
    return KD_EVAL_OK;
}

static kd_eval block_breakaway(const kd_point *x, void *context, double *limit)
{
    const block *b = context;
    limit[0] = b->c * fabs(x->lambda[0]);
    return KD_EVAL_OK;
}

// The floor and its friction settle together: at rest below the limit, sliding above it, after a fall and in the air.
static void test_rough_floor(void **state)
{
    (void)state;
    static const int place = 0;
    block            b = {.c = 0.5, .push = 9, .e = 0};
    kd_eom_def       def = kd_eom_def_default();
    bench            s;
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nmu = 1, .nz = 1};
    def.context = &b;
    def.M = block_M;
    def.f = block_f;
    def.g = block_g;
    def.h = block_h;
    def.force_of_multipliers = true;
    def.restitution = &b.e;
    def.friction = &place;
    def.breakaway = block_breakaway;
    set_up(&s, &def);
    // the floor, then its friction, whose row is behind those of lambda
    assert_int_equal(kd_event_rows_count(s.rows), 2);
    assert_int_equal(kd_event_rows_row(s.rows, 0), 0);
    assert_int_equal(kd_event_rows_row(s.rows, 1), 1);
    begin(&s);
    assert_int_equal(s.x->active_lambda[0], 1);
    assert_int_equal(s.x->active_mu[0], 1);
    assert_near(s.x->mu[0], 9, 1e-8);
    b.push = -10; // the limit is c m g = 9.81
    instant(&s, 1);
    assert_near(s.x->z[0], -1, 0);
    assert_near(s.x->a[0], (-10 + 9.81) / 2, 1e-8);
    // it falls with a speed along the floor: it slides on, and friction brakes
    s.x->active_lambda[0] = 0;
    s.x->p[1] = 0;
    s.x->v[0] = 3;
    s.x->v[1] = -4;
    s.x->z[0] = 1;
    instant(&s, 0);
    assert_int_equal(s.heard.count, 2);
    assert_near(s.x->v[0], 3, 1e-12);
    assert_near(s.x->v[1], 0, 1e-12);
    assert_near(s.x->a[0], (-10 - 9.81) / 2, 1e-8);
    // a function that asks to stop ends the instant, with that reason
    signed char crossed[2] = {-1, 0}, side[2];
    b.stop = true;
    s.x->active_lambda[0] = 0;
    s.x->v[1] = -4;
    assert_int_equal(kd_event_rows_instant(s.rows, s.x, crossed, side, listen, &s.heard, s.message, sizeof s.message),
                     KD_ERR_CALLBACK_STOP);
    take_down(&s);
}

// ---- two masses of a rod: finite friction gives no impulse ---------------------------------------------------------

static kd_eval rod_M(const kd_point *x, void *context, double *M)
{
    (void)x;
    (void)context;
    M[0] = M[3] = 1;
    return KD_EVAL_OK;
}

static kd_eval rod_f(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = -x->z[0];
    f[1] = 0;
    return KD_EVAL_OK;
}

static kd_eval rod_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1] - x->p[0];
    return KD_EVAL_OK;
}

static kd_eval rod_limit(const kd_point *x, void *context, double *limit)
{
    (void)x;
    (void)context;
    limit[0] = 1;
    return KD_EVAL_OK;
}

// A mass that sticks is hit by another one: it takes half of the speed and slides, whatever its friction was.
static void test_friction_without_impulse(void **state)
{
    (void)state;
    static const int    place = 0;
    static const double e = 0.5;
    kd_eom_def          def = kd_eom_def_default();
    bench               s;
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nmu = 1, .nz = 1};
    def.M = rod_M;
    def.f = rod_f;
    def.g = rod_g;
    def.h = block_h;
    def.restitution = &e;
    def.friction = &place;
    def.breakaway = rod_limit;
    set_up(&s, &def);
    s.x->p[1] = 1;
    s.x->v[1] = -2;
    begin(&s);
    assert_int_equal(s.x->active_mu[0], 1);
    s.x->p[1] = 0;
    instant(&s, 0);
    assert_near(s.x->v[0], -1.5, 1e-11);
    assert_near(s.x->v[1], -0.5, 1e-11);
    assert_int_equal(s.heard.count, 2);
    assert_int_equal(s.heard.kind[1], KD_EVENT_SLIDE);
    assert_int_equal(s.heard.direction[1], -1);
    assert_near(s.x->a[0], 1, 1e-11);
    take_down(&s);
}

// Equations without such rows have no object; memory that ends is told; an instant does not allocate.
static void test_memory(void **state)
{
    (void)state;
    ball              b = {.e = 0.8};
    kd_eom_def        def = ball_def(&b);
    bench             s;
    kd_event_rows    *rows;
    failing_allocator f = {0};
    failing_allocator_use(&f);
    set_up(&s, &def);
    kd_status status = KD_ERR_MEMORY;
    for (long n = 1; status != KD_OK; n++) {
        f.fail_at = f.calls + n;
        long live = f.live;
        status = kd_event_rows_create(s.d, NULL, NULL, &rows);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_null(rows);
        assert_int_equal(f.live, live);
    }
    f.fail_at = 0;
    kd_event_rows_destroy(rows);
    begin(&s);
    s.x->active_lambda[0] = 0;
    s.x->v[0] = -1;
    long calls = f.calls;
    instant(&s, 0);
    assert_int_equal(f.calls, calls);
    take_down(&s);
    assert_int_equal(f.live, 0);
    kd_set_allocator(NULL);
    def.restitution = NULL;
    kd_eom *eom;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    kd_eom_data *data;
    assert_int_equal(kd_eom_data_create(eom, &data), KD_OK);
    assert_int_equal(kd_event_rows_create(data, NULL, NULL, &rows), KD_OK);
    assert_null(rows);
    assert_int_equal(kd_event_rows_count(rows), 0);
    kd_eom_data_destroy(data);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounces),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_release),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_falls),
        cmocka_unit_test(test_belt),
        cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_rough_floor),
        cmocka_unit_test(test_friction_without_impulse),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
