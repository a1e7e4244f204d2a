// load_laws.c: the force laws of the element kinds: force along each channel, its derivatives by the variables that it
// reads, and its energies. Equations stand above each law; s, v are value and rate of a measure.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/loads.h"

// ---- expressions inside laws ----------------------------------------------------------------------------------------
double kd_law_value(const kd_expr *e, const double *x, kd_work *w)
{
    return e ? kd_expr_value(e, x, w->expr_work) : 0.0;
}

static int variable_of(const kd_load *load, int slot)
{
    for (int i = 0; i < load->nvariables; i++)
        if (load->variable[i] == slot) return i;
    return -1;
}

// J[row, slot] += value; outputs of controllers wait.
static void add_entry(const kd_load *load, int row, int slot, double value, kd_work *w, double *J)
{
    const kd_slot *s = &w->system->slot[slot];
    if (s->kind == KD_SLOT_OUT) {
        w->out_weight[s->index] += value;
        return;
    }
    int column = variable_of(load, slot);
    if (column >= 0) J[row + column * (load->nchannels + load->nstates)] += value;
}

static void add_own_gradient(const kd_load *load, int row, const kd_expr *e, double factor, const double *x, kd_work *w,
                             double *J)
{
    (void)kd_expr_gradient(e, x, w->gradient, w->expr_work);
    for (int i = 0; i < kd_expr_slot_count(e); i++)
        add_entry(load, row, kd_expr_slot(e, i), factor * w->gradient[i], w, J);
}

// J[row, :] += factor * gradient of e, through the outputs of controllers, kp * input + ki * state: each after those
// that read it.
void kd_law_gradient(const kd_load *load, int row, const kd_expr *e, double factor, const double *x, kd_work *w,
                     double *J)
{
    const kd_system *s = w->system;
    if (!e || factor == 0.0) return;
    add_own_gradient(load, row, e, factor, x, w, J);
    for (int k = s->model->nstates - 1; k >= 0; k--) {
        int            i = s->state_order[k];
        const kd_load *pi = &s->load[i];
        double         weight = w->out_weight[i];
        if (weight == 0.0) continue;
        w->out_weight[i] = 0.0;
        add_own_gradient(load, row, pi->law[0], weight * pi->state_def->kp, x, w, J);
        add_entry(load, row, pi->variable[0], weight * pi->state_def->ki, w, J);
    }
}

void kd_law_put(const kd_load *load, int row, int variable, double value, double *J)
{
    J[row + variable * (load->nchannels + load->nstates)] += value;
}

kd_interval kd_push_bounds(double stiffness, double damping, kd_interval depth, kd_interval speed)
{
    if (!(depth.upper > 0.0)) return (kd_interval){0.0, 0.0};
    const double least = depth.lower > 0.0 ? stiffness * depth.lower + damping * speed.lower : 0.0;
    return (kd_interval){fmax(least, 0.0), fmax(stiffness * depth.upper + damping * speed.upper, 0.0)};
}

// ---- spring, damper, actuator: f = -(k (s - s0) + c v + preload) + sign * law ---------------------------------------
// The law is a tension between points (sign -1) and a torque or force along
// a joint coordinate (sign +1).
static double law_sign(const kd_load *load)
{
    return load->def->kind == KD_TSDA || load->def->kind == KD_MAXWELL ? -1.0 : 1.0;
}

static kd_eval spring_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const kd_force_def *d = load->def;
    (void)rate;
    double s = x[load->variable[0]] - load->constant[0], v = x[load->variable[1]];
    force[0] = -(d->stiffness * s + d->damping * v + d->preload) + law_sign(load) * kd_law_value(load->law[0], x, w);
    return KD_EVAL_OK;
}

static kd_eval spring_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    kd_law_put(load, 0, 0, -load->def->stiffness, J);
    kd_law_put(load, 0, 1, -load->def->damping, J);
    kd_law_gradient(load, 0, load->law[0], law_sign(load), x, w, J);
    return KD_EVAL_OK;
}

static void spring_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_force_def *d = load->def;
    double              s = x[load->variable[0]] - load->constant[0], v = x[load->variable[1]];
    sum->potential += 0.5 * d->stiffness * s * s + d->preload * s;
    sum->dissipated += d->damping * v * v;
    sum->supplied += law_sign(load) * kd_law_value(load->law[0], x, w) * v;
}

const kd_load_class kd_load_spring = {.eval = spring_eval, .jacobian = spring_jacobian, .energy = spring_energy};

