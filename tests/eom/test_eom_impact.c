// Velocities behind impacts: closed forms, balances of momentum and energy, rows that would pull, redundant rows.
#include "systems.h"

#include "case.h"
#include "trust/seeded.h"

// ---- masses on a line, each with a row against its neighbour; the first against a floor that moves -----------------
//     g_0 = x_0 - floor(t) - 1,  g_i = x_i - x_(i-1) - 1

enum { BALLS = 3 };

typedef struct line {
    double m[BALLS], speed; // of the floor
} line;

static kd_eval line_M(const kd_point *x, void *context, double *M)
{
    const line *l = context;
    (void)x;
    for (int i = 0; i < BALLS; i++) M[i + BALLS * i] = l->m[i];
    return KD_EVAL_OK;
}

static kd_eval line_f(const kd_point *x, void *context, double *f)
{
    (void)x;
    (void)context;
    for (int i = 0; i < BALLS; i++) f[i] = 0;
    return KD_EVAL_OK;
}

static kd_eval line_g(const kd_point *x, void *context, double *g)
{
    const line *l = context;
    g[0] = x->p[0] - l->speed * x->t - 1;
    for (int i = 1; i < BALLS; i++) g[i] = x->p[i] - x->p[i - 1] - 1;
    return KD_EVAL_OK;
}

static kd_eval line_gI(const kd_point *x, void *context, double *gI)
{
    const line *l = context;
    gI[0] = x->v[0] - l->speed;
    for (int i = 1; i < BALLS; i++) gI[i] = x->v[i] - x->v[i - 1];
    return KD_EVAL_OK;
}

static kd_eom_def balls(line *l, const double *restitution)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = BALLS, .nv = BALLS, .nlambda = BALLS};
    def.M = line_M;
    def.f = line_f;
    def.g = line_g;
    def.gI = line_gI;
    def.context = l;
    def.restitution = restitution;
    return def;
}

static kd_status hit_balls(line *l, const double *e, const unsigned char *active, const unsigned char *hit, double *v,
                           double *impulse)
{
    kd_eom_def   def = balls(l, e);
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    const double p[BALLS] = {1, 2, 3};
    kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, p, NULL);
    kd_status status = kd_eom_impact(d, active, NULL, hit, v, impulse);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
    return status;
}

// Two free balls: v+ by the textbook formula, momentum kept, energy lost by (1 - e^2) m1 m2 (dv)^2 / 2 (m1 + m2).
static void test_two_balls(void **state)
{
    (void)state;
    line          l = {.m = {2, 3, 1}};
    double        e[BALLS] = {0.5, 0.7, 0.2}, v[BALLS] = {1.5, -0.5, 4}, impulse[BALLS];
    unsigned char active[BALLS] = {0}, hit[BALLS] = {0, 1, 0};
    assert_int_equal(hit_balls(&l, e, active, hit, v, impulse), KD_OK);
    double mean = (2 * 1.5 - 3 * 0.5) / 5;
    assert_close(v[0], mean - 0.7 * 3.0 / 5 * 2, 1e-14);
    assert_close(v[1], mean + 0.7 * 2.0 / 5 * 2, 1e-14);
    assert_close(v[2], 4, 0);
    assert_close(2 * v[0] + 3 * v[1], 1.5, 1e-14);
    double before = 0.5 * (2 * 2.25 + 3 * 0.25), after = 0.5 * (2 * v[0] * v[0] + 3 * v[1] * v[1]);
    assert_close(before - after, (1 - 0.49) * 6 * 4 / (2 * 5), 1e-14);
    assert_close(impulse[1], -2 * (1.5 - v[0]), 1e-14); // M dv = -G' Lambda: a push has Lambda < 0
}

