// Algebraic variables of model files: exact derivatives, solutions by closed forms in all formulations, readers of all
// kinds, names in subsystems, living parameters, equations that lose their solution.
#include "text_subject.h"

#define PENDULUM                                                                                                       \
    "kardan: 1\nparameters: {k: 3}\nbodies:\n  rod: {mass: 1, centre: [0, 0, -0.5], inertia: [0.1, 0.2, 0.3]}\n"       \
    "joints:\n  hinge: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0, 1, 0], q: 0.5}\n"

// ---- derivatives ----------------------------------------------------------------------------------------------------

#define TWO                                                                                                            \
    "kardan: 1\nparameters: {c: 0.7}\nbodies:\n  rod: {mass: 1, centre: [0.1, 0, -0.5], inertia: [0.1, 0.2, 0.3]}\n"   \
    "  bob: {mass: 2, position: [0, 0, -1], centre: [0, 0.1, 0], inertia: [0.3, 0.2, 0.1]}\njoints:\n"                 \
    "  hinge: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0, 1, 0], q: 0.5, v: 0.3}\n"            \
    "  ball: {type: spherical, bodies: [rod, bob], point: [0, 0, -0.8], v: [1, 2, 3]}\n"                               \
    "inputs: {u: sin(3*t)}\nvariables: {gear: 2}\n"                                                                    \
    "states:\n  lag: {type: lag, input: algebraic.y*joint.hinge.v, time_constant: 0.2, start: 0.3}\n"                  \
    "  pi: {type: pi, input: algebraic.w - 0.1*joint.hinge.q, kp: 0.5, ki: 0.1, start: 0.2}\n"                         \
    "forces:\n  push: {type: joint_spring, joint: hinge, law: -3*algebraic.w*joint.hinge.v - state.pi.out}\n"          \
    "  pull: {type: tsda, bodies: [ground, bob], points: [[0, 0, 1], [0, 0.1, -1]], stiffness: 10, length: 0.3, law: " \
    "algebraic.y^2*rate + algebraic.w*length}\n"                                                                       \
    "algebraic:\n  w: {start: 1, equation: 2*w + w^3 + c*algebraic.y - joint.hinge.q - body.bob.vel.x + input.u}\n"    \
    "  y: {start: 0.5, equation: y + 0.3*sin(algebraic.w) + state.pi.out - variable.gear*body.bob.pos.x + "            \
    "state.lag}\n"

// All blocks by positions, velocities, states and algebraic variables, behind a controller, too, are those of
// differences in both coordinate sets.
static void derivatives_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        subject     s = started(TWO, BOTH[k]);
        char        report[2000] = "";
        const char *names[] = {"algebraic.w", "algebraic.y"};
        assert_int_equal(kd_eom_dims(kd_system_eom(s.system)).nw, 2);
        for (int i = 0; i < 2; i++) {
            char name[100];
            assert_string_equal(kd_eom_name(kd_system_eom(s.system), KD_NAME_W, i, name, sizeof name), names[i]);
            assert_true(fabs(s.x->w[i]) > 1e-3);
        }
        if (kd_eom_check(kd_system_eom(s.system), kd_system_inputs(s.system), s.x, NULL, report, sizeof report) !=
            KD_OK)
            fail_msg("%s", report);
        // the blocks are given, not differenced
        const kd_eom_def *def = kd_eom_definition(kd_system_eom(s.system));
        assert_int_equal(def->given[KD_D] & (KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R) | KD_BIT(KD_W)),
                         KD_BIT(KD_P) | KD_BIT(KD_V) | KD_BIT(KD_R) | KD_BIT(KD_W));
        assert_true(def->given[KD_B] & KD_BIT(KD_W) && def->given[KD_RESIDUAL] & KD_BIT(KD_W));
        close_subject(&s);
    }
}

#define BEAD(side)                                                                                                     \
    "kardan: 1\nbodies:\n  bead: {mass: 2, position: [0.8, 0, -0.6], inertia: [1, 1, 1]}\n"                            \
    "joints:\n  plane: {type: planar, bodies: [ground, bead], point: [0.8, 0, -0.6], axis: [0, 1, 0], v: [1.2, 1.6, "  \
    "0]}\n"                                                                                                            \
    "constraints:\n  wire: {type: " side "}\nalgebraic:\n"                                                             \
    "  N: {equation: N + 0.1*N^3 - constraint.wire.force*(2 + joint.plane.q1), start: 1}\n"                            \
    "forces:\n  rub: {type: applied, to: bead, force: [-0.1*algebraic.N, 0, 0.02*algebraic.N]}\n"                      \
    "sensors: {force: constraint.wire.force, q: joint.plane.q1}\n"

