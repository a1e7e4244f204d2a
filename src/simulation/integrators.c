// integrators.c: the table of integrators that the driver can use. A new one needs its line in KD_INTEGRATOR_LIST, its
// options in kd_simulation_options, a create function here and a line in the table.
#include "simulation/integrators.h"

#include <limits.h>
#include <string.h>

#include "core/text.h"

// What differs between the integrators is the type of their first argument only.
#define KD_INTEGRATOR_ADAPT(name)                                                                                      \
    static kd_status name##_step(void *self, double t_end)                                                             \
    {                                                                                                                  \
        return kd_##name##_step(self, t_end);                                                                          \
    }                                                                                                                  \
    static kd_status name##_retract(void *self, double h)                                                              \
    {                                                                                                                  \
        return kd_##name##_retract(self, h);                                                                           \
    }                                                                                                                  \
    static bool name##_ends(void *self, kd_step_ends *ends)                                                            \
    {                                                                                                                  \
        return kd_##name##_ends(self, ends);                                                                           \
    }                                                                                                                  \
    static double name##_time(const void *self)                                                                        \
    {                                                                                                                  \
        return kd_##name##_time(self);                                                                                 \
    }                                                                                                                  \
    static double name##_time_old(const void *self)                                                                    \
    {                                                                                                                  \
        return kd_##name##_time_old(self);                                                                             \
    }                                                                                                                  \
    static const double *name##_x(const void *self)                                                                    \
    {                                                                                                                  \
        return kd_##name##_x(self);                                                                                    \
    }                                                                                                                  \
    static kd_status name##_start(void *self, double t, const double *x, kd_restart mode)                              \
    {                                                                                                                  \
        return kd_##name##_restart(self, t, x, mode);                                                                  \
    }                                                                                                                  \
    static kd_status name##_dense(void *self, double t, double *x)                                                     \
    {                                                                                                                  \
        return kd_##name##_dense(self, t, x);                                                                          \
    }                                                                                                                  \
    static kd_stats name##_stats(const void *self)                                                                     \
    {                                                                                                                  \
        return kd_##name##_stats(self);                                                                                \
    }                                                                                                                  \
    static const char *name##_message(const void *self)                                                                \
    {                                                                                                                  \
        return kd_##name##_message(self);                                                                              \
    }                                                                                                                  \
    static void name##_destroy(void *self)                                                                             \
    {                                                                                                                  \
        kd_##name##_destroy(self);                                                                                     \
    }

KD_INTEGRATOR_ADAPT(radau)
KD_INTEGRATOR_ADAPT(bdf)
KD_INTEGRATOR_ADAPT(ida)
KD_INTEGRATOR_ADAPT(cvode)
KD_INTEGRATOR_ADAPT(arkode)
KD_INTEGRATOR_ADAPT(sdirk)
KD_INTEGRATOR_ADAPT(explicit)
KD_INTEGRATOR_ADAPT(extrapolation)

static void radau_refresh(void *self)
{
    kd_radau_refresh(self);
}

static void bdf_refresh(void *self)
{
    kd_bdf_refresh(self);
}

static void sdirk_refresh(void *self)
{
    kd_sdirk_refresh(self);
}

static void take_tolerances(const kd_simulation_options *opt, double *rtol, double *atol)
{
    double least = kd_integrator_least_rtol(opt->integrator);
    if (opt->rtol != 0) *rtol = opt->rtol;
    if (opt->atol != 0) *atol = opt->atol;
    if (!(opt->rtol > 0 && opt->rtol < least)) return;
    *atol *= least / opt->rtol; // the balance of the two is the user's
    *rtol = least;
}

static kd_status radau_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                              size_t size)
{
    kd_radau *radau = NULL;
    take_tolerances(opt, &opt->radau.rtol, &opt->radau.atol);
    *max_steps = opt->radau.max_steps;
    kd_status status = kd_radau_create(dae, &opt->radau, &radau, message, size);
    *self = radau;
    return status;
}