// Three equal balls in touch, the first one flies in without loss: all rows at once give -1/3, 2/3, 2/3.
static void test_three_at_once(void **state)
{
    (void)state;
    line          l = {.m = {1, 1, 1}};
    double        e[BALLS] = {1, 1, 1}, v[BALLS] = {1, 0, 0};
    unsigned char active[BALLS] = {0, 0, 1}, hit[BALLS] = {0, 1, 0};
    assert_int_equal(hit_balls(&l, e, active, hit, v, NULL), KD_OK);
    assert_close(v[0], -1.0 / 3, 1e-14);
    assert_close(v[1], 2.0 / 3, 1e-14);
    assert_close(v[2], 2.0 / 3, 1e-14);
}

// One after the other the same balls do what Newton's cradle does.
static void test_three_in_turn(void **state)
{
    (void)state;
    line          l = {.m = {1, 1, 1}};
    double        e[BALLS] = {1, 1, 1}, v[BALLS] = {1, 0, 0};
    unsigned char active[BALLS] = {0}, first[BALLS] = {0, 1, 0}, second[BALLS] = {0, 0, 1};
    assert_int_equal(hit_balls(&l, e, active, first, v, NULL), KD_OK);
    assert_int_equal(hit_balls(&l, e, active, second, v, NULL), KD_OK);
    assert_close(v[0], 0, 1e-14);
    assert_close(v[1], 0, 1e-14);
    assert_close(v[2], 1, 1e-14);
}

// A row that opens when another is hit has no restitution: it stays closed if the others press it, and never opens into
// the other body.
static void test_opening_row_does_not_close(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        // the second ball is thrown back by the first, and meets the third, which was just leaving it
        line                l = {{1 + 0.3 * k, 1, 0.5 + 0.2 * (k % 5)}, 0};
        const double        e[BALLS] = {0.3, 0.8, 0.9 - 0.04 * k}, opens = 0.05 + 0.02 * k;
        const unsigned char active[BALLS] = {0, 0, 0}, hit[BALLS] = {0, 1, 1};
        double              v[BALLS] = {3, 0, opens}, impulse[BALLS];
        assert_int_equal(hit_balls(&l, e, active, hit, v, impulse), KD_OK);
        assert_close(v[1] - v[0], 0.8 * 3, 1e-12);
        assert_close(v[2] - v[1], 0, 1e-12); // together from here on: no restitution of what did not close
        assert_close(l.m[0] * v[0] + l.m[1] * v[1] + l.m[2] * v[2], l.m[0] * 3 + l.m[2] * opens, 1e-12);
    }
}

// A row that rests would pull when its ball is knocked away from it: it gives no impulse and opens.
static void test_pulls(void **state)
{
    (void)state;
    line          l = {.m = {1, 1, 2}};
    double        e[BALLS] = {0, 0.5, 0.5}, v[BALLS] = {0, 0, -1}, impulse[BALLS];
    unsigned char active[BALLS] = {0, 1, 0}, hit[BALLS] = {0, 0, 1};
    v[0] = v[1] = 1; // balls 0 and 1 fly together, ball 2 comes towards them: the row between them is pressed
    assert_int_equal(hit_balls(&l, e, active, hit, v, impulse), KD_OK);
    assert_close(v[0], v[1], 1e-14);
    assert_true(impulse[1] < 0);
    double away[BALLS] = {-1, 1, 0}; // ball 1 flies away from 0, which its row must not hold back
    assert_int_equal(hit_balls(&l, e, active, hit, away, impulse), KD_OK);
    assert_close(away[0], -1, 0);
    assert_close(impulse[1], 0, 0);
    assert_close(away[2] - away[1], 0.5, 1e-14);
}

// A floor that moves: the rate relative to it is reversed.
static void test_moving_floor(void **state)
{
    (void)state;
    line          l = {.m = {1, 1, 1}, .speed = 0.3};
    double        e[BALLS] = {0.8, 1, 1}, v[BALLS] = {-2, 5, 6};
    unsigned char active[BALLS] = {0}, hit[BALLS] = {1, 0, 0};
    assert_int_equal(hit_balls(&l, e, active, hit, v, NULL), KD_OK);
    assert_close(v[0] - 0.3, 0.8 * 2.3, 1e-14);
}

