// Point 14, the C interface: one NULL among good arguments, and numbers that are none of the object's, are refused, too.
#include <limits.h>

#include "case.h"
#include "trust/certified_run.h"

static const char TEXT[] =
    "kardan: 1\nparameters: {m: 2}\nbodies: {a: {mass: m, inertia: [1, 1, 1], position: [0, 0, -1]}}\n"
    "joints: {j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0], q: 0.2}}\n"
    "constraints: {c: {type: distance, bodies: [ground, a], points: [[1, 0, 0], [0, 0, -1]]}}\n"
    "forces: {f: {type: joint_spring, joint: j, stiffness: 3, damping: 0.1}}\ninputs: {u: t}\nsensors: {s: "
    "joint.j.q}\n";

typedef struct objects {
    kd_model      *model;
    kd_system     *system;
    const kd_eom  *eom;
    kd_state      *x;
    kd_eom_data   *data;
    kd_simulation *simulation;
    kd_realtime   *realtime;
    kd_poses      *poses;
    kd_saved      *saved;
    kd_explainer  *explainer;
} objects;

static objects make(void)
{
    objects             o = {.model = model_of(TEXT)};
    char                message[800];
    kd_realtime_options r = kd_realtime_options_default();
    assert_true(kd_system_create(o.model, NULL, &o.system, message, sizeof message) >= 0);
    o.eom = kd_system_eom(o.system);
    assert_int_equal(kd_state_create(o.eom, &o.x), KD_OK);
    assert_true(kd_system_start(o.system, o.x, message, sizeof message) >= 0);
    assert_int_equal(kd_eom_data_create(o.eom, &o.data), KD_OK);
    r.h = 1e-3;
    assert_true(kd_realtime_create(o.eom, NULL, &r, o.x, &o.realtime, message, sizeof message) >= 0);
    assert_int_equal(kd_poses_create(o.system, &o.poses), KD_OK);
    const kd_simulation_options opt = with_method(KD_RADAU, 1e-6);
    assert_true(kd_simulation_create(o.eom, NULL, &opt, o.x, &o.simulation, message, sizeof message) >= 0);
    assert_int_equal(kd_simulation_save(o.simulation, &o.saved, message, sizeof message), KD_OK);
    assert_int_equal(kd_explainer_create(kd_simulation_dae(o.simulation), o.eom, &o.explainer), KD_OK);
    return o;
}

static void forget(objects *o)
{
    kd_explainer_destroy(o->explainer);
    kd_saved_destroy(o->saved);
    kd_simulation_destroy(o->simulation);
    kd_poses_destroy(o->poses);
    kd_realtime_destroy(o->realtime);
    kd_eom_data_destroy(o->data);
    kd_state_destroy(o->x);
    kd_system_destroy(o->system);
    kd_model_destroy(o->model);
}

static void one_null_is_refused(void **state)
{
    (void)state;
    objects            o = make();
    double             p[64] = {0};
    bool               free_p[64];
    kd_hidden          hidden;
    kd_pattern         pattern;
    const kd_turn      turn = {0};
    const kd_dae      *dae = kd_simulation_dae(o.simulation);
    const kd_step_seen seen = {0};
    const kd_point    *at = kd_eom_point(o.data);
    assert_int_equal(kd_eom_oplus(o.data, NULL, p, p), KD_EVAL_STOP);
    assert_int_equal(kd_eom_oplus(o.data, p, NULL, p), KD_EVAL_STOP);
    assert_int_equal(kd_eom_oplus(o.data, p, p, NULL), KD_EVAL_STOP);
    assert_int_equal(kd_eom_derivatives(o.data, KD_PART_ALL, NULL), KD_EVAL_STOP);
    assert_int_equal(kd_eom_unseen(o.data, NULL, at, &seen, &hidden), KD_EVAL_STOP);
    assert_int_equal(kd_eom_unseen(o.data, at, NULL, &seen, &hidden), KD_EVAL_STOP);
    assert_int_equal(kd_eom_unseen(o.data, at, at, NULL, &hidden), KD_EVAL_STOP);
    assert_int_equal(kd_eom_sparse(o.data, KD_MASS, KD_A, KD_PART_ALL, NULL), KD_EVAL_STOP);
    assert_false(kd_eom_pattern(o.eom, KD_MASS, KD_A, NULL));
    assert_false(kd_eom_pattern(o.eom, (kd_fn)999, KD_A, &pattern));
    assert_int_equal(kd_formulation_structure(dae, NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_poses_at(o.poses, o.x, NULL), KD_EVAL_STOP);
    assert_int_equal(kd_poses_rates(o.poses, o.x, NULL), KD_EVAL_STOP);
    assert_int_equal(kd_realtime_input(o.realtime, NULL), -1);
    assert_int_equal(kd_realtime_output(o.realtime, NULL), -1);
    assert_false(kd_saved_has(o.saved, NULL));
    assert_false(kd_compare_method_matches(NULL, "radau"));
    // those without an answer do nothing
    kd_eom_kkt_solve(o.data, NULL);
    kd_formulation_pack(dae, NULL, p);
    kd_formulation_pack(dae, o.x, NULL);
    kd_formulation_unpack(dae, 0, NULL, o.x);
    kd_formulation_unpack(dae, 0, p, NULL);
    kd_explainer_result(o.explainer, NULL, NULL, NULL);
    kd_turn_release(o.eom, NULL, o.x, free_p, free_p);
    kd_turn_release(o.eom, &turn, NULL, free_p, free_p);
    kd_turn_release(o.eom, &turn, o.x, NULL, free_p);
    kd_turn_release(o.eom, &turn, o.x, free_p, NULL);
    forget(&o);
}

static void other_numbers_are_none(void **state)
{
    (void)state;
    objects   o = make();
    const int wrong[] = {-1, 1000, 1000000, INT_MAX, INT_MIN};
    char      name[100];
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        assert_true(kd_eom_position_unit(o.eom, wrong[k]) == 1);
        for (int kind = 0; kind < KD_NAME_KIND_COUNT; kind++)
            assert_null(strstr(kd_eom_name(o.eom, (kd_kind)kind, wrong[k], name, sizeof name), "joint"));
        assert_string_equal(kd_eom_name(o.eom, KD_NAME_KIND_COUNT, wrong[k], name, sizeof name), "");
        assert_string_equal(kd_system_load_name(o.system, wrong[k]), "");
        assert_string_equal(kd_system_load_kind(o.system, wrong[k]), "");
        kd_system_set_stiff(o.system, wrong[k], true);
        assert_false(kd_system_stiff(o.system, wrong[k]));
        assert_int_equal(kd_eom_rows(o.eom, (kd_fn)wrong[k]), 0);
        assert_int_equal(kd_eom_columns(o.eom, (kd_var)wrong[k]), 0);
    }
    assert_string_equal(kd_eom_name(o.eom, KD_NAME_P, 0, name, sizeof name), "joint.j.q");
    // a kind that is none: its definition is refused
    const kd_force_def f = kd_force_def_default((kd_force_kind)12345);
    kd_model          *m;
    assert_int_equal(kd_model_create(&m), KD_OK);
    assert_true(kd_model_add_force(m, "f", &f) < 0);
    kd_model_destroy(m);
    forget(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_null_is_refused),
        cmocka_unit_test(other_numbers_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