static kd_status bdf_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                            size_t size)
{
    kd_bdf *bdf = NULL;
    take_tolerances(opt, &opt->bdf.rtol, &opt->bdf.atol);
    *max_steps = opt->bdf.max_steps;
    kd_status status = kd_bdf_create(dae, &opt->bdf, &bdf, message, size);
    *self = bdf;
    return status;
}

static kd_status ida_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                            size_t size)
{
    kd_ida *ida = NULL;
    take_tolerances(opt, &opt->ida.rtol, &opt->ida.atol);
    *max_steps = opt->ida.max_steps;
    if (opt->ida.max_steps > 0) opt->ida.max_steps = LONG_MAX; // counted by the driver, run by run
    kd_status status = kd_ida_create(dae, &opt->ida, &ida, message, size);
    *self = ida;
    return status;
}

static kd_status cvode_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                              size_t size)
{
    kd_cvode *cvode = NULL;
    if (opt->formulation_options.projection == KD_PROJECT_BOUND && dae->methods->project) {
        kd_text(message, size, "CVODE takes a projection now and then for an error; project always, or with arkode");
        return KD_ERR_UNSUPPORTED;
    }
    take_tolerances(opt, &opt->cvode.rtol, &opt->cvode.atol);
    *max_steps = opt->cvode.max_steps;
    if (opt->cvode.max_steps > 0) opt->cvode.max_steps = LONG_MAX; // counted by the driver, run by run
    kd_status status = kd_cvode_create(dae, &opt->cvode, &cvode, message, size);
    *self = cvode;
    return status;
}

static kd_status arkode_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                               size_t size)
{
    kd_arkode *arkode = NULL;
    take_tolerances(opt, &opt->arkode.rtol, &opt->arkode.atol);
    *max_steps = opt->arkode.max_steps;
    if (opt->arkode.max_steps > 0) opt->arkode.max_steps = LONG_MAX; // counted by the driver, run by run
    kd_status status = kd_arkode_create(dae, &opt->arkode, &arkode, message, size);
    *self = arkode;
    return status;
}

static kd_status sdirk_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                              size_t size)
{
    kd_sdirk *sdirk = NULL;
    take_tolerances(opt, &opt->sdirk.rtol, &opt->sdirk.atol);
    *max_steps = opt->sdirk.max_steps;
    kd_status status = kd_sdirk_create(dae, &opt->sdirk, &sdirk, message, size);
    *self = sdirk;
    return status;
}

static kd_status explicit_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps, char *message,
                                 size_t size)
{
    kd_explicit *explicit_rk = NULL;
    opt->explicit_rk.method = opt->integrator == KD_DOPRI5   ? KD_EXPLICIT_DOPRI5
                              : opt->integrator == KD_DOP853 ? KD_EXPLICIT_DOP853
                                                             : KD_EXPLICIT_HALF;
    take_tolerances(opt, &opt->explicit_rk.rtol, &opt->explicit_rk.atol);
    *max_steps = opt->explicit_rk.max_steps;
    kd_status status = kd_explicit_create(dae, &opt->explicit_rk, &explicit_rk, message, size);
    *self = explicit_rk;
    return status;
}

static kd_status extrapolation_create(kd_dae *dae, kd_simulation_options *opt, void **self, long *max_steps,
                                      char *message, size_t size)
{
    kd_extrapolation *extrapolation = NULL;
    take_tolerances(opt, &opt->extrapolation.rtol, &opt->extrapolation.atol);
    *max_steps = opt->extrapolation.max_steps;
    if (opt->extrapolation.sequence == KD_SEQUENCE_CHOSEN && opt->ntimes > 0)
        opt->extrapolation.sequence = KD_SEQUENCE_MIDPOINT;
    kd_status status = kd_extrapolation_create(dae, &opt->extrapolation, &extrapolation, message, size);
    *self = extrapolation;
    return status;
}

// the class of functions name_create, name_start, ...
#define KD_INTEGRATOR_CLASS(name, renew)                                                                               \
    {                                                                                                                  \
        .create = name##_create, .start = name##_start, .step = name##_step, .retract = name##_retract,                \
        .ends = name##_ends, .refresh = renew, .time = name##_time, .time_old = name##_time_old, .x = name##_x,        \
        .dense = name##_dense, .stats = name##_stats, .message = name##_message, .destroy = name##_destroy             \
    }
