// parameters.c: other values of the parameters of a system: its copy of the model is filled in again, then whatever
// numbers the system made of it: links, frames, rows, loads, blocks, laws, units.
//
// What is searched, counted or allocated when a system is made stays; so what that depends on must not change: which
// rows and states elements have, which rows are redundant, which branch of a law is taken.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/constraint.h"
#include "element/force.h"
#include "model/build.h"

// ---- numbers of elements in expressions -----------------------------------------------------------------------------

// numbers from KD_FIRST_NUMBER downwards, so that they are no slots; each address once
int kd_system_number(kd_system *s, const double *number)
{
    for (int i = 0; i < s->nnumbers; i++)
        if (s->number[i] == number) return KD_FIRST_NUMBER - i;
    const double **grown = kd_grow((void *)s->number, s->nnumbers, &s->numbers_capacity, sizeof *grown);
    if (!grown) return -1;
    s->number = grown;
    s->number[s->nnumbers++] = number;
    return KD_FIRST_NUMBER - (s->nnumbers - 1);
}

// ---- preparation ----------------------------------------------------------------------------------------------------

static int rows_of(const kd_constraint_def *def)
{
    const kd_element_class *class = kd_constraint_element((int)def->kind);
    return class->rows ? class->rows(def) : 1;
}

// what of an element decides about rows, measures and states
static void note_structure(const kd_system *s, int *structure)
{
    const kd_model *m = s->model;
    for (int i = 0; i < m->nforces; i++) structure[i] = kd_force_structure(&m->force[i].def);
    for (int i = 0; i < m->nconstraints; i++) structure[m->nforces + i] = rows_of(&m->constraint[i].def);
}

// parameters first, then numbers of elements, in the order of theta
static void read_values(kd_system *s)
{
    const kd_model *m = s->model;
    for (int i = 0; i < m->nparameters; i++) s->theta[i] = m->parameter[i].value;
    for (int i = 0; i < s->nnumbers; i++) s->theta[m->nparameters + i] = *s->number[i];
}

kd_status kd_system_prepare_parameters(kd_system *s)
{
    const kd_model *m = s->model;
    int             size = 0;
    if (m->nparameters == 0) return KD_OK;
    // workspace for expressions, and for derivatives by parameters
    for (int i = 0; i < s->nexprs; i++) {
        const int needed = kd_expr_work_size(s->expr[i]);
        if (needed > size) size = needed;
    }
    s->theta = kd_cut_double(&s->arena, m->nparameters + s->nnumbers);
    s->before = kd_cut_double(&s->arena, m->nparameters);
    s->structure = kd_cut_int(&s->arena, m->nforces + m->nconstraints);
    s->expr_work = kd_cut_double(&s->arena, size);
    s->moved = kd_cut_double(&s->arena, m->nparameters);
    s->line_at = kd_cut_double(&s->arena, m->nparameters + s->nnumbers);
    s->line_rate = kd_cut_double(&s->arena, m->nparameters + s->nnumbers);
    // M is no function of kd_system_by_parameter
    const kd_eom *eom = s->eom;
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (fn != KD_MASS && kd_eom_rows(eom, (kd_fn)fn) > s->most_rows) s->most_rows = kd_eom_rows(eom, (kd_fn)fn);
    s->beside = kd_cut_double(&s->arena, 4 * s->most_rows);
    if (s->arena.failed) return KD_ERR_MEMORY;
    read_values(s);
    note_structure(s, s->structure);
    return kd_system_keep_room(s);
}

// ---- what follows from the model ------------------------------------------------------------------------------------

// "parameter 'mu' cannot be changed: ..."; the parameters that differ
static kd_status refuse_values(const kd_system *s, const char *kind, const char *name, const char *what, char *message,
                               size_t size)
{
    char list[200] = "";
    for (int i = 0; i < s->model->nparameters; i++) {
        if (s->theta[i] == s->before[i] || s->model->parameter[i].expr) continue;
        kd_text_append(list, sizeof list, "%s'%s'", list[0] ? ", " : "", s->model->parameter[i].name);
    }
    kd_text(message, size, "parameter %s cannot be changed so: %s '%s' would %s; read the model again", list, kind,
            name, what);
    return KD_ERR_MODEL;
}

