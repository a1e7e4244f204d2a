// Forces and reactions along a motion, as vectors of the world, against what is known by hand.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>

#include "core/failing_allocator.h"
#include "drawing/loads.h"
#include "modelfile/files.h"

typedef struct fixture {
    kd_model     *model;
    kd_system    *system;
    kd_state     *x;
    kd_probe     *probe;
    kd_recording *rec;
    kd_loads     *loads;
} fixture;

// The start of a model, recorded so many times, and what acts there
static fixture make(const char *text, kd_coordinates coordinates, int rows)
{
    fixture           f = {.model = model_of(text)};
    kd_system_options opt = kd_system_options_default();
    opt.coordinates = coordinates;
    assert_int_equal(kd_system_create(f.model, &opt, &f.system, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(kd_system_eom(f.system), &f.x), KD_OK);
    assert_true(kd_system_start(f.system, f.x, NULL, 0) >= 0);
    assert_int_equal(kd_probe_of_system(f.system, NULL, &f.probe), KD_OK);
    assert_int_equal(kd_recording_create(f.probe, rows, &f.rec), KD_OK);
    kd_certifier *certifier;
    assert_int_equal(kd_certifier_create(kd_system_eom(f.system), NULL, &certifier), KD_OK);
    for (int i = 0; i < rows; i++) {
        f.x->t = 0.01 * i;
        assert_true(kd_certifier_see(certifier, NULL, f.x) >= 0);
        const kd_findings findings = kd_certifier_findings(certifier);
        assert_true(kd_recording_add(f.rec, f.x, &findings) >= 0);
    }
    kd_certifier_destroy(certifier);
    assert_int_equal(kd_loads_read(f.model, coordinates, NULL, f.rec, &f.loads), KD_OK);
    return f;
}

static void unmake(fixture *f)
{
    kd_loads_destroy(f->loads);
    kd_recording_destroy(f->rec);
    kd_probe_destroy(f->probe);
    kd_state_destroy(f->x);
    kd_system_destroy(f->system);
    kd_model_destroy(f->model);
}

static const kd_load_arrow *arrow_of(const fixture *f, const char *name, int frame, double force[3])
{
    for (int i = 0; i < f->loads->count; i++) {
        if (strcmp(f->loads->arrow[i].name, name) != 0) continue;
        memcpy(force, f->loads->force + 3 * ((size_t)frame * (size_t)f->loads->count + (size_t)i), 3 * sizeof *force);
        return &f->loads->arrow[i];
    }
    fail_msg("no arrow '%s'", name);
    return NULL;
}

static const kd_load_arrow *expect(const fixture *f, const char *name, double x, double y, double z)
{
    double               force[3], wanted[] = {x, y, z}, size = sqrt(x * x + y * y + z * z);
    const kd_load_arrow *a = arrow_of(f, name, 0, force);
    for (int i = 0; i < 3; i++)
        if (!(fabs(force[i] - wanted[i]) <= 1e-9 * (1 + size)))
            fail_msg("%s: %g %g %g", name, force[0], force[1], force[2]);
    if (!(fabs(a->largest - size) <= 1e-9 * (1 + size))) fail_msg("%s: largest is %g", name, a->largest);
    return a;
}

static const char FORCES[] =
    "kardan: 1\ngravity: [0, 0, -10]\nbodies:\n"
    "  hung: {position: [3, 0, 4], mass: 2, inertia: [1, 1, 1]}\n"
    "  turned: {position: [0, 5, 0], orientation: {axis: [1, 2, 3], angle: 1.2}, mass: 1, inertia: [1, 1, 1]}\n"
    "  mounted: {position: [0.1, 0.2, 0.3], mass: 1, inertia: [1, 1, 1]}\n"
    "  ball: {position: [7, 0, 0.09], mass: 1, inertia: [1, 1, 1]}\n"
    "forces:\n"
    "  spring: {type: tsda, from: ground, to: hung, stiffness: 100, length: 4}\n"
    "  wind: {type: applied, to: turned, force: [1, 2, 3]}\n"
    "  mount: {type: bushing, from: {body: ground, orientation: {axis: [0, 0, 1], angle: deg(90)}}, to: mounted, "
    "stiffness: [10, 20, 30, 1, 1, 1]}\n"
    "  touch: {type: contact, from: ground, to: ball, radius: 0.1, stiffness: 1.e+4, dissipation: 0}\n";

// A drawn spring pulls along its line, a force of the world stays in its axes, a bushing acts in its own: it is stiff by 10 along y and by
// 20 against x. What touches has its point below, along the normal.
static void forces_are_vectors_of_the_world(void **state)
{
    (void)state;
    fixture f = make(FORCES, KD_JOINT, 3);
    assert_int_equal(f.loads->count, 4);
    assert_int_equal(f.loads->frames, 3);
    const kd_load_arrow *spring = expect(&f, "spring", -60, 0, -80);
    assert_true(spring->kind == KD_LOAD_FORCE && spring->at.body == 0);
    expect(&f, "wind", 1, 2, 3);
    expect(&f, "mount", -20 * 0.1, -10 * 0.2, -30 * 0.3);
    double               force[3];
    const kd_load_arrow *touch = arrow_of(&f, "touch", 0, force);
    assert_true(touch->kind == KD_LOAD_CONTACT && touch->drop == 0.1 && touch->normal.body == -1);
    assert_true(touch->normal.r.z == 1 && force[2] > 0 && fabs(force[0]) + fabs(force[1]) < 1e-9);
    unmake(&f);
}

static const char HELD[] =
    "kardan: 1\ngravity: [0, 0, -10]\nbodies:\n"
    "  bob: {position: [0, 0, -1], mass: 3, inertia: [0.01, 0.01, 0.01]}\n"
    "  weight: {position: [3, 0, 0], mass: 4, inertia: [1, 1, 1]}\n"
    "  sled: {position: [0, 8, 0], mass: 5, inertia: [1, 1, 1]}\n"
    "joints:\n"
    "  hinge: {type: revolute, bodies: [ground, bob], point: [0, 0, 0], axis: [0, 1, 0], v: 2}\n"
    "  slide: {type: prismatic, bodies: [ground, sled], point: [0, 8, 0], axis: [3, 0, 4]}\n"
    "constraints:\n  rope: {type: distance, from: {body: ground, point: [3, 0, 2]}, to: weight}\n";

// A pendulum that swings through: weight and m l w^2; a rope holds its weight; a slope holds what is across it, in both sets of coordinates.
static void reactions_are_those_of_newton(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        fixture              f = make(HELD, k == 0 ? KD_JOINT : KD_CARTESIAN, 2);
        const kd_load_arrow *hinge = expect(&f, "hinge", 0, 0, 3 * (10 + 4));
        assert_true(hinge->kind == KD_LOAD_REACTION && hinge->at.body == 0);
        expect(&f, "rope", 0, 0, 40);
        // 50 N upwards without its part along (0.6, 0, 0.8)
        expect(&f, "slide", -0.6 * 0.8 * 50, 0, 50 - 0.8 * 0.8 * 50);
        unmake(&f);
    }
}