static const kd_integrator_class classes[KD_INTEGRATOR_COUNT] = {
    [KD_RADAU] = KD_INTEGRATOR_CLASS(radau, radau_refresh),
    [KD_BDF] = KD_INTEGRATOR_CLASS(bdf, bdf_refresh),
    [KD_IDA] = KD_INTEGRATOR_CLASS(ida, NULL),
    [KD_CVODE] = KD_INTEGRATOR_CLASS(cvode, NULL),
    [KD_ARKODE] = KD_INTEGRATOR_CLASS(arkode, NULL),
    [KD_SDIRK] = KD_INTEGRATOR_CLASS(sdirk, sdirk_refresh),
    [KD_DOPRI5] = KD_INTEGRATOR_CLASS(explicit, NULL),
    [KD_DOP853] = KD_INTEGRATOR_CLASS(explicit, NULL),
    [KD_HALF_EXPLICIT] = KD_INTEGRATOR_CLASS(explicit, NULL),
    [KD_EXTRAPOLATION] = KD_INTEGRATOR_CLASS(extrapolation, NULL),
};

// Differences of x over many (bdf, ida) or few (sdirk) digits estimate the error: some 45 units in the last place.
// Below that steps shrink with the rounding errors that they should see (Cartesian pendulum, 1 s with bdf: 2400 steps
// at 1e-14, 207000 at 1e-15).
double kd_integrator_least_rtol(kd_integrator integrator)
{
    if (integrator == KD_IDA) return 1e-12; // a four-bar with ggl starts at 1e-12, not at 1e-13
    return integrator == KD_BDF || integrator == KD_SDIRK ? 1e-14 : 0;
}

kd_tolerances kd_integrator_tolerances(const kd_simulation_options *opt)
{
    switch (opt->integrator) {
    case KD_RADAU:
        return (kd_tolerances){opt->radau.rtol, opt->radau.atol, 0};
    case KD_BDF:
        return (kd_tolerances){opt->bdf.rtol, opt->bdf.atol, opt->bdf.h_fixed};
    case KD_IDA:
        return (kd_tolerances){opt->ida.rtol, opt->ida.atol, 0};
    case KD_CVODE:
        return (kd_tolerances){opt->cvode.rtol, opt->cvode.atol, 0};
    case KD_ARKODE:
        return (kd_tolerances){opt->arkode.rtol, opt->arkode.atol, opt->arkode.h_fixed};
    case KD_SDIRK:
        return (kd_tolerances){opt->sdirk.rtol, opt->sdirk.atol, 0};
    case KD_EXTRAPOLATION:
        return (kd_tolerances){opt->extrapolation.rtol, opt->extrapolation.atol, opt->extrapolation.h_fixed};
    default:
        return (kd_tolerances){opt->explicit_rk.rtol, opt->explicit_rk.atol, opt->explicit_rk.h_fixed};
    }
}

const kd_integrator_class *kd_integrator_find(kd_integrator integrator)
{
    return (int)integrator >= 0 && (int)integrator < KD_INTEGRATOR_COUNT ? &classes[integrator] : NULL;
}

static const char *const word_of[KD_INTEGRATOR_COUNT] = {
#define KD_INTEGRATOR_WORD(name, word, sentence) [name] = word,
    KD_INTEGRATOR_LIST(KD_INTEGRATOR_WORD)
#undef KD_INTEGRATOR_WORD
};

const char *kd_integrator_word(kd_integrator integrator)
{
    return (int)integrator >= 0 && (int)integrator < KD_INTEGRATOR_COUNT ? word_of[integrator] : "unknown";
}

bool kd_integrator_parse(const char *word, kd_integrator *integrator)
{
    for (int i = 0; word && i < KD_INTEGRATOR_COUNT; i++) {
        if (strcmp(word, word_of[i]) != 0) continue;
        *integrator = (kd_integrator)i;
        return true;
    }
    return false;
}
