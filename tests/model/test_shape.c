// Masses of shapes against closed forms and against sums over small cells.
#include "build_helpers.h"
#include "model/build.h"

static kd_shape shape(kd_shape_kind kind, double a, double b, double c)
{
    return (kd_shape){.kind = kind, .size = {a, b, c}, .orientation = {1, 0, 0, 0}, .density = 1000.0};
}

// is the point of the shape's own frame inside?
static bool inside(const kd_shape *s, kd_vec3 p)
{
    const double rho2 = p.x * p.x + p.y * p.y;
    switch (s->kind) {
    case KD_SPHERE:
        return rho2 + p.z * p.z < s->size[0] * s->size[0];
    case KD_BOX:
        return fabs(p.x) < s->size[0] / 2 && fabs(p.y) < s->size[1] / 2 && fabs(p.z) < s->size[2] / 2;
    case KD_TUBE:
        return rho2 < s->size[0] * s->size[0] && rho2 > s->size[1] * s->size[1] && fabs(p.z) < s->size[2] / 2;
    default:
        return rho2 < s->size[0] * s->size[0] && fabs(p.z) < s->size[1] / 2;
    }
}

// mass properties of several shapes by the midpoint rule on n^3 cells of a cube of the given edge about the origin
static kd_mass by_cells(const kd_shape *s, int nshapes, double edge, int n)
{
    kd_mass      sum = {0};
    const double h = edge / n;
    kd_vec3      first = {0, 0, 0};
    kd_sym3      I = {0};
    for (int k = 0; k < nshapes; k++) {
        const kd_mat3 R = kd_quat_matrix(kd_quat_of(s[k].orientation));
        for (int i = 0; i < n * n * n; i++) {
            const kd_vec3 p = {(i % n + 0.5) * h - edge / 2, (i / n % n + 0.5) * h - edge / 2,
                               (i / n / n + 0.5) * h - edge / 2};
            if (!inside(&s[k], kd_mat_tvec(&R, kd_vec_sub(p, kd_vec_of(s[k].position))))) continue;
            const double m = s[k].density * h * h * h;
            sum.mass += m;
            first = kd_vec_axpy(first, m, p);
            I = kd_sym_steiner(&I, m, p);
        }
    }
    sum.centre = kd_vec_scale(1.0 / sum.mass, first);
    sum.inertia = kd_sym_steiner(&I, -sum.mass, sum.centre);
    return sum;
}

static void assert_same_mass(const kd_mass *a, const kd_mass *b, double relative)
{
    const double size = a->inertia.xx + a->inertia.yy + a->inertia.zz;
    assert_near(a->mass, b->mass, relative * a->mass);
    assert_vec(a->centre, b->centre.x, b->centre.y, b->centre.z, relative);
    assert_near(a->inertia.xx, b->inertia.xx, relative * size);
    assert_near(a->inertia.yy, b->inertia.yy, relative * size);
    assert_near(a->inertia.zz, b->inertia.zz, relative * size);
    assert_near(a->inertia.xy, b->inertia.xy, relative * size);
    assert_near(a->inertia.xz, b->inertia.xz, relative * size);
    assert_near(a->inertia.yz, b->inertia.yz, relative * size);
}

// Each shape has the mass and inertia that a sum over its cells gives.
static void each_shape_as_its_cells(void **state)
{
    (void)state;
    const kd_shape shapes[] = {shape(KD_SPHERE, 0.4, 0, 0), shape(KD_BOX, 0.5, 0.7, 0.9),
                               shape(KD_CYLINDER, 0.3, 0.8, 0), shape(KD_ROD, 0.25, 0.9, 0),
                               shape(KD_TUBE, 0.45, 0.3, 0.7)};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        kd_mass       exact;
        const kd_mass cells = by_cells(&shapes[i], 1, 1.0, 60);
        assert_true(kd_shapes_mass(&shapes[i], 1, NAN, &exact));
        assert_same_mass(&exact, &cells, 0.02);
    }
}