// an element that would have other rows or states needs a new system
static kd_status check_structure(const kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    for (int i = 0; i < m->nforces; i++)
        if (kd_force_structure(&m->force[i].def) != s->structure[i])
            return refuse_values(s, "force", m->force[i].name,
                                 "act along other measures, have other states or be stiff", message, size);
    for (int i = 0; i < m->nconstraints; i++)
        if (rows_of(&m->constraint[i].def) != s->structure[m->nforces + i])
            return refuse_values(s, "constraint", m->constraint[i].name, "have other rows", message, size);
    return KD_OK;
}

// Values of parameters and numbers of elements that a tangent begins at
static void begin_line(kd_system *s)
{
    memcpy(s->line_at, s->theta, (size_t)(s->model->nparameters + s->nnumbers) * sizeof *s->line_at);
    if (s->joints) begin_line(s->joints);
}

// The tangent, h along it; the numbers of elements have been moved already
static kd_expr_line line_of(kd_system *s, double h)
{
    const int          n = s->model->nparameters;
    const kd_expr_line own = kd_model_line(s->model, h);
    memcpy(s->line_rate, own.rate, (size_t)n * sizeof *s->line_rate);
    for (int i = n; i < n + s->nnumbers; i++) s->line_rate[i] = h != 0.0 ? (s->theta[i] - s->line_at[i]) / h : 0.0;
    return (kd_expr_line){s->line_at, s->line_rate, h};
}

// compiled expressions get the new values (h NULL), or go along a tangent; a branch that was folded away may not come back
static kd_status update_expressions(kd_system *s, const double *h, char *message, size_t size)
{
    const kd_expr_line line = h ? line_of(s, *h) : (kd_expr_line){0};
    for (int i = 0; i < s->nexprs; i++) {
        if (!kd_expr_has_parameters(s->expr[i])) continue;
        const kd_expr_change change = h ? kd_expr_update_along(s->expr[i], &line, s->expr_work)
                                        : kd_expr_update(s->expr[i], s->theta, s->expr_work);
        if (change == KD_EXPR_CHANGED) continue;
        const char *name = kd_model_changed_parameter(s->model, s->expr[i], s->before);
        kd_text(message, size, "parameter '%s' cannot be changed so: %s", name,
                change == KD_EXPR_HELD ? "an expression would take another branch, and may read other things; read the "
                                         "model again"
                                       : "an expression has no finite value");
        return KD_ERR_MODEL;
    }
    return KD_OK;
}

// Centres of mass that sensors read
static void move_centres(kd_system *s)
{
    for (int i = 0; i < s->model->nbodies; i++)
        if (s->centre_pair[i] >= 0) ((kd_anchor *)s->pair_ends[s->centre_pair[i]].to)->r = s->model->body[i].centre;
}

static kd_status check_wheels(const kd_system *s, char *message, size_t size)
{
    for (int i = 0; i < s->nwheels; i++)
        if (isnan(s->wheel[i].a)) {
            kd_text(message, size, "constraint '%s': wheel and rail do not meet in the middle of the track",
                    s->model->constraint[s->row_g[s->wheel[i].row].constraint].name);
            return KD_ERR_MODEL;
        }
    return KD_OK;
}

// what the equations copied of the system: units, time, theta, restitution, friction
static void set_equations(kd_system *s)
{
    const kd_eom_values values = kd_eom_change_values(s->eom);
    kd_system_set_units(s, values.unit, values.position_unit);
    values.time[0] = kd_system_time(s);
    for (int i = 0; i < s->model->nparameters && values.theta; i++) values.theta[i] = s->theta[i];
    for (int i = 0; i < s->nlambda && values.restitution; i++)
        if (s->row_g[s->kept[i]].one_sided) values.restitution[i] = s->row_g[s->kept[i]].restitution;
    for (int i = 0; i < s->nmu && values.friction_scale; i++)
        if (s->row_h[i].direction >= 0) values.friction_scale[i] = s->row_h[i].scale;
}

