// state.c: a whole state in one block of doubles, [p v r w s lambda mu | a | z], with the flags of active rows.
#include <string.h>

#include "core/archive.h"
#include "eom/internal.h"

kd_status kd_state_create(const kd_eom *eom, kd_state **x)
{
    if (x) *x = NULL;
    if (!eom || !x) return KD_ERR_ARGUMENT;
    const kd_dims n = kd_eom_dims(eom);
    // the order of the arrays in the block; kd_state_fits and kd_state_copy compare sizes by it
    const int sizes[] = {n.np, n.nv, n.nr, n.nw, n.ns, n.nlambda, n.nmu, n.nv, n.nz};
    size_t    total = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) total += (size_t)sizes[i];

    // one piece of memory: the struct, the doubles, the flags
    size_t    flags = (size_t)n.nlambda + (size_t)n.nmu;
    size_t    head = (sizeof(kd_state) + sizeof(double) - 1) / sizeof(double); // in doubles
    kd_state *made = kd_alloc((head + total) * sizeof(double) + flags);
    if (!made) return KD_ERR_MEMORY;
    double  *next = (double *)(void *)made + head;
    double **arrays[] = {&made->p,      &made->v,  &made->r, &made->w, &made->s,
                         &made->lambda, &made->mu, &made->a, &made->z};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        *arrays[i] = next;
        next += sizes[i];
    }
    made->active_lambda = (unsigned char *)next;
    made->active_mu = made->active_lambda + n.nlambda;
    // rows that come and go are not active until an instant makes them so
    memset(made->active_lambda, 1, flags);
    for (int i = 0; i < n.nlambda; i++) made->active_lambda[i] = !kd_eom_one_sided(eom, i);
    for (int i = 0; i < n.nmu; i++) made->active_mu[i] = !kd_eom_is_friction(eom, i);
    made->n = n.np + n.nv + n.nr + n.nw + n.ns + n.nlambda + n.nmu;
    made->size = total;
    *x = made;
    return KD_OK;
}

// Places of the arrays in the block: all sizes
static void shape_of(const kd_state *x, ptrdiff_t shape[9])
{
    const double *const part[] = {x->v, x->r, x->w, x->s, x->lambda, x->mu, x->a, x->z};
    for (int i = 0; i < 8; i++) shape[i] = part[i] - x->p;
    shape[8] = (ptrdiff_t)x->size;
}

bool kd_state_fits(const kd_eom *eom, const kd_state *x)
{
    if (!eom || !x) return false;
    const kd_dims n = kd_eom_dims(eom);
    const int     part[] = {n.np, n.nv, n.nr, n.nw, n.ns, n.nlambda, n.nmu, n.nv, n.nz};
    // end of each array in the block against the sum of sizes: equal for all nine only if every size is
    ptrdiff_t shape[9], at = 0;
    bool      fits = true;
    shape_of(x, shape);
    for (int i = 0; i < 9; i++) fits = (at += part[i]) == shape[i] && fits;
    return fits;
}

kd_status kd_state_copy(const kd_state *from, kd_state *to)
{
    ptrdiff_t a[9], b[9];
    if (!from || !to) return KD_ERR_ARGUMENT;
    shape_of(from, a);
    shape_of(to, b);
    if (memcmp(a, b, sizeof a) != 0) return KD_ERR_ARGUMENT;
    // the shapes agree: one copy moves all doubles, one all flags
    size_t nlambda = (size_t)(from->active_mu - from->active_lambda);
    size_t nmu = (size_t)(from->a - from->mu);
    to->t = from->t;
    to->theta = from->theta;
    to->unsolved = from->unsolved;
    memmove(to->p, from->p, from->size * sizeof(double));
    memmove(to->active_lambda, from->active_lambda, nlambda + nmu);
    return KD_OK;
}

void kd_state_destroy(kd_state *x)
{
    kd_free(x);
}

void kd_state_archive(kd_state *x, kd_archive *a)
{
    if (!x || !a) return;
    const size_t rows = (size_t)(x->active_mu - x->active_lambda) + (size_t)(x->a - x->mu);
    kd_archive_tag(a, "state");
    kd_archive_same(a, (long)x->size, "size of the state");
    kd_archive_real(a, &x->t);
    kd_archive_doubles(a, x->p, x->size);
    kd_archive_flags(a, x->active_lambda, rows);
    kd_archive_bool(a, &x->unsolved);
}
