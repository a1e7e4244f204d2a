// Tests of the explicit tableaus: order conditions of all rooted trees, for steps, embedded solutions and dense output.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

#include "integrator/explicit_tableau.h"

enum { MAX_TREES = 600, MAX_ORDER = 9 };

// A rooted tree: its children are earlier trees, in rising order. gamma: Hairer, Norsett, Wanner I, II.2
typedef struct tree {
    int    order, nchildren, child[MAX_ORDER];
    double gamma;
    double phi[KD_EXPLICIT_STAGES];
} tree;

typedef struct forest {
    int  n;
    tree t[MAX_TREES];
} forest;

// Phi_i = product over the children of sum_j a_ij Phi_j(child); gamma = order * product of gammas
static void finish_tree(forest *f, const kd_explicit_tableau *b, const int *child, int nchildren, int order)
{
    assert_true(f->n < MAX_TREES);
    tree *t = &f->t[f->n++];
    *t = (tree){.order = order, .nchildren = nchildren, .gamma = order};
    for (int i = 0; i < KD_EXPLICIT_STAGES; i++) t->phi[i] = 1;
    for (int k = 0; k < nchildren; k++) {
        const tree *c = &f->t[child[k]];
        t->child[k] = child[k];
        t->gamma *= c->gamma;
        for (int i = 0; i < b->all_stages; i++) {
            double sum = 0;
            for (int j = 0; j < i; j++) sum += b->a[i][j] * c->phi[j];
            t->phi[i] *= sum;
        }
    }
}

// All trees of an order whose children, from number first on, have the missing order
static void grow(forest *f, const kd_explicit_tableau *b, int order, int missing, int first, int last, int *child,
                 int nchildren)
{
    if (missing == 0) {
        finish_tree(f, b, child, nchildren, order);
        return;
    }
    for (int k = first; k < last && f->t[k].order <= missing; k++) {
        child[nchildren] = k;
        grow(f, b, order, missing - f->t[k].order, k, last, child, nchildren + 1);
    }
}

static void plant(forest *f, const kd_explicit_tableau *b, int highest)
{
    int child[MAX_ORDER];
    f->n = 0;
    for (int order = 1; order <= highest; order++) grow(f, b, order, order - 1, 0, f->n, child, 0);
}

// largest |sum_i b_i Phi_i - s^order / gamma| over the trees up to an order, or of that order alone
static double defect(const forest *f, const double *weights, double s, int lowest, int highest)
{
    double most = 0;
    for (int k = 0; k < f->n; k++) {
        const tree *t = &f->t[k];
        double      sum = 0;
        if (t->order < lowest || t->order > highest) continue;
        for (int i = 0; i < KD_EXPLICIT_STAGES; i++) sum += weights[i] * t->phi[i];
        most = fmax(most, fabs(sum - pow(s, t->order) / t->gamma));
    }
    return most;
}

static const kd_explicit_tableau *const tableaus[] = {&kd_dopri5_tableau, &kd_dop853_tableau};

// The number of rooted trees is the known one, and c_i are the sums of the rows.
static void trees_and_nodes_are_right(void **state)
{
    (void)state;
    static forest f;
    const int     known[] = {1, 1, 2, 4, 9, 20, 48, 115};
    int           count[9] = {0};
    plant(&f, tableaus[1], 8);
    for (int k = 0; k < f.n; k++) count[f.t[k].order]++;
    for (int order = 1; order <= 8; order++) assert_int_equal(count[order], known[order - 1]);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < tableaus[k]->all_stages; i++) {
            double sum = 0;
            for (int j = 0; j < i; j++) sum += tableaus[k]->a[i][j];
            assert_true(fabs(sum - tableaus[k]->c[i]) < 1e-14);
        }
    }
}

// All order conditions of the step hold up to its order, and not beyond.
static void steps_have_their_order(void **state)
{
    (void)state;
    static forest f;
    for (int k = 0; k < 2; k++) {
        const kd_explicit_tableau *b = tableaus[k];
        plant(&f, b, b->order + 1);
        assert_true(defect(&f, b->a[b->stages], 1, 1, b->order) < 1e-14);
        assert_true(defect(&f, b->a[b->stages], 1, b->order + 1, b->order + 1) > 1e-6);
    }
}

// The embedded solutions have orders 4, and 5 and 3.
static void embedded_solutions_have_their_order(void **state)
{
    (void)state;
    static forest f;
    const struct {
        const kd_explicit_tableau *b;
        const double              *error;
        int                        order;
    } kind[] = {{&kd_dopri5_tableau, kd_dopri5_tableau.error, 4},
                {&kd_dop853_tableau, kd_dop853_tableau.error, 5},
                {&kd_dop853_tableau, kd_dop853_tableau.error_low, 3}};
    for (int k = 0; k < 3; k++) {
        const kd_explicit_tableau *b = kind[k].b;
        double                     weights[KD_EXPLICIT_STAGES];
        for (int i = 0; i < KD_EXPLICIT_STAGES; i++) weights[i] = b->a[b->stages][i] - kind[k].error[i];
        plant(&f, b, kind[k].order + 1);
        assert_true(defect(&f, weights, 1, 1, kind[k].order) < 1e-14);
        assert_true(defect(&f, weights, 1, kind[k].order + 1, kind[k].order + 1) > 1e-6);
    }
}

// b_i(s) of the dense output: interpolate the unit vectors k_j
static void dense_weights(const kd_explicit_tableau *b, double s, double *weights)
{
    for (int i = 0; i < KD_EXPLICIT_STAGES; i++) {
        double d = b->a[b->stages][i], start = (i == 0) - d, tail = 0;
        for (int j = b->ndense - 1; j >= 0; j--) tail = b->dense[j][i] + (j % 2 == 0 ? s : 1 - s) * tail;
        weights[i] = s * (d + (1 - s) * (start + s * (d - (i == b->stages) - start + (1 - s) * tail)));
    }
}

// The dense output has its order at every place of the step.
static void dense_output_has_its_order(void **state)
{
    (void)state;
    static forest f;
    for (int k = 0; k < 2; k++) {
        const kd_explicit_tableau *b = tableaus[k];
        plant(&f, b, b->dense_order + 1);
        double beyond = 0;
        for (double s = 0; s <= 1; s += 0.0625) {
            double weights[KD_EXPLICIT_STAGES];
            dense_weights(b, s, weights);
            assert_true(defect(&f, weights, s, 1, b->dense_order) < 2e-14);
            beyond = fmax(beyond, defect(&f, weights, s, b->dense_order + 1, b->dense_order + 1));
        }
        assert_true(beyond > 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_and_nodes_are_right),
        cmocka_unit_test(steps_have_their_order),
        cmocka_unit_test(embedded_solutions_have_their_order),
        cmocka_unit_test(dense_output_has_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
