// integrator/sundials_absent.h: the functions of an adapter where kardan was built without SUNDIALS: every call answers
// KD_ERR_UNAVAILABLE. name: ida, cvode, arkode; title: in messages.
#ifndef KD_INTEGRATOR_SUNDIALS_ABSENT_H
#define KD_INTEGRATOR_SUNDIALS_ABSENT_H

#include "core/text.h"

#define KD_SUNDIALS_ABSENT(name, title)                                                                                \
    bool kd_##name##_available(void)                                                                                   \
    {                                                                                                                  \
        return false;                                                                                                  \
    }                                                                                                                  \
    kd_status kd_##name##_create(kd_dae *dae, const kd_##name##_options *opt, kd_##name **self, char *message,         \
                                 size_t size)                                                                          \
    {                                                                                                                  \
        (void)dae, (void)opt;                                                                                          \
        if (self) *self = NULL;                                                                                        \
        kd_text(message, size, "%s: %s", title, kd_status_sentence(KD_ERR_UNAVAILABLE));                               \
        return KD_ERR_UNAVAILABLE;                                                                                     \
    }                                                                                                                  \
    kd_status kd_##name##_start(kd_##name *self, double t, const double *x)                                            \
    {                                                                                                                  \
        (void)self, (void)t, (void)x;                                                                                  \
        return KD_ERR_UNAVAILABLE;                                                                                     \
    }                                                                                                                  \
    kd_status kd_##name##_restart(kd_##name *self, double t, const double *x, kd_restart mode)                         \
    {                                                                                                                  \
        (void)self, (void)t, (void)x, (void)mode;                                                                      \
        return KD_ERR_UNAVAILABLE;                                                                                     \
    }                                                                                                                  \
    kd_status kd_##name##_step(kd_##name *self, double t_end)                                                          \
    {                                                                                                                  \
        (void)self, (void)t_end;                                                                                       \
        return KD_ERR_UNAVAILABLE;                                                                                     \
    }                                                                                                                  \
    kd_status kd_##name##_retract(kd_##name *self, double h)                                                           \
    {                                                                                                                  \
        (void)self, (void)h;                                                                                           \
        return KD_ERR_UNAVAILABLE;                                                                                     \
    }                                                                                                                  \
    bool kd_##name##_ends(kd_##name *self, kd_step_ends *ends)                                                         \
    {                                                                                                                  \
        (void)self, (void)ends;                                                                                        \
        return false;                                                                                                  \
    }                                                                                                                  \
    kd_status kd_##name##_dense(kd_##name *self, double t, double *x)                                                  \
    {                                                                                                                  \
        (void)self, (void)t, (void)x;                                                                                  \
        return KD_ERR_UNAVAILABLE;                                                                                     \
    }                                                                                                                  \
    double kd_##name##_time(const kd_##name *self)                                                                     \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return 0;                                                                                                      \
    }                                                                                                                  \
    double kd_##name##_time_old(const kd_##name *self)                                                                 \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return 0;                                                                                                      \
    }                                                                                                                  \
    const double *kd_##name##_x(const kd_##name *self)                                                                 \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return NULL;                                                                                                   \
    }                                                                                                                  \
    kd_stats kd_##name##_stats(const kd_##name *self)                                                                  \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return (kd_stats){0};                                                                                          \
    }                                                                                                                  \
    const char *kd_##name##_message(const kd_##name *self)                                                             \
    {                                                                                                                  \
        (void)self;                                                                                                    \
        return kd_status_sentence(KD_ERR_UNAVAILABLE);                                                                 \
    }                                                                                                                  \
    void kd_##name##_destroy(kd_##name *self)                                                                          \
    {                                                                                                                  \
        (void)self;                                                                                                    \
    }

#endif