// Known forms: ball 2/5 m r^2, thin rod m l^2 / 12, thin tube m r^2.
static void known_forms(void **state)
{
    (void)state;
    kd_shape s = shape(KD_SPHERE, 2.0, 0, 0);
    assert_near(kd_shape_volume(&s), 33.510321638291124, 1e-12);
    assert_near(kd_shape_inertia(&s, 3.0).yy, 4.8, 1e-14);
    s = shape(KD_ROD, 1e-6, 2.0, 0);
    assert_near(kd_shape_inertia(&s, 3.0).xx, 1.0, 1e-9);
    s = shape(KD_TUBE, 1.0, 1.0, 1.0);
    assert_near(kd_shape_inertia(&s, 3.0).zz, 3.0, 1e-14);
}

// Turned and shifted shapes of different density together are what a sum over all cells gives.
static void composite_as_cells(void **state)
{
    (void)state;
    kd_shape      s[2] = {shape(KD_BOX, 0.4, 0.3, 0.2), shape(KD_CYLINDER, 0.2, 0.5, 0)};
    const kd_quat turn = kd_quat_exp(kd_vec(0.4, -0.7, 0.3));
    kd_quat_to(turn, s[0].orientation);
    kd_quat_to(kd_quat_conjugate(turn), s[1].orientation);
    s[0].position[0] = 0.3;
    s[1].position[1] = -0.2;
    s[1].position[2] = 0.1;
    s[1].density = 400.0;
    kd_mass       exact;
    const kd_mass cells = by_cells(s, 2, 1.4, 70);
    assert_true(kd_shapes_mass(s, 2, NAN, &exact));
    assert_same_mass(&exact, &cells, 0.02);
}

// A given mass scales the shapes; without densities they count alike; without any mass there is nothing.
static void given_mass_scales(void **state)
{
    (void)state;
    kd_shape s = shape(KD_SPHERE, 0.5, 0, 0);
    kd_mass  a;
    assert_true(kd_shapes_mass(&s, 1, 10.0, &a));
    assert_near(a.mass, 10.0, 1e-14);
    assert_near(a.inertia.xx, 1.0, 1e-14);
    s.density = 0.0;
    assert_true(kd_shapes_mass(&s, 1, 10.0, &a));
    assert_near(a.inertia.xx, 1.0, 1e-14);
    assert_false(kd_shapes_mass(&s, 1, NAN, &a));
}

// Principal moments survive a rotation and come in rising order.
static void principal_moments(void **state)
{
    (void)state;
    const kd_sym3 D = {3.0, 1.0, 2.0, 0, 0, 0};
    for (int k = 0; k < 20; k++) {
        const kd_mat3 R = kd_quat_matrix(kd_quat_exp(kd_vec(sin(k), cos(3 * k), 0.3 * k)));
        const kd_sym3 I = kd_sym_rotate(&R, &D);
        double        value[3];
        kd_sym_eigenvalues(&I, value);
        for (int i = 0; i < 3; i++) assert_near(value[i], i + 1.0, 1e-13);
    }
}

// A body takes from its shapes what its definition leaves open, and nothing else.
static void bodies_take_shapes(void **state)
{
    (void)state;
    kd_model   *m = new_model();
    kd_body_def b = kd_body_def_default();
    b.nshapes = 1;
    b.shape[0] = shape(KD_BOX, 1, 1, 1);
    b.shape[0].position[2] = 0.5;
    CHECK(kd_model_add_body(m, "by_density", &b));
    b.mass = 6.0;
    CHECK(kd_model_add_body(m, "by_mass", &b));
    b.centre[0] = b.centre[1] = b.centre[2] = 0.0;
    CHECK(kd_model_add_body(m, "by_centre", &b));
    CHECK(kd_model_finish(m));
    assert_near(m->body[0].def.mass, 1000.0, 1e-9);
    assert_vec(m->body[0].centre, 0, 0, 0.5, 1e-15);
    assert_near(m->body[0].inertia.xx, 1000.0 / 6.0, 1e-9);
    assert_near(m->body[1].def.inertia[0], 1.0, 1e-14);
    assert_near(m->body[2].inertia.xx, 1.0 + 6.0 * 0.25, 1e-14); // about the centre that was given
    assert_near(m->body[2].inertia.zz, 1.0, 1e-14);
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_as_its_cells), cmocka_unit_test(known_forms),
        cmocka_unit_test(composite_as_cells),      cmocka_unit_test(given_mass_scales),
        cmocka_unit_test(principal_moments),       cmocka_unit_test(bodies_take_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