// A hit row that is already left behind keeps its velocity, rows that are not one-sided are not hit.
static void test_no_impact(void **state)
{
    (void)state;
    line          l = {.m = {1, 1, 1}};
    double        e[BALLS] = {0.5, 0.5, -1}, v[BALLS] = {1, 2, 1};
    unsigned char active[BALLS] = {0}, hit[BALLS] = {1, 1, 1};
    assert_int_equal(hit_balls(&l, e, active, hit, v, NULL), KD_OK);
    assert_close(v[0], 1, 0);
    assert_close(v[1], 2, 0);
    assert_close(v[2], 1, 0);
}

// ---- a beam with two feet, hinged by a redundant pair of rows -------------------------------------------------------
//     p = (x, y, angle), M = diag(m, m, J); feet at -b, b: g = y -+ b angle; x = 0 twice

enum { FEET = 4 };

static kd_eval beam_M(const kd_point *x, void *context, double *M)
{
    const double *J = context;
    (void)x;
    M[0] = M[4] = 2;
    M[8] = *J;
    return KD_EVAL_OK;
}

static kd_eval beam_f(const kd_point *x, void *context, double *f)
{
    (void)x;
    (void)context;
    f[0] = f[1] = f[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval beam_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1] - 0.5 * x->p[2];
    g[1] = x->p[1] + 0.5 * x->p[2];
    g[2] = x->p[0];
    g[3] = 2 * x->p[0];
    return KD_EVAL_OK;
}

static kd_status hit_rod(double J, const double *e, const unsigned char *active, const unsigned char *hit, double *v,
                         double *impulse)
{
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = FEET};
    def.M = beam_M;
    def.f = beam_f;
    def.g = beam_g;
    def.context = &J;
    def.restitution = e;
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    const double p[3] = {0};
    kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, p, NULL);
    kd_status status = kd_eom_impact(d, active, NULL, hit, v, impulse);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
    return status;
}

// A rod turns about one foot and hits with the other: whether the first one stays depends on J against m b^2.
static void test_rod(void **state)
{
    (void)state;
    const double        e[FEET] = {0, 0, -1, -1};
    const unsigned char active[FEET] = {1, 0, 1, 1}, hit[FEET] = {0, 1, 0, 0};
    for (int heavy = 0; heavy < 2; heavy++) {
        double J = heavy ? 2.0 : 0.1, rate = -1, impulse[FEET]; // m b^2 = 0.5
        double v[3] = {0, 0.5 * rate, rate};
        assert_int_equal(hit_rod(J, e, active, hit, v, impulse), KD_REDUNDANT);
        assert_close(v[1] + 0.5 * v[2], 0, 1e-14);
        if (heavy) { // the foot at rest would have to pull: it lifts
            assert_close(impulse[0], 0, 0);
            assert_true(v[1] - 0.5 * v[2] > 0.1);
            // turn about the foot that was hit: J w + m b (y') is kept there
            assert_close(J * v[2] - 2 * 0.5 * v[1], J * rate - 2 * 0.5 * 0.5 * rate, 1e-14);
        } else {
            assert_true(impulse[0] < 0);
            assert_close(v[1], 0, 1e-14);
            assert_close(v[2], 0, 1e-14);
        }
    }
}

// Without inertia about the angle M is singular; the equation that ties it to y leaves one mass, as if reduced by hand.
static kd_eval tied_g(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1];
    g[1] = x->p[2] - 3 * x->p[1];
    g[2] = x->p[0] - x->p[1] - 0.2 * x->t;
    return KD_EVAL_OK;
}

