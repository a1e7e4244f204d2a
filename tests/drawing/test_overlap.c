// Solids in each other: what is inside is hidden, what sticks out is cut at the surface, the rest stays as it is.
#include <math.h>

#include "drawing/film.h"
#include "drawing/overlap.h"

// A thin rod along x, from -1 to 1, at z = 0, and another body at the origin.
#define ROD_AND(shape)                                                                                                 \
    "kardan: 1\nbodies:\n  rod: {mass: 1, inertia: [1, 1, 1], shape: {rod: 0.05, from: [-1, 0, 0], to: [1, 0, 0]}}\n"  \
    "  other: {mass: 1, inertia: [1, 1, 1], shape: {" shape "}}\n"

typedef struct seen {
    int    whole, cut, hidden;
    double lowest; // least |x| of a corner that is seen
} seen;

// The faces of the first solid at the only frame; walls along the rod alone.
static seen look(const char *text, double shift)
{
    test_film f = film_of(text, 1);
    kd_scene  s;
    kd_placed placed[4];
    seen      result = {.lowest = INFINITY};
    pose_of(&f, 0, 1)[0] = shift;
    assert_int_equal(kd_scene_build(&f.film, &s), KD_OK);
    assert_int_equal(s.nsolids, 2);
    assert_int_equal(s.solid[0].mesh, KD_MESH_LONG);
    kd_placed_at(&s, 0, placed);
    const kd_mesh *mesh = &s.mesh[KD_MESH_LONG];
    for (int i = 0; i < mesh->nfaces; i++) {
        kd_vec3 c[KD_MESH_MOST_CORNERS];
        int     n = kd_visible_face(&s, placed, 0, i, c), full = mesh->first[i + 1] - mesh->first[i];
        if (full != 4) continue;
        double length = fmax(fabs(c[0].x - c[2].x), fabs(c[1].x - c[3].x));
        assert_true(n == 0 || n == 4);
        if (n == 0)
            result.hidden++;
        else if (length > 0.5 - 1e-9) // a quarter of the rod
            result.whole++;
        else
            result.cut++;
        for (int k = 0; k < n; k++) result.lowest = fmin(result.lowest, fabs(c[k].x - shift));
    }
    kd_scene_release(&s);
    close_film(&f);
    return result;
}

// A rod through a box, a cylinder, a ball loses exactly what is inside.
static void inner_part_is_hidden(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double      out; // where the rod comes out
    } list[] = {
        {ROD_AND("box: [1.4, 0.4, 0.4]"), 0.7},
        {ROD_AND("cylinder: [0.2, 1.4], orientation: {axis: [0, 1, 0], angle: deg(90)}"), 0.7},
        {ROD_AND("sphere: 0.7"), 0.7},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        seen s = look(list[i].text, 0);
        int  sides = s.hidden / 2; // two of four pieces are inside
        assert_true(sides >= 8);
        assert_int_equal(s.hidden, 2 * sides);
        assert_int_equal(s.cut, 2 * sides);
        assert_int_equal(s.whole, 0);
        assert_true(fabs(s.lowest - list[i].out) < 3e-3);
    }
}

// Solids apart, solids in one plane and open ones hide nothing.
static void the_rest_stays(void **state)
{
    (void)state;
    seen s = look(ROD_AND("box: [1.4, 0.4, 0.4]"), 5);
    assert_true(s.hidden == 0 && s.cut == 0 && s.whole > 0);
    s = look(ROD_AND("tube: [0.5, 0.4, 1]"), 0);
    assert_true(s.hidden == 0 && s.cut == 0);
    s = look(ROD_AND("rod: 0.05, from: [-1, 0, 0], to: [1, 0, 0]"), 0);
    assert_true(s.hidden == 0 && s.cut == 0);
    assert_int_equal(kd_form_of(KD_MESH_PYRAMID), KD_FORM_OPEN);
    assert_int_equal(kd_form_of(KD_MESH_TUBE + 3), KD_FORM_OPEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_part_is_hidden),
        cmocka_unit_test(the_rest_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