// Equations may read forces of constraints, with exact derivatives; a rope that may be slack pulls as a rod does.
static void forces_of_constraints(void **state)
{
    static const char *const text[] = {
        BEAD("distance, from: ground, to: bead"), BEAD("distance, from: ground, to: bead, restitution: 0"),
        BEAD("rope, from: ground, to: bead"), BEAD("rope, from: ground, to: bead, restitution: 0")};
    double tension = NAN;
    (void)state;
    for (int k = 0; k < 8; k++) {
        subject s = started(text[k / 2], BOTH[k % 2]);
        char    report[2000] = "";
        if (kd_eom_check(kd_system_eom(s.system), kd_system_inputs(s.system), s.x, NULL, report, sizeof report) !=
            KD_OK)
            fail_msg("%s", report);
        assert_true(kd_eom_definition(kd_system_eom(s.system))->given[KD_D] & KD_BIT(KD_LAMBDA));
        // one-sided rows are closed by the simulation
        assert_true(run_to(&s, 0.05) >= 0);
        const double N = s.x->w[0], force = read_name(&s, "force");
        assert_true(force > 1.0);
        assert_true(fabs(N + 0.1 * N * N * N - force * (2 + read_name(&s, "q"))) < 1e-7 * force);
        if (k == 0) tension = force;
        assert_true(fabs(force - tension) < 1e-6 * tension);
        close_subject(&s);
    }
}

// ---- random equations -----------------------------------------------------------------------------------------------

static double random_number(unsigned *seed, double least, double most)
{
    *seed = *seed * 1664525u + 1013904223u;
    return least + (most - least) * (double)(*seed >> 8) / 16777216.0;
}

// A random expression of the motion, at most of size 1 and smooth
static void append_random(unsigned *seed, int depth, char *text, size_t size)
{
    static const char *const leaves[] = {"joint.a.q",   "joint.b.q",   "joint.a.v", "joint.b.v",
                                         "algebraic.w", "algebraic.y", "state.x",   "t"};
    const size_t             used = strlen(text);
    if (depth == 0) {
        snprintf(text + used, size - used, "%s", leaves[(int)random_number(seed, 0, 7.99)]);
        return;
    }
    switch ((int)random_number(seed, 0, 3.99)) {
    case 0:
        snprintf(text + used, size - used, "sin(%.3f*(", random_number(seed, -2, 2));
        break;
    case 1:
        snprintf(text + used, size - used, "tanh(%.3f + (", random_number(seed, -1, 1));
        break;
    case 2:
        snprintf(text + used, size - used, "1/(1 + (");
        append_random(seed, depth - 1, text, size);
        strncat(text, ")^2", size - strlen(text) - 1);
        snprintf(text + strlen(text), size - strlen(text), ")");
        return;
    default:
        snprintf(text + used, size - used, "cos((");
        append_random(seed, depth - 1, text, size);
        strncat(text, ") * (", size - strlen(text) - 1);
        append_random(seed, depth - 1, text, size);
        strncat(text, "))", size - strlen(text) - 1);
        return;
    }
    append_random(seed, depth - 1, text, size);
    strncat(text, "))", size - strlen(text) - 1);
}

static void random_model(unsigned seed, char *text, size_t size)
{
    char law[6][600] = {""};
    for (int i = 0; i < 6; i++) append_random(&seed, 2, law[i], sizeof law[i]);
    // 4 w + small: one solution in every state
    snprintf(text, size,
             "kardan: 1\nbodies:\n  one: {mass: 1, centre: [0.1, 0, -0.5], inertia: [0.1, 0.2, 0.3]}\n"
             "  two: {mass: 2, position: [0, 0, -1], inertia: [0.3, 0.2, 0.1]}\njoints:\n"
             "  a: {type: revolute, bodies: [ground, one], point: [0, 0, 0], axis: [0, 1, 0], q: %.3f, v: %.3f}\n"
             "  b: {type: revolute, bodies: [one, two], point: [0, 0, -1], axis: [1, 0, 0], q: %.3f}\n"
             "states: {x: {type: ode, input: \"-state.x + %s\"}}\n"
             "forces:\n  f: {type: joint_spring, joint: a, law: \"5*(%s)\"}\n"
             "  g: {type: joint_spring, joint: b, law: \"-v + 3*algebraic.y*(%s)\"}\n"
             "algebraic:\n  w: \"4*w + 0.3*(%s) + 0.3*(%s) - joint.a.q\"\n  y: \"4*y + algebraic.w + 0.5*(%s)\"\n",
             random_number(&seed, -1, 1), random_number(&seed, -1, 1), random_number(&seed, -1, 1), law[0], law[1],
             law[2], law[3], law[4], law[5]);
}

