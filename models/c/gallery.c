// gallery.c: the list of examples.
#include "gallery.h"
#include "support.h"

static void copy(const double *from, double *to, int n)
{
    if (from && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

kd_status kd_gallery_create(const kd_eom_def *def, const kd_start *start, kd_eom **eom, kd_state **x)
{
    *eom = NULL;
    *x = NULL;
    kd_status status = kd_eom_create(def, eom, NULL, 0);
    if (status == KD_OK) status = kd_state_create(*eom, x);
    if (status != KD_OK) {
        kd_eom_destroy(*eom);
        *eom = NULL;
        return status;
    }
    const kd_dims *n = &def->dims;
    copy(start->p, (*x)->p, n->np);
    copy(start->v, (*x)->v, n->nv);
    copy(start->r, (*x)->r, n->nr);
    copy(start->w, (*x)->w, n->nw);
    copy(start->s, (*x)->s, n->ns);
    copy(start->lambda, (*x)->lambda, n->nlambda);
    copy(start->mu, (*x)->mu, n->nmu);
    copy(start->a, (*x)->a, n->nv);
    return KD_OK;
}

const kd_example *const *kd_gallery(void)
{
    static const kd_example *const list[] = {
        &kd_example_pendulum,         &kd_example_pendulum_release, &kd_example_caraxis,
        &kd_example_andrews,          &kd_example_truck5,           &kd_example_truck5_free,
        &kd_example_truck7,           &kd_example_truck7_bump,      &kd_example_fekete,
        &kd_example_pendulum_chain12, &kd_example_pendulum_chain14, &kd_example_pendulum_chain16,
        &kd_example_wheelset,         &kd_example_circulartrack,    NULL,
    };
    return list;
}

const kd_example *kd_gallery_find(const char *name)
{
    for (const kd_example *const *example = kd_gallery(); name && *example; example++)
        if (strcmp((*example)->name, name) == 0) return *example;
    return NULL;
}
