// guest_run.c: model exchange by the method of Dormand and Prince of order 5(4), events located by shorter steps from the last
// accepted state, so that their time is as exact as the method.
#include "fmi/guest_run.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

typedef struct method {
    kd_guest     *guest;
    kd_guest_run *run;
    int           n, m;   // states, indicators
    double        t, h;   // h: of the next step
    double       *y, *y1; // (n)
    double       *z, *z1; // (m)
    double       *k;      // (STAGES x n)
    double        next;   // time of the next event that is known
    double        rtol;
    kd_arena      arena;
} method;

// y1 = y + h sum b k, and the error estimate over the tolerance
static kd_status try_step(method *s, double h, double *error)
{
    const size_t n = (size_t)s->n;
    kd_status    status = KD_OK;
    for (int i = 0; i < STAGES && status >= 0; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < i; l++) sum += A[i][l] * s->k[(size_t)l * n + j];
            s->y1[j] = s->y[j] + h * sum;
        }
        status = kd_guest_rates(s->guest, s->t + C[i] * h, s->y1, s->k + (size_t)i * n, i == STAGES - 1 ? s->z1 : NULL);
    }
    *error = 0;
    for (size_t j = 0; j < n && status >= 0; j++) {
        double sum = 0;
        for (int i = 0; i < STAGES; i++) sum += E[i] * s->k[(size_t)i * n + j];
        const double scale = s->rtol * (fmax(fabs(s->y[j]), fabs(s->y1[j])) + 1e-3);
        *error = fmax(*error, fabs(h * sum) / scale);
    }
    return status;
}

static bool has_crossed(const method *s)
{
    for (int i = 0; i < s->m; i++)
        if ((s->z[i] > 0) != (s->z1[i] > 0)) return true;
    return false;
}

// The shortest step that is behind the first change of a sign; y1, z1 are those of its end
static kd_status locate(method *s, double *h)
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

static kd_status take_update(method *s, bool enter)
{
    kd_guest_event event;
    kd_status      status = kd_guest_update(s->guest, enter, &event);
    if (status < 0) return status;
    s->next = event.next;
    s->run->stopped = s->run->stopped || event.stop;
    s->run->events += enter;
    if (event.changed || !enter) status = kd_guest_get_states(s->guest, s->y);
    if (status >= 0) status = kd_guest_rates(s->guest, s->t, s->y, s->k, s->z);
    return status;
}

// Accepted: the FMU is told, and may ask for an event
static kd_status accept(method *s, double h, bool event)
{
    bool      step_event, stop;
    kd_status status;
    s->t = h == s->run->t_stop - s->t ? s->run->t_stop : s->t + h;
    if (s->n > 0) memcpy(s->y, s->y1, (size_t)s->n * sizeof *s->y);
    status = kd_guest_rates(s->guest, s->t, s->y, s->k, s->z1);
    if (status >= 0) status = kd_guest_completed(s->guest, &step_event, &stop);
    if (status < 0) return status;
    s->run->steps++;
    s->run->stopped = s->run->stopped || stop;
    if (s->m > 0) memcpy(s->z, s->z1, (size_t)s->m * sizeof *s->z);
    event = event || s->t >= s->next - 4 * DBL_EPSILON * fabs(s->t);
    if (!event && !step_event) return KD_OK;
    if (event) status = s->run->show(s->t, s->guest, s->run->context);
    if (status >= 0) status = take_update(s, true);
    if (status >= 0 && event) status = s->run->show(s->t, s->guest, s->run->context);
    s->h = fmin(s->h, s->run->step);
    return status;
}

// Steps up to a time, with errors below the tolerance
static kd_status go_to(method *s, double t_end)
{
    kd_status status = KD_OK;
    int       failures = 0;
    while (s->t < t_end && status >= 0 && !s->run->stopped) {
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

static kd_status exchange(kd_guest *guest, kd_guest_run *run)
{
    method s = {
        .guest = guest, .run = run, .n = kd_guest_states(guest), .m = kd_guest_indicators(guest), .t = run->t_start};
    s.rtol = run->tolerance > 0 ? run->tolerance : 1e-6;
    s.h = 1e-2 * run->step;
    s.y = kd_cut_double(&s.arena, s.n);
    s.y1 = kd_cut_double(&s.arena, s.n);
    s.z = kd_cut_double(&s.arena, s.m);
    s.z1 = kd_cut_double(&s.arena, s.m);
    s.k = kd_cut_matrix(&s.arena, STAGES, s.n);
    kd_status status = s.arena.failed ? KD_ERR_MEMORY : take_update(&s, false);
    if (status >= 0) status = run->show(s.t, guest, run->context);
    const long points = lround((run->t_stop - run->t_start) / run->step);
    for (long k = 1; k <= points && status >= 0 && !run->stopped; k++) {
        if (run->feed) status = run->feed(s.t, guest, run->context);
        if (status >= 0) status = go_to(&s, k == points ? run->t_stop : run->t_start + (double)k * run->step);
        if (status >= 0) status = run->show(s.t, guest, run->context);
    }
    kd_arena_release(&s.arena);
    return status;
}

static kd_status cosimulate(kd_guest *guest, kd_guest_run *run)
{
    double     t = run->t_start;
    const long points = lround((run->t_stop - run->t_start) / run->step);
    kd_status  status = run->show(t, guest, run->context);
    for (long k = 1; k <= points && status >= 0 && !run->stopped; k++) {
        const double end = k == points ? run->t_stop : run->t_start + (double)k * run->step;
        if (run->feed) status = run->feed(t, guest, run->context);
        // a step that ends early is gone on with
        for (int part = 0; part < ATTEMPTS && status >= 0 && t < end && !run->stopped; part++) {
            double reached;
            status = kd_guest_step(guest, t, end - t, &reached, &run->stopped);
            if (status >= 0 && reached <= t && !run->stopped) part = ATTEMPTS;
            if (status >= 0) t = reached >= end - 16 * DBL_EPSILON * fabs(end) ? end : reached;
            run->steps++;
        }
        if (status >= 0 && t < end && !run->stopped) status = KD_ERR_STEP_TOO_SMALL;
        if (status >= 0) status = run->show(t, guest, run->context);
    }
    return status;
}

kd_status kd_guest_run_all(kd_guest *guest, bool is_exchange, kd_guest_run *run)
{
    kd_status status = kd_guest_begin(guest, run->t_start, run->t_stop, run->tolerance);
    if (status >= 0 && run->feed) status = run->feed(run->t_start, guest, run->context);
    if (status >= 0) status = kd_guest_finish(guest);
    if (status >= 0) status = is_exchange ? exchange(guest, run) : cosimulate(guest, run);
    if (status >= 0) status = kd_guest_end(guest);
    return status;
}