// ---- stop: f = max(0, k depth - c v) beyond the lower limit, mirrored beyond the upper one --------------------------
static double stop_depth(const kd_load *load, double q, double *side)
{
    *side = q < load->def->lower ? 1.0 : -1.0; // direction of the force
    double depth = q < load->def->lower ? load->def->lower - q : q - load->def->upper;
    return depth > 0.0 ? depth : 0.0;
}

static kd_eval stop_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)w, (void)rate;
    double side, depth = stop_depth(load, x[load->variable[0]], &side), v = x[load->variable[1]];
    double push = load->def->stiffness * depth - load->def->damping * side * v;
    force[0] = depth > 0.0 && push > 0.0 ? side * push : 0.0;
    return KD_EVAL_OK;
}

static kd_eval stop_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    double force;
    (void)stop_eval(load, x, w, &force, NULL);
    if (force != 0.0) {
        kd_law_put(load, 0, 0, -load->def->stiffness, J);
        kd_law_put(load, 0, 1, -load->def->damping, J);
    }
    return KD_EVAL_OK;
}

static void stop_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    double side, force, depth = stop_depth(load, x[load->variable[0]], &side), v = x[load->variable[1]];
    (void)stop_eval(load, x, w, &force, NULL);
    sum->potential += 0.5 * load->def->stiffness * depth * depth;
    sum->dissipated -= (force - side * load->def->stiffness * depth) * v;
}

static kd_interval stop_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_force_def *d = load->def;
    const kd_interval   q = x[load->variable[0]], v = x[load->variable[1]];
    (void)w;
    const kd_interval below =
        kd_push_bounds(d->stiffness, d->damping, (kd_interval){d->lower - q.upper, d->lower - q.lower},
                       (kd_interval){-v.upper, -v.lower});
    const kd_interval above =
        kd_push_bounds(d->stiffness, d->damping, (kd_interval){q.lower - d->upper, q.upper - d->upper}, v);
    return (kd_interval){below.lower - above.upper, below.upper - above.lower};
}

const kd_load_class kd_load_stop = {
    .eval = stop_eval, .jacobian = stop_jacobian, .energy = stop_energy, .bounds = stop_bounds};

// ---- bushing: f = preload - K s - D v + law, s = shifts (axes of `from`) and rotation vector (n = 6), or shifts alone
// (n = 3). s are functions of the position alone, so that a symmetric K has the potential s'K s/2 at all angles; equal
// stiffnesses act alike about all axes. A bushing that leaves one axis free measures the tilt of that axis, and its own
// turn goes on for ever. Both measures end at half a turn, where the shortest way back changes its side.
// ----------------
static const double FARTHEST = 175.0; // [degrees]

static double bushing_angle(const kd_load *load, const double *x)
{
    const int *at = load->variable + 3;
    return 180.0 / KD_PI * sqrt(x[at[0]] * x[at[0]] + x[at[1]] * x[at[1]] + x[at[2]] * x[at[2]]);
}

static kd_eval bushing_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    int n = load->nchannels;
    (void)rate;
    if (n == 6 && bushing_angle(load, x) > FARTHEST) return KD_EVAL_RETRY;
    for (int i = 0; i < n; i++) {
        force[i] = load->def->preload6[i];
        for (int j = 0; j < n; j++)
            force[i] -= load->def->matrix[0][6 * i + j] * x[load->variable[j]] +
                        load->def->matrix[1][6 * i + j] * x[load->variable[n + j]];
        if (i < 3) force[i] += kd_law_value(load->law[i], x, w);
    }
    return KD_EVAL_OK;
}

static kd_eval bushing_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    int n = load->nchannels;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            kd_law_put(load, i, j, -load->def->matrix[0][6 * i + j], J);
            kd_law_put(load, i, n + j, -load->def->matrix[1][6 * i + j], J);
        }
    for (int i = 0; i < 3; i++) kd_law_gradient(load, i, load->law[i], 1.0, x, w, J);
    return KD_EVAL_OK;
}

static void bushing_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    int n = load->nchannels;
    for (int i = 0; i < n; i++) {
        double si = x[load->variable[i]], vi = x[load->variable[n + i]];
        sum->potential -= load->def->preload6[i] * si;
        if (i < 3) sum->supplied += kd_law_value(load->law[i], x, w) * vi;
        for (int j = 0; j < n; j++) {
            double sj = x[load->variable[j]], vj = x[load->variable[n + j]];
            double even = 0.5 * (load->def->matrix[0][6 * i + j] + load->def->matrix[0][6 * j + i]);
            double odd = 0.5 * (load->def->matrix[0][6 * i + j] - load->def->matrix[0][6 * j + i]);
            sum->potential += 0.5 * even * si * sj;
            sum->dissipated += load->def->matrix[1][6 * i + j] * vi * vj;
            sum->supplied -= odd * vi * sj; // the skew part has no potential
        }
    }
}

