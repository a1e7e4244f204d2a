// The problems of D. Negrut, E. J. Haug, H. C. German (S2): HMMWV over a bump (section 5.2) and double pendulum with
// two rotational spring-dampers (section 5.1). Counts, rest, stiffness, equal motion in both coordinate sets;
// references.
#include "gallery_run.h"

#include <lapacke.h>

#include "model/model.h"

enum { MAX_X = 200 };

static table result[2];

// ---- eigenvalues ----------------------------------------------------------------------------------------------------

// The eigenvalue of largest modulus of x' = f(x), the form ode, at the start: matrix by central differences.
static double dominant_eigenvalue(const char *name, const char *settings, kd_coordinates c)
{
    static double     J[MAX_X * MAX_X], re[MAX_X], im[MAX_X], x0[MAX_X], low[MAX_X], high[MAX_X];
    char              message[MAX_MODEL_TEXT] = "";
    kd_model         *model = read_gallery(name, settings);
    kd_system_options options = kd_system_options_default();
    kd_system        *system = NULL;
    kd_state         *x = NULL;
    kd_dae           *dae = NULL;
    options.coordinates = c;
    must(kd_system_create(model, &options, &system, message, sizeof message), name, c, message);
    const kd_eom *eom = kd_system_eom(system);
    must(kd_state_create(eom, &x), name, c, "");
    must(kd_system_start(system, x, message, sizeof message), name, c, message);
    must(kd_formulation_create(eom, kd_system_inputs(system), x, KD_ODE, NULL, &dae, message, sizeof message), name, c,
         message);
    const int n = dae->n;
    assert_true(n <= MAX_X);
    kd_formulation_pack(dae, x, x0);
    for (int j = 0; j < n; j++) {
        const double h = 1e-5, kept = x0[j];
        x0[j] = kept + h;
        assert_int_equal(dae->methods->rhs(dae->impl, 0, x0, high), KD_EVAL_OK);
        x0[j] = kept - h;
        assert_int_equal(dae->methods->rhs(dae->impl, 0, x0, low), KD_EVAL_OK);
        x0[j] = kept;
        for (int i = 0; i < n; i++) J[i + j * n] = (high[i] - low[i]) / (2 * h);
    }
    assert_int_equal(LAPACKE_dgeev(LAPACK_COL_MAJOR, 'N', 'N', n, J, n, re, im, NULL, 1, NULL, 1), 0);
    int largest = 0;
    for (int i = 0; i < n; i++)
        if (hypot(re[i], im[i]) > hypot(re[largest], im[largest])) largest = i;
    assert_close(im[largest], 0, 1e-4 * fabs(re[largest]));
    kd_dae_destroy(dae);
    kd_state_destroy(x);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return re[largest];
}

// ---- HMMWV ----------------------------------------------------------------------------------------------------------

// S2: 14 bodies, 98 Cartesian coordinates, 79 + 1 equations with the 14 norms among them, 18 degrees of freedom; in
// joint coordinates 35 velocities and 17 equations.
static void counts_are_those_of_the_paper(void **state)
{
    static const int wanted[2][4] = {{44, 35, 9, 17}, {98, 84, 14, 66}}; // np, nv, nq, nlambda
    (void)state;
    for (int c = 0; c < 2; c++) {
        char              message[MAX_MODEL_TEXT] = "";
        kd_model         *model = read_gallery("hmmwv", NULL);
        kd_system_options options = kd_system_options_default();
        kd_system        *system = NULL;
        options.coordinates = BOTH[c];
        must(kd_system_create(model, &options, &system, message, sizeof message), "hmmwv", BOTH[c], message);
        kd_dims        n = kd_eom_dims(kd_system_eom(system));
        kd_system_info info = kd_system_info_of(system);
        assert_int_equal(info.nbodies, 14);
        assert_int_equal(info.dof, 18);
        assert_int_equal(info.nredundant, 0);
        assert_int_equal(n.np, wanted[c][0]);
        assert_int_equal(n.nv, wanted[c][1]);
        assert_int_equal(n.nq, wanted[c][2]);
        assert_int_equal(n.nlambda, wanted[c][3]);
        kd_system_destroy(system);
        kd_model_destroy(model);
    }
}

