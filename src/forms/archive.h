// forms/archive.h: what the archives of all forms share.
#ifndef KD_FORMS_ARCHIVE_H
#define KD_FORMS_ARCHIVE_H

#include "core/archive.h"
#include <kardan/dae.h>

// Save or restore counters.
static inline void kd_counters_archive(kd_dae_counters *c, kd_archive *a)
{
    KD_ARCHIVE_COUNTS(a, &c->residuals, &c->jacobians, &c->updates, &c->pattern_changes, &c->groups, &c->fullest_row,
                      &c->mass, &c->selectors, &c->predecompositions, &c->decompositions, &c->solves,
                      &c->for_differences, &c->factorizations, &c->refactorizations, &c->projections);
}

#endif
