// realtime/saved.c: a stepper as a value: saved between two steps, and gone on with by another one.
#include "core/saved.h"
#include "core/text.h"
#include "realtime/internal.h"

#include <math.h>

static const char PART[] = "realtime";

static void check_options(kd_archive *a, const kd_realtime_options *o)
{
    const long word[] = {o->jacobian,         o->index, o->stabilisation, o->projector,
                         o->velocities_first, o->ahead, o->part,          o->refresh};
    double     number[] = {o->h, o->epsilon};
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) kd_archive_same(a, word[i], "options are others");
    kd_archive_doubles(a, number, 2);
    if (kd_archive_good(a) && (number[0] != o->h || number[1] != o->epsilon))
        kd_archive_fail(a, KD_ERR_SAVED, "steps are %g s there, %g s here, or epsilon is another one", number[0], o->h);
}

static void archive_events(kd_archive *a, kd_realtime *rt)
{
    const size_t n = (size_t)rt->n.nswitch;
    kd_archive_signs(a, rt->events.side, n);
    kd_archive_signs(a, rt->events.side_kept, n);
    kd_archive_signs(a, rt->events.crossed, n);
    kd_archive_signs(a, rt->events.alone, n);
    kd_archive_bool(a, &rt->events.stop);
}

static void archive_all(kd_archive *a, kd_realtime *rt)
{
    kd_archive_tag(a, "stepper");
    kd_archive_same(a, rt->nunknowns, "the equations are others");
    check_options(a, &rt->opt);
    if (!kd_archive_good(a)) return;
    kd_eom_data_archive(rt->data, a);
    kd_state *state[] = {rt->now, rt->next, rt->jump, rt->kept};
    for (int k = 0; k < 4; k++)
        if (state[k]) kd_state_archive(state[k], a);
    kd_archive_arrays(a, &rt->arena, rt, sizeof *rt);
    // matrices
    KD_ARCHIVE_BOOLS(a, &rt->start_known, &rt->step.known, &rt->mass.known, &rt->drives.known, &rt->fed, &rt->fed_kept);
    if (rt->step.lu) kd_elimination_archive(rt->step.lu, a);
    if (rt->mass.lu) kd_elimination_archive(rt->mass.lu, a);
    archive_events(a, rt);
    kd_archive_int(a, &rt->auxiliary.side, -1, 1);
    kd_archive_bool(a, &rt->auxiliary.follows);
    kd_archive_int(a, &rt->auxiliary.bad, 0, rt->n.nw);
    KD_ARCHIVE_REALS(a, &rt->alpha, &rt->beta, &rt->next_sample, &rt->next_sample_kept);
    kd_archive_count(a, &rt->steps);
    if (!a->reads) return;
    rt->placed = false; // the point of evaluation stands nowhere
    rt->seconds = 0;
}

kd_status kd_realtime_save(kd_realtime *rt, kd_saved **saved, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (saved) *saved = NULL;
    if (!rt || !saved) return KD_ERR_ARGUMENT;
    if (rt->busy) return KD_ERR_BUSY;
    kd_archive a = kd_archive_writer();
    archive_all(&a, rt);
    if (!kd_archive_good(&a)) kd_text(message, size, "%s", a.why);
    kd_status status = kd_saved_create(rt->now->t, saved);
    if (status < 0) {
        kd_archive_release(&a);
        return status;
    }
    status = kd_saved_add(*saved, PART, &a);
    if (status >= 0) return status;
    kd_saved_destroy(*saved);
    *saved = NULL;
    return status;
}

kd_status kd_realtime_go_on(kd_realtime *rt, const kd_saved *saved, char *message, size_t size)
{
    kd_archive a;
    kd_text(message, size, "%s", "");
    if (!rt || !saved) return KD_ERR_ARGUMENT;
    if (rt->busy) return KD_ERR_BUSY;
    if (!kd_saved_part(saved, PART, &a)) {
        kd_text(message, size, "there is no stepper in it");
        return KD_ERR_SAVED;
    }
    archive_all(&a, rt);
    return kd_saved_end(&a, PART, message, size);
}
