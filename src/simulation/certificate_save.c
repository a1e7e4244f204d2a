// certificate_save.c: what a certifier has found, added to a saved simulation and read back: the certificate of a run that
// was stopped and goes on is that of both parts.
#include "simulation/certificate_impl.h"

#include "core/saved.h"
#include "core/text.h"

static void archive_largest(kd_archive *a, kd_largest *l)
{
    KD_ARCHIVE_REALS(a, &l->value, &l->t);
    kd_archive_text(a, l->name, sizeof l->name);
}

static void archive_certificate(kd_archive *a, kd_certificate *c)
{
    KD_ARCHIVE_COUNTS(a, &c->states, &c->cautions);
    KD_ARCHIVE_BOOLS(a, &c->exploded, &c->noticed);
    for (int k = 0; k < KD_LEVEL_COUNT; k++) archive_largest(a, &c->level[k]);
    kd_archive_doubles(a, c->scale, KD_LEVEL_COUNT);
    archive_largest(a, &c->norm);
    archive_largest(a, &c->invariant);
    archive_largest(a, &c->energy);
    KD_ARCHIVE_REALS(a, &c->t_start, &c->t_end, &c->acceleration_step, &c->energy_scale, &c->energy_rounding,
                     &c->energy_by_rtol[0], &c->energy_by_rtol[1], &c->energy_by_atol[0], &c->energy_by_atol[1],
                     &c->work_by_rtol, &c->work_by_atol, &c->invariant_by_rtol, &c->invariant_by_atol,
                     &c->position_size, &c->velocity_size, &c->kinetic, &c->potential, &c->dissipated, &c->supplied,
                     &c->caution_time, &c->notice_time);
    kd_archive_text(a, c->caution, sizeof c->caution);
    kd_archive_text(a, c->notice, sizeof c->notice);
}

static void archive(kd_certifier *c, kd_archive *a)
{
    bool has_energy = c->certificate.has_energy;
    int  kind = (int)c->certificate.kind;
    kd_archive_arrays(a, &c->arena, c, sizeof *c);
    kd_state_archive(c->inside, a);
    if (c->last) kd_state_archive(c->last, a);
    if (c->between) kd_eom_data_archive(c->between, a);
    kd_archive_doubles(a, c->jumps, POWERS);
    kd_archive_doubles(a, c->power, POWERS);
    kd_archive_doubles(a, c->work, POWERS);
    kd_archive_doubles(a, (double *)&c->slopes, sizeof c->slopes / sizeof(double));
    for (int k = 0; k < KNOTS; k++) {
        kd_archive_real(a, &c->knot[k].t);
        kd_archive_bool(a, &c->knot[k].rated);
    }
    KD_ARCHIVE_BOOLS(a, &c->peeks, &c->unjudged[0], &c->unjudged[1]);
    kd_archive_int(a, &c->nknots, 0, KNOTS);
    for (int k = 0; k < PAST; k++) KD_ARCHIVE_REALS(a, &c->past[k].t, &c->past[k].power[0], &c->past[k].power[1]);
    kd_archive_int(a, &c->npast, 0, PAST);
    KD_ARCHIVE_REALS(a, &c->leap, &c->t_leap, &c->energy_known, &c->energy_end, &c->t_known, &c->start[0], &c->start[1],
                     &c->end.kinetic, &c->end.potential, &c->end.dissipated, &c->end.supplied, &c->end.size, &c->terms,
                     &c->missed.sum, &c->missed.squares, &c->t_slopes[0], &c->t_slopes[1], &c->energy_slopes,
                     &c->energy_start, &c->potential_low, &c->potential_high);
    // a run in two parts is worth what the worse of them is worth
    kd_archive_int(a, &kind, 0, KD_CERTIFICATE_KIND_COUNT - 1);
    kd_archive_bool(a, &has_energy);
    if (kind > (int)c->certificate.kind) c->certificate.kind = (kd_certificate_kind)kind;
    c->certificate.has_energy = has_energy && c->certificate.kind == KD_CERTIFICATE_FULL;
    archive_certificate(a, &c->certificate);
    kd_archive_int(a, &c->nsegments, 0, SEGMENTS);
    if (kd_archive_good(a))
        kd_archive_doubles(a, (double *)c->segment, (size_t)c->nsegments * sizeof(segment) / sizeof(double));
}

kd_status kd_certifier_save(kd_certifier *c, kd_saved *saved)
{
    if (!c || !saved) return KD_ERR_ARGUMENT;
    kd_archive a = kd_archive_writer();
    archive(c, &a);
    return kd_saved_add(saved, "certificate", &a);
}

kd_status kd_certifier_restore(kd_certifier *c, const kd_saved *saved, char *message, size_t size)
{
    kd_archive a;
    if (!c || !saved) return KD_ERR_ARGUMENT;
    if (!kd_saved_part(saved, "certificate", &a)) {
        kd_text(message, size, "there is no certificate in it");
        return KD_ERR_SAVED;
    }
    archive(c, &a);
    return kd_saved_end(&a, "certificate", message, size);
}
