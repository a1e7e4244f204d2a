// assembled_archive.c: what the assembled forms remember: Newton matrix, selectors, accelerations of accepted points.
#include "core/archive.h"
#include "forms/archive.h"
#include "forms/assembled_impl.h"

static void archive_rule(kd_archive *a, kd_row_rule *rule)
{
    kd_archive_int(a, &rule->count, 0, rule->rows);
    kd_archive_ints(a, rule->active, (size_t)rule->rows, 0, rule->rows - 1);
    kd_selector_archive(&rule->selector, a);
}

// An estimated pattern grows along the motion: it is made again from the places that were found
static void archive_pattern(kd_archive *a, kd_newton *n)
{
    const size_t places = n->found ? (size_t)n->m * (size_t)(n->nv + n->m) : 0;
    bool         exists = n->F.column != NULL;
    const bool   had = exists;
    kd_archive_bool(a, &exists);
    for (size_t i = 0; i < places; i++) kd_archive_bool(a, &n->found[i]);
    kd_archive_bool(a, &n->grown);
    if (!a->reads || !kd_archive_good(a)) return;
    if (exists && (places > 0 || !had) && kd_newton_set_pattern(n) < 0)
        kd_archive_fail(a, KD_ERR_SAVED, "the pattern of the Newton matrix cannot be made");
    if (!exists && had) kd_newton_release_pattern(n);
}

static void archive_newton(kd_archive *a, kd_newton *n)
{
    kd_archive_tag(a, "newton");
    archive_pattern(a, n);
    if (!kd_archive_good(a)) return;
    kd_archive_arrays(a, &n->arena, n, sizeof *n);
    if (n->F.column) {
        kd_archive_arrays(a, &n->pattern, n, sizeof *n);
        if (n->dense)
            kd_linsolve_archive(a, n->solver);
        else
            kd_sparse_lu_archive(a, n->m, true, &n->lu);
    }
    kd_archive_real(a, &n->gamma);
    kd_archive_doubles(a, (double *)&n->gamma_complex, 2);
    kd_archive_doubles(a, (double *)n->gamma_pair, 2 * KD_LINEAR_PAIRS);
    kd_archive_bool(a, &n->has_second);
    KD_ARCHIVE_COUNTS(a, &n->earlier_factorizations, &n->refactorizations, &n->evaluations, &n->updates,
                      &n->pattern_changes);
}

void kd_assembled_archive(void *impl, kd_archive *a)
{
    kd_assembled *self = impl;
    kd_eom_data_archive(self->data, a);
    kd_acceleration_archive(self->acceleration, a);
    kd_dense_output_archive(self->dense, a);
    kd_position_archive(&self->position, a);
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    if (self->newton) archive_newton(a, self->newton);
    if (self->solver) kd_linsolve_archive(a, self->solver);
    // rows and selectors
    archive_rule(a, &self->multipliers);
    archive_rule(a, &self->stabilizers);
    if (self->has_selectors) {
        const int rows = self->dims.nlambda + self->dims.nq;
        kd_selector_archive(&self->kinematic, a);
        kd_archive_int(a, &self->position_count, 0, rows);
        kd_archive_ints(a, self->position_rows, (size_t)rows, 0, rows - 1);
    }
    KD_ARCHIVE_BOOLS(a, &self->prepared, &self->mass_known, &self->between);
    KD_ARCHIVE_REALS(a, &self->t_between, &self->t_kept[0], &self->t_kept[1]);
    kd_archive_count(a, &self->normal_differences);
    kd_counters_archive(&self->counters, a);
}