// h (may be NULL): so far along a tangent
static kd_status refresh(kd_system *s, const double *before, const double *h, char *message, size_t size)
{
    // the system of start values refreshes with the same list of before
    if (before != s->before) memcpy(s->before, before, (size_t)s->model->nparameters * sizeof *before);
    read_values(s);
    kd_status status = check_structure(s, message, size);
    if (status >= 0 && s->joints) status = refresh(s->joints, before, h, message, size);
    if (status >= 0) status = update_expressions(s, h, message, size);
    if (status < 0) return status;
    // from the inside out: links, frames in links, rows, loads, what is made of them
    kd_system_place_links(s);
    move_centres(s);
    for (int i = 0; i < s->npairs; i++) kd_system_place_pair(s, i);
    for (int i = 0; i < s->nrows_g; i++) kd_row_set(s, &s->row_g[i]);
    for (int i = 0; i < s->nrows_h; i++) kd_row_set(s, &s->row_h[i]);
    for (int i = 0; i < s->nloads; i++) kd_load_set(&s->load[i]);
    kd_across_set(s);
    kd_system_set_blocks(s);
    kd_system_set_laws(s);
    s->generation++;
    kd_system_forget_start(s);
    set_equations(s);
    // free lengths of the start position come last: they need all of the above
    status = check_wheels(s, message, size);
    return status >= 0 ? kd_system_set_lengths(s) : status;
}

// Rows that were left out must follow from the others with the new values, too: they are looked for again in a system of
// these values. Rows that become redundant are told by the start.
static kd_status check_redundancy(const kd_system *s, char *message, size_t size)
{
    const kd_system *tree = s->joints ? s->joints : s;
    kd_system       *fresh = NULL;
    if (tree->info.nredundant == 0 || s->options.keep_redundant) return KD_OK;
    kd_status status = kd_system_create_for_start(s->model, &fresh, message, size);
    if (status >= 0 && !fresh->info.assembled) {
        for (int i = 0; status >= 0; i++)
            if (!tree->keep[i])
                status = refuse_values(s, "constraint", tree->row_g[i].name,
                                       "belong to a loop that cannot be closed at the start", message, size);
    }
    for (int i = 0; status >= 0 && fresh->keep && i < tree->nrows_g - tree->none_sided; i++)
        if (!tree->keep[i] && fresh->keep[i])
            status = refuse_values(s, "constraint", tree->row_g[i].name,
                                   "no longer follow from others, and it was left out of the equations", message, size);
    kd_system_destroy(fresh);
    return status;
}

static kd_status change(kd_system *s, const double *theta, const double *before, bool check, char *message, size_t size)
{
    kd_status status = kd_model_change(s->live, theta, before);
    if (status < 0) kd_text(message, size, "%s", kd_model_message(s->live));
    if (status >= 0) status = refresh(s, before, NULL, message, size);
    return status >= 0 && check ? check_redundancy(s, message, size) : status;
}

// check: rows that were left out are looked at
static kd_status set_values(kd_system *s, const double *theta, bool check, char *message, size_t size)
{
    // all or nothing: on failure the old values come back
    memcpy(s->before, s->theta, (size_t)s->model->nparameters * sizeof *s->before);
    const kd_status status = change(s, theta, s->before, check, message, size);
    if (status < 0 && change(s, s->before, s->before, false, NULL, 0) < 0) // cannot be: these values were good
        kd_text_append(message, size, "; and the values of before could not be put back");
    return status;
}

void kd_work_renew(kd_work *w)
{
    const kd_system *s = w->system;
    // breaks, boxes and ends of steps belong to the old values
    w->breaks.all_next = -INFINITY;
    for (int i = 0; i < s->nbreaking; i++) w->breaks.next[i] = -INFINITY;
    w->unseen.known = false;
    for (int i = 0; w->unseen.box_limit && i < s->nlaws; i++) w->unseen.box_limit[i] = -1.0;
    w->generation = s->generation;
}