static void test_singular_mass(void **state)
{
    (void)state;
    double     J = 0;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 3};
    def.M = beam_M;
    def.f = beam_f;
    def.g = tied_g;
    def.context = &J;
    const double e[3] = {0.5, -1, -1};
    def.restitution = e;
    kd_eom             *eom = make(&def);
    kd_eom_data        *d = make_data(eom);
    const double        p[3] = {0};
    const unsigned char active[3] = {0, 1, 1}, hit[3] = {1, 0, 0}, none[3] = {0};
    double              v[3] = {-0.8, -1, -3}, impulse[3];
    kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
    kd_eom_at_position(d, p, NULL);
    assert_int_equal(kd_eom_impact(d, active, NULL, hit, v, impulse), KD_OK);
    assert_close(v[0], 0.7, 1e-11);
    assert_close(v[1], 0.5, 1e-11);
    assert_close(v[2], 1.5, 1e-11);
    assert_close(impulse[0], -(2 + 2) * 1.5, 1e-10);
    assert_close(impulse[1], 0, 1e-10);
    assert_close(impulse[2], -2 * 1.5, 1e-10); // on p_0 alone
    // from velocities that leave the equations as well: the nearest ones in the norm of the energy, 2 (dp_0^2 + dp_1^2);
    // the angle, which has no inertia, follows. Behind the hit p_1' is at least e times what it was.
    for (int k = 0; k < 8; k++) {
        const double before[3] = {-0.3 - 0.2 * k, -1 + 0.31 * k, 5 - 2.0 * k};
        for (int is_hit = 0; is_hit < 2; is_hit++) {
            const double nearest = 0.5 * (before[0] - 0.2 + before[1]);
            const double least = before[1] < 0 ? -0.5 * before[1] : 0, way = is_hit ? fmax(nearest, least) : nearest;
            memcpy(v, before, sizeof v);
            assert_int_equal(kd_eom_impact(d, active, NULL, is_hit ? hit : none, v, impulse), KD_OK);
            assert_close(v[0], way + 0.2, 1e-11);
            assert_close(v[1], way, 1e-11);
            assert_close(v[2], 3 * way, 1e-11);
        }
    }
    // without the equation nothing determines the angle
    assert_int_equal(kd_eom_impact(d, none, NULL, hit, v, NULL), KD_ERR_SINGULAR_MASS);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// Rows of h take part as equations: a skate that is stopped keeps to its direction.
