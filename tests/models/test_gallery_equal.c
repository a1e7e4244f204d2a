// All model files of the gallery give the same motion in both coordinate sets, by formulations and integrators that
// have nothing in common, with their events, controllers and friction active; over short times, so that it stays fast.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "gallery_run.h"

static const char METHODS[] = "psf+radau,ggl+bdf,ode+esdirk,ode+dopri5,statespace+esdirk";

typedef struct exception {
    const char *name;
    double      t_end; // > 0: instead of the usual one
    double      error; // > 0: instead of the usual one
} exception;

static const double T_END = 0.1037, ERROR = 2e-4, TOLERANCE = 1e-6;

// Where events come later, or steps are expensive
static const exception EXCEPTIONS[] = {
    {"andrews", 0.02, 0},
    {"closed-loop-car", 0.03, 0},
    {"car-trailer", 0.03, 0},
    {"passenger-car", 0.03, 0},
    {"passenger-car-bushings", 0.01, 0},
    {"tractor-semitrailer", 0.03, 0},
    {"truck-41", 0.005, 0},
    {"wheel-profiles", 0.02, 0},
    {"marbles", 0.05, 0},
    {"hmmwv", 0.03, 0},
    {"bouncing-ball", 1, 0},
    {"impact-ball", 1, 0},
    {"pendulum-stop", 1, 0},
    {"sampled-speed", 0.5, 0},
    {"ball-row", 0.2, 0},
    {"stiff-double-pendulum", 0.05, 0},
    {"door", 1, 0},
    // rate of a load on fast modes, small beside them: 8e-4, with 1e-8 as tolerance 9e-6; outputs agree to 1e-7
    {"flexible-robot-arm", 0, 1e-3},
    {"flexible-rotor", 0.02, 0},
    {"rolled-strip", 0.05, 1e-3}, // the same; amplitudes are small numbers beside the absolute tolerance
    {"flexible-slider-crank", 0.02, 0},
};

static const exception *exception_of(const char *name)
{
    static const exception NONE = {0};
    for (size_t i = 0; i < sizeof EXCEPTIONS / sizeof *EXCEPTIONS; i++)
        if (strcmp(EXCEPTIONS[i].name, name) == 0) return &EXCEPTIONS[i];
    return &NONE;
}

// Both coordinate sets of a model; those that cannot be had are left out
static int open_sides(const kd_model *model, kd_compare_side side[2], kd_system *system[2], kd_state *x[2])
{
    int n = 0;
    for (int c = 0; c < 2; c++) {
        kd_system_options options = kd_system_options_default();
        options.coordinates = BOTH[c];
        if (kd_system_create(model, &options, &system[n], NULL, 0) < 0) continue;
        assert_int_equal(kd_state_create(kd_system_eom(system[n]), &x[n]), KD_OK);
        if (kd_system_start(system[n], x[n], NULL, 0) < 0) {
            kd_state_destroy(x[n]);
            kd_system_destroy(system[n]);
            continue;
        }
        side[n] = (kd_compare_side){.word = c ? "cartesian" : "joint",
                                    .eom = kd_system_eom(system[n]),
                                    .inputs = kd_system_inputs(system[n]),
                                    .start = x[n],
                                    .system = system[n],
                                    .redundant = kd_system_info_of(system[n]).nsingular > 0};
        n++;
    }
    return n;
}

static bool is_equal(const char *name, const kd_comparison *c)
{
    const exception *e = exception_of(name);
    int              done = 0, sides = 0;
    bool             good = c->reference >= 0 && !c->split && isinf(c->t_part);
    for (int i = 0; i < c->nruns; i++) {
        const kd_compare_run *run = &c->run[i];
        if (run->outcome == KD_COMPARE_LEFT_OUT || run->outcome == KD_COMPARE_REFUSED) continue;
        good = good && run->outcome == KD_COMPARE_DONE && run->error < (e->error > 0 ? e->error : ERROR);
        if (run->outcome == KD_COMPARE_DONE) done++, sides |= 1 << run->side;
    }
    return good && done >= 4 && sides == 3;
}

static void compare_file(const char *name)
{
    kd_model          *model = read_gallery(name, NULL);
    const kd_run_def  *run = kd_model_run(model);
    const exception   *e = exception_of(name);
    kd_compare_options o = kd_compare_options_default();
    kd_compare_side    side[2];
    kd_system         *system[2];
    kd_state          *x[2];
    kd_comparison     *c;
    char               message[400] = "";
    int                n = open_sides(model, side, system, x);
    assert_true(n > 0);
    o.t_end = fmin(e->t_end > 0 ? e->t_end : T_END, run->t_end);
    o.tolerances = &TOLERANCE;
    o.ntolerances = 1;
    o.atol = 1;
    o.times = 10;
    o.repetitions = 1;
    o.budget = o.patience = 1e9; // no looks at the clock
    o.only = METHODS;
    o.h_max =
        o.t_end / (kd_system_info_of(system[0]).dof == 0 ? 50 : 20); // dense output of long steps is not the point
    if (run->max_step > 0) o.h_max = fmin(o.h_max, run->max_step);
    if (kd_compare(side, n, &o, &c, message, sizeof message) < 0) print_error("%s: %s\n", name, message);
    assert_non_null(c);
    if (!is_equal(name, c)) {
        static char text[100000];
        kd_comparison_table(c, text, sizeof text);
        print_error("%s:\n%s", name, text);
        kd_comparison_advice(c, text, sizeof text);
        print_error("%s", text);
        fail();
    }
    kd_comparison_destroy(c);
    for (int i = 0; i < n; i++) kd_state_destroy(x[i]), kd_system_destroy(system[i]);
    kd_model_destroy(model);
}

// Whoever is first in the alphabet is first here: the order of a folder is not fixed
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void all_files_are_equal(void **state)
{
    (void)state;
    struct dirent **list;
    int             n = scandir(KD_SOURCE_DIR "/models", &list, NULL, by_name), count = 0;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char *ending = strstr(list[i]->d_name, ".yaml");
        if (ending) {
            *ending = '\0';
            compare_file(list[i]->d_name);
            count++;
        }
        free(list[i]);
    }
    free(list);
    assert_true(count > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_files_are_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