// ---- public ---------------------------------------------------------------------------------------------------------

const double *kd_system_parameters(const kd_system *s)
{
    return s ? s->theta : NULL;
}

kd_status kd_system_set_parameters(kd_system *s, const double *theta, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    if (!s || (s->model->nparameters > 0 && !theta)) return KD_ERR_ARGUMENT;
    if (!s->live) return KD_OK; // it has none
    return set_values(s, theta, true, message, size);
}

// ---- derivatives ----------------------------------------------------------------------------------------------------
//
// Numbers n of a model are expressions of its parameters, n = n(theta), which have exact derivatives. The derivative of a
// function f(n) of the equations is that along the tangent n + h n'(theta), n' by jets. Masses, inertias, gravity,
// stiffnesses, dampings, loads and the like enter the equations linearly, lengths as polynomials of low degree: along the
// tangent differences with long steps have no error but rounding, whatever n(theta) is. With f_k = f(n + k H n'), up to
// 3 H = 0.3 theta,
//
//     D4 = (8 (f_1 - f_-1) - (f_2 - f_-2)) / 12 H                        exact up to degree 4
//     D6 = (45 (f_1 - f_-1) - 9 (f_2 - f_-2) + (f_3 - f_-3)) / 60 H      exact up to degree 6
//
// Where both agree to rounding f is such a polynomial. Otherwise (sines, roots, laws) steps h and 2 h of 5e-4 of theta
// itself, once more extrapolated; their difference estimates the error. They also tell where n(theta) jumps or bends.

static const double LONG_STEP = 0.1;   // of the parameter; of 1 where it is 0
static const double SHORT_STEP = 5e-4; // error 1e-12 by the step, 1e-13 by rounding
static const double DOUBT =
    1000.0; // times the rounding of long steps, about that of short ones: a tangent that is off by more is none
static const double ROUNDING = 200.0; // units in the last place of the largest number that rounding may differ by

// Numbers of the model along the tangent by parameter i at the values in s->moved; on failure as there
static kd_status move_along(kd_system *s, int i, double h)
{
    kd_status status = kd_model_change_along(s->live, s->moved, i, h);
    if (status >= 0) status = refresh(s, s->moved, &h, NULL, 0);
    if (status < 0) (void)change(s, s->moved, s->moved, false, NULL, 0); // these values were good
    return status;
}

// The same with the parameter itself moved
static kd_status move_parameter(kd_system *s, int i, double h)
{
    const double at = s->moved[i];
    s->moved[i] = at + h;
    const kd_status status = set_values(s, s->moved, false, NULL, 0);
    s->moved[i] = at;
    return status;
}

typedef kd_status move_fn(kd_system *s, int i, double h);

// The function at the point with a parameter moved by h
static kd_status value_beside(kd_system *s, kd_eom_data *d, kd_fn fn, move_fn *move, int i, double h, double *out)
{
    const kd_point  x = *kd_eom_point(d);
    const kd_status status = move(s, i, h);
    // other parameters, the same point: the stages are set again, since all of it is old
    kd_eom_at_time(d, x.t, x.u, x.du, x.ddu, x.z);
    kd_eom_at_position(d, x.p, x.s);
    kd_eom_at_velocity(d, x.v, x.r);
    kd_eom_at_acceleration(d, x.a, x.w, x.lambda, x.mu);
    if (status < 0 || !out) return status;
    return kd_eom_eval(d, fn, out) == KD_EVAL_OK ? KD_OK : KD_ERR_NOT_FINITE;
}

