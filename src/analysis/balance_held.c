// balance_held.c: what is neither unknown nor given in the balance of forces.
//
// Family: the equations themselves depend on the parameters; they are made anew for each set of values, and derivatives
// by parameters are central differences of whole equations.
//
// Turn with the rate omega about z: with n = R' z (vertical in the axes of the body) the angular velocity is omega n,
// the accelerations of the point are omega z x v = omega (-v_2, v_1, 0), those of the angular velocity 0. An increment
// e of the attitude moves n by n x e. In a plane the rate is a velocity itself.
#include <math.h>
#include <string.h>

#include "analysis/balance.h"
#include "math/dense.h"
#include "math/space.h"

// ---- family ---------------------------------------------------------------------------------------------------------

static bool read_inputs(kd_balance *b, const kd_inputs *inputs)
{
    if (!inputs || !inputs->eval || b->n.nu == 0) return true;
    double *rates = b->u_used; // not wanted
    return inputs->eval(b->t, inputs->context, b->u_made, rates, rates) == KD_EVAL_OK;
}

bool kd_balance_use(kd_balance *b, const double *outer)
{
    const kd_eom    *eom = NULL;
    const kd_inputs *inputs = NULL;
    if (!b->family || memcmp(outer, b->outer_made, (size_t)b->family->n * sizeof *outer) == 0) return true;
    // equations for other values of the parameters: what was made is gone, until all is made
    kd_eom_data_destroy(b->data);
    b->data = NULL;
    b->eom = b->base;
    b->outer_made[0] = NAN; // nothing is made until all is
    if (b->family->make(outer, b->family->context, &eom, &inputs) < 0) return false;
    // the same sizes, or the unknowns would be others
    const kd_dims n = kd_eom_dims(eom);
    if (memcmp(&n, &b->n, sizeof n) != 0) return false;
    if (kd_eom_data_create(eom, &b->data) < 0 || !read_inputs(b, inputs)) return false;
    b->eom = eom;
    memcpy(b->outer_made, outer, (size_t)b->family->n * sizeof *outer);
    return true;
}

const double *kd_balance_inputs(kd_balance *b, const double *u)
{
    if (!b->family) return u;
    for (int i = 0; i < b->n.nu; i++) b->u_used[i] = b->u_adjusted[i] ? u[i] : b->u_made[i];
    return b->u_used;
}

// ---- turn -----------------------------------------------------------------------------------------------------------

// The third row of R
static kd_vec3 vertical(const kd_turn *turn, const kd_state *x)
{
    const kd_mat3 R = kd_quat_matrix(kd_quat_of(x->p + turn->p + 3)); // columns
    return (kd_vec3){R.x.z, R.y.z, R.z.z};
}

void kd_balance_turn(const kd_balance *b, kd_state *x)
{
    const kd_turn *turn = b->turn;
    if (!turn) return;
    double *v = x->v + turn->v, *a = x->a + turn->v;
    // a = omega z x v
    a[0] = -turn->rate * v[1], a[1] = turn->rate * v[0], a[2] = 0;
    if (turn->planar) {
        v[2] = turn->rate;
        return;
    }
    // angular velocity omega n, n = R' z
    const kd_vec3 n = vertical(turn, x);
    v[3] = turn->rate * n.x, v[4] = turn->rate * n.y, v[5] = turn->rate * n.z;
    a[3] = a[4] = a[5] = 0;
}

// Add factor times the derivative of all equations by velocity i
static void add_by_velocity(kd_balance *b, int i, double factor, double *column)
{
    for (int k = 0; k < KD_BALANCE_ROWS; k++) {
        const int rows = b->first[k] >= 0 && b->block[k][1] ? kd_balance_rows(b, k) : 0;
        kd_axpy(rows, factor, b->block[k][1] + (size_t)i * (size_t)rows, column + b->first[k]);
    }
}

void kd_balance_turn_columns(kd_balance *b)
{
    const kd_turn *turn = b->turn;
    const int      nv = b->n.nv;
    if (!turn) return;
    const kd_vec3 n = turn->planar ? kd_vec(0, 0, 0) : vertical(turn, b->x);
    for (int j = 0; j < b->columns; j++) {
        double   *column = b->J + (size_t)j * (size_t)b->rows;
        const int i = b->column[j].index - turn->v;
        if (b->column[j].var == KD_P && i >= 3 && i < 6 && !turn->planar) {
            // attitude: dn = n x e, so F_v omega dn
            const kd_vec3 e = {i == 3, i == 4, i == 5}, dn = kd_vec_cross(n, e);
            add_by_velocity(b, turn->v + 3, turn->rate * dn.x, column);
            add_by_velocity(b, turn->v + 4, turn->rate * dn.y, column);
            add_by_velocity(b, turn->v + 5, turn->rate * dn.z, column);
        } else if (b->column[j].var == KD_V && (i == 0 || i == 1)) {
            const int other = turn->v + 1 - i; // M a: the residual alone depends on accelerations
            kd_axpy(nv, i == 0 ? turn->rate : -turn->rate, b->M + (size_t)other * (size_t)nv, column);
        }
    }
}
