// Tests of the explicit tableaus: order conditions of all rooted trees, for steps, embedded solutions and dense output,
// and those of differential-algebraic equations of index 2 for the half-explicit method.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdbool.h>

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

// ---- index 2 --------------------------------------------------------------------------------------------------------
//
// y' = f(y, z), 0 = g(y): trees of y and of z (Hairer, Lubich, Roche, The Numerical Solution of Differential-Algebraic
// Systems by Runge-Kutta Methods, chapter 5). A tree of y has children of both kinds, one of z, a derivative of g, only
// children of y: at least two, or one that is neither a single vertex nor has a single child of z.
//     order: 1 + sum; sum - 1.     gamma: order * product; product / (order + 1).

enum { END = 6, OTHER = 7, POINTS = 8, MAX_TREES_2 = 4000, ORDER_2 = 5 };

typedef struct tree_2 {
    int    order;
    bool   of_z, leaf, bare; // bare: a tree of y whose only child is one of z
    double gamma;
    double phi[POINTS]; // at the stages, with k_end and with the multipliers of the embedded solution at the end
} tree_2;

typedef struct forest_2 {
    int    n;
    tree_2 t[MAX_TREES_2];
    double a[POINTS][POINTS], below[POINTS][POINTS]; // of the points and of the constrained ones
} forest_2;

static void set_method(forest_2 *f)
{
    const kd_explicit_tableau *b = &kd_dopri5_tableau;
    for (int i = 0; i < POINTS; i++) {
        for (int j = 0; j < POINTS; j++) {
            bool inside = j < END;
            f->a[i][j] = inside ? b->a[i < END ? i : END][j] : 0;
            f->below[i][j] = inside && i < END ? kd_half_explicit_points.a[i][j] : 0;
            if (i == OTHER) f->below[i][j] = inside ? b->a[END][j] - b->error[j] : j == OTHER ? -b->error[END] : 0;
        }
    }
}

static double row_sum(const double *row, const double *phi)
{
    double sum = 0;
    for (int j = 0; j < POINTS; j++) sum += row[j] * phi[j];
    return sum;
}

static void finish_tree_2(forest_2 *f, bool of_z, const int *child, int nchildren, int order)
{
    assert_true(f->n < MAX_TREES_2);
    tree_2 *t = &f->t[f->n++];
    *t = (tree_2){.order = order, .of_z = of_z, .leaf = nchildren == 0, .gamma = of_z ? 1.0 / (order + 1) : order};
    t->bare = !of_z && nchildren == 1 && f->t[child[0]].of_z;
    for (int i = 0; i < POINTS; i++) t->phi[i] = 1;
    for (int k = 0; k < nchildren; k++) {
        const tree_2 *c = &f->t[child[k]];
        t->gamma *= c->gamma;
        for (int i = 0; i < POINTS; i++)
            t->phi[i] *= c->of_z ? c->phi[i] : row_sum(of_z ? f->below[i] : f->a[i], c->phi);
    }
    if (!of_z) return;
    double right[POINTS]; // below * phi = product of the children; consistent z at the start and at the end
    for (int i = 0; i < POINTS; i++) {
        right[i] = t->phi[i];
        t->phi[i] = 0;
    }
    for (int i = 1; i < POINTS; i++)
        t->phi[i] = i == END ? 1 / t->gamma : (right[i] - row_sum(f->below[i], t->phi)) / f->below[i][i];
}

// All trees of an order whose children add up to missing; only those of z, of y, with or without bare ones
static void grow_2(forest_2 *f, bool of_z, int order, int missing, int first, int last, int *child, int nchildren)
{
    if (missing == 0) {
        const tree_2 *only = nchildren == 1 ? &f->t[child[0]] : NULL;
        if (of_z && only && (only->leaf || only->bare)) return;
        finish_tree_2(f, of_z, child, nchildren, order);
        return;
    }
    for (int k = first; k < last; k++) {
        if (f->t[k].order > missing || (of_z && f->t[k].of_z)) continue;
        child[nchildren] = k;
        grow_2(f, of_z, order, missing - f->t[k].order, k, last, child, nchildren + 1);
    }
}

