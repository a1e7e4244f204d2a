// Eigenvalues of vehicles at rest and in straight running: tables, other coordinates, equations written by hand.
#include <math.h>

#include "analysis/linear_subject.h"
#include "gallery.h"

// Every eigenvalue of one that is not zero is one of the other
static void assert_same(const kd_modes *a, const kd_modes *b, double tolerance)
{
    for (int i = 0; i < a->n; i++) {
        const double size = hypot(a->real[i], a->imaginary[i]);
        if (size > 1e-3) assert_has_pair(b, a->real[i], a->imaginary[i], tolerance * fmax(1, size));
    }
}

static void open_example(const char *name, subject *s)
{
    char                  message[1000] = "";
    kd_eom               *eom;
    kd_inputs             inputs = {0};
    kd_equilibrium_result result;
    *s = (subject){0};
    assert_int_equal(kd_gallery_find(name)->create(&eom, &s->x, &inputs), KD_OK);
    s->eom = eom;
    must(kd_equilibrium(eom, inputs.eval ? &inputs : NULL, NULL, s->x, &result, message, sizeof message), message);
    assert_int_equal(result.stability, KD_STABLE);
    must(kd_linearize(eom, inputs.eval ? &inputs : NULL, NULL, s->x, &s->linear, message, sizeof message), message);
    must(kd_modes_create(s->linear, &s->modes), "");
}

static void close_example(subject *s)
{
    close_model(s);
    kd_eom_destroy((kd_eom *)s->eom);
}

typedef struct pair {
    double real, imaginary;
} pair;

// Trucks written in C, at rest on flat road: the eigenvalues of the tables, which have three and two decimals.
static void trucks_in_c_as_tabulated(void **state)
{
    (void)state;
    static const pair five[] = {{-88.289, 0},     {-36.108, 21.994}, {-21.727, 48.285}, {-11.675, 0},
                                {-9.174, 10.972}, {-8.568, 14.450},  {-7.743, 57.945},  {-3.118, 4.844},
                                {-0.825, 6.532},  {-0.345, 1.336}};
    static const pair seven[] = {{-119.42, 0},   {-18.58, 55.09}, {-14.35, 0},    {-13.04, 27.96},
                                 {-9.16, 11.07}, {-9.06, 16.41},  {-7.80, 57.64}, {-6.29, 31.06},
                                 {-5.90, 15.70}, {-2.79, 6.11},   {-0.73, 6.41}};
    subject           s;
    open_example("truck5-free", &s);
    assert_int_equal(s.linear->nx, 18);
    for (size_t i = 0; i < sizeof five / sizeof five[0]; i++)
        assert_has_pair(s.modes, five[i].real, five[i].imaginary, 7.1e-4);
    close_example(&s);
    open_example("truck7", &s);
    assert_int_equal(s.linear->nx, 20);
    for (size_t i = 0; i < sizeof seven / sizeof seven[0]; i++)
        assert_has_pair(s.modes, seven[i].real, seven[i].imaginary, 7.1e-3);
    close_example(&s);
}

// Both trucks as model files, in both coordinate sets: equilibrium of the start, and the eigenvalues of the equations
// written by hand.
static void trucks_of_files_and_in_c_agree(void **state)
{
    (void)state;
    static const char *const name[] = {"truck5", "truck7"};
    for (int k = 0; k < 4; k++) {
        char                  path[100], message[1000] = "";
        kd_equilibrium_result result;
        subject               hand;
        open_example(name[k / 2], &hand);
        snprintf(path, sizeof path, "%s.yaml", name[k / 2]);
        subject s = open_model(path, NULL, 0, BOTH[k & 1], false);
        must(kd_equilibrium(s.eom, kd_system_inputs(s.system), NULL, s.x, &result, message, sizeof message), message);
        assert_int_equal(result.stability, KD_STABLE);
        assert_true(result.moved < 1e-6);
        linearize(&s);
        assert_int_equal(s.linear->nx, hand.linear->nx);
        assert_same(hand.modes, s.modes, 1e-6);
        assert_same(s.modes, hand.modes, 1e-6);
        close_model(&s);
        close_example(&hand);
    }
}

// HMMWV at rest on its wheels: nothing but the free plane motions is without return, the stiffest eigenvalue is that of
// bushings with inertia and damper, and the coordinates do not matter.
static void hmmwv_in_both_coordinates(void **state)
{
    (void)state;
    subject s[2];
    for (int c = 0; c < 2; c++) {
        char                  message[1000] = "";
        kd_equilibrium_result result;
        s[c] = open_model("hmmwv.yaml", NULL, 0, BOTH[c], false);
        const kd_inputs *inputs = kd_system_inputs(s[c].system);
        must(kd_equilibrium(s[c].eom, inputs, NULL, s[c].x, &result, message, sizeof message), message);
        assert_int_equal(result.stability, KD_INDIFFERENT);
        linearize(&s[c]);
        for (int i = 0; i < s[c].modes->n; i++) assert_true(s[c].modes->real[i] < 1e-3);
    }
    assert_int_equal(s[0].linear->nx, s[1].linear->nx);
    assert_same(s[0].modes, s[1].modes, 1e-5);
    assert_same(s[1].modes, s[0].modes, 1e-5);
    for (int c = 0; c < 2; c++) close_model(&s[c]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trucks_in_c_as_tabulated),
        cmocka_unit_test(trucks_of_files_and_in_c_agree),
        cmocka_unit_test(hmmwv_in_both_coordinates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
