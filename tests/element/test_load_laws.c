// tests/element/test_load_laws.c: the law of every force element by itself: derivatives against differences, and
// power: what a force does is what its energies say.
#include "model/build_helpers.h"

#include <stdlib.h>

#include "element/force.h"
#include "systems/random_model.h"

static bool is_kind(const kd_load *l, kd_force_kind kind)
{
    return l->def && l->def->kind == kind;
}

static bool slips(const kd_load *l)
{
    return is_kind(l, KD_TYRE) && l->def->tyre.friction > 0.0;
}

enum { MECHANISMS = 60, MOST = 200 };

// ---- variables ------------------------------------------------------------------------------------------------------
// The variables of all laws, set at random; outputs of controllers follow from them.
typedef struct desk {
    kd_system *system;
    kd_work   *work;
    double    *x, *moved; // (nslots)
} desk;

static void fill_outputs(const desk *d, double *x)
{
    const kd_system *s = d->system;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < s->nslots; i++) {
            if (s->slot[i].kind != KD_SLOT_OUT) continue;
            const kd_load *pi = &s->load[s->slot[i].index];
            x[i] = pi->feed[0] * kd_expr_value(pi->law[0], x, d->work->expr_work) + pi->feed[1] * x[pi->variable[0]];
        }
}

static void set_time(const desk *d, double *x, double t)
{
    x[0] = t;
    d->work->t = t;
    d->work->jet[0] = (kd_jet){.x = t, .x1 = 1.0};
}

static desk desk_create(const kd_model *m, uint64_t *seed)
{
    desk d = {0};
    char message[300] = "";
    if (kd_system_create(m, NULL, &d.system, message, sizeof message) < 0) fail_msg("%s", message);
    d.work = kd_work_create(d.system);
    assert_non_null(d.work);
    d.x = calloc((size_t)d.system->nslots, sizeof *d.x);
    d.moved = calloc((size_t)d.system->nslots, sizeof *d.moved);
    for (int i = 0; i < d.system->nslots; i++) d.x[i] = 1.5 * mechanism_random(seed);
    for (int i = 0; i < d.system->nslots; i++) { // lengths are positive, touching wheels and spheres touch
        kd_slot at = d.system->slot[i];
        if (at.kind == KD_SLOT_MEASURE && at.level == 0 && d.system->measure[at.index].kind == KD_MEASURE_LENGTH)
            d.x[i] = 1.0 + fabs(d.x[i]);
    }
    for (int i = 0; i < d.system->nloads; i++) // there is air in air springs
        for (int k = 0; is_kind(&d.system->load[i], KD_AIR_SPRING) && k < d.system->load[i].nstates; k++)
            d.x[d.system->load[i].variable[2 + k]] += 40.0;
    for (int i = 0; i < d.system->nslots; i++) // some stand twice
        for (int k = 0; k < i; k++)
            if (memcmp(&d.system->slot[i], &d.system->slot[k], sizeof(kd_slot)) == 0) d.x[i] = d.x[k];
    for (int i = 0; i < d.system->nloads; i++) {
        if (!slips(&d.system->load[i])) continue;
        const int *n = d.system->load[i].variable + 5; // axle
        double     length = sqrt(d.x[n[0]] * d.x[n[0]] + d.x[n[1]] * d.x[n[1]] + d.x[n[2]] * d.x[n[2]]);
        for (int k = 0; k < 3; k++) d.x[n[k]] /= length;
    }
    set_time(&d, d.x, 0.4);
    fill_outputs(&d, d.x);
    return d;
}

static void desk_destroy(desk *d)
{
    kd_work_destroy(d->work);
    kd_system_destroy(d->system);
    free(d->x);
    free(d->moved);
}

static void law_at(const desk *d, const kd_load *l, const double *x, double *out)
{
    assert_int_equal(l->class->eval(l, x, d->work, out, out + l->nchannels), KD_EVAL_OK);
}

