// sdirk.c: SDIRK 4/15, order 4, for 0 = F(t, x, x'), ESDIRK and RODAS, order 4, for x' = rhs(t, x) (HW II, IV.6, IV.7
// and IV.8; S2 section 4), in the frame of one_step.c. The stages are in sdirk_stages.c. A step that fails with an old
// Jacobian is repeated with a new one before it is made shorter.
#include "integrator/sdirk_impl.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "integrator/sdirk_tableau.h"

#define O kd_integrator_options

static const double NEWTON_STOP = 0.003;       // of the tolerance
static const double NEWTON_TIGHT = 0.3;        // times sqrt(rtol)
static const double NEWTON_STOP_ESDIRK = 0.03; // stages enter x_1 with factors up to 4 instead of 11
static const double ESDIRK_ERROR = 10;     // its embedded formula is very near: errors at the tolerance of the others
static const double KEEP_RHS = 0.02;       // theta for x' = rhs: the error of an old J counts h times
static const double KEEP_RESIDUAL = 0.001; // for F(t, x, x'): that of an old F_x' counts fully

// ---- creation -------------------------------------------------------------------------------------------------------

static const char *const METHODS[] = {"sdirk", "esdirk", "rosenbrock", NULL};

// clang-format off
static const kd_option options[] = {
    {KD_WORD("sdirk.method", O, sdirk.method, KD_SDIRK_NEWTON, METHODS, "SDIRK 4/15 by Newton's method, ESDIRK 4(3)7L[2]SA of stage order 2, or RODAS, which solves one linear system per stage with a new Jacobian in every step")},
    KD_ONE_STEP_OPTIONS("sdirk", sdirk, 0, "the Jacobian is kept while Newton contracts faster; below 0: never; 0: chosen", 5),
};
// clang-format on

static double least_rtol(const kd_integrator_options *o)
{
    return kd_one_step_least_rtol(&o->sdirk);
}

// Rosenbrock methods and explicit first stages need x' = rhs; multipliers of index 3 have an error that does not fall
// with h, as stages have order 1
static kd_status check(const kd_dae *dae, const kd_integrator_options *o, char *message, size_t size)
{
    const int method = o->sdirk.method;
    if (method != KD_SDIRK_NEWTON && !dae->methods->rhs) {
        kd_text(message, size, "%s needs x' = rhs(t, x), which the form %s is not; ode works",
                method == KD_SDIRK_ROSENBROCK ? "the Rosenbrock method" : "ESDIRK", dae->methods->name);
        return KD_ERR_UNSUPPORTED;
    }
    for (int i = 0; i < dae->n; i++) {
        if (dae->index[i] < 3) continue;
        kd_text(message, size,
                "SDIRK has stages of order 1, which leave multipliers of index 3 wrong; psf, ggl or ode works");
        return KD_ERR_UNSUPPORTED;
    }
    return KD_OK;
}

static bool is_rosenbrock(const kd_sdirk *s)
{
    return s->s.rule->method == KD_SDIRK_ROSENBROCK;
}

static void set_tolerances(kd_sdirk *s)
{
    kd_implicit_options *o = s->s.rule;
    double               tightest = 1;
    // the tightest component decides when Newton may stop
    for (int i = 0; i < s->s.n; i++) tightest = fmin(tightest, s->s.base.rtol[i]);
    const double stop =
        o->method == KD_SDIRK_STAGE_ORDER_2 ? NEWTON_STOP_ESDIRK : fmin(NEWTON_STOP, NEWTON_TIGHT * sqrt(tightest));
    s->s.newton_stop = o->newton_stop > 0 ? o->newton_stop : fmax(10 * o->uround / tightest, stop);
    if (o->theta == 0) o->theta = s->s.dae->methods->rhs ? KEEP_RHS : KEEP_RESIDUAL;
}

static void set_table(kd_sdirk *s)
{
    if (s->s.rule->method == KD_SDIRK_STAGE_ORDER_2)
        s->table = (kd_sdirk_table){.stages = ESDIRK_STAGES,
                                    .width = ESDIRK_STAGES,
                                    .first = 1,
                                    .gamma = esdirk_gamma,
                                    .c = esdirk_c,
                                    .A = esdirk_A[0],
                                    .b3 = esdirk_b3,
                                    .error = ESDIRK_ERROR};
    else
        s->table = (kd_sdirk_table){.stages = SDIRK_STAGES,
                                    .width = SDIRK_STAGES,
                                    .gamma = sdirk_gamma,
                                    .c = sdirk_c,
                                    .A = sdirk_A[0],
                                    .b3 = sdirk_b3,
                                    .error = 1};
}

// ---- for the frame --------------------------------------------------------------------------------------------------

// Leading coefficient of x': 1 / (h gamma)
static double gamma_of(const kd_sdirk *s)
{
    return 1 / (s->s.h * (is_rosenbrock(s) ? rodas_gamma : s->table.gamma));
}

static kd_status linearize(kd_sdirk *s)
{
    return kd_one_step_linearize(&s->s, s->s.base.t, s->s.base.x, s->s.xdot, gamma_of(s), true);
}

static kd_status factor(kd_sdirk *s)
{
    return kd_one_step_factor(&s->s, gamma_of(s), 0, 0);
}

static kd_status prepare_matrices(kd_sdirk *s)
{
    kd_status status = KD_OK;
    bool      exact = is_rosenbrock(s); // the order depends on J
    bool      update_serves = !exact && kd_one_step_update_serves(&s->s);
    if (exact ? !s->s.jacobian_here : !s->s.jacobian_current)
        status = update_serves ? kd_one_step_update(&s->s, gamma_of(s)) : linearize(s);
    return status == KD_OK ? factor(s) : status;
}