static void simulate(subject *s, kd_formulation form, kd_integrator_kind integrator, double t_end)
{
    kd_simulation_options opt = kd_simulation_options_default();
    opt.formulation = form;
    opt.integrator = integrator;
    opt.rtol = opt.atol = 1e-8;
    s->status = kd_simulate(kd_system_eom(s->system), kd_system_inputs(s->system), &opt, s->x, t_end, NULL, s->message,
                            sizeof s->message);
}

// Random equations: derivatives as by differences; the same motion by an implicit method that has w among its unknowns,
// in joint coordinates, and by an explicit one that solves for it, in Cartesian ones.
static void random_equations(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 12; seed++) {
        char text[6000], report[2000] = "";
        random_model(seed, text, sizeof text);
        subject one = started(text, KD_JOINT), other = started(text, KD_CARTESIAN);
        if (kd_eom_check(kd_system_eom(one.system), kd_system_inputs(one.system), one.x, NULL, report, sizeof report) !=
            KD_OK)
            fail_msg("%s%s", text, report);
        simulate(&one, KD_PSF, KD_RADAU, 1.0);
        simulate(&other, KD_ODE, KD_DOP853, 1.0);
        if (one.status < 0 || other.status < 0) fail_msg("%s%s%s", text, one.message, other.message);
        for (int i = 0; i < 2; i++)
            if (!(fabs(one.x->w[i] - other.x->w[i]) < 1e-6)) fail_msg("%s: %g, %g", text, one.x->w[i], other.x->w[i]);
        assert_true(fabs(one.x->r[0] - other.x->r[0]) < 1e-6);
        close_subject(&one);
        close_subject(&other);
    }
}

// ---- closed forms ---------------------------------------------------------------------------------------------------

// w^3 + w = x
static double cubic_root(double x)
{
    return 2 / sqrt(3) * sinh(asinh(1.5 * sqrt(3) * x) / 3);
}

// The torque -k w of a pendulum with w^3 + w = q is found by every formulation that makes sense, as if its closed form
// stood in the law.
static void all_formulations_solve(void **state)
{
    (void)state;
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU},        {KD_PSF1, KD_RADAU},   {KD_GGL, KD_BDF},           {KD_INDEX3, KD_BDF},
               {KD_INDEX2, KD_BDF},       {KD_INDEX1, KD_RADAU}, {KD_BAUMGARTE2, KD_BDF},    {KD_ODE, KD_DOPRI5},
               {KD_ODE, KD_DOP853},       {KD_ODE, KD_SDIRK},    {KD_ODE, KD_EXTRAPOLATION}, {KD_STATESPACE, KD_SDIRK},
               {KD_STATESPACE, KD_DOPRI5}};
    subject closed = started(PENDULUM "forces: {f: {type: joint_spring, joint: hinge, law: "
                                      "\"-k*2/sqrt(3)*sinh(log(1.5*sqrt(3)*q + sqrt(6.75*q^2 + 1))/3)\"}}\n",
                             KD_JOINT);
    simulate(&closed, KD_ODE, KD_DOP853, 2.0);
    assert_true(closed.status >= 0);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++)
        for (int k = 0; k < 2; k++) {
            subject s = started(PENDULUM "forces: {f: {type: joint_spring, joint: hinge, law: -k*algebraic.w}}\n"
                                         "algebraic: {w: {start: 1, equation: w^3 + w - joint.hinge.q}}\n"
                                         "sensors: {q: joint.hinge.q}\n",
                                BOTH[k]);
            assert_true(fabs(s.x->w[0] - cubic_root(0.5)) < 1e-9);
            simulate(&s, way[i].form, way[i].integrator, 2.0);
            if (s.status < 0) fail_msg("%d: %s", (int)i, s.message);
            const double q = read_name(&s, "q");
            if (!(fabs(q - closed.x->p[0]) < 3e-6) || !(fabs(s.x->w[0] - cubic_root(q)) < 1e-6))
                fail_msg("way %d: q %g instead of %g, w %g instead of %g", (int)i, q, closed.x->p[0], s.x->w[0],
                         cubic_root(q));
            close_subject(&s);
        }
    close_subject(&closed);
}