static void test_nonholonomic(void **state)
{
    (void)state;
    kd_eom_def   def = skate();
    kd_eom      *eom = make(&def);
    kd_eom_data *d = make_data(eom);
    place        x = skate_place;
    double       h[4];
    assert_int_equal(def.dims.nlambda, 0);
    const unsigned char active[1] = {1};
    double              v[16], impulse[1];
    go_to(d, &x);
    memcpy(v, x.v, sizeof v);
    v[0] += 0.3;
    v[1] -= 0.7;
    assert_int_equal(kd_eom_impact(d, NULL, active, NULL, v, impulse), KD_OK);
    kd_eom_at_velocity(d, v, x.r);
    assert_int_equal(kd_eom_eval(d, KD_H, h), KD_EVAL_OK);
    assert_close(h[0], 0, 1e-13);
    assert_true(fabs(impulse[0]) > 0.01);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// Contact coordinates are eliminated: gI is reversed whatever s is made of.
static void test_contact_coordinates(void **state)
{
    (void)state;
    kd_eom_def def = contact();
    double     e[8], gI[8], after[8];
    for (int i = 0; i < def.dims.nlambda; i++) e[i] = i == 0 ? 0.6 : -1;
    def.restitution = e;
    kd_eom       *eom = make(&def);
    kd_eom_data  *d = make_data(eom);
    place         x = contact_place();
    unsigned char active[8] = {0}, mu[8] = {0}, hit[8] = {1};
    double        v[16];
    go_to(d, &x);
    memcpy(v, x.v, sizeof v);
    assert_int_equal(kd_eom_eval(d, KD_GI, gI), KD_EVAL_OK);
    if (gI[0] > 0)
        for (int i = 0; i < def.dims.nv; i++) v[i] = -v[i];
    kd_eom_at_velocity(d, v, x.r);
    assert_int_equal(kd_eom_eval(d, KD_GI, gI), KD_EVAL_OK);
    assert_true(gI[0] < -1e-3);
    double left[16];
    memcpy(left, v, sizeof left);
    assert_int_equal(kd_eom_impact(d, active, mu, hit, left, NULL), KD_OK);
    kd_eom_at_velocity(d, left, x.r);
    assert_int_equal(kd_eom_eval(d, KD_GI, after), KD_EVAL_OK);
    assert_close(after[0], -0.6 * gI[0], 1e-9);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// Rows that cannot hold together: the one that is told is named by its kind and number, and the fault has its number.
typedef struct stuck {
    double rate[2]; // of the prescribed rows
} stuck;

static kd_eval stuck_M(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = 2;
    return KD_EVAL_OK;
}

static kd_eval stuck_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = 0;
    return KD_EVAL_OK;
}

static kd_eval stuck_g(const kd_point *x, void *context, double *g)
{
    const stuck *s = context;
    g[0] = x->p[0] - s->rate[0] * x->t;
    return KD_EVAL_OK;
}

static kd_eval stuck_gI(const kd_point *x, void *context, double *g)
{
    const stuck *s = context;
    g[0] = x->v[0] - s->rate[0];
    return KD_EVAL_OK;
}

static kd_eval stuck_h(const kd_point *x, void *context, double *h)
{
    const stuck *s = context;
    h[0] = x->v[0] - s->rate[1];
    return KD_EVAL_OK;
}

static const char *stuck_name(kd_kind kind, int i, void *context)
{
    (void)context;
    return i != 0 ? NULL : kind == KD_NAME_LAMBDA ? "floor" : kind == KD_NAME_MU ? "skid" : NULL;
}

static void test_contradiction(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        stuck      s = {.rate = {0.5 * k, -1 - k}};
        kd_eom_def def = kd_eom_def_default();
        def.dims = (kd_dims){.np = 1, .nv = 1, .nlambda = 1, .nmu = 1};
        def.context = &s;
        def.M = stuck_M, def.f = stuck_f, def.g = stuck_g, def.gI = stuck_gI, def.h = stuck_h, def.name = stuck_name;
        kd_eom             *eom = make(&def);
        kd_eom_data        *d = make_data(eom);
        const unsigned char active[1] = {1};
        double              v[1] = {3}, p[1] = {0}, impulse[2];
        kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
        kd_eom_at_position(d, p, NULL);
        assert_int_equal(kd_eom_impact(d, active, active, NULL, v, impulse), KD_ERR_DECOMPOSITION);
        const kd_fault fault = kd_eom_data_fault(d);
        assert_int_equal(fault.row, 0);
        assert_non_null(strstr(kd_eom_data_message(d), fault.fn == KD_H ? "skid" : "floor"));
        assert_null(strstr(kd_eom_data_message(d), fault.fn == KD_H ? "floor" : "skid"));
        kd_eom_data_destroy(d);
        kd_eom_destroy(eom);
    }
}

// Before the position is set there is no impact.
static void test_stage(void **state)
{
    (void)state;
    line          l = {.m = {1, 1, 1}};
    double        e[BALLS] = {1, 1, 1}, v[BALLS] = {1, 0, 0};
    unsigned char active[BALLS] = {0};
    kd_eom_def    def = balls(&l, e);
    kd_eom       *eom = make(&def);
    kd_eom_data  *d = make_data(eom);
    kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
    assert_int_equal(kd_eom_impact(d, active, NULL, active, v, NULL), KD_ERR_STAGE);
    kd_eom_data_destroy(d);
    kd_eom_destroy(eom);
}

// ---- rounding -------------------------------------------------------------------------------------------------------

typedef struct rounded {
    double m[3], a[3], factor[2]; // masses; the row a.p, twice, with factors
    bool   rank_one;              // M = a a' instead
} rounded;