kd_status kd_sdirk_solve(kd_sdirk *s, double *shrink)
{
    // derivatives that were kept or updated; where these fail, true ones at this point and the same step again
    kd_status status = prepare_matrices(s);
    if (status == KD_OK) status = kd_sdirk_stages(s, shrink);
    if (status != KD_ERR_NEWTON || s->s.jacobian_here) return status;
    status = linearize(s);
    if (status == KD_OK) status = factor(s);
    kd_one_step_forget(&s->s);
    return status == KD_OK ? kd_sdirk_stages(s, shrink) : status;
}

static kd_status attempt(kd_one_step *self, double *shrink, double *err)
{
    kd_sdirk *s = (kd_sdirk *)self;
    kd_status status = is_rosenbrock(s) ? prepare_matrices(s) : kd_sdirk_solve(s, shrink);
    if (status != KD_OK) return status;
    return is_rosenbrock(s) ? kd_sdirk_rosenbrock(s, err) : kd_sdirk_estimate(s, err);
}

static void end_point(kd_one_step *self)
{
    kd_sdirk_end_point((kd_sdirk *)self);
}

static bool keeps(const kd_one_step *self)
{
    return !is_rosenbrock((const kd_sdirk *)self) && self->rule->theta >= 0 && self->theta <= self->rule->theta;
}

static bool end_slope(const kd_one_step *self)
{
    return is_rosenbrock((const kd_sdirk *)self);
}

static void accepted(kd_one_step *self)
{
    if (self->rule->method == KD_SDIRK_NEWTON) kd_sdirk_remember((kd_sdirk *)self);
}

// First increments of the last Newton iterations, stage by stage
void kd_sdirk_forget(kd_one_step *self)
{
    kd_sdirk *s = (kd_sdirk *)self;
    memset(s->norm_first, 0, sizeof s->norm_first);
}

static const kd_one_step_class sdirk_method = {.order = 4,
                                               .exponent = 0.25,
                                               .slope_jumps = true,
                                               .attempt = attempt,
                                               .end_point = end_point,
                                               .keeps = keeps,
                                               .end_slope = end_slope,
                                               .accepted = accepted,
                                               .forget = kd_sdirk_forget,
                                               .interpolate = kd_one_step_hermite};

void kd_sdirk_cut(kd_sdirk *s, int stages)
{
    kd_arena *a = &s->s.base.arena;
    const int n = s->s.n;
    s->deviation = kd_cut_double(a, n);
    s->base = kd_cut_double(a, n);
    s->part = kd_cut_double(a, n);
    s->y = kd_cut_double(a, s->s.dae->nreduced_max);
    for (int i = 0; i < stages; i++) {
        s->Z[i] = kd_cut_double(a, n);
        s->K[i] = kd_cut_double(a, n);
    }
}

static kd_status init(kd_integrator *base)
{
    kd_sdirk *s = (kd_sdirk *)base;
    kd_one_step_init(&s->s, &sdirk_method, &base->opt.sdirk);
    set_table(s);
    kd_sdirk_cut(s, KD_SDIRK_STAGES);
    set_tolerances(s);
    return KD_OK;
}

// ---- the class ------------------------------------------------------------------------------------------------------

// c of SDIRK 4/15 without 1
static const double nodes[] = {4.0 / 15, 23.0 / 30, 17.0 / 30, 707.0 / 1931};

#define INFO(variant_, needs_, updates_, compared_)                                                                    \
    {                                                                                                                  \
        .word = "sdirk", .variant = variant_, .own_word = variant_,                                                    \
        .sentence = "SDIRK 4/15 of order 4, or a Rosenbrock method of order 4", .available = true, .needs = needs_,    \
        .projected = KD_CONTINUES, .index_max = 2, .selectors = true, .updates = updates_, .own_matrices = true,       \
        .fixed_steps = true, .one_step = true, .order = 4, .order_dense = 3, .least_rtol = 1e-14, .turns = 4,          \
        .nnodes = sizeof nodes / sizeof *nodes, .nodes = nodes, .check_period = 16, .compared = compared_              \
    }

static const kd_integrator_info variants[KD_SDIRK_METHOD_COUNT] = {
    [KD_SDIRK_NEWTON] = INFO("sdirk", KD_INTEGRATES_RESIDUAL, true, "psf*5 ode statespace"),
    [KD_SDIRK_STAGE_ORDER_2] = INFO("esdirk", KD_INTEGRATES_RHS, true, "ode*2 statespace"),
    [KD_SDIRK_ROSENBROCK] = INFO("rosenbrock", KD_INTEGRATES_RHS, false, "ode*"),
};

static const kd_integrator_info *about(const kd_integrator_options *o)
{
    return o->sdirk.method >= 0 && o->sdirk.method < KD_SDIRK_METHOD_COUNT ? &variants[o->sdirk.method] : NULL;
}

void kd_sdirk_archive(kd_integrator *base, kd_archive *a)
{
    kd_one_step_archive(base, a);
    kd_archive_doubles(a, ((kd_sdirk *)base)->norm_first, KD_SDIRK_STAGES);
}

const kd_integrator_class kd_sdirk_class = {
    .info = INFO("sdirk", KD_INTEGRATES_RESIDUAL, true, "psf*5 ode statespace"),
    .title = "SDIRK",
    .size = sizeof(kd_sdirk),
    .options = options,
    .noptions = sizeof options / sizeof *options,
    .about = about,
    .least_rtol = least_rtol,
    .check = check,
    .init = init,
    KD_ONE_STEP_CALLS,
    .archive = kd_sdirk_archive,
};