// Of two solutions the start chooses one.
static void start_chooses(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        char text[1000];
        snprintf(text, sizeof text, PENDULUM "algebraic: {w: {start: %d, equation: w^2 - 4 + joint.hinge.v}}\n", sign);
        subject s = started(text, KD_JOINT);
        assert_true(fabs(s.x->w[0] - 2 * sign) < 1e-9);
        close_subject(&s);
    }
}

// The linear equations have no w any more: A by the implicit function theorem, w_q = 1 / (3 w^2 + 1).
static void eliminated_in_linear_equations(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        subject      s = started(PENDULUM "gravity: [0, 0, 0]\nforces: {f: {type: joint_spring, joint: hinge, law: "
                                               "-k*algebraic.w}}\nalgebraic: {w: w^3 + w - joint.hinge.q}\n",
                                 BOTH[k]);
        kd_linear   *l = NULL;
        const double w = cubic_root(0.5), inertia = 0.2 + 0.25;
        assert_true(kd_linearize(kd_system_eom(s.system), kd_system_inputs(s.system), NULL, s.x, &l, s.message,
                                 sizeof s.message) >= 0);
        assert_int_equal(l->nx, 2);
        assert_true(fabs(l->A[1] + 3 / (3 * w * w + 1) / inertia) < 1e-6); // column-major: A_21
        kd_linear_destroy(l);
        close_subject(&s);
    }
}

// In equilibrium the weight is carried by the torque -k w of the solution.
static void found_in_equilibrium(void **state)
{
    (void)state;
    subject s = started(PENDULUM "forces: {f: {type: joint_spring, joint: hinge, law: -k*algebraic.w + 1}}\n"
                                 "algebraic: {w: w^3 + w - joint.hinge.q}\n",
                        KD_JOINT);
    assert_true(kd_equilibrium(kd_system_eom(s.system), kd_system_inputs(s.system), NULL, s.x, NULL, s.message,
                               sizeof s.message) >= 0);
    const double q = s.x->p[0];
    assert_true(fabs(s.x->w[0] - cubic_root(q)) < 1e-9);
    assert_true(fabs(1 - 3 * cubic_root(q) - 0.5 * 9.81 * sin(q)) < 1e-6);
    close_subject(&s);
}

// ---- readers --------------------------------------------------------------------------------------------------------

// Sensors, events, sampled blocks, states and the probe read it by its name.
static void read_by_all(void **state)
{
    (void)state;
    static const char text[] =
        PENDULUM "algebraic: {w: {equation: w^3 + w - 2*t, unit: N}}\nvariables: {hit: 0}\n"
                 "events: {half: {when: algebraic.w - 0.5, set: {variable.hit: t}}}\n"
                 "blocks: {b: {type: expression, period: 0.1, input: algebraic.w, output: 2*u}}\n"
                 "states: {x: {type: ode, input: algebraic.w}}\n"
                 "sensors: {twice: 2*algebraic.w, hit: variable.hit, held: block.b.out}\n";
    for (int k = 0; k < 2; k++) {
        subject s = started(text, BOTH[k]);
        simulate(&s, k ? KD_ODE : KD_PSF, k ? KD_DOPRI5 : KD_RADAU, 1.05);
        if (s.status < 0) fail_msg("%s", s.message);
        const double w = cubic_root(2.1);
        assert_true(fabs(read_name(&s, "algebraic.w") - w) < 1e-9);
        assert_true(fabs(read_name(&s, "twice") - 2 * w) < 1e-9);
        assert_true(fabs(read_name(&s, "hit") - 0.3125) < 1e-7); // (1/8 + 1/2) / 2
        assert_true(fabs(read_name(&s, "held") - 2 * cubic_root(2.0)) < 1e-9);
        // x = integral of w dt, with 2 t = w^3 + w
        assert_true(fabs(s.x->r[0] - (3 * pow(w, 4) / 4 + w * w / 2) / 2) < 1e-6);
        kd_path_info info;
        assert_int_equal(kd_model_path_about(s.model, "algebraic.w", &info, NULL, 0), KD_OK);
        assert_true(info.kinematic && info.section == KD_SECTION_ALGEBRAIC);
        assert_string_equal(info.unit, "N");
        assert_string_equal(kd_model_algebraic_def(s.model, 0)->equation, "w^3 + w - 2*t");
        close_subject(&s);
    }
}

