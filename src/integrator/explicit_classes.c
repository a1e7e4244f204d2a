// explicit_classes.c: dopri5, dop853 and half-explicit: options, properties, what they begin with.
#include <math.h>

#include "core/text.h"
#include "integrator/explicit_impl.h"

#define O kd_integrator_options
// clang-format off
static const kd_option options[] = {
    {KD_REAL("explicit.safety", O, explicit_rk.safety, 0, 0, 1, "factor of the proposed step, of dopri5, dop853 and half-explicit; 0: the method's"), .below = true},
    {KD_REAL("explicit.beta", O, explicit_rk.beta, -1, -INFINITY, 0.2, "integral part of the step control; below 0: the method's")},
    {KD_WHOLE("explicit.stiff_steps", O, explicit_rk.stiff_steps, 50, 0, INFINITY, "stiffness is looked for every so many steps; 0: never")},
};
// clang-format on
#undef O

static void init_stages(kd_explicit *self, const kd_explicit_tableau *b, const kd_constrained_points *points)
{
    const kd_explicit_options *o = &self->base.opt.explicit_rk;
    kd_arena                  *arena = &self->base.arena;
    kd_explicit_init(self, &kd_explicit_stages);
    // what the user did not choose is the method's
    self->tableau = b;
    self->points = points;
    self->order = b->order;
    self->beta = o->beta < 0 ? b->beta : o->beta;
    self->safety = o->safety > 0 ? o->safety : b->safety;
    self->stiff_steps = o->stiff_steps;
    self->X = kd_cut_double(arena, self->n);
    if (points) self->k_other = kd_cut_double(arena, self->n);
    for (int i = 0; i < b->all_stages; i++) self->k[i] = kd_cut_double(arena, self->n);
    for (int i = 0; i < b->ndense; i++) self->r[i] = kd_cut_double(arena, self->n);
    // k_0 and k_end have names of their own, for the frame
    self->k_start = self->k[0];
    self->k_end = self->k[b->stages];
}

// A method that a tableau tells completely
#define BY_TABLEAU(name)                                                                                               \
    static kd_status init_##name(kd_integrator *base)                                                                  \
    {                                                                                                                  \
        init_stages((kd_explicit *)base, &kd_##name##_tableau, NULL);                                                  \
        return KD_OK;                                                                                                  \
    }                                                                                                                  \
    static kd_status check_##name(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)       \
    {                                                                                                                  \
        (void)o;                                                                                                       \
        return kd_explicit_check(dae, kd_##name##_class.info.word, "ordinary differential equations", message, size);  \
    }
BY_TABLEAU(dopri5)
BY_TABLEAU(dop853)

static kd_status init_half(kd_integrator *base)
{
    init_stages((kd_explicit *)base, &kd_dopri5_tableau, &kd_half_explicit_points);
    return KD_OK;
}

static kd_status check_half(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    (void)o;
    const char *word = kd_half_explicit_class.info.word;
    kd_status   status =
        kd_explicit_check(dae, word, "equations of motion whose multipliers are solved for", message, size);
    if (status < 0 || dae->methods->stage) return status;
    kd_text(
        message, size,
        "%s imposes the constraints on velocity level in its stages, which the %s form does not offer here: use the "
        "formulation ode, without form.stabilisation, or dopri5",
        word, dae->methods->name);
    return KD_ERR_UNSUPPORTED;
}

// c of the stages that have a weight in x_1, without the end, which is the start of the next step
static const double nodes_dopri5[] = {0.0, 0.3, 0.8, 8.0 / 9.0};
static const double nodes_dop853[] = {0.0, 1.0 / 3.0, 0.25, 4.0 / 13.0, 127.0 / 195.0, 0.6, 6.0 / 7.0};

#define CLASS(word_, sentence_, needs_, order_, dense_, turns_, nodes_, period_, compared_, check_, init_)             \
    {                                                                                                                  \
        .info = {.word = word_,                                                                                        \
                 .own_word = word_,                                                                                    \
                 .sentence = sentence_,                                                                                \
                 .available = true,                                                                                    \
                 .needs = needs_,                                                                                      \
                 .projected = KD_CONTINUES,                                                                            \
                 .projects = true,                                                                                     \
                 .index_max = 1,                                                                                       \
                 .is_explicit = true,                                                                                  \
                 .one_step = true,                                                                                     \
                 .fixed_steps = true,                                                                                  \
                 .order = order_,                                                                                      \
                 .order_dense = dense_,                                                                                \
                 .turns = turns_,                                                                                      \
                 .nnodes = sizeof nodes_ / sizeof *nodes_,                                                             \
                 .nodes = nodes_,                                                                                      \
                 .check_period = period_,                                                                              \
                 .compared = compared_},                                                                               \
        .title = word_, .size = sizeof(kd_explicit), .options = options, .noptions = sizeof options / sizeof *options, \
        .check = check_, .init = init_, .restart = kd_explicit_restart, KD_EXPLICIT_CALLS,                             \
        .archive = kd_explicit_archive                                                                                 \
    }

const kd_integrator_class kd_dopri5_class =
    CLASS("dopri5", "explicit Runge-Kutta method of Dormand and Prince of order 5, on the formulation ode",
          KD_INTEGRATES_RHS, 5, 4, 5, nodes_dopri5, 4, "ode* statespace ode-", check_dopri5, init_dopri5);
const kd_integrator_class kd_dop853_class =
    CLASS("dop853", "explicit Runge-Kutta method of Dormand and Prince of order 8, on the formulation ode",
          KD_INTEGRATES_RHS, 8, 7, 7, nodes_dop853, 4, "ode*4 statespace ode-", check_dop853, init_dop853);
const kd_integrator_class kd_half_explicit_class = CLASS(
    "half-explicit",
    "half-explicit Runge-Kutta method of order 5: constraints on velocity level (index 2), on the formulation ode",
    KD_INTEGRATES_STAGES, 5, 4, 5, nodes_dopri5, 4, "ode", check_half, init_half);
