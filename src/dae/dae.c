// dae.c: the object between formulations and integrators owns its implementation.
#include "core/archive.h"
#include <kardan/dae.h>

void kd_dae_destroy(kd_dae *dae)
{
    if (!dae) return;
    if (dae->methods && dae->methods->destroy) dae->methods->destroy(dae->impl);
    kd_free(dae->unit);
    kd_free(dae);
}

void kd_dae_archive(kd_dae *dae, kd_archive *a)
{
    if (!dae || !a) return;
    kd_archive_tag(a, "form");
    kd_archive_tag(a, dae->methods->name);
    kd_archive_same(a, dae->n, "components of x");
    kd_archive_int(a, &dae->nreduced, 0, dae->nreduced_max);
    KD_ARCHIVE_BOOLS(a, &dae->keep, &dae->widen);
    KD_ARCHIVE_REALS(a, &dae->h, &dae->gamma, &dae->time, &dae->part_discount);
    if (dae->unit) kd_archive_doubles(a, dae->unit, (size_t)dae->n);
    if (!dae->methods->archive)
        kd_archive_fail(a, KD_ERR_UNSUPPORTED, "the form %s cannot be saved", dae->methods->name);
    else if (kd_archive_good(a))
        dae->methods->archive(dae->impl, a);
}
