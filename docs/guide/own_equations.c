// own_equations.c: a pendulum that hangs from a cart on a spring, described by M, f and g only.
//
//   p = (x, bx, by): cart on the x axis, bob at (bx, by)      0 = g = ((bx - x)^2 + by^2 - L^2) / 2
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>

typedef struct cart {
    double mass, bob, length, stiffness, gravity; // SI units
} cart;

static kd_eval mass(const kd_point *x, void *context, double *M) // 3 x 3; only the diagonal counts here
{
    const cart *c = context;
    (void)x;
    M[0] = c->mass, M[4] = M[8] = c->bob;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *f)
{
    const cart *c = context;
    f[0] = -c->stiffness * x->p[0], f[1] = 0, f[2] = -c->bob * c->gravity;
    return KD_EVAL_OK;
}

static kd_eval rod(const kd_point *x, void *context, double *g)
{
    const cart *c = context;
    double      dx = x->p[1] - x->p[0], dy = x->p[2];
    g[0] = 0.5 * (dx * dx + dy * dy - c->length * c->length);
    return KD_EVAL_OK;
}

static double energy(const cart *c, const kd_state *x)
{
    double kinetic = c->mass * x->v[0] * x->v[0] + c->bob * (x->v[1] * x->v[1] + x->v[2] * x->v[2]);
    return 0.5 * (kinetic + c->stiffness * x->p[0] * x->p[0]) + c->bob * c->gravity * x->p[2];
}

static kd_eval print_row(const kd_state *x, bool at_time, void *context) // called by the simulation
{
    (void)context;
    if (at_time) printf("%4.1f  %9.6f  %9.6f  %9.6f  %10.5f\n", x->t, x->p[0], x->p[1], x->p[2], x->lambda[0]);
    return KD_EVAL_OK;
}

int main(void)
{
    cart       c = {.mass = 2, .bob = 1, .length = 1, .stiffness = 40, .gravity = 9.81};
    kd_eom_def def = kd_eom_def_default();
    def.title = "pendulum on a cart";
    def.dims = (kd_dims){.np = 3, .nv = 3, .nlambda = 1};
    def.context = &c;
    def.M = mass, def.f = force, def.g = rod;
    def.mass_structure = KD_MASS_DIAGONAL_CONSTANT;
    def.autonomous = true;

    kd_eom   *eom = NULL;
    kd_state *x = NULL;
    char      message[400] = "";
    kd_status status = kd_eom_create(&def, &eom, message, sizeof message);
    if (status >= 0) status = kd_state_create(eom, &x);
    if (status >= 0) {
        x->p[1] = 0.8, x->p[2] = -0.6; // the rod leans; everything at rest
        double                before = energy(&c, x), times[] = {0.5, 1.0, 1.5, 2.0};
        kd_simulation_options options = kd_simulation_options_default();
        options.rtol = options.atol = 1e-9;
        options.times = times, options.ntimes = 4, options.output = print_row;
        printf("   t       cart      bob x      bob y      lambda\n");
        status = kd_simulate(eom, NULL, &options, x, 2.0, NULL, message, sizeof message);
        if (status >= 0) printf("energy changed by %.1e J\n", fabs(energy(&c, x) - before));
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
    return status < 0;
}