// At most some hundred instants, the first and the last among them; nothing to show is no fault, nor is a model that is too large.
static void instants_are_few(void **state)
{
    (void)state;
    fixture f = make(FORCES, KD_JOINT, 1700);
    assert_true(f.loads->frames > 300 && f.loads->frames < 420);
    assert_true(f.loads->t[0] == 0 && f.loads->t[f.loads->frames - 1] == kd_recording_times(f.rec)[1699]);
    // memory may be short
    for (long fail_at = 1;; fail_at++) {
        failing_allocator a = {.fail_at = fail_at};
        kd_loads         *loads = (kd_loads *)1;
        failing_allocator_use(&a);
        const kd_status status = kd_loads_read(f.model, KD_JOINT, NULL, f.rec, &loads);
        assert_true(status == KD_OK || loads == NULL);
        kd_loads_destroy(loads);
        kd_set_allocator(NULL);
        assert_int_equal(a.live, 0);
        if (status == KD_OK) break;
        assert_int_equal(status, KD_ERR_MEMORY);
        if (fail_at > 40) fail_at += fail_at / 4; // each takes as long as a system
    }
    unmake(&f);
    f = make("kardan: 1\nbodies:\n  stone: {mass: 1, inertia: [1, 1, 1]}\n", KD_JOINT, 2);
    assert_null(f.loads);
    unmake(&f);
    f = make(
        "kardan: 1\nbodies:\n  a(i): {for: i = 1..201, mass: 1, inertia: [1, 1, 1]}\nforces:\n  s: {type: tsda, from: "
        "{body: ground, point: [0, 0, 3]}, to: a(1), stiffness: 1}\n",
        KD_JOINT, 2);
    assert_null(f.loads);
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forces_are_vectors_of_the_world),
        cmocka_unit_test(reactions_are_those_of_newton),
        cmocka_unit_test(instants_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