// out = f(h) - f(-h); *largest: at least the largest number in both
static kd_status across(kd_system *s, kd_eom_data *d, kd_fn fn, move_fn *move, int i, double h, double *out,
                        double *left, double *largest)
{
    const int rows = kd_eom_rows(s->eom, fn);
    kd_status status = value_beside(s, d, fn, move, i, h, out);
    if (status >= 0) status = value_beside(s, d, fn, move, i, -h, left);
    for (int k = 0; k < rows && status >= 0; k++) {
        *largest = fmax(*largest, fmax(fabs(out[k]), fabs(left[k])));
        out[k] -= left[k];
    }
    return status;
}

// Long steps along the tangent: true, if the function is a polynomial there
static bool differentiate_polynomial(kd_system *s, kd_eom_data *d, kd_fn fn, int i, double H, double *out,
                                     double *error)
{
    static const double four[3] = {8.0 / 12.0, -1.0 / 12.0, 0.0}, six[3] = {45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0};
    const int           rows = kd_eom_rows(s->eom, fn);
    double             *D4 = s->beside, *f = D4 + s->most_rows, *left = f + s->most_rows, largest = 0.0, worst = 0.0;
    for (int k = 0; k < rows; k++) out[k] = D4[k] = 0.0;
    for (int j = 0; j < 3; j++) {
        if (across(s, d, fn, move_along, i, (j + 1) * H, f, left, &largest) < 0) return false; // out of its range
        for (int k = 0; k < rows; k++) {
            out[k] += six[j] * f[k] / H;
            D4[k] += four[j] * f[k] / H;
        }
    }
    for (int k = 0; k < rows; k++) worst = fmax(worst, fabs(out[k] - D4[k]));
    *error = ROUNDING * DBL_EPSILON * largest / H;
    return worst <= *error;
}

static kd_status differentiate(kd_system *s, kd_eom_data *d, kd_fn fn, move_fn *move, int i, double h, double *out,
                               double *error)
{
    const int rows = kd_eom_rows(s->eom, fn);
    double   *fine = s->beside, *left = fine + s->most_rows, largest = 0.0;
    kd_status status = across(s, d, fn, move, i, h, fine, left, &largest);
    if (status >= 0) status = across(s, d, fn, move, i, 2.0 * h, out, left, &largest);
    *error = DBL_EPSILON * largest / h;
    for (int k = 0; k < rows && status >= 0; k++) {
        const double short_slope = fine[k] / (2.0 * h), difference = (short_slope - out[k] / (4.0 * h)) / 3.0;
        out[k] = short_slope + difference; // Richardson
        *error = fmax(*error, fabs(difference));
    }
    return status;
}

// One column: exact where it can be told to be a polynomial of numbers
static kd_status slope_by(kd_system *s, kd_eom_data *d, kd_fn fn, int i, double *out, kd_parameter_slope *about)
{
    const double at = s->theta[i], size = at != 0.0 ? fabs(at) : 1.0;
    const int    rows = kd_eom_rows(s->eom, fn);
    double       error = 0.0, estimate = 0.0, *moved = s->beside + 3 * s->most_rows;
    kd_status    status = KD_OK;
    memcpy(s->moved, s->theta, (size_t)s->model->nparameters * sizeof *s->moved);
    begin_line(s);
    bool exact = differentiate_polynomial(s, d, fn, i, LONG_STEP * size, out, &error);
    // an expression may jump or bend at the very value, which tangents do not see: the parameter itself must agree
    const bool can_move = differentiate(s, d, fn, move_parameter, i, SHORT_STEP * size, moved, &estimate) >= 0;
    double     apart = 0.0;
    for (int k = 0; k < rows && exact && can_move; k++) apart = fmax(apart, fabs(out[k] - moved[k]));
    if (exact && apart > DOUBT * error + 3.0 * estimate) {
        exact = false;
        estimate = fmax(estimate, apart);
    }
    if (!exact && can_move) {
        memcpy(out, moved, (size_t)rows * sizeof *out);
        error = estimate;
    }
    if (!exact && !can_move) status = differentiate(s, d, fn, move_along, i, SHORT_STEP * size, out, &error);
    const kd_status back = value_beside(s, d, fn, move_parameter, i, 0.0, NULL);
    if (about) *about = (kd_parameter_slope){exact, error};
    return status < 0 ? status : back;
}