// d->moved: the variables with one of them moved
static void move_one(const desk *d, int slot, double h)
{
    memcpy(d->moved, d->x, (size_t)d->system->nslots * sizeof *d->x);
    d->moved[slot] += h;
    fill_outputs(d, d->moved);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------
static void check_jacobian(const desk *d, const kd_load *l, long *nonzero)
{
    const double h = 1e-4;
    int          rows = l->nchannels + l->nstates;
    double       J[20 * MOST] = {0}, value[4][20], base[20];
    assert_true(rows <= 20 && l->nvariables <= MOST);
    assert_int_equal(l->class->jacobian(l, d->x, d->work, J), KD_EVAL_OK);
    law_at(d, l, d->x, base);
    for (int j = 0; j < l->nvariables; j++) {
        for (int k = 0; k < 4; k++) {
            move_one(d, l->variable[j], (k < 2 ? h : 2 * h) * (k % 2 == 0 ? 1 : -1));
            law_at(d, l, d->moved, value[k]);
        }
        for (int i = 0; i < rows; i++) {
            double coarse = (value[2][i] - value[3][i]) / (4 * h), fine = (value[0][i] - value[1][i]) / (2 * h);
            double slope = fine + (fine - coarse) / 3, is = J[i + j * rows];
            double tolerance = 1e-8 * (1 + fabs(base[i]) + fabs(is)) + 3 * fabs(fine - coarse);
            *nonzero += fabs(is) > 1e-3;
            if (!(fabs(is - slope) < tolerance))
                fail_msg("%s: derivative %d by %d is %.10g, differences say %.10g", l->name, i, j, is, slope);
        }
    }
}

// The derivatives of every law are those of its values, through the outputs of controllers, too.
static void test_jacobians(void **state)
{
    static mechanism m;
    long             nonzero[KD_FORCE_KIND_COUNT] = {0}, of_states = 0, of_users = 0, of_slip = 0;
    (void)state;
    for (int i = 0; i < MECHANISMS; i++) {
        uint64_t          seed = (uint64_t)i * 99 + 1;
        mechanism_options opt = {.bodies = 3, .forces = 10, .states = true};
        mechanism_make(&m, 300 + (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 0});
        assert_non_null(model);
        desk d = desk_create(model, &seed);
        for (int k = 0; k < d.system->nloads; k++) {
            const kd_load *l = &d.system->load[k];
            bool           slip = slips(l);
            check_jacobian(&d, l, slip ? &of_slip : l->def ? &nonzero[l->def->kind] : l->user ? &of_users : &of_states);
        }
        desk_destroy(&d);
        kd_model_destroy(model);
    }
    for (int k = 0; k <= KD_MAXWELL; k++) // those of random mechanisms
        if (nonzero[k] < 10) fail_msg("force kind %d: %ld derivatives only", k, nonzero[k]);
    assert_true(of_states > 100 && of_users > 20 && of_slip > 100);
}

// ---- power ----------------------------------------------------------------------------------------------------------
static double potential_later(const desk *d, const kd_load *l, const double *state_rate, double h)
{
    const kd_system *s = d->system;
    kd_energies      e = {0};
    memcpy(d->moved, d->x, (size_t)s->nslots * sizeof *d->x);
    set_time(d, d->moved, d->x[0] + h);
    for (int i = 0; i < s->nslots; i++) // values move with the rates
        for (int k = 0; k < s->nslots; k++)
            if (s->slot[i].kind == KD_SLOT_MEASURE && s->slot[i].level == 0 && s->slot[k].kind == KD_SLOT_MEASURE &&
                s->slot[k].level == 1 && s->slot[k].index == s->slot[i].index)
                d->moved[i] = d->x[i] + h * d->x[k];
    if (slips(l)) { // its axle turns: n' = omega x n
        const int *at = l->variable + 5;
        kd_vec3    n = kd_vec(d->x[at[0]], d->x[at[1]], d->x[at[2]]);
        kd_vec3    moved = kd_vec_axpy(n, h, kd_vec_cross(kd_vec(d->x[at[3]], d->x[at[4]], d->x[at[5]]), n));
        moved = kd_vec_scale(1.0 / kd_vec_norm(moved), moved);
        d->moved[at[0]] = moved.x, d->moved[at[1]] = moved.y, d->moved[at[2]] = moved.z;
    }
    for (int k = 0; k < l->nstates; k++)
        for (int i = 0; i < s->nslots; i++)
            if (s->slot[i].kind == KD_SLOT_STATE && s->slot[i].index == l->state + k)
                d->moved[i] = d->x[i] + h * state_rate[k];
    if (l->class->energy) l->class->energy(l, d->moved, d->work, &e);
    set_time(d, d->x, d->x[0]);
    return e.potential;
}

// sum f s' = supplied - dissipated - V'
static void check_power(const desk *d, const kd_load *l, bool conservative)
{
    const double h = 1e-4;
    double       out[20], power = 0.0, V[4];
    kd_energies  e = {0};
    law_at(d, l, d->x, out);
    for (int k = 0; k < l->nchannels; k++) power += out[k] * d->x[l->rate_slot[k]];
    if (!l->class->energy) return; // all of it is supplied
    l->class->energy(l, d->x, d->work, &e);
    for (int k = 0; k < 4; k++)
        V[k] = potential_later(d, l, out + l->nchannels, (k < 2 ? h : 2 * h) * (k % 2 == 0 ? 1 : -1));
    double coarse = (V[2] - V[3]) / (4 * h), fine = (V[0] - V[1]) / (2 * h), rate = fine + (fine - coarse) / 3;
    double size = 1 + fabs(power) + fabs(e.supplied) + fabs(e.dissipated) + fabs(e.potential);
    if (!(fabs(power - e.supplied + e.dissipated + rate) < 1e-8 * size + 3 * fabs(fine - coarse)))
        fail_msg("%s: power %.9g, supplied %.9g, dissipated %.9g, potential changes by %.9g", l->name, power,
                 e.supplied, e.dissipated, rate);
    if (l->def && e.dissipated < -1e-12 * size) fail_msg("%s: dissipates %g", l->name, e.dissipated);
    if (conservative && fabs(e.dissipated) + (l->def->kind == KD_TYRE ? 0 : fabs(e.supplied)) > 1e-12 * size)
        fail_msg("%s: conservative, but dissipates %g, supplies %g", l->name, e.dissipated, e.supplied);
}

// The power of every force is what it supplies less what it dissipates and stores; dampers never give.
static void test_power(void **state)
{
    static mechanism m;
    (void)state;
    for (int i = 0; i < MECHANISMS; i++) {
        uint64_t          seed = (uint64_t)i * 77 + 3;
        mechanism_options opt = {.bodies = 3, .forces = 10, .states = i % 3 == 0, .conservative = i % 2 == 1};
        mechanism_make(&m, 700 + (uint64_t)i, &opt);
        kd_model *model = mechanism_build(&m, &(mechanism_variant){.sensors = 0});
        assert_non_null(model);
        desk d = desk_create(model, &seed);
        for (int k = 0; k < d.system->nloads; k++)
            if (d.system->load[k].def) check_power(&d, &d.system->load[k], opt.conservative);
        desk_destroy(&d);
        kd_model_destroy(model);
    }
}

// ---- single laws ----------------------------------------------------------------------------------------------------
// The force of one element on a joint coordinate or between two points, at given value and rate.
static double force_at(const kd_force_def *def, double value, double rate)
{
    kd_model *m = arm_model();
    uint64_t  seed = 1;
    double    out[4];
    CHECK(kd_model_add_force(m, "f", def));
    CHECK(kd_model_finish(m));
    desk           d = desk_create(m, &seed);
    const kd_load *l = &d.system->load[0];
    d.x[l->variable[0]] = value;
    d.x[l->variable[1]] = rate;
    law_at(&d, l, d.x, out);
    desk_destroy(&d);
    kd_model_destroy(m);
    return out[0];
}

static kd_force_def on_hinge(kd_force_kind kind)
{
    kd_force_def f = kd_force_def_default(kind);
    f.joint = "hinge";
    f.coordinate = 1;
    return f;
}

#define assert_force(def, value, rate, wanted)                                                                         \
    do {                                                                                                               \
        double is_ = force_at(&(def), (value), (rate));                                                                \
        if (!(fabs(is_ - (wanted)) < 1e-12)) fail_msg("line %d: %.15g", __LINE__, is_);                                \
    } while (0)

// Signs and limits of springs, stops and friction, by hand.
static void test_by_hand(void **state)
{
    (void)state;
    kd_force_def spring = on_hinge(KD_JOINT_SPRING);
    spring.spring = (kd_spring_def){.length = 0.5, .stiffness = 10, .damping = 2, .preload = 1};
    assert_force(spring, 0.7, 0.0, -(10 * 0.2 + 1));
    assert_force(spring, 0.5, 3.0, -(2 * 3.0 + 1));
    spring.spring.law = "3*q + v";
    assert_force(spring, 0.5, 1.0, -3.0 + 2.5); // the law acts along the coordinate

    kd_force_def stop = on_hinge(KD_JOINT_STOP);
    stop.stop = (kd_joint_stop_def){.lower = -1, .upper = 2, .stiffness = 100, .damping = 5, .restitution = NAN};
    assert_force(stop, 0.0, 7.0, 0.0);
    assert_force(stop, 2.1, 0.0, -10.0);
    assert_force(stop, 2.1, 1.0, -15.0);
    assert_force(stop, 2.1, -3.0, 0.0); // it does not pull
    assert_force(stop, -1.2, 0.0, 20.0);
    assert_force(stop, -1.2, -1.0, 25.0);

    kd_force_def friction = on_hinge(KD_JOINT_FRICTION);
    friction.friction =
        (kd_joint_friction_def){.coulomb = 3, .breakaway = 5, .stribeck = 0.1, .slip = 1e-3, .viscous = 0.5};
    assert_force(friction, 0.0, 0.0, 0.0);
    assert_force(friction, 0.0, 2.0, -(3 + 1)); // far beyond the Stribeck velocity
    assert_force(friction, 0.0, -2.0, 3 + 1);
    assert_force(friction, 0.0, 0.1, -(3 + 2 * exp(-1.0) + 0.05));

    kd_force_def strut = kd_force_def_default(KD_TSDA); // tension is positive: it pulls the ends together
    strut.from = kd_at("ground", 0, 0, 1), strut.to = kd_at("arm", 1, 0, 0);
    strut.spring = (kd_spring_def){.length = 1, .stiffness = 10, .law = "2*length + rate"};
    assert_force(strut, 1.5, 0.5, -(10 * 0.5 + 3.5));
}

// A clutch that slides, forwards and backwards, near and beyond its Stribeck velocity, and an open one: derivatives by all
// that it reads are those of differences, and the torque is that of the formula.
static void test_clutch(void **state)
{
    (void)state;
    kd_force_def clutch = on_hinge(KD_CLUTCH);
    clutch.clutch.capacity = "4 + 0.3*joint.hinge.q^2 - 2*joint.hinge.v";
    clutch.clutch.breakaway = 1.5;
    clutch.clutch.stribeck = 0.8;
    kd_model *m = arm_model();
    uint64_t  seed = 3;
    CHECK(kd_model_add_force(m, "f", &clutch));
    CHECK(kd_model_finish(m));
    desk           d = desk_create(m, &seed);
    const kd_load *l = &d.system->load[0];
    assert_true(l->direction >= 0);
    static const double speeds[] = {-1.7, -0.3, 0.2, 1.1, 5.0}; // the last one: capacity below 0, open
    for (int k = 0; k < 5; k++) {
        const double v = speeds[k], side = v < 0 ? -1 : 1, capacity = fmax(4 + 0.3 * 0.36 - 2 * v, 0);
        double       out[4];
        long         nonzero = 0;
        d.x[l->direction] = side;
        for (int j = 0; j < l->nvariables; j++)
            d.x[l->variable[j]] = d.system->slot[l->variable[j]].level == 1 ? v : 0.6;
        law_at(&d, l, d.x, out);
        assert_true(fabs(out[0] + side * capacity * (1 + 0.5 * exp(-v * v / 0.64))) < 1e-12);
        check_jacobian(&d, l, &nonzero);
        assert_true(k < 4 ? nonzero >= 2 : nonzero == 0);
    }
    desk_destroy(&d);
    kd_model_destroy(m);
}

// A chain of controllers that all read the same many signals, each the outputs of the two before: ways through it grow as 1.6^n.
static void test_chain_of_controllers(void **state)
{
    enum { CONTROLLERS = 90, BODIES = 12 };
    kd_model *m = new_model();
    char      name[16], text[1000];
    long      nonzero = 0;
    uint64_t  seed = 9;
    (void)state;
    for (int i = 0; i < BODIES; i++) {
        (void)snprintf(name, sizeof name, "b%d", i);
        add_ball(m, name);
    }
    for (int i = 0; i < CONTROLLERS; i++) {
        kd_state_def pi = kd_state_def_default(KD_STATE_PI);
        pi.kp = 0.5, pi.ki = 0.3;
        int n = snprintf(text, sizeof text, "t");
        for (int b = 0; b < BODIES; b++)
            n += snprintf(text + n, sizeof text - (size_t)n, " + body.b%d.pos.x*body.b%d.vel.y", b, (b + i) % BODIES);
        if (i > 0) n += snprintf(text + n, sizeof text - (size_t)n, " + sin(state.s%d.out)", i - 1);
        if (i > 1) (void)snprintf(text + n, sizeof text - (size_t)n, " + 0.3*state.s%d.out", i - 2);
        (void)snprintf(name, sizeof name, "s%d", i);
        pi.input = text;
        CHECK(kd_model_add_state(m, name, &pi));
    }
    kd_force_def f = kd_force_def_default(KD_APPLIED);
    f.to = kd_at("b0", 0, 0, 0);
    f.applied.force[0] = "state.s89.out";
    CHECK(kd_model_add_force(m, "f", &f));
    CHECK(kd_model_finish(m));
    desk d = desk_create(m, &seed);
    for (int round = 0; round < CONTROLLERS; round++) fill_outputs(&d, d.x);
    assert_true(d.system->load[CONTROLLERS].nvariables <= MOST);
    double J[20 * MOST] = {0}, up[4], down[4];
    assert_int_equal(d.system->load[CONTROLLERS].class->jacobian(&d.system->load[CONTROLLERS], d.x, d.work, J),
                     KD_EVAL_OK);
    const kd_load *l = &d.system->load[CONTROLLERS];
    for (int j = 0; j < l->nvariables; j++) {
        move_one(&d, l->variable[j], 1e-5);
        for (int round = 0; round < CONTROLLERS; round++) fill_outputs(&d, d.moved);
        law_at(&d, l, d.moved, up);
        move_one(&d, l->variable[j], -1e-5);
        for (int round = 0; round < CONTROLLERS; round++) fill_outputs(&d, d.moved);
        law_at(&d, l, d.moved, down);
        assert_true(fabs(J[j] - (up[0] - down[0]) / 2e-5) < 1e-6 * (1 + fabs(J[j])));
        nonzero += fabs(J[j]) > 1e-6;
    }
    assert_true(nonzero > 20);
    desk_destroy(&d);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jacobians),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_clutch),
        cmocka_unit_test(test_chain_of_controllers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
