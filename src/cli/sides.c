// sides.c: one model as two sets of equations.
#include "cli/sides.h"

#include "cli/method.h"
#include "core/text.h"
#include "results/run_options.h"

// The same model in the other coordinates, with its own start; false: other->why says why not
static bool open_other(const kd_subject *s, kd_other_side *other)
{
    kd_subject       *o = &other->subject;
    kd_system_options options = kd_system_options_default();
    // whatever the first side has, the other one
    options.coordinates = o->coordinates = s->coordinates == KD_CARTESIAN ? KD_JOINT : KD_CARTESIAN;
    options.fmu_in_process = s->in_process;
    options.libraries = s->libraries;
    if (s->fmu_timeout > 0) options.fmu_timeout = s->fmu_timeout;
    kd_status status = kd_system_create(s->model, &options, &o->system, other->why, sizeof other->why);
    if (status >= 0) {
        o->eom = kd_system_eom(o->system);
        if (kd_system_inputs(o->system)) o->inputs = *kd_system_inputs(o->system);
        o->info = kd_system_info_of(o->system);
        status = kd_state_create(o->eom, &o->x);
    }
    if (status >= 0) status = kd_system_start(o->system, o->x, other->why, sizeof other->why);
    if (status < 0 && !other->why[0]) kd_text(other->why, sizeof other->why, "%s", kd_status_sentence(status));
    return status >= 0;
}

// what kd_compare needs of a side
static kd_compare_side side_of(const kd_subject *s, const kd_state *start)
{
    return (kd_compare_side){.word = s->system ? kd_method_coordinates(s) : "",
                             .eom = s->eom,
                             .inputs = kd_subject_inputs(s),
                             .start = start,
                             .system = s->system,
                             .redundant = kd_method_is_redundant(s)};
}

// the start is copied: the subject moves on
int kd_sides_of(const kd_subject *s, kd_sides_wanted wanted, kd_other_side *other, kd_compare_side side[2])
{
    *other = (kd_other_side){0};
    if (kd_state_create(s->eom, &other->start) < 0) return 0;
    kd_state_copy(s->x, other->start);
    side[0] = side_of(s, other->start);
    if (wanted == KD_SIDES_OWN || !s->system || !open_other(s, other)) return 1;
    side[1] = side_of(&other->subject, other->subject.x);
    return 2;
}

void kd_sides_close(kd_other_side *other)
{
    kd_state_destroy(other->start);
    kd_state_destroy(other->subject.x);
    kd_system_destroy(other->subject.system);
    *other = (kd_other_side){0};
}

// asked for, by the model, or for a mechanism without freedom, whose steps nothing limits
double kd_sides_max_step(const kd_subject *s, double asked, double duration)
{
    if (asked > 0) return asked;
    if (s->run.max_step > 0) return s->run.max_step;
    return s->system ? kd_driven_step(&s->info, duration) : 0;
}