// Trees of y of an order, trees of z of one less, then those of y with a single child among them
static void plant_2(forest_2 *f)
{
    int child[ORDER_2 + 1];
    f->n = 0;
    set_method(f);
    for (int order = 1; order <= ORDER_2; order++) {
        grow_2(f, false, order, order - 1, 0, f->n, child, 0);
        int before = f->n;
        if (order > 1) grow_2(f, true, order - 1, order, 0, before, child, 0);
        int after = f->n;
        for (int k = before; k < after; k++) {
            child[0] = k;
            finish_tree_2(f, false, child, 1, order);
        }
    }
}

// largest |sum_i b_i Phi_i - s^order / gamma| over the trees of y; bare: with those that projection removes
static double defect_2(const forest_2 *f, const double *weights, double s, int lowest, int highest, bool bare)
{
    double most = 0;
    for (int k = 0; k < f->n; k++) {
        const tree_2 *t = &f->t[k];
        if (t->of_z || t->order < lowest || t->order > highest || (t->bare && !bare)) continue;
        most = fmax(most, fabs(row_sum(weights, t->phi) - pow(s, t->order) / t->gamma));
    }
    return most;
}

// The half-explicit method meets all conditions of index 2 up to order 5, its embedded solution, with multipliers of
// its own, those up to order 4 and not 5; with the multipliers of the step it would be of order 3.
static void half_explicit_has_its_order(void **state)
{
    (void)state;
    static forest_2            f;
    const kd_explicit_tableau *b = &kd_dopri5_tableau;
    const int                  known[] = {0, 1, 3, 22, 192, 1972};
    int                        count[ORDER_2 + 1] = {0};
    double                     step[POINTS] = {0}, other[POINTS] = {0}, plain[POINTS] = {0};
    plant_2(&f);
    for (int k = 0; k < f.n; k++) count[f.t[k].order] += !f.t[k].of_z;
    for (int order = 1; order <= ORDER_2; order++) assert_int_equal(count[order], known[order]);
    for (int i = 1; i < END; i++) {
        double sum = 0;
        for (int j = 0; j <= i; j++) sum += kd_half_explicit_points.a[i][j];
        assert_true(fabs(sum - kd_half_explicit_points.c[i]) < 1e-15);
        assert_true(kd_half_explicit_points.a[i][i] != 0);
        // points that are those of the next stage as well, which takes what was evaluated there
        bool same = kd_half_explicit_points.c[i] == b->c[i + 1];
        for (int j = 0; j <= i; j++) same = same && kd_half_explicit_points.a[i][j] == b->a[i + 1][j];
        assert_int_equal(kd_half_explicit_points.is_next[i], same);
    }
    for (int j = 0; j < END; j++) {
        assert_true(kd_half_explicit_points.a[END - 1][j] == b->a[END][j]); // the last point is x_1
        step[j] = b->a[END][j];
        other[j] = plain[j] = b->a[END][j] - b->error[j];
    }
    other[OTHER] = plain[END] = -b->error[END];
    assert_true(defect_2(&f, step, 1, 1, 5, true) < 1e-12);
    assert_true(defect_2(&f, other, 1, 1, 4, true) < 1e-12);
    assert_true(defect_2(&f, other, 1, 5, 5, true) > 1e-5);
    assert_true(defect_2(&f, plain, 1, 1, 3, true) < 1e-12);
    assert_true(defect_2(&f, plain, 1, 4, 4, true) > 1e-4);
}

// Its dense output is of order 4 but for what projection removes: forces of wrong multipliers.
static void half_explicit_dense_output_has_its_order(void **state)
{
    (void)state;
    static forest_2 f;
    plant_2(&f);
    for (double s = 0.0625; s < 1; s += 0.0625) {
        double weights[KD_EXPLICIT_STAGES];
        dense_weights(&kd_dopri5_tableau, s, weights);
        weights[OTHER] = 0;
        assert_true(defect_2(&f, weights, s, 1, 4, false) < 1e-12);
        assert_true(defect_2(&f, weights, s, 1, 3, true) < 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_and_nodes_are_right),
        cmocka_unit_test(steps_have_their_order),
        cmocka_unit_test(embedded_solutions_have_their_order),
        cmocka_unit_test(dense_output_has_its_order),
        cmocka_unit_test(half_explicit_has_its_order),
        cmocka_unit_test(half_explicit_dense_output_has_its_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
