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

bool kd_state_fits(const kd_eom *eom, const kd_state *x)
{
    if (!eom || !x) return false;
    // the size of each array is the way to the next one in the block
    const kd_dims *n = &eom->def.dims;
    return x->v - x->p == n->np && x->r - x->v == n->nv && x->w - x->r == n->nr && x->s - x->w == n->nw &&
           x->lambda - x->s == n->ns && x->mu - x->lambda == n->nlambda && x->a - x->mu == n->nmu &&
           x->z - x->a == n->nv && (ptrdiff_t)x->size - (x->z - x->p) == n->nz;
}

// Are all arrays of the same sizes?
static bool same_shape(const kd_state *x, const kd_state *y)
{
    return x->v - x->p == y->v - y->p && x->r - x->v == y->r - y->v && x->w - x->r == y->w - y->r &&
           x->s - x->w == y->s - y->w && x->lambda - x->s == y->lambda - y->s &&
           x->mu - x->lambda == y->mu - y->lambda && x->a - x->mu == y->a - y->mu && x->z - x->a == y->z - y->a &&
           x->size == y->size;
}

kd_status kd_state_copy(const kd_state *from, kd_state *to)
{
    if (!from || !to || !same_shape(from, to)) return KD_ERR_ARGUMENT;
    // one copy moves all doubles, one all flags
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
