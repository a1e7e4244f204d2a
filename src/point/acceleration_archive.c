// acceleration_archive.c: what a solver of accelerations remembers from point to point: matrices that serve others close to
// their own, and solutions that later ones begin with.
#include "core/archive.h"
#include "point/acceleration_impl.h"

#include <limits.h>

// Rows of the factors begin left of their diagonals; only active rows are in use
static void archive_kkt(kd_archive *a, kd_kkt *kkt, int rows)
{
    kd_archive_int(a, &kkt->nrows, 0, rows);
    kkt->schur.n = kkt->nrows;
    for (int k = 0; k < kkt->nv; k++) kd_archive_int(a, &kkt->mass.first[k], 0, k);
    for (int k = 0; k < rows; k++) kd_archive_int(a, &kkt->schur.first[k], 0, k);
}

static void archive_definite(kd_archive *a, kd_acceleration *self, size_t rows)
{
    kd_definite *m = &self->definite;
    KD_ARCHIVE_BOOLS(a, &m->known, &m->solved);
    kd_archive_real(a, &m->t);
    kd_archive_int(a, &m->jumps, 0, INT_MAX / 2);
    kd_archive_int(a, &m->npacked, 0, (int)rows);
    kd_archive_ints(a, m->packed, rows, 0, (int)rows - 1);
    kd_archive_flags(a, m->active, rows);
    if (self->full.A) archive_kkt(a, &m->kkt, (int)rows);
}

void kd_acceleration_archive(kd_acceleration *self, kd_archive *a)
{
    const size_t rows = (size_t)(self->nk - self->dims.nv);
    bool         reserved = self->full.A != NULL;
    kd_archive_tag(a, "acceleration");
    if (!self->lent) kd_eom_data_archive(self->data, a);
    // matrices that are made when they are needed
    kd_archive_bool(a, &reserved);
    if (!kd_archive_good(a)) return;
    if (reserved && !kd_acceleration_reserve(self)) {
        kd_archive_fail(a, KD_ERR_MEMORY, "no memory for the matrices of the accelerations");
        return;
    }
    kd_position_archive(&self->position, a);
    kd_archive_arrays(a, &self->arena, self, sizeof *self);
    if (reserved) kd_archive_arrays(a, &self->full_arena, self, sizeof *self);
    if (reserved) archive_definite(a, self, rows);
    if (!reserved) self->definite.known = self->kept.usable = false;
    // what solves at present, and what may serve again
    KD_ARCHIVE_ENUM(a, kd_factors, self->factors, reserved ? KD_FACTORS_TRUNCATED : KD_FACTORS_BY_DEFINITION);
    KD_ARCHIVE_BOOLS(a, &self->kept.usable, &self->kept.of_stage, &self->stage.in_use, &self->contact.known);
    kd_archive_flags(a, self->kept.active, rows);
    kd_archive_pivots(a, self->full.pivot, self->nf);
    kd_archive_pivots(a, self->contact.pivot, self->dims.ns);
    if (reserved) kd_archive_pivots(a, self->stage.mixed.pivot, (int)rows);
}