// It drives straight in equilibrium until the bump: nothing moves, the tyres carry the weight, each axle its share by
// the moments of all bodies about the wheels.
static void drives_in_equilibrium(void **state)
{
    kd_model *m = read_gallery("hmmwv", NULL);
    double    mass = 0, moment = 0;
    (void)state;
    for (int i = 0; i < m->nbodies; i++) {
        mass += m->body[i].def.mass;
        moment += m->body[i].def.mass * m->body[i].def.position[0];
    }
    kd_model_destroy(m);
    assert_close(mass, 2426.524, 1e-3);
    const double front = 1.688965 - 0.040, rear = 0.036 - 1.688965; // wheel centres
    const double share = (moment / mass - rear) / (front - rear);
    run_model("hmmwv", NULL, KD_JOINT, 0.49, 7, &result[0]);
    for (int k = 0; k <= 7; k++) {
        assert_close(at(&result[0], k, "height"), 0.999, 1e-9);
        assert_close(at(&result[0], k, "pitch"), 0, 1e-9);
        assert_close(at(&result[0], k, "speed"), 16 / 3.6, 1e-9);
        for (int i = 0; i < 2; i++) {
            assert_close(at(&result[0], k, i == 0 ? "front-load(1)" : "front-load(2)"), share * mass * GRAVITY / 2,
                         1e-3);
            assert_close(at(&result[0], k, i == 0 ? "rear-load(1)" : "rear-load(2)"), (1 - share) * mass * GRAVITY / 2,
                         1e-3);
        }
    }
}

// Both axles cross the bump, and the height returns to where it was, as in figure 5.
static void crosses_the_bump(void **state)
{
    (void)state;
    run_model("hmmwv", "reach=0.05", KD_JOINT, 3, 100, &result[0]);
    double load[2] = {0}, top = 0;
    for (int k = 0; k <= 100; k++) {
        load[0] = fmax(load[0], at(&result[0], k, "front-load(1)"));
        load[1] = fmax(load[1], at(&result[0], k, "rear-load(1)"));
        top = fmax(top, at(&result[0], k, "height"));
        assert_close(at(&result[0], k, "y"), 0, 1e-6);
        assert_close(at(&result[0], k, "front-load(1)"), at(&result[0], k, "front-load(2)"), 1);
    }
    assert_true(load[0] > 8000 && load[1] > 8000); // of the tyres, 6151 N and 5751 N at rest
    assert_true(top > 1.005 && top < 1.049);       // less than the bump is high
    assert_close(at(&result[0], -1, "height"), 0.999, 1e-5);
    assert_close(at(&result[0], -1, "pitch"), 0, 1e-5);
}

// Joint and Cartesian coordinates give one motion, over the bump.
static void motion_is_the_same_in_both(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) run_with("hmmwv", "reach=0.06", BOTH[c], 0.5, 10, 0.1, &result[c]);
    for (int k = 0; k <= 10; k++)
        for (int i = 0; i < result[0].columns; i++) {
            double size = 0;
            for (int row = 0; row <= 10; row++) size = fmax(size, fabs(result[0].value[row][i]));
            // a bushing makes 1 N of a rate of 5e-7 m/s
            double tolerance = strstr(result[0].name[i], "bushing") ? 1e-3 : 1e-5;
            if (!(fabs(result[0].value[k][i] - result[1].value[k][i]) <= tolerance * (1e-2 + size)))
                fail_msg("%s at t = %g: %.12g and %.12g", result[0].name[i], result[0].t[k], result[0].value[k][i],
                         result[1].value[k][i]);
        }
}

