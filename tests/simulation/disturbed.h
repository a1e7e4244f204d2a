// disturbed.h: equations of motion that behave like given ones until the n-th call of one function, or until a time.
#ifndef KD_TEST_DISTURBED_H
#define KD_TEST_DISTURBED_H

#include <kardan/eom.h>
#include <math.h>
#include <stdlib.h>

// The functions of a definition.
#define DISTURBED_FUNCTIONS(X)                                                                                         \
    X(kinematics) X(Z) X(q) X(residual) X(M) X(f) X(b) X(d) X(c) X(g) X(gI) X(gII) X(h) X(hI) X(e)

enum disturbed_slot {
#define X(name) DISTURBED_##name,
    DISTURBED_FUNCTIONS(X)
#undef X
        DISTURBED_derivative,
    DISTURBED_COUNT
};

typedef struct disturbed {
    const kd_eom_def *inner;
    int               slot;   // which function
    long              call;   // at this call (1-based); 0: never
    double            beyond; // and at all times after this one
    double            value;  // last number of the answer becomes this; 0: untouched
    kd_eval           answer; // and this is answered
    long              calls[DISTURBED_COUNT];
    double            last_t; // time of the last disturbance
    long              disturbances;
} disturbed;

// work of one thread
typedef struct disturbed_work {
    disturbed *shared;
    void      *inner;
} disturbed_work;

static inline kd_eval disturb(disturbed_work *k, int slot, const kd_point *x, double *out, int size, kd_eval answer)
{
    disturbed *s = k->shared;
    long       call = ++s->calls[slot];
    if (slot != s->slot || (call != s->call && !(x->t > s->beyond))) return answer;
    s->last_t = x->t;
    s->disturbances++;
    if (s->value != 0 && size > 0) out[size - 1] = s->value;
    return s->answer == KD_EVAL_OK ? answer : s->answer;
}

static inline int disturbed_size(const kd_dims *n, int slot)
{
    switch (slot) {
    case DISTURBED_kinematics:
        return n->np;
    case DISTURBED_Z:
        return n->np * n->nv;
    case DISTURBED_q:
        return n->nq;
    case DISTURBED_M:
        return n->nv * n->nv;
    case DISTURBED_b:
        return n->nr;
    case DISTURBED_d:
        return n->nw;
    case DISTURBED_c:
        return n->ns;
    case DISTURBED_g:
    case DISTURBED_gI:
    case DISTURBED_gII:
        return n->nlambda;
    case DISTURBED_h:
    case DISTURBED_hI:
        return n->nmu;
    case DISTURBED_e:
        return n->ne;
    default:
        return n->nv; // residual, f
    }
}

#define X(name)                                                                                                        \
    static inline kd_eval disturbed_##name(const kd_point *x, void *context, double *out)                              \
    {                                                                                                                  \
        disturbed_work   *k = context;                                                                                 \
        const kd_eom_def *inner = k->shared->inner;                                                                    \
        kd_eval           answer = inner->name(x, k->inner, out);                                                      \
        return disturb(k, DISTURBED_##name, x, out, disturbed_size(&inner->dims, DISTURBED_##name), answer);           \
    }
DISTURBED_FUNCTIONS(X)
#undef X

static inline kd_eval disturbed_derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context,
                                           double *out)
{
    disturbed_work *k = context;
    kd_eval         answer = k->shared->inner->derivative(x, fn, var, part, k->inner, out);
    return disturb(k, DISTURBED_derivative, x, out, 1, answer); // the first entry
}

static inline kd_eval disturbed_oplus(const double *p, const double *e, void *context, double *moved)
{
    disturbed_work *k = context;
    return k->shared->inner->oplus(p, e, k->inner, moved);
}

static inline void *disturbed_make_work(void *context)
{
    disturbed        *shared = context;
    const kd_eom_def *inner = shared->inner;
    disturbed_work   *k = malloc(sizeof *k);
    if (!k) return NULL;
    k->shared = shared;
    k->inner = inner->make_work ? inner->make_work(inner->context) : inner->context;
    return k;
}

static inline void disturbed_free_work(void *work)
{
    disturbed_work *k = work;
    if (k->shared->inner->make_work && k->shared->inner->free_work) k->shared->inner->free_work(k->inner);
    free(k);
}

// inner must outlive the equations that are made from the result
static inline kd_eom_def disturbed_definition(disturbed *shared, const kd_eom_def *inner)
{
    kd_eom_def def = *inner;
    shared->inner = inner;
    shared->beyond = INFINITY;
    def.context = shared;
    def.make_work = disturbed_make_work;
    def.free_work = disturbed_free_work;
#define X(name)                                                                                                        \
    if (inner->name) def.name = disturbed_##name;
    DISTURBED_FUNCTIONS(X)
#undef X
    if (inner->derivative) def.derivative = disturbed_derivative;
    if (inner->oplus) def.oplus = disturbed_oplus;
    def.acceleration = NULL;
    def.energies = NULL;
    def.y = def.switching = NULL;
    def.dims.ny = def.dims.nswitch = 0;
    return def;
}

static inline bool disturbed_has(const kd_eom_def *inner, int slot)
{
    switch (slot) {
#define X(name)                                                                                                        \
    case DISTURBED_##name:                                                                                             \
        return inner->name != NULL;
        DISTURBED_FUNCTIONS(X)
#undef X
    default:
        return inner->derivative != NULL;
    }
}

static inline const char *disturbed_word(int slot)
{
    static const char *const words[] = {
#define X(name) #name,
        DISTURBED_FUNCTIONS(X)
#undef X
            "derivative"};
    return words[slot];
}

#endif