// In subsystems the equation knows its variable by its own name, and each instance has its own.
static void own_names_in_subsystems(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\ngravity: [0, 0, -9.81]\ndefinitions:\n  side:\n    parameters: {a: 1}\n"
        "    bodies: {rod: {mass: 1, centre: [0, 0, -0.5], inertia: [0.1, 0.2, 0.3]}}\n"
        "    joints: {hinge: {type: revolute, bodies: [ground, rod], point: [0, 0, 0], axis: [0, 1, 0], q: 0.5}}\n"
        "    algebraic:\n      w: {start: 1, equation: w^3 + w - a*joint.hinge.q}\n"
        "      y: algebraic.w + 2*algebraic.y\n"
        "    forces: {f: {type: joint_spring, joint: hinge, law: -algebraic.w - algebraic.y}}\n"
        "subsystems:\n  left: {of: side, position: [0, 1, 0]}\n"
        "  right: {of: side, mirror: [0, 1, 0], position: [0, -1, 0], parameters: {a: 2}}\n"
        "  pair(i): {for: i = 1..2, of: side, position: [0, 2*i, 0], parameters: {a: i + 2}}\n"
        "sensors: {both: algebraic.left.w + algebraic.right.w}\n";
    for (int k = 0; k < 2; k++) {
        subject s = started(text, BOTH[k]);
        assert_int_equal(kd_eom_dims(kd_system_eom(s.system)).nw, 8);
        assert_true(fabs(read_name(&s, "algebraic.left.w") - cubic_root(0.5)) < 1e-9);
        assert_true(fabs(read_name(&s, "algebraic.right.w") - cubic_root(1.0)) < 1e-9);
        assert_true(fabs(read_name(&s, "algebraic.right.y") + 0.5 * cubic_root(1.0)) < 1e-9);
        assert_true(fabs(read_name(&s, "algebraic.pair(2).w") - cubic_root(2.0)) < 1e-9);
        assert_true(fabs(read_name(&s, "both") - cubic_root(0.5) - cubic_root(1.0)) < 1e-9);
        simulate(&s, KD_PSF, KD_RADAU, 0.5);
        if (s.status < 0) fail_msg("%s", s.message);
        close_subject(&s);
    }
}

// Parameters in equations live: other values give other solutions, without reading again.
static void parameters_live(void **state)
{
    (void)state;
    subject s = started(PENDULUM "forces: {f: {type: joint_spring, joint: hinge, law: -algebraic.w}}\n"
                                 "algebraic: {w: {start: k, equation: w^3 + w - k*joint.hinge.q}}\n",
                        KD_JOINT);
    assert_true(fabs(s.x->w[0] - cubic_root(1.5)) < 1e-9);
    const double theta[] = {8};
    assert_true(kd_system_set_parameters(s.system, theta, s.message, sizeof s.message) >= 0);
    assert_true(kd_system_start(s.system, s.x, s.message, sizeof s.message) >= 0);
    assert_true(fabs(s.x->w[0] - cubic_root(4.0)) < 1e-9);
    close_subject(&s);
}

// ---- equations without solution -------------------------------------------------------------------------------------

// A fold, w^3 - 3 w = 1 - 4 t at t = 0.75: every method ends there and names it, though behind it there is another
// solution, to which a long step would jump.
static void fold_is_told(void **state)
{
    (void)state;
    static const struct {
        kd_formulation     form;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU},  {KD_GGL, KD_BDF},           {KD_INDEX1, KD_RADAU},    {KD_ODE, KD_DOPRI5},
               {KD_ODE, KD_DOP853}, {KD_ODE, KD_EXTRAPOLATION}, {KD_STATESPACE, KD_SDIRK}};
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        subject s = started(PENDULUM "forces: {f: {type: joint_spring, joint: hinge, law: -0.1*algebraic.w}}\n"
                                     "algebraic: {w: {start: 2, equation: w^3 - 3*w + 4*t - 1}}\n",
                            KD_JOINT);
        simulate(&s, way[i].form, way[i].integrator, 2.0);
        if (s.status != KD_ERR_SINGULAR_DW || !strstr(s.message, "algebraic.w"))
            fail_msg("way %d: status %d, t = %g, w = %g: %s", (int)i, (int)s.status, s.x->t, s.x->w[0], s.message);
        assert_non_null(strstr(s.message, "write an equation that has one solution in every state"));
        const char *at = strstr(s.message, "t = ");
        double      t = 0;
        assert_int_equal(sscanf(at, "t = %lf", &t), 1);
        // long steps of high order come from behind the fold, where they found another solution
        if (!(fabs(t - 0.75) < 0.1)) fail_msg("way %d: %s", (int)i, s.message);
        close_subject(&s);
    }
}