static kd_eval rounded_M(const kd_point *x, void *context, double *M)
{
    const rounded *s = context;
    (void)x;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) M[i + 3 * j] = s->rank_one ? s->a[i] * s->a[j] : i == j ? s->m[i] : 0;
    return KD_EVAL_OK;
}

static kd_eval rounded_f(const kd_point *x, void *context, double *f)
{
    (void)x, (void)context;
    f[0] = f[1] = f[2] = 0;
    return KD_EVAL_OK;
}

static kd_eval rounded_g(const kd_point *x, void *context, double *g)
{
    const rounded *s = context;
    for (int k = 0; k < 2; k++)
        g[k] = s->factor[k] * s->a[0] * x->p[0] + s->factor[k] * s->a[1] * x->p[1] + s->factor[k] * s->a[2] * x->p[2];
    return KD_EVAL_OK;
}

static kd_eval rounded_gI(const kd_point *x, void *context, double *g)
{
    const kd_point moving = {.p = x->v};
    return rounded_g(&moving, context, g);
}

// A mass matrix of rank one has no pivot that is exactly zero, but is singular; rows that repeat each other contradict
// each other by rounding, which is relative to all of the motion, and are redundant.
static void test_rounding(void **state)
{
    uint64_t seed = test_seed(21);
    (void)state;
    for (int k = 0; k < 60; k++) {
        rounded    s = {.rank_one = k % 2 == 1};
        kd_eom_def def = kd_eom_def_default();
        for (int i = 0; i < 3; i++) {
            s.m[i] = seeded_log(&seed, 0.1, 10);
            s.a[i] = i == 2 && !s.rank_one ? 0 : seeded_between(&seed, 0.3, 3);
        }
        for (int i = 0; i < 2; i++) s.factor[i] = seeded_between(&seed, 0.3, 3);
        def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 2};
        def.context = &s;
        def.M = rounded_M, def.f = rounded_f, def.g = rounded_g, def.gI = rounded_gI;
        kd_eom             *eom = make(&def);
        kd_eom_data        *d = make_data(eom);
        const double        p[3] = {0}, size = seeded_log(&seed, 1, 1e3);
        const unsigned char active[2] = {1, 1}, none[2] = {0};
        double              v[3] = {size * seeded_between(&seed, 1, 2), size * seeded_between(&seed, 1, 2), 0};
        kd_eom_at_time(d, 0, NULL, NULL, NULL, NULL);
        kd_eom_at_position(d, p, NULL);
        if (s.rank_one) {
            assert_int_equal(kd_eom_impact(d, none, NULL, none, v, NULL), KD_ERR_SINGULAR_MASS);
        } else {
            // v+ = v - M \ a (a.v) / (a.M \ a)
            const double along =
                (s.a[0] * v[0] + s.a[1] * v[1]) / (s.a[0] * s.a[0] / s.m[0] + s.a[1] * s.a[1] / s.m[1]);
            const double right[3] = {v[0] - s.a[0] / s.m[0] * along, v[1] - s.a[1] / s.m[1] * along, 0};
            assert_int_equal(kd_eom_impact(d, active, NULL, none, v, NULL), KD_REDUNDANT);
            for (int i = 0; i < 3; i++) assert_true(fabs(v[i] - right[i]) < 1e-11 * size);
        }
        kd_eom_data_destroy(d);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_balls),     cmocka_unit_test(test_three_at_once),
        cmocka_unit_test(test_three_in_turn), cmocka_unit_test(test_opening_row_does_not_close),
        cmocka_unit_test(test_pulls),         cmocka_unit_test(test_moving_floor),
        cmocka_unit_test(test_no_impact),     cmocka_unit_test(test_rod),
        cmocka_unit_test(test_singular_mass), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_nonholonomic),  cmocka_unit_test(test_contact_coordinates),
        cmocka_unit_test(test_contradiction), cmocka_unit_test(test_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
