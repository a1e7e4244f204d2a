// guest_motion.c: model exchange by the method of Dormand and Prince of order 5(4), events located by shorter steps from the last
// accepted state, so that their time is as exact as the method.
#include "fmi/guest_motion.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { STAGES = 7, LOCATING = 80, ATTEMPTS = 200 };
static const double SAFETY = 0.9, SHRINK = 0.2, GROW = 5;

// clang-format off
static const double C[STAGES] = {0, 1./5, 3./10, 4./5, 8./9, 1, 1};
static const double A[STAGES][STAGES - 1] = {
    {0},
    {1./5},
    {3./40, 9./40},
    {44./45, -56./15, 32./9},
    {19372./6561, -25360./2187, 64448./6561, -212./729},
    {9017./3168, -355./33, 46732./5247, 49./176, -5103./18656},
    {35./384, 0, 500./1113, 125./192, -2187./6784, 11./84}};
static const double E[STAGES] = {71./57600, 0, -71./16695, 71./1920, -17253./339200, 22./525, -1./40};
// clang-format on

struct kd_guest_motion {
    kd_guest               *guest;
    kd_guest_motion_options opt;
    int                     n, m;   // states, indicators
    double                  t, h;   // h: of the next step
    double                 *y, *y1; // (n)
    double                 *z, *z1; // (m)
    double                 *k;      // (STAGES x n)
    double                  next;   // time of the next event that is known
    long                    steps, events;
    bool                    stopped;
    struct {
        double  t, h, next;
        bool    stopped;
        double *y, *z;
    } saved[KD_GUEST_SLOTS]; // beside the states of the FMU
    kd_arena arena;
};

// ---- steps ----------------------------------------------------------------------------------------------------------

// Inputs at t, then derivatives and, where they are wanted, indicators
static kd_status rates(kd_guest_motion *s, double t, const double *y, double *dy, double *z)
{
    const kd_status status = s->opt.feed ? s->opt.feed(t, s->guest, s->opt.context) : KD_OK;
    return status < 0 ? status : kd_guest_rates(s->guest, t, y, dy, z);
}

// y1 = y + h sum b k, and the error estimate over the tolerance
static kd_status try_step(kd_guest_motion *s, double h, double *error)
{
    const size_t n = (size_t)s->n;
    kd_status    status = KD_OK;
    // stages: k_i = f(t + c_i h, y + h sum_l a_il k_l); the last one stands at the end of the step
    for (int i = 0; i < STAGES && status >= 0; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < i; l++) sum += A[i][l] * s->k[(size_t)l * n + j];
            s->y1[j] = s->y[j] + h * sum;
        }
        status = rates(s, s->t + C[i] * h, s->y1, s->k + (size_t)i * n, i == STAGES - 1 ? s->z1 : NULL);
    }
    // the two formulas differ by h sum e k, measured in tolerances
    *error = 0;
    for (size_t j = 0; j < n && status >= 0; j++) {
        double sum = 0;
        for (int i = 0; i < STAGES; i++) sum += E[i] * s->k[(size_t)i * n + j];
        const double scale = s->opt.rtol * (fmax(fabs(s->y[j]), fabs(s->y1[j])) + 1e-3);
        *error = fmax(*error, fabs(h * sum) / scale);
    }
    return status;
}

static bool has_crossed(const kd_guest_motion *s)
{
    for (int i = 0; i < s->m; i++)
        if ((s->z[i] > 0) != (s->z1[i] > 0)) return true;
    return false;
}

// The shortest step that is behind the first change of a sign; y1, z1 are those of its end
static kd_status locate(kd_guest_motion *s, double *h)
{
    double    low = 0, high = *h, error;
    kd_status status = KD_OK;
    for (int k = 0; k < LOCATING && status >= 0 && high - low > 2 * DBL_EPSILON * fmax(fabs(s->t), high); k++) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) break;
        status = try_step(s, middle, &error);
        if (status < 0) break;
        if (has_crossed(s))
            high = middle;
        else
            low = middle;
    }
    *h = high;
    return status < 0 ? status : try_step(s, high, &error);
}

static kd_status take_update(kd_guest_motion *s, bool enter)
{
    kd_guest_event event;
    kd_status      status = kd_guest_update(s->guest, enter, &event);
    if (status < 0) return status;
    s->next = event.next;
    s->stopped = s->stopped || event.stop;
    s->events += enter;
    if (event.changed || !enter) status = kd_guest_get_states(s->guest, s->y);
    if (status >= 0) status = rates(s, s->t, s->y, s->k, s->z);
    return status;
}

// Accepted: the FMU is told, and may ask for an event
static kd_status accept(kd_guest_motion *s, double h, bool event)
{
    bool      step_event, stop;
    kd_status status;
    // the end of the step is where the FMU stands now
    s->t += h;
    if (s->n > 0) memcpy(s->y, s->y1, (size_t)s->n * sizeof *s->y);
    status = rates(s, s->t, s->y, s->k, s->z1);
    // it hears of the step, and may want an event
    if (status >= 0) status = kd_guest_completed(s->guest, &step_event, &stop);
    if (status < 0) return status;
    s->steps++;
    s->stopped = s->stopped || stop;
    if (s->m > 0) memcpy(s->z, s->z1, (size_t)s->m * sizeof *s->z);
    // an event of time, of a root, or of the FMU itself
    event = event || s->t >= s->next - 4 * DBL_EPSILON * fabs(s->t);
    if (!event && !step_event) return KD_OK;
    // rows before and behind it
    if (event && s->opt.show) status = s->opt.show(s->t, s->guest, s->opt.context);
    if (status >= 0) status = take_update(s, true);
    if (status >= 0 && event && s->opt.show) status = s->opt.show(s->t, s->guest, s->opt.context);
    // what lies behind may be faster
    s->h = fmin(s->h, s->opt.step);
    return status;
}

