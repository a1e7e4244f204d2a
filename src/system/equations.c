// equations.c: a system as equations of motion: the functions that kd_eom asks for.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "element/force.h"

// ---- dynamics -------------------------------------------------------------------------------------------------------
static kd_eval residual(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_eval  answer = kd_work_residual(w, x);
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < w->system->nv; i++) out[i] = w->tau[w->system->tree.v_dof[i]];
    w->tau_stamp = x->acceleration_stamp;
    return KD_EVAL_OK;
}

// the explicit formalism: loads and multipliers as forces, ddx by the articulated bodies; a pivot of 0: RETRY
static kd_eval acceleration(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    int      bad;
    kd_eval  answer = kd_work_loads(w, x);
    if (answer != KD_EVAL_OK) return answer;
    if (!kd_work_explicit(w, x, &bad)) return KD_EVAL_RETRY;
    for (int i = 0; i < w->system->nv; i++) out[i] = w->ddx[w->system->tree.v_dof[i]];
    return KD_EVAL_OK;
}

static kd_eval accelerations(const kd_point *x, void *context, double *a, double *lambda, double *mu)
{
    return kd_topological_solve(context, x, a, lambda, mu);
}

// Without rows the articulated bodies are all there is
static kd_eval free_accelerations(const kd_point *x, void *context, double *a, double *lambda, double *mu)
{
    (void)lambda, (void)mu;
    return acceleration(x, context, a);
}

static kd_eval kkt_factor(const kd_point *x, void *context)
{
    return kd_topological_factor(context, x);
}

static void kkt_solve(void *context, double *y)
{
    kd_topological_backsolve(context, y);
}

kd_eval kd_work_mass(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_position(w, x, KD_FOR_ROWS);
    kd_tree_mass_dense(&w->system->tree, &w->motion, out);
    return KD_EVAL_OK;
}

static kd_eval inner_rates(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_eval  answer = kd_work_loads(w, x);
    if (answer == KD_EVAL_OK) memcpy(out, w->b, (size_t)w->system->nr * sizeof *out);
    return answer;
}

// ---- constraints ----------------------------------------------------------------------------------------------------

// rows at their levels: value, rate and second derivative in time of the same jet
static kd_eval g(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_position_of_rows(w, x);
    for (int i = 0; i < w->system->nlambda; i++) out[i] = kd_row_value(&w->system->row_g[w->system->kept[i]], w);
    return KD_EVAL_OK;
}

static kd_eval gI(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nlambda; i++) out[i] = kd_row_rate(&w->system->row_g[w->system->kept[i]], w);
    return KD_EVAL_OK;
}

static kd_eval gII(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_acceleration(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nlambda; i++) out[i] = kd_row_jet(&w->system->row_g[w->system->kept[i]], w).x2;
    return KD_EVAL_OK;
}

static kd_eval h(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_velocity(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nmu; i++) out[i] = kd_row_jet(&w->system->row_h[i], w).x;
    return KD_EVAL_OK;
}

static kd_eval hI(const kd_point *x, void *context, double *out)
{
    kd_work *w = context;
    kd_work_acceleration(w, x, KD_FOR_ROWS);
    for (int i = 0; i < w->system->nmu; i++) out[i] = kd_row_jet(&w->system->row_h[i], w).x1;
    return KD_EVAL_OK;
}

// c of wheels whose contact coordinate is an unknown; others find theirs in find_contacts
static kd_eval tangency(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_wheel_point   at;
    kd_work_position(w, x, KD_FOR_ROWS);
    for (int i = 0; i < s->nwheels; i++) {
        if (!s->wheel[i].unknown) continue;
        kd_row_contact(&s->row_g[s->wheel[i].row], w, &at);
        out[s->wheel[i].contact] = at.c;
    }
    return KD_EVAL_OK;
}

// ---- auxiliary variables --------------------------------------------------------------------------------------------

// 0 = d: equations of algebraic variables; w - force across the joint, from multipliers
static kd_eval auxiliary(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_eval          answer = s->nalgebraic > 0 ? kd_work_loads(w, x) : KD_EVAL_OK; // all that laws read is there then
    if (answer != KD_EVAL_OK) return answer;
    for (int i = 0; i < s->nalgebraic; i++) out[i] = kd_law_value(s->equation[i].law[0], w->slot, w);
    for (int i = 0, at = s->nalgebraic; i < s->nacross; i++, at++)
        out[at] = x->w[at] - kd_across_value(&s->across[i], s, x->lambda);
    return KD_EVAL_OK;
}