static void bushing_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    if (load->nchannels == 6 && bushing_angle(load, x) > FARTHEST)
        kd_text_append(
            text, size,
            "it is turned by %.4g degrees; a bushing turns by at most %g: beyond half a turn its spring would "
            "pull the other way round (rsda counts full turns about an axis)",
            bushing_angle(load, x), FARTHEST);
    else
        kd_text_append(text, size, "it has no value here");
}

const kd_load_class kd_load_bushing = {
    .eval = bushing_eval, .jacobian = bushing_jacobian, .energy = bushing_energy, .reason = bushing_reason};

// ---- applied force: one expression per channel ----------------------------------------------------------------------
static kd_eval applied_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)rate;
    for (int i = 0; i < load->nchannels; i++) force[i] = kd_law_value(load->law[i], x, w);
    return KD_EVAL_OK;
}

static kd_eval applied_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    for (int i = 0; i < load->nchannels; i++) kd_law_gradient(load, i, load->law[i], 1.0, x, w, J);
    return KD_EVAL_OK;
}

const kd_load_class kd_load_applied = {.eval = applied_eval, .jacobian = applied_jacobian};

// ---- sphere on plane (Hunt-Crossley): f = k depth^n (1 + d depth'), friction -mu f v/sqrt(v^2 + slip^2) -------------
// Channels z, x, y, omega_x, omega_y; variables z, z', x', y', omega_x, omega_y. The sphere touches
// below its centre: slip velocity (x' - R omega_y, y' + R omega_x).
typedef struct contact_state {
    double depth, normal, by_depth, by_rate; // normal force and its derivatives by depth and depth'
    double vx, vy, norm;
} contact_state;

static contact_state contact_at(const kd_load *load, const double *x)
{
    const kd_force_def *d = load->def;
    const int          *v = load->variable;
    contact_state       c = {.depth = d->radius - x[v[0]]};
    double              rate = -x[v[1]], damping = 1.0 + d->dissipation * rate;
    c.vx = x[v[2]] - d->radius * x[v[5]];
    c.vy = x[v[3]] + d->radius * x[v[4]];
    c.norm = sqrt(c.vx * c.vx + c.vy * c.vy + d->slip * d->slip);
    if (c.depth <= 0.0 || damping <= 0.0) {
        c.depth = c.depth > 0.0 ? c.depth : 0.0;
        return c;
    }
    double elastic = d->stiffness * pow(c.depth, d->exponent);
    c.normal = elastic * damping;
    c.by_depth = d->exponent * elastic / c.depth * damping;
    c.by_rate = elastic * d->dissipation;
    return c;
}

static kd_eval contact_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)w, (void)rate;
    contact_state c = contact_at(load, x);
    double        R = load->def->radius, mu = c.norm > 0.0 ? load->def->friction * c.normal / c.norm : 0.0;
    force[0] = c.normal;
    force[1] = -mu * c.vx;
    force[2] = -mu * c.vy;
    force[3] = R * force[2];
    force[4] = -R * force[1];
    return KD_EVAL_OK;
}

static kd_eval contact_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)w;
    contact_state c = contact_at(load, x);
    if (c.normal == 0.0) return KD_EVAL_OK;
    double R = load->def->radius, mu = c.norm > 0.0 ? load->def->friction / c.norm : 0.0, n2 = c.norm * c.norm;
    double fx_n = -mu * c.vx, fy_n = -mu * c.vy; // friction per normal force
    double xx = -mu * c.normal * (1.0 - c.vx * c.vx / n2), xy = mu * c.normal * c.vx * c.vy / n2;
    double yy = -mu * c.normal * (1.0 - c.vy * c.vy / n2);
    double normal[6] = {-c.by_depth, -c.by_rate, 0, 0, 0, 0};
    double slip_x[6] = {0, 0, 1, 0, 0, -R}, slip_y[6] = {0, 0, 0, 1, R, 0};
    for (int j = 0; j < 6; j++) {
        double fx = fx_n * normal[j] + xx * slip_x[j] + xy * slip_y[j];
        double fy = fy_n * normal[j] + xy * slip_x[j] + yy * slip_y[j];
        kd_law_put(load, 0, j, normal[j], J);
        kd_law_put(load, 1, j, fx, J);
        kd_law_put(load, 2, j, fy, J);
        kd_law_put(load, 3, j, R * fy, J);
        kd_law_put(load, 4, j, -R * fx, J);
    }
    return KD_EVAL_OK;
}

