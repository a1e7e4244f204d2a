// integrator/integrator.h: what every integrator has, for those who make the steps.
//
// A method is one file with its equations on top and a kd_integrator_class; its object begins with a kd_integrator.
// Creation checks the options by their rows and makes the tolerances of all components; the class cuts its arrays.
#ifndef KD_INTEGRATOR_INTEGRATOR_H
#define KD_INTEGRATOR_INTEGRATOR_H

#include <kardan/integrator.h>
#include <math.h>

#include "core/archive.h"
#include "core/option.h"

typedef struct kd_integrator_class {
    kd_integrator_info info;    // with default options
    const char        *title;   // in messages: "Radau", "CVODE"
    size_t             size;    // of its object
    const kd_option   *options; // (noptions) of its own
    int                noptions;
    // info of the variant that the options choose; NULL: there is one
    const kd_integrator_info *(*about)(const kd_integrator_options *opt);
    double (*least_rtol)(const kd_integrator_options *opt); // smaller ones are refused; NULL: they must be above 0
    // Beyond the ranges of single options: what fits together, which forms; NULL: nothing
    kd_status (*check)(const kd_dae *dae, const kd_integrator_options *opt, char *message, size_t size);
    kd_status (*init)(kd_integrator *self); // arrays; arena.failed tells, too. May change self->opt and the tolerances
    kd_status (*restart)(kd_integrator *self, double t, const double *x, kd_restart mode);
    kd_status (*step)(kd_integrator *self, double t_end);
    kd_status (*retract)(kd_integrator *self, double h);
    bool (*ends)(kd_integrator *self, kd_step_ends *ends);
    void (*refresh)(kd_integrator *self);       // NULL: it has no matrices of the form
    double (*gamma)(const kd_integrator *self); // of its factors, as kd_integrator_gamma says; NULL: the same
    double (*lost)(const kd_integrator *self);  // kd_integrator_lost; NULL: nothing
    kd_status (*dense)(kd_integrator *self, double t, double *x);
    kd_stats (*stats)(const kd_integrator *self);
    // Save or restore the fields of the method; arrays of numbers and what all methods have are moved before. NULL: it
    // cannot be saved
    void (*archive)(kd_integrator *self, kd_archive *archive);
    void (*release)(kd_integrator *self); // what is not in the arena; NULL: nothing
} kd_integrator_class;

// Fields that all methods share; the frames and methods add theirs behind it
struct kd_integrator {
    const kd_integrator_class *how; // its method
    kd_integrator_kind         kind;
    kd_dae                    *dae;
    kd_integrator_options      opt; // without the arrays, which are the caller's
    kd_arena                   arena;
    int                        n;           // components of x
    double                     t, t_old;    // [s] end and start of the last step
    double                    *x;           // (n) accepted point
    double                    *rtol, *atol; // (n)
    double                     slack;       // kd_dae.slack of iterations
    double                     proposed;    // [s] first step of the next start; 0: opt.h_first
    double                    *usual;       // (n) sizes beyond which |x| does not enlarge tolerances; NULL: none
    double                    *way, *added; // (n) integral of |x| since t_begin, its part of the last step
    double                     t_begin;     // [s]
    bool                       kinked;      // since the last step: its past is one that nobody has seen
    kd_stats                   stats;
    kd_status                  cause; // why the last attempt failed
    int                        worst; // component that made it fail, -1: unknown
    char                       message[600];
};

#define KD_INTEGRATOR_DECLARE(name, class_name) extern const kd_integrator_class kd_##class_name##_class;
KD_INTEGRATOR_LIST(KD_INTEGRATOR_DECLARE)
#undef KD_INTEGRATOR_DECLARE

// Tolerance of component i: absolute + rtol |x|, except on short peaks. A velocity that is for a moment a thousand times
// larger than on the mean of the run, as that of a load beside a drive that jerks, would leave errors of the size of its
// peak behind, with which the motion goes on. There it is that of usual sizes; at the least what rounding of x asks for.
static inline double kd_integrator_tolerance(const kd_integrator *self, int i, double absolute, double x)
{
    const double size = fabs(x), rounding = 1e-13, all = absolute + self->rtol[i] * size;
    if (!self->usual || !(size > self->usual[i])) return all;
    return fmin(all, fmax(absolute + self->rtol[i] * self->usual[i], rounding * size));
}

// F(t, x, x') for an iteration of the method
static inline kd_eval kd_integrator_residual(kd_dae *dae, double slack, double t, const double *x, const double *xdot,
                                             double *F)
{
    dae->slack = slack;
    const kd_eval answer = dae->methods->residual(dae->impl, t, x, xdot, F);
    dae->slack = 0;
    return answer;
}

// t_end is reached without a step where it lies so few units in the last place away that nothing could happen.
bool kd_integrator_is_there(const kd_integrator *self, double t_end);

#endif
