// Point 1 for bdf: a force that is constant on a short way. Velocities have no error there with order 1, positions have one of
// a part of their tolerance, and on so short a way that is an error of the work done: of thousands of tolerances behind it.
#include "case.h"
#include "certified_run.h"

typedef struct plateau {
    double m, v, at, width, edge; // the force rises and falls over edge
    double work;                  // that it does, in kinetic energies of the start
} plateau;

static plateau random_plateau(void)
{
    plateau n = {.m = of_order(0.1, 100.0), .v = of_order(0.3, 6.0)};
    n.at = between(0.5, 2.0);
    n.width = of_order(1e-4, 1e-2);
    n.edge = between(0.1, 0.4) * n.width;
    n.work = between(0.3, 2.0);
    if (between(0.0, 1.0) < 0.4) n.work = between(-0.6, -0.2); // it is slower behind it
    return n;
}

// The polynomial steps of the law have a mean of one half: the way at full force is width - edge
static double force_of(const plateau *n)
{
    return n->work * 0.5 * n->m * n->v * n->v / (n->width - n->edge);
}

static void write_model(const plateau *n, char *text, size_t size)
{
    snprintf(
        text, size,
        "kardan: 1\ngravity: [0, 0, 0]\nbodies:\n  block: {mass: %.17g, inertia: [1, 1, 1]}\njoints:\n"
        "  slide: {type: prismatic, bodies: [ground, block], point: [0, 0, 0], axis: [1, 0, 0], v: %.17g}\nforces:\n"
        "  push: {type: applied, to: block, force: [\"%.17g*(step5(joint.slide.q - %.17g, 0, 0, %.17g, 1) - "
        "step5(joint.slide.q - %.17g, 0, 0, %.17g, 1))\", 0, 0]}\n",
        n->m, n->v, force_of(n), n->at, n->edge, n->at + n->width - n->edge, n->edge);
}

// Error of the velocity behind it in tolerances
static double error_of(const plateau *n, kd_coordinates coordinates, kd_formulation formulation, double rtol)
{
    static certified      out;
    char                  text[2000];
    const double          right = n->v * sqrt(1.0 + n->work);
    kd_simulation_options opt = with_method(KD_BDF, rtol);
    opt.formulation = formulation;
    write_model(n, text, sizeof text);
    certify_text(text, coordinates, 4.0 * n->at / n->v, opt, &out);
    if (out.status < 0) print_error("%s\n", out.message);
    assert_true(out.status >= 0);
    return fabs(out.v[0] - right) / (rtol * (1.0 + right));
}

static void work_on_a_short_way_is_right(void **state)
{
    static const kd_formulation forms[] = {KD_ODE, KD_GGL, KD_ODASSL, KD_STATESPACE};
    double                      worst = 0.0;
    int                         above = 0;
    (void)state;
    srand(test_seed(1));
    enum { RUNS = 400 };
    for (int k = 0; k < RUNS; k++) {
        const plateau n = random_plateau();
        const double  rtol = of_order(1e-9, 1e-5);
        const double  error = error_of(&n, k % 2 ? KD_JOINT : KD_CARTESIAN, forms[k / 2 % 4], rtol);
        worst = fmax(worst, error);
        above += error > 100.0;
        if (!(error <= 400.0))
            print_error("run %d, form %d, m %.17g, v %.17g, at %.17g, width %.17g, edge %.17g, work %.17g, rtol %.17g: "
                        "%.3g tolerances\n",
                        k, k / 2 % 4, n.m, n.v, n.at, n.width, n.edge, n.work, rtol, error);
        assert_true(error <= 400.0);
    }
    print_message("largest error %.3g tolerances, above 100: %d of %d\n", worst, above, (int)RUNS);
    assert_true(above <= RUNS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_on_a_short_way_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