// ---- the twin of a system --------------------------------------------------------------------------------------------
//
// Parameters move in a second system of the same model, which belongs to one evaluation point: the system itself, which
// others may be using, stays as it is.

struct kd_twin {
    kd_system    *system;
    kd_eom_data  *data;
    unsigned long generation; // of the values of the first one that it has
    bool          known;
};

void kd_twin_destroy(struct kd_twin *twin)
{
    if (!twin) return;
    kd_eom_data_destroy(twin->data);
    kd_system_destroy(twin->system);
    kd_free(twin);
}

// Made of the model as that was given, so that the same rows are left out; made at the first request
static kd_status make_twin(kd_work *w)
{
    const kd_system *s = w->system;
    struct kd_twin  *b = w->twin;
    if (b && b->data) return KD_OK;
    if (!b) b = w->twin = kd_alloc(sizeof *b);
    if (!b) return KD_ERR_MEMORY;
    kd_system_options opt = s->options;
    opt.watch = s->watch;
    opt.nwatch = s->nsensors - s->origin->nsensors;
    kd_status status = b->system ? KD_OK : kd_system_create(s->origin, &opt, &b->system, NULL, 0);
    if (status >= 0) status = kd_eom_data_create(b->system->eom, &b->data);
    return status < 0 ? status : KD_OK;
}

// The same values, the same point
static kd_status place_twin(kd_work *w, const kd_point *x)
{
    const kd_system *s = w->system;
    kd_status        status = make_twin(w);
    if (status < 0) return status;
    struct kd_twin *b = w->twin;
    if (!b->known || b->generation != s->generation) status = set_values(b->system, s->theta, false, NULL, 0);
    if (status < 0) return status;
    b->known = true;
    b->generation = s->generation;
    kd_eom_at_time(b->data, x->t, x->u, x->du, x->ddu, x->z);
    kd_eom_at_position(b->data, x->p, x->s);
    kd_eom_at_velocity(b->data, x->v, x->r);
    kd_eom_at_acceleration(b->data, x->a, x->w, x->lambda, x->mu);
    return KD_OK;
}

// For kd_eom_def.derivative; columns of parameters that follow from others are 0, since their values are not looked at,
// and so are those of parameters that cannot be changed
kd_eval kd_work_by_parameters(kd_work *w, const kd_point *x, kd_fn fn, double *out)
{
    const kd_model *m = w->system->model;
    kd_status       status = place_twin(w, x);
    for (int i = 0; i < m->nparameters && status >= 0; i++) {
        if (m->parameter[i].expr) continue;
        double *column = out + (size_t)i * (size_t)kd_eom_rows(w->system->eom, fn);
        status = slope_by(w->twin->system, w->twin->data, fn, i, column, NULL);
        if (status != KD_ERR_MODEL) continue;
        // a count, a branch: it does not move
        memset(column, 0, (size_t)kd_eom_rows(w->system->eom, fn) * sizeof *column);
        status = KD_OK;
    }
    return status >= 0 ? KD_EVAL_OK : status == KD_ERR_MEMORY ? KD_EVAL_STOP : KD_EVAL_RETRY;
}

kd_status kd_system_by_parameter(const kd_system *s, kd_eom_data *d, kd_fn fn, int i, double *out,
                                 kd_parameter_slope *about)
{
    if (!s || !d || !out || !s->live || i < 0 || i >= s->model->nparameters || fn == KD_MASS) return KD_ERR_ARGUMENT;
    if (s->model->parameter[i].expr) return KD_ERR_ARGUMENT; // it follows from others
    if (kd_eom_data_eom(d) != s->eom || kd_eom_data_stage(d) != KD_STAGE_ACCELERATION) return KD_ERR_ARGUMENT;
    kd_work        *w = kd_eom_data_context(d);
    const kd_status status = place_twin(w, kd_eom_point(d));
    return status < 0 ? status : slope_by(w->twin->system, w->twin->data, fn, i, out, about);
}
