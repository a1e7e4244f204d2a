// dae.c: the object between formulations and integrators owns its implementation.
#include "core/memory.h"
#include <kardan/dae.h>

void kd_dae_destroy(kd_dae *dae)
{
    if (!dae) return;
    if (dae->methods && dae->methods->destroy) dae->methods->destroy(dae->impl);
    kd_free(dae->unit);
    kd_free(dae);
}