static void contact_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    (void)w;
    const kd_force_def *d = load->def;
    contact_state       c = contact_at(load, x);
    double              elastic = c.depth > 0.0 ? d->stiffness * pow(c.depth, d->exponent) : 0.0;
    double              rate = -x[load->variable[1]];
    sum->potential += elastic * c.depth / (d->exponent + 1.0);
    sum->dissipated += (c.normal - elastic) * rate;
    if (c.norm > 0.0) sum->dissipated += d->friction * c.normal * (c.vx * c.vx + c.vy * c.vy) / c.norm;
}

// The normal force: none without depth
static kd_interval contact_bounds(const kd_load *load, const kd_interval *x, kd_work *w)
{
    const kd_force_def *d = load->def;
    const kd_interval   z = x[load->variable[0]], v = x[load->variable[1]];
    (void)w;
    const double least = fmax(d->radius - z.upper, 0.0), most = fmax(d->radius - z.lower, 0.0);
    const double slow = fmax(1.0 - d->dissipation * v.upper, 0.0), fast = fmax(1.0 - d->dissipation * v.lower, 0.0);
    return (kd_interval){d->stiffness * pow(least, d->exponent) * slow, d->stiffness * pow(most, d->exponent) * fast};
}

const kd_load_class kd_load_contact = {
    .eval = contact_eval, .jacobian = contact_jacobian, .energy = contact_energy, .bounds = contact_bounds};

// ---- Maxwell: T = k e + ks (e - r) + preload + law, e = s - s0; damper c r' = ks (e - r); variables s, v, r ---------
static kd_eval maxwell_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const kd_force_def *d = load->def;
    double              e = x[load->variable[0]] - load->constant[0], branch = d->series * (e - x[load->variable[2]]);
    force[0] = -(d->stiffness * e + branch + d->preload + kd_law_value(load->law[0], x, w));
    rate[0] = branch / d->damping;
    return KD_EVAL_OK;
}

static kd_eval maxwell_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_force_def *d = load->def;
    kd_law_put(load, 0, 0, -d->stiffness - d->series, J);
    kd_law_put(load, 0, 2, d->series, J);
    kd_law_gradient(load, 0, load->law[0], -1.0, x, w, J);
    kd_law_put(load, 1, 0, d->series / d->damping, J);
    kd_law_put(load, 1, 2, -d->series / d->damping, J);
    return KD_EVAL_OK;
}

static void maxwell_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_force_def *d = load->def;
    double              e = x[load->variable[0]] - load->constant[0], branch = d->series * (e - x[load->variable[2]]);
    sum->potential += 0.5 * d->stiffness * e * e + 0.5 * branch * branch / d->series + d->preload * e;
    sum->dissipated += branch * branch / d->damping;
    sum->supplied -= kd_law_value(load->law[0], x, w) * x[load->variable[1]];
}

const kd_load_class kd_load_maxwell = {.eval = maxwell_eval, .jacobian = maxwell_jacobian, .energy = maxwell_energy};

// ---- inner states: lag T r' = input - r; PI and plain integrator r' = input; variable 0: r --------------------------
static kd_eval state_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)force;
    double input = kd_law_value(load->law[0], x, w);
    bool   lag = load->state_def->kind == KD_STATE_LAG;
    rate[0] = lag ? (input - x[load->variable[0]]) / load->state_def->time_constant : input;
    return KD_EVAL_OK;
}

static kd_eval state_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    double T = load->state_def->kind == KD_STATE_LAG ? load->state_def->time_constant : 1.0;
    if (load->state_def->kind == KD_STATE_LAG) kd_law_put(load, 0, 0, -1.0 / T, J);
    kd_law_gradient(load, 0, load->law[0], 1.0 / T, x, w, J);
    return KD_EVAL_OK;
}

static void no_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    (void)load, (void)x, (void)w, (void)sum;
}

const kd_load_class kd_load_state = {.eval = state_eval, .jacobian = state_jacobian, .energy = no_energy};

// ---- stops and contacts with restitution: their forces are multipliers ----------------------------------------------
static kd_eval rigid_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    (void)load, (void)x, (void)w, (void)force, (void)rate;
    return KD_EVAL_OK;
}

static kd_eval rigid_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    (void)load, (void)x, (void)w, (void)J;
    return KD_EVAL_OK;
}