// Steps up to a time, with errors below the tolerance
kd_status kd_guest_motion_to(kd_guest_motion *s, double t_end)
{
    kd_status status = KD_OK;
    int       failures = 0;
    while (s->t < t_end && status >= 0 && !s->stopped) {
        const double most = fmin(t_end, s->next > s->t ? s->next : t_end) - s->t;
        double       h = s->n > 0 ? fmin(s->h, most) : most, error = 0;
        if (most - h < 0.1 * h) h = most;
        status = try_step(s, h, &error);
        // what cannot be evaluated may be possible with shorter steps
        if ((status == KD_ERR_RETRY_FAILED || (status >= 0 && error > 1)) && ++failures < ATTEMPTS &&
            h > 16 * DBL_EPSILON * fabs(s->t)) {
            s->h = h * (status < 0 ? SHRINK : fmax(SHRINK, SAFETY * pow(error, -0.2)));
            status = KD_OK;
            continue;
        }
        if (status < 0) break;
        failures = 0;
        const bool event = has_crossed(s);
        s->h = h * (error > 0 ? fmin(GROW, SAFETY * pow(error, -0.2)) : GROW);
        if (event) status = locate(s, &h);
        if (status >= 0 && !event && h == most && t_end - s->t == most) {
            // exactly to the end
            status = accept(s, h, event);
            if (status >= 0 && s->t < s->next) s->t = t_end;
            continue;
        }
        if (status >= 0) status = accept(s, h, event);
    }
    return status;
}

kd_status kd_guest_motion_settle(kd_guest_motion *s)
{
    s->h = fmin(s->h, s->opt.step);
    return take_update(s, false);
}

kd_status kd_guest_motion_jump(kd_guest_motion *s)
{
    kd_status status = kd_guest_enter(s->guest);
    if (status >= 0 && s->opt.feed) status = s->opt.feed(s->t, s->guest, s->opt.context);
    return status < 0 ? status : kd_guest_motion_settle(s);
}

// ---- saved ----------------------------------------------------------------------------------------------------------

kd_status kd_guest_motion_save(kd_guest_motion *s, int slot)
{
    s->saved[slot].t = s->t, s->saved[slot].h = s->h, s->saved[slot].next = s->next;
    s->saved[slot].stopped = s->stopped;
    if (s->n > 0) memcpy(s->saved[slot].y, s->y, (size_t)s->n * sizeof *s->y);
    if (s->m > 0) memcpy(s->saved[slot].z, s->z, (size_t)s->m * sizeof *s->z);
    return kd_guest_save(s->guest, slot);
}

kd_status kd_guest_motion_restore(kd_guest_motion *s, int slot)
{
    s->t = s->saved[slot].t, s->h = s->saved[slot].h, s->next = s->saved[slot].next;
    s->stopped = s->saved[slot].stopped;
    if (s->n > 0) memcpy(s->y, s->saved[slot].y, (size_t)s->n * sizeof *s->y);
    if (s->m > 0) memcpy(s->z, s->saved[slot].z, (size_t)s->m * sizeof *s->z);
    return kd_guest_restore(s->guest, slot);
}

// ---- life -----------------------------------------------------------------------------------------------------------

kd_status kd_guest_motion_create(kd_guest *guest, const kd_guest_motion_options *opt, double t,
                                 kd_guest_motion **motion)
{
    *motion = NULL;
    kd_guest_motion *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    // sizes as the FMU tells them; the first step is short
    s->guest = guest;
    s->opt = *opt;
    s->n = kd_guest_states(guest);
    s->m = kd_guest_indicators(guest);
    s->t = t;
    s->h = 1e-2 * opt->step;
    // two ends of a step, stages, and slots for saved motions
    s->y = kd_cut_double(&s->arena, s->n);
    s->y1 = kd_cut_double(&s->arena, s->n);
    s->z = kd_cut_double(&s->arena, s->m);
    s->z1 = kd_cut_double(&s->arena, s->m);
    s->k = kd_cut_matrix(&s->arena, STAGES, s->n);
    for (int i = 0; i < KD_GUEST_SLOTS; i++) {
        s->saved[i].y = kd_cut_double(&s->arena, s->n);
        s->saved[i].z = kd_cut_double(&s->arena, s->m);
    }
    const kd_status status = s->arena.failed ? KD_ERR_MEMORY : take_update(s, false);
    if (status < 0)
        kd_guest_motion_destroy(s);
    else
        *motion = s;
    return status;
}

void kd_guest_motion_destroy(kd_guest_motion *s)
{
    if (!s) return;
    kd_arena_release(&s->arena);
    kd_free(s);
}

kd_guest_motion_news kd_guest_motion_about(const kd_guest_motion *s)
{
    return (kd_guest_motion_news){s->t, s->next, s->steps, s->events, s->stopped};
}
