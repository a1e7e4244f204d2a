// The chain of pendulums written in C: explicit and residual form, energy, references in quadruple precision; and the
// model file, which has relative angles.
#include "gallery_run.h"

#include "gallery.h"
#include "pendulum_chain.h"

enum { LARGEST = 16 };

typedef struct chain {
    int          n;
    kd_eom      *eom;
    kd_state    *x;
    kd_eom_data *d;
    double       u[6], p[LARGEST], v[LARGEST], a[LARGEST];
} chain;

static chain chain_of(int n)
{
    chain c = {.n = n};
    assert_int_equal(kd_pendulum_chain_create(n, &c.eom, &c.x), KD_OK);
    assert_int_equal(kd_eom_data_create(c.eom, &c.d), KD_OK);
    return c;
}

static void chain_destroy(chain *c)
{
    kd_eom_data_destroy(c->d);
    kd_state_destroy(c->x);
    kd_eom_destroy(c->eom);
}

// A wide motion: angles and rates of size 1, suspension at time t
static void wide(chain *c, int seed)
{
    for (int i = 0; i < c->n; i++) c->p[i] = 1.5 * sin(3.7 * i + seed), c->v[i] = 2 * cos(2.3 * i * seed + 1);
    const double u[6] = {2.1, 0.1, 0.7, -0.4, 3.0 * sin(seed), 2.0 * cos(seed)};
    memcpy(c->u, u, sizeof u);
}

static void go(chain *c)
{
    kd_eom_at_time(c->d, 0, c->u, c->u + 2, c->u + 4, NULL);
    kd_eom_at_position(c->d, c->p, NULL);
    kd_eom_at_velocity(c->d, c->v, NULL);
    kd_eom_at_acceleration(c->d, c->a, NULL, NULL, NULL);
}

// The explicit accelerations make the residual vanish, and the mass matrix times accelerations is its difference.
static void forms_agree(void **state)
{
    (void)state;
    for (int n = 1; n <= LARGEST; n++)
        for (int seed = 1; seed <= 3; seed++) {
            chain  c = chain_of(n);
            double r[LARGEST], still[LARGEST], M[LARGEST * LARGEST], zero[LARGEST] = {0};
            wide(&c, seed);
            go(&c);
            assert_int_equal(kd_eom_acceleration(c.d, c.a), KD_EVAL_OK);
            go(&c);
            assert_int_equal(kd_eom_eval(c.d, KD_RESIDUAL, r), KD_EVAL_OK);
            assert_int_equal(kd_eom_eval(c.d, KD_MASS, M), KD_EVAL_OK);
            kd_eom_at_acceleration(c.d, zero, NULL, NULL, NULL);
            assert_int_equal(kd_eom_eval(c.d, KD_RESIDUAL, still), KD_EVAL_OK);
            for (int i = 0; i < n; i++) {
                assert_close(r[i], 0, 1e-11);
                double product = still[i];
                for (int j = 0; j < n; j++) product += M[i + j * n] * c.a[j];
                assert_close(product, 0, 1e-11);
            }
            chain_destroy(&c);
        }
}

static double total_energy(chain *c, double tau, kd_energies *e)
{
    chain moved = *c;
    for (int i = 0; i < c->n; i++) {
        moved.p[i] += tau * (c->v[i] + 0.5 * tau * c->a[i]);
        moved.v[i] += tau * c->a[i];
    }
    for (int i = 0; i < 2; i++) {
        moved.u[i] += tau * (c->u[2 + i] + 0.5 * tau * c->u[4 + i]);
        moved.u[2 + i] += tau * c->u[4 + i];
    }
    go(&moved);
    assert_int_equal(kd_eom_energies(c->d, e), KD_EVAL_OK);
    return e->kinetic + e->potential;
}

// Along the motion the energy changes by the power of the suspension.
static void suspension_supplies_energy(void **state)
{
    const double h = 1e-5;
    (void)state;
    for (int seed = 1; seed <= 3; seed++) {
        chain       c = chain_of(7);
        kd_energies e;
        wide(&c, seed);
        go(&c);
        assert_int_equal(kd_eom_acceleration(c.d, c.a), KD_EVAL_OK);
        double rate = (total_energy(&c, h, &e) - total_energy(&c, -h, &e)) / (2 * h);
        (void)total_energy(&c, 0, &e);
        assert_true(fabs(e.supplied) > 1e-2);
        assert_close(rate, e.supplied, 1e-7 * (1 + fabs(rate)));
        chain_destroy(&c);
    }
}

typedef struct rows { // of a reference file
    const char *file;
    double      scale, error;
} rows;

static kd_eval compare(const kd_state *x, bool at_time, void *context)
{
    rows  *r = context;
    double row[1 + 2 * LARGEST];
    if (!at_time) return KD_EVAL_OK;
    int n = (reference_row(r->file, x->t, row, 1 + 2 * LARGEST) - 1) / 2;
    for (int i = 0; i < n; i++) {
        r->scale = fmax(r->scale, fabs(row[1 + i]));
        r->error = fmax(r->error, fabs(x->p[i] - row[1 + i]));
    }
    return KD_EVAL_OK;
}

// 8 digits of the largest angle over 200 s, for all references.
static void chains_reach_their_references(void **state)
{
    static const struct {
        int         n;
        double      w;
        const char *file;
    } list[] = {{4, 0.05, "pendulum_chain4"},
                {12, 0.05, "pendulum_chain12"},
                {14, 0.05, "pendulum_chain14"},
                {16, 0.05, "pendulum_chain16"},
                {16, 2 * PI * 0.05, "pendulum_chain16_fast"}};
    (void)state;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        chain                 c = chain_of(list[k].n);
        kd_inputs             inputs = kd_pendulum_chain_inputs(&list[k].w);
        kd_simulation_options opt = kd_simulation_options_default();
        rows                  r = {.file = list[k].file};
        double                times[40];
        char                  message[500] = "";
        for (int i = 0; i < 40; i++) times[i] = 5 * (i + 1);
        opt.rtol = 1e-12;
        opt.atol = list[k].w > 0.1 ? 1e-14 : 3e-16;
        opt.times = times, opt.ntimes = 40;
        opt.output = compare, opt.context = &r;
        if (kd_simulate(c.eom, &inputs, &opt, c.x, 200, NULL, message, sizeof message) != KD_OK)
            fail_msg("%s", message);
        if (!(r.error < 1e-8 * r.scale)) fail_msg("%s: error %.3g of %.3g", list[k].file, r.error, r.scale);
        chain_destroy(&c);
    }
}

// The model file in joint coordinates, N = 16, to 8 digits.
static void file_reaches_the_reference(void **state)
{
    static table result;
    double       row[1 + 2 * LARGEST], scale = 8e-5;
    (void)state;
    run_with("chain", "N=16 w=0.05", KD_JOINT, 50, 10, 1e-5, &result);
    for (int k = 1; k <= 10; k++) {
        assert_int_equal(reference_row("pendulum_chain16", 5 * k, row, 1 + 2 * LARGEST), 1 + 2 * LARGEST);
        assert_close(at(&result, k, "first"), row[1], 1e-8 * scale);
        assert_close(at(&result, k, "last"), row[16], 1e-8 * scale);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_agree),
        cmocka_unit_test(suspension_supplies_energy),
        cmocka_unit_test(chains_reach_their_references),
        cmocka_unit_test(file_reaches_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
