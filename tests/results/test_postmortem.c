// Post-mortem files: ranked residuals, what cannot be evaluated ahead, singular directions by names.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <kardan/kardan.h>

#include "results/postmortem.h"

#define PATH KD_BINARY_DIR "/test-post-mortem.txt"

// Three points on a line, bound by 0 = g: the first two rows become equal at p_0 = 1; the force is a root.
static kd_eval mass(const kd_point *x, void *context, double *M)
{
    (void)x, (void)context;
    M[0] = M[4] = M[8] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *f)
{
    (void)context;
    f[0] = 5;
    f[1] = -7;
    f[2] = sqrt(1 - x->p[2]);
    return KD_EVAL_OK;
}

static kd_eval constraints(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[1] + x->p[2];
    g[1] = x->p[0] * x->p[2] + x->p[1];
    return KD_EVAL_OK;
}

static const char *name_of(kd_kind kind, int i, void *context)
{
    (void)context;
    static const char *const point[] = {"left", "middle", "right"}, *const bond[] = {"upper bond", "lower bond"};
    return kind == KD_NAME_P || kind == KD_NAME_V ? point[i] : kind == KD_NAME_LAMBDA ? bond[i] : NULL;
}

typedef struct fixture {
    kd_eom   *eom;
    kd_state *x, *before;
} fixture;

static fixture make(void)
{
    fixture    f = {0};
    kd_eom_def def = kd_eom_def_default();
    def.title = "points";
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 2};
    def.M = mass;
    def.f = force;
    def.g = constraints;
    def.name = name_of;
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.before), KD_OK);
    return f;
}

static void unmake(fixture *f)
{
    kd_state_destroy(f->x);
    kd_state_destroy(f->before);
    kd_eom_destroy(f->eom);
}

static const char *write(fixture *f, double h)
{
    static char         text[20000];
    char                message[300] = "";
    const kd_postmortem facts = {.title = "points",
                                 .eom = f->eom,
                                 .x = f->x,
                                 .before = f->before,
                                 .h = h,
                                 .status = KD_ERR_NEWTON,
                                 .message = "it diverged",
                                 .explanation = "who: nobody\n",
                                 .replay = "kardan simulate again"};
    assert_int_equal(kd_postmortem_save(&facts, PATH, message, sizeof message), KD_OK);
    FILE *file = fopen(PATH, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

// must follow the part before; returns the place behind
static const char *next(const char *text, const char *part)
{
    const char *found = text ? strstr(text, part) : NULL;
    if (!found) print_error("missing: %s\nin: %s\n", part, text);
    assert_non_null(found);
    return found + strlen(part);
}

// Cause, command and step sizes come first; residuals are ranked by size; all values of the state are there, exactly.
static void facts_in_order(void **state)
{
    (void)state;
    fixture     f = make();
    const char *text;
    f.x->t = 0.1;
    f.x->p[0] = 1.0 / 3;
    f.x->v[1] = -2.5;
    f.x->lambda[0] = 4;
    text = write(&f, 0);
    text = next(text, "post-mortem of: points");
    text = next(text, "KD_ERR_NEWTON");
    text = next(text, "it diverged");
    text = next(text, "kardan simulate again");
    text = next(text, "who: nobody");
    text = next(text, "largest residuals at the last good state");
    text = next(text, "dynamics");
    text = next(text, "middle"); // 7 + 4, then 5, then 1 - 4
    text = next(text, "left");
    text = next(text, "right");
    text = next(text, "not singular");
    text = next(text, "last good state");
    text = next(text, "0.1");
    text = next(text, "left                                         0.3333333333333333");
    text = next(text, "-2.5");
    next(text, "upper bond");
    assert_null(strstr(text, "ahead"));
    unmake(&f);
}

// A root that becomes imaginary within the next step is found there and named.
static void not_a_number_ahead(void **state)
{
    (void)state;
    fixture     f = make();
    const char *text;
    f.x->p[2] = 0.99;
    f.x->v[2] = 1;
    text = next(write(&f, 0.1), "largest residuals ahead: t = 0.1 s");
    text = next(text, "cannot be evaluated");
    next(text, "right");
    unmake(&f);
}

// Two constraints that become one: nearly singular, both are named, and so is the motion that they set free.
static void singular(void **state)
{
    (void)state;
    fixture     f = make();
    const char *text;
    f.x->p[0] = 1 - 1e-4;
    text = next(write(&f, 0), "nearly singular");
    text = next(text, "depend on each other");
    text = next(text, "upper bond");
    text = next(text, "lower bond");
    text = next(text, "velocities)");
    text = next(text, "middle");
    next(text, "right");
    f.x->p[0] = 1;
    next(write(&f, 0), "to 1.41: singular");
    unmake(&f);
}

static kd_eval circle(const kd_point *x, void *context, double *g)
{
    (void)context;
    g[0] = x->p[0] * x->p[0];
    return KD_EVAL_OK;
}

// A single row that vanishes, G = 2 p_0, is measured by its length in better times.
static void vanishing_row(void **state)
{
    (void)state;
    fixture    f = {0};
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 1};
    def.M = mass;
    def.f = force;
    def.g = circle;
    assert_int_equal(kd_eom_create(&def, &f.eom, NULL, 0), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.x), KD_OK);
    assert_int_equal(kd_state_create(f.eom, &f.before), KD_OK);
    f.before->p[0] = f.x->p[0] = 1e-4;
    next(write(&f, 0), "not singular");
    f.before->p[0] = 1;
    next(write(&f, 0), "from 0.0001 to 0.0001: nearly singular");
    unmake(&f);
}

// A folder that is not there is told.
static void no_folder(void **state)
{
    (void)state;
    fixture             f = make();
    char                message[300] = "";
    const kd_postmortem facts = {.title = "", .eom = f.eom, .x = f.x};
    assert_int_equal(kd_postmortem_save(&facts, "/no/such/folder/a", message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "/no/such/folder"));
    unmake(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_in_order), cmocka_unit_test(not_a_number_ahead), cmocka_unit_test(singular),
        cmocka_unit_test(vanishing_row),  cmocka_unit_test(no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