const kd_load_class kd_load_rigid = {.eval = rigid_eval, .jacobian = rigid_jacobian, .energy = no_energy};

// ---- creep forces of a wheel on a rail: creep.c ---------------------------------------------------------------------
// place of variable i of the load among those of the law
static int creep_place(const kd_load *load, int i)
{
    int moving = load->nvariables - load->wheel->unknown - load->wheel->by_load;
    if (i < moving) return i;
    return load->wheel->unknown && i == moving ? KD_CREEP_VARIABLES - 2 : KD_CREEP_VARIABLES - 1;
}

static void creep_variables(const kd_load *load, const double *x, const kd_work *w, double *v)
{
    memset(v, 0, KD_CREEP_VARIABLES * sizeof *v);
    v[KD_CREEP_VARIABLES - 2] = w->xi[load->wheel - w->system->wheel];
    for (int i = 0; i < load->nvariables; i++) v[creep_place(load, i)] = x[load->variable[i]];
}

static kd_eval creep_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    double v[KD_CREEP_VARIABLES];
    (void)rate;
    creep_variables(load, x, w, v);
    kd_wheel_creep(load->wheel, v, force, NULL);
    return KD_EVAL_OK;
}

static kd_eval creep_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    double v[KD_CREEP_VARIABLES], all[6 * KD_CREEP_VARIABLES], force[6];
    creep_variables(load, x, w, v);
    kd_wheel_creep_jacobian(load->wheel, v, force, all);
    for (int i = 0; i < load->nvariables; i++) memcpy(J + 6 * i, all + 6 * creep_place(load, i), 6 * sizeof *J);
    return KD_EVAL_OK;
}

// What the forces between wheel and frame do beyond -lost and the flange's potential, the drive of the frame takes
// back.
static void creep_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    double v[KD_CREEP_VARIABLES], force[6], energy[3]; // lost, potential of the flange, its rate
    creep_variables(load, x, w, v);
    kd_wheel_creep(load->wheel, v, force, energy);
    sum->dissipated += energy[0];
    sum->potential += energy[1];
    sum->supplied += energy[0] + energy[2];
    for (int k = 0; k < 6; k++) sum->supplied += force[k] * x[load->rate_slot[k]];
}

const kd_load_class kd_load_creep = {.eval = creep_eval, .jacobian = creep_jacobian, .energy = creep_energy};

// ---- elements written in C: variables are values, rates, states -----------------------------------------------------
static void user_arguments(const kd_load *load, const double *x, double *value, double *rate, double *state)
{
    int n = load->nchannels;
    for (int i = 0; i < n; i++) value[i] = x[load->variable[i]], rate[i] = x[load->variable[n + i]];
    for (int i = 0; i < load->nstates; i++) state[i] = x[load->variable[2 * n + i]];
}

static kd_eval user_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    double *value = w->user, *speed = value + load->nchannels, *state = speed + load->nchannels;
    user_arguments(load, x, value, speed, state);
    return load->user->eval(w->t, value, speed, state, load->user->context, force, rate);
}

// central differences, increment eps^(1/3)
static kd_eval user_differences(const kd_load *load, kd_work *w, double *argument, double *J)
{
    int     n = load->nchannels, rows = n + load->nstates, columns = load->nvariables;
    double *up = argument + columns, *down = up + rows;
    kd_eval answer = KD_EVAL_OK;
    for (int j = 0; j < columns && answer == KD_EVAL_OK; j++) {
        double kept = argument[j], h = 6e-6 * fmax(1.0, fabs(kept));
        argument[j] = kept + h;
        answer = load->user->eval(w->t, argument, argument + n, argument + 2 * n, load->user->context, up, up + n);
        argument[j] = kept - h;
        if (answer == KD_EVAL_OK)
            answer =
                load->user->eval(w->t, argument, argument + n, argument + 2 * n, load->user->context, down, down + n);
        argument[j] = kept;
        for (int i = 0; i < rows; i++) J[i + j * rows] = (up[i] - down[i]) / (2.0 * h);
    }
    return answer;
}

static kd_eval user_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    int     n = load->nchannels;
    double *argument = w->user;
    user_arguments(load, x, argument, argument + n, argument + 2 * n);
    if (!load->user->derivative) return user_differences(load, w, argument, J);
    return load->user->derivative(w->t, argument, argument + n, argument + 2 * n, load->user->context, J);
}

const kd_load_class kd_load_user = {.eval = user_eval, .jacobian = user_jacobian};
