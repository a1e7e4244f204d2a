// chatter.c: bounds of the number of events in a short time, so that no run hangs.
//
// Two signs: very many events without a step of some length between them; one function that comes back a few times
// within so few ulp of time that its crossings can hardly be told apart.
#include "simulation/chatter.h"

#include <float.h>
#include <math.h>

#define RESOLUTION 1024 // [ulp] events of one function that are so close cannot be told apart much longer
#define UNRESOLVED 4    // so many of them end the run
#define LONGEST 2.0     // longest step behind events, in times that have passed since those before

static double resolution(double t)
{
    return RESOLUTION * DBL_EPSILON * fabs(t);
}

void kd_chatter_begin(kd_chatter *self, const kd_event_options *opt)
{
    *self = (kd_chatter){.most = opt->max_chatter, .quick = opt->chatter_time, .last = -HUGE_VAL};
}

// count: instants in quick succession, of any function; repeated: of one and the same, closer than times resolve
bool kd_chatter_add(kd_chatter *self, double t, int function)
{
    const double gap = t - self->last;
    if (gap > 0) self->gap = gap;
    self->count = gap <= self->quick * fabs(t) ? self->count + 1 : 0;
    const bool close = gap <= resolution(t), again = gap > 0 && close && function == self->function;
    self->repeated = again ? self->repeated + 1 : close ? self->repeated : 0;
    self->function = function;
    self->last = t;
    return self->count <= self->most && self->repeated < UNRESOLVED;
}

double kd_chatter_time(const kd_chatter *self)
{
    return fmax(self->quick * fabs(self->last), resolution(self->last));
}

// not longer than twice the last gap: dense output of a long step has no digits left for a close event
double kd_chatter_target(const kd_chatter *self, double t, double target)
{
    const double step = fmax(LONGEST * self->gap, resolution(self->last)); // shorter ones resolve nothing
    return t == self->last && self->gap > 0 ? fmin(target, self->last + step) : target;
}