// ---- friction -------------------------------------------------------------------------------------------------------

static kd_eval breakaway(const kd_point *x, void *context, double *out)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    kd_eval          answer = kd_work_loads(w, x);
    // rows of dry friction: what their element can hold; others never break
    for (int i = 0; i < s->nmu; i++) {
        const int      force = s->row_h[i].force;
        const kd_load *load = force < 0 ? NULL : kd_system_load_of(s, force);
        out[i] = load ? load->class->limit(load, w->slot, w) : INFINITY;
    }
    return answer;
}

// ---- drives: prescribed dofs of the tree ----------------------------------------------------------------------------
static kd_eval drives(const kd_point *x, void *context, double *q, double *dq, double *ddq)
{
    kd_work *w = context;
    kd_work_time(w, x);
    // q, q', q'' of prescribed dofs, which kd_work_time has set
    for (int i = 0; i < w->system->ndrives; i++) {
        const int      k = w->system->drive[i];
        const kd_link *link = &w->system->tree.link[w->system->tree.dof_link[k]];
        q[i] = w->x[link->position + k - link->dof];
        dq[i] = w->dx[k];
        ddq[i] = w->ddx[k];
    }
    return KD_EVAL_OK;
}

// All generalised impulses are the residual at rest, without gravity and forces, with jumps of the velocities for
// accelerations and impulses of the rows for multipliers: the tree is at another motion afterwards.
static kd_eval impulses(const kd_point *x, const double *dv, const double *dx, const double *Lambda, const double *Pi,
                        void *context, double *free, double *driven)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    // forces of the rows alone, at the velocity where the rows are known
    kd_work_velocity(w, x, KD_FOR_ROWS);
    kd_work_clear_forces(w);
    kd_work_apply_rows(w, Lambda, Pi);
    kd_work_spread_forces(w);
    // then at rest, jumps for accelerations: the residual is M dv + M_vx dx + (GZ)' Lambda + (HZ)' Pi
    memset(w->dx, 0, (size_t)s->tree.ndof * sizeof *w->dx);
    for (int i = 0; i < s->tree.nv; i++) w->ddx[s->tree.v_dof[i]] = dv[i];
    for (int i = 0; i < s->ndrives; i++) w->ddx[s->drive[i]] = dx[i];
    kd_tree_move(&s->tree, w->dx, &w->motion);
    kd_tree_accelerate(&s->tree, w->dx, w->ddx, (kd_vec3){0}, &w->motion);
    kd_tree_residual(&s->tree, &w->motion, w->load, w->tau);
    for (int k = 0; k < s->tree.ndof; k++) w->tau[k] -= w->joint_force[k];
    for (int i = 0; i < s->tree.nv; i++) free[i] = w->tau[s->tree.v_dof[i]];
    for (int i = 0; i < s->ndrives; i++) driven[i] = w->tau[s->drive[i]];
    // the motion of the tree is not that of x any more
    kd_work_forget(w);
    return KD_EVAL_OK;
}

// rows with a target or an expression may move with time of themselves
static const unsigned char *timed_rows(kd_system *s)
{
    unsigned char *timed = kd_arena_cut(&s->arena, (size_t)s->nlambda, 1);
    for (int i = 0; timed && i < s->nlambda; i++) timed[i] = s->row_g[s->kept[i]].target || s->row_g[s->kept[i]].expr;
    return timed;
}

// ---- instants -------------------------------------------------------------------------------------------------------
static double next_break(const kd_point *x, void *context)
{
    return kd_work_next_break(context, x->t);
}

// ---- names, work ----------------------------------------------------------------------------------------------------
static const char *name_of(kd_kind kind, int i, void *context)
{
    const kd_system *s = context;
    return s->names[kind] ? s->names[kind][i] : NULL;
}

static void *make_work(void *context)
{
    return kd_work_create(context);
}
static void free_work(void *work)
{
    kd_work_destroy(work);
}