// At the start: by name, whether d_w vanishes or there is no solution.
static void no_start_is_told(void **state)
{
    (void)state;
    subject s = open_text(PENDULUM "algebraic: {w: w^2}\n", KD_JOINT);
    assert_int_equal(s.status, KD_ERR_SINGULAR_DW);
    assert_string_equal(s.message, "t = 0: the equations 0 = d do not determine the auxiliary variables 'algebraic.w'; "
                                   "start elsewhere, or write equations that depend on it");
    close_subject(&s);
    s = open_text(PENDULUM "algebraic: {w: {start: 1, equation: w^2 + 1}}\n", KD_CARTESIAN);
    assert_true(s.status < 0);
    assert_non_null(strstr(s.message, "equation of 'algebraic.w' cannot be satisfied near the guess"));
    close_subject(&s);
}

// ---- real time ------------------------------------------------------------------------------------------------------

// n variables of which the last one folds at t = 0.75
static kd_status real_time(int n, double h, double t_end, double *t, double *defect, char *message, size_t size)
{
    static char text[20000];
    int         used =
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies: {a: {mass: 1, inertia: [1, 1, 1]}}\njoints: {a: {type: prismatic, bodies: "
                 "[ground, a], point: [0, 0, 0], axis: [1, 0, 0], v: 1}}\nforces: {s: {type: joint_spring, joint: "
                 "a, law: -0.1*algebraic.w0}}\nalgebraic:\n");
    for (int k = 0; k + 1 < n; k++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "  w%d: -(w%d + 0.1*w%d^3) + algebraic.w%d - joint.a.v\n", k, k, k, k + 1);
    snprintf(text + used, sizeof text - (size_t)used, "  w%d: {equation: w%d^3 - 3*w%d - 1 + 4*t, start: 2}\n", n - 1,
             n - 1, n - 1);
    subject             s = started(text, KD_JOINT);
    kd_realtime_options options = kd_realtime_options_default();
    kd_realtime        *stepper = NULL;
    kd_realtime_defect  d = {0};
    options.h = h;
    kd_status status =
        kd_realtime_create(kd_system_eom(s.system), kd_system_inputs(s.system), &options, s.x, &stepper, message, size);
    *defect = 0.0;
    while (status >= 0 && kd_realtime_state(stepper)->t < t_end - 0.5 * h) {
        status = kd_realtime_step(stepper, NULL, NULL);
        if (status < 0) snprintf(message, size, "%s", kd_realtime_message(stepper));
        assert_true(kd_realtime_defects(stepper, &d) >= 0);
        *defect = fmax(*defect, d.auxiliary);
    }
    *t = kd_realtime_state(stepper)->t;
    kd_realtime_destroy(stepper);
    close_subject(&s);
    return status;
}

// Steps of fixed work tell what is left of the equations, less in shorter steps, and end where the solution is lost; small
// and large matrices.
static void real_time_watches(void **state)
{
    (void)state;
    for (int n = 1; n <= 41; n += 40) {
        char   message[1000] = "";
        double t, coarse, fine;
        assert_true(real_time(n, 2e-3, 0.7, &t, &coarse, message, sizeof message) >= 0);
        assert_true(real_time(n, 1e-3, 0.7, &t, &fine, message, sizeof message) >= 0);
        assert_true(coarse < 2e-2 && fine < 0.7 * coarse);
        assert_int_equal(real_time(n, 1e-3, 2.0, &t, &fine, message, sizeof message), KD_ERR_SINGULAR_DW);
        assert_true(fabs(t - 0.75) < 2.5e-3);
        if (!strstr(message, "the equations of algebraic.w") || !strstr(message, "lose the solution"))
            fail_msg("%s", message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_are_exact),
        cmocka_unit_test(forces_of_constraints),
        cmocka_unit_test(random_equations),
        cmocka_unit_test(all_formulations_solve),
        cmocka_unit_test(start_chooses),
        cmocka_unit_test(eliminated_in_linear_equations),
        cmocka_unit_test(found_in_equilibrium),
        cmocka_unit_test(read_by_all),
        cmocka_unit_test(own_names_in_subsystems),
        cmocka_unit_test(parameters_live),
        cmocka_unit_test(fold_is_told),
        cmocka_unit_test(no_start_is_told),
        cmocka_unit_test(real_time_watches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