// The bump under the left wheels only: the vehicle heaves, pitches, rolls and yaws. Both coordinate sets follow a program that
// shares nothing with kardan but the numbers of the model (tests/vehicle/hmmwv_reference.py: bodies in Cartesian coordinates,
// multipliers at the level of accelerations, Radau of scipy).
static void motion_is_that_of_an_independent_program(void **state)
{
    static const struct {
        const char *sensor;
        double      tolerance;
    } column[] = {
        {"height", 1e-9},
        {"pitch", 1e-9},
        {"x", 1e-9},
        {"y", 1e-9},
        {"speed", 1e-9},
        {"front-load(1)", 1e-3},
        {"front-load(2)", 1e-3},
        {"rear-load(1)", 1e-3},
        {"rear-load(2)", 1e-3},
        {"front-travel(1)", 1e-9},
        {"front-travel(2)", 1e-9},
        {"rear-travel(1)", 1e-9},
        {"rear-travel(2)", 1e-9},
        {"caster(1)", 1e-9},
        {"caster(2)", 1e-9},
        {"bushing(1)", 2e-2},
        {"bushing(2)", 2e-2},
        {"rear-bushing(1)", 2e-2},
        {"rear-bushing(2)", 2e-2},
    };
    enum { COLUMNS = sizeof column / sizeof column[0], TIMES = 30 };
    (void)state;
    for (int run = 0; run < 4; run++) {
        const double coarser = run < 2 ? 1e4 : 1.0; // the tolerances of the file, and 1e-4 of them
        run_with("hmmwv", "reach=0.05 front(2).bump=0 rear(2).bump=0", BOTH[run % 2], 1.2, TIMES, 1e-4 * coarser,
                 &result[0]);
        for (int k = 0; k <= TIMES; k++) {
            double row[1 + COLUMNS];
            assert_int_equal(reference_row("hmmwv", 0.04 * k, row, 1 + COLUMNS), 1 + COLUMNS);
            for (int i = 0; i < COLUMNS; i++) {
                const double value = at(&result[0], k, column[i].sensor);
                if (!(fabs(value - row[1 + i]) <= coarser * column[i].tolerance))
                    fail_msg("run %d, %s at %g: %.12g, not %.12g", run, column[i].sensor, row[0], value, row[1 + i]);
            }
        }
    }
}

// The dominant eigenvalue with the bushings of the paper: of the order -1e5 (printed: -2.6e5), real, the same in both
// coordinate sets, proportional to the damping of the bushings.
static void bushings_make_it_stiff(void **state)
{
    (void)state;
    double joint = dominant_eigenvalue("hmmwv", NULL, KD_JOINT);
    double cartesian = dominant_eigenvalue("hmmwv", NULL, KD_CARTESIAN);
    double soft = dominant_eigenvalue("hmmwv", "c=2e5", KD_JOINT);
    print_message("dominant eigenvalue %.6g 1/s\n", joint);
    assert_true(joint < -5e4 && joint > -5e5);
    assert_close(cartesian, joint, 1e-4 * fabs(joint));
    assert_close(soft, joint / 10, 1e-2 * fabs(joint) / 10);
}

// ---- double pendulum ------------------------------------------------------------------------------------------------

// Angles and rates follow the reference in quadruple precision to 8 digits, all along.
static void double_pendulum_follows_reference(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++) {
        run_with("stiff-double-pendulum", NULL, BOTH[c], 2, 20, 1e-2, &result[0]);
        for (int k = 1; k <= 20; k++) {
            double row[5];
            assert_int_equal(reference_row("doublependulum", 0.1 * k, row, 5), 5);
            assert_close(at(&result[0], k, "theta1"), row[1], 1e-8);
            assert_close(at(&result[0], k, "theta2"), row[2], 1e-8);
            assert_close(at(&result[0], k, "rate1"), row[3], 1e-7);
            assert_close(at(&result[0], k, "rate2"), row[4], 1e-7);
        }
    }
}

// Its dominant eigenvalue at the start: -9.98670e4 with the inertias of uniform rods, -1.385e5 with a quarter of them.
static void double_pendulum_is_stiff(void **state)
{
    (void)state;
    for (int c = 0; c < 2; c++)
        assert_close(dominant_eigenvalue("stiff-double-pendulum", NULL, BOTH[c]), -9.98670e4, 10);
    assert_close(dominant_eigenvalue("stiff-double-pendulum", "I1=0.25 I2=0.05625", KD_JOINT), -1.385e5, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_paper),
        cmocka_unit_test(drives_in_equilibrium),
        cmocka_unit_test(crosses_the_bump),
        cmocka_unit_test(motion_is_the_same_in_both),
        cmocka_unit_test(motion_is_that_of_an_independent_program),
        cmocka_unit_test(bushings_make_it_stiff),
        cmocka_unit_test(double_pendulum_follows_reference),
        cmocka_unit_test(double_pendulum_is_stiff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