kd_eval kd_system_input_values(double t, void *context, double *u, double *du, double *ddu)
{
    const kd_system *s = context;
    // inputs are functions of time alone: derivatives along their one variable give u, u', u''
    for (int i = 0; i < s->model->ninputs; i++) {
        double f[3] = {s->model->input[i].def.start, 0.0, 0.0}, work[KD_INPUT_WORK];
        if (s->input[i]) kd_expr_along(s->input[i], &t, 0, work, f);
        u[i] = f[0], du[i] = f[1], ddu[i] = f[2];
    }
    return KD_EVAL_OK;
}

// Which rows are one-sided: those of stops, contacts and constraints with restitution; NULL: none
static const double *restitutions(kd_system *s)
{
    double *e = kd_cut_double(&s->arena, s->nlambda);
    for (int i = 0; e && i < s->nlambda; i++) {
        const kd_row *row = &s->row_g[s->kept[i]];
        e[i] = row->one_sided ? row->restitution : -1.0;
    }
    return e;
}

// ---- definition -----------------------------------------------------------------------------------------------------

static void define_dynamics(const kd_system *s, kd_eom_def *def)
{
    def->residual = residual;
    def->acceleration = acceleration;
    if (s->inside_joints) {
        def->implicit_reserve = kd_work_implicit_reserve;
        def->implicit_set = kd_work_implicit_set;
        def->implicit_factor = kd_work_implicit_factor;
        def->implicit_pair = kd_work_implicit_pair;
        def->implicit_solve = kd_work_implicit_solve;
    }
    def->M = kd_work_mass;
    // bodies that hang free on the ground, velocities in body axes: M does not move
    if (s->options.coordinates == KD_CARTESIAN && s->tree.nwide == 0) def->mass_structure = KD_MASS_FULL_CONSTANT;
    // accelerations along the tree; loads that read multipliers would need an iteration
    if (s->topological.place) {
        if (!s->late) def->accelerations = accelerations;
        def->kkt_factor = kkt_factor;
        def->kkt_solve = kkt_solve;
    } else if (s->nlambda + s->nmu == 0 && !s->late) {
        def->accelerations = free_accelerations; // too large for the pattern of M
    }
    if (s->nr > 0) def->b = inner_rates;
    if (s->nw > 0) def->d = auxiliary;
    def->force_of_multipliers = s->by_multipliers;
    def->lightly_damped = s->lightly_damped;
    def->energies = kd_work_energies;
    def->energies_of_motion = !s->driven && !s->late;
    def->content = kd_work_content;
    if (s->nsensors > 0) def->y = kd_work_outputs;
}

static void define_constraints(const kd_system *s, kd_eom_def *def)
{
    if (s->ns > 0) def->c = tangency;
    if (s->nlambda > 0) {
        def->g = g;
        def->gI = gI;
        def->gII = gII;
    }
    if (s->nmu > 0) {
        def->h = h;
        def->hI = hI;
    }
    if (s->ninvariants > 0) {
        def->e = kd_work_invariants;
        def->e_at_start = s->invariant_z;
    }
    if (s->ndrives > 0) {
        def->ndrives = s->ndrives;
        def->drives = drives;
        def->impulses = impulses;
    }
}

// What a run asks for beyond the equations: why it fails, what laws do inside a step
static void define_words(const kd_system *s, kd_eom_def *def)
{
    if (s->for_start) return;
    // one element that warns is enough
    if (s->tree.nwide > 0) def->caution = kd_work_caution;
    for (int i = 0; i < s->nloads; i++)
        if (s->load[i].class->caution) def->caution = kd_work_caution;
    for (int i = 0; i < s->nloads; i++)
        if (s->load[i].class->notice) def->notice = kd_work_notice;
    if (s->model->ncurves > 0) def->notice = kd_work_notice;
    def->reason = kd_work_reason;
    def->jumps = kd_work_jumps;
    def->feeds = kd_work_feeds;
    def->unsearched = kd_system_unsearched;
}

static kd_status define_instants(kd_system *s, kd_eom_def *def)
{
    if (s->nbreaking > 0) def->next_break = next_break;
    if (s->nlaws > 0 || s->ntouches > 0) def->unseen = kd_work_unseen;
    if (s->nsampled > 0 && !s->for_start) {
        def->next_sample = kd_work_next_sample;
        def->discrete = kd_work_discrete;
        def->discrete_counts = true;
        def->discrete_of_motion = !s->at_samples.forces;
    }
    // switching functions are those of events and of blocks without period
    if (def->dims.nswitch == 0) return KD_OK;
    def->switching = kd_work_switching;
    def->switch_bounds = kd_work_switch_bounds;
    def->event = kd_work_event;
    if (s->nsampled < s->model->nblocks) def->completed = kd_work_completed;
    def->crossing = kd_system_crossings(s);
    return def->crossing ? KD_OK : KD_ERR_MEMORY;
}

// Place of the multiplier of the one-sided row of a force; -1: it has none
static int normal_of(const kd_system *s, int force)
{
    for (int i = s->nrows_g - s->none_sided; i < s->nrows_g; i++)
        if (s->row_g[i].force == force) return s->lambda_of[i];
    return -1;
}

// The other row of the same force; -1: there is none
static int across_of(const kd_system *s, int row)
{
    for (int i = 0; i < s->nmu; i++)
        if (i != row && s->row_h[i].direction >= 0 && s->row_h[i].force == s->row_h[row].force) return i;
    return -1;
}

// Rows of h that hold while something sticks
static kd_status define_friction(kd_system *s, kd_eom_def *def)
{
    // direction: place in z of the direction of sliding; -1: the row always holds
    int    *direction = kd_cut_int(&s->arena, s->nmu);
    double *scale = kd_cut_double(&s->arena, s->nmu);
    int    *across = kd_cut_int(&s->arena, s->nmu), *normal = kd_cut_int(&s->arena, s->nmu);
    if (s->arena.failed) return KD_ERR_MEMORY;
    for (int i = 0; i < s->nmu; i++) {
        direction[i] = s->row_h[i].direction;
        across[i] = normal[i] = -1;
        if (direction[i] < 0) continue;
        across[i] = across_of(s, i);
        normal[i] = normal_of(s, s->row_h[i].force);
        def->breakaway = breakaway;
        scale[i] = s->row_h[i].scale;
    }
    def->friction = def->breakaway ? direction : NULL;
    def->friction_across = across, def->friction_normal = normal;
    def->friction_scale = def->breakaway ? scale : NULL;
    return KD_OK;
}

// What is known of each row and unknown: kinds of rows, natural sizes
static kd_status define_arrays(kd_system *s, kd_eom_def *def)
{
    kd_status status = define_friction(s, def);
    if (status < 0) return status;
    if (s->nlambda > 0 && !(def->timed = timed_rows(s))) return KD_ERR_MEMORY;
    if (s->takes_one_sided && s->none_sided > 0 && !(def->restitution = restitutions(s))) return KD_ERR_MEMORY;
    double *theta = kd_cut_double(&s->arena, s->model->nparameters);
    for (int i = 0; theta && i < s->model->nparameters; i++) theta[i] = s->model->parameter[i].value;
    if (s->live && !theta) return KD_ERR_MEMORY;
    def->theta = s->live ? theta : NULL;
    def->theta_held = s->live != NULL;
    def->unit = kd_system_units(s);
    def->position_unit = kd_system_position_units(s);
    def->time = kd_system_time(s);
    return def->unit && def->position_unit ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_system_equations(kd_system *s, char *message, size_t size)
{
    kd_eom_def def = kd_eom_def_default();
    // sizes; what start values need only is left out there
    def.title = s->model->title ? s->model->title : "model";
    def.dims = (kd_dims){.np = s->np,
                         .nv = s->nv,
                         .nr = s->nr,
                         .nw = s->nw,
                         .ns = s->ns,
                         .nlambda = s->nlambda,
                         .nmu = s->nmu,
                         .nq = s->nquaternions + s->nturns,
                         .nu = s->model->ninputs,
                         .ne = s->ninvariants,
                         .nz = s->nz,
                         .ntheta = s->live ? s->model->nparameters : 0,
                         .ny = s->nsensors,
                         .nswitch = s->for_start ? 0 : s->nfunctions};
    def.context = s;
    def.autonomous = !s->time_dependent;
    def.name = name_of;
    def.make_work = make_work;
    def.free_work = free_work;
    def.archive_work = kd_work_archive;
    // functions by subject, then arrays that the definition copies
    kd_system_define_kinematics(s, &def);
    define_dynamics(s, &def);
    define_constraints(s, &def);
    kd_system_define_derivatives(s, &def);
    define_words(s, &def);
    kd_status status = define_instants(s, &def);
    if (status >= 0) status = define_arrays(s, &def);
    return status < 0 ? status : kd_eom_create(&def, &s->eom, message, size);
}
