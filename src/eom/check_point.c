// check_point.c: points at which equations are checked, differences of functions there, words about disagreement.
#include "eom/check_impl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "math/dense.h"

#define CONTACT_STEPS 30 // Newton for 0 = c
#define TYPICAL 0.1      // size of quantities that are 0

// ---- workspace ------------------------------------------------------------------------------------------------------

static void cut_spot(kd_arena *arena, const kd_dims *n, kd_check_spot *x)
{
    // t stands apart; u, u', u'' must follow each other (make_point moves them in one go)
    const int sizes[] = {n->nu, n->nu, n->nu, n->ntheta, n->np, n->ns, n->nv, n->nr, n->nv, n->nw, n->nlambda, n->nmu};
    double  **arrays[] = {&x->u, &x->du, &x->ddu, &x->theta, &x->p,      &x->s,
                          &x->v, &x->r,  &x->a,   &x->w,     &x->lambda, &x->mu};
    x->n = 0;
    for (int i = 0; i < 12; i++) x->n += sizes[i];
    x->all = kd_cut_double(arena, x->n);
    double *next = x->all;
    for (int i = 0; i < 12 && next; i++) {
        *arrays[i] = next;
        next += sizes[i];
    }
}

kd_status kd_check_create(kd_check_run *c)
{
    const kd_dims *n = &c->eom->def.dims;
    // room for the largest function and the largest derivative; np + 1 columns also serve q by the coordinates
    int rows = 1, columns = n->np + 1;
    for (int fn = 0; fn < KD_FN_COUNT; fn++)
        if (c->eom->entry[fn].rows > rows) rows = c->eom->entry[fn].rows;
    for (int var = 0; var < KD_VAR_COUNT; var++)
        if (c->eom->columns[var] > columns) columns = c->eom->columns[var];
    cut_spot(&c->arena, n, &c->base);
    cut_spot(&c->arena, n, &c->moved);
    c->F = kd_cut_double(&c->arena, rows);
    c->G = kd_cut_double(&c->arena, rows);
    for (int i = 0; i < 4; i++) c->values[i] = kd_cut_double(&c->arena, rows);
    c->supplied = kd_arena_cut(&c->arena, (size_t)rows * (size_t)columns, sizeof(double));
    for (int i = 0; i < STEPS; i++)
        c->by_differences[i] = kd_arena_cut(&c->arena, (size_t)rows * (size_t)columns, sizeof(double));
    c->M = kd_cut_double(&c->arena, n->nv * n->nv);
    c->M_first = kd_cut_double(&c->arena, n->nv * n->nv);
    c->Z = kd_cut_double(&c->arena, n->np * n->nv);
    c->GZ = kd_cut_double(&c->arena, n->nlambda * n->nv);
    c->HZ = kd_cut_double(&c->arena, n->nmu * n->nv);
    c->e = kd_cut_double(&c->arena, n->nv);
    c->pivot = kd_cut_int(&c->arena, n->ns);
    if (c->arena.failed) return KD_ERR_MEMORY;

    // the bare definition: what the library can make by differences is taken away
    kd_eom_def def = c->eom->def;
    def.gI = def.gII = def.hI = NULL;
    memset(def.given, 0, sizeof def.given);
    memset(def.zero, 0, sizeof def.zero);
    if (def.M && def.f) def.residual = NULL;
    kd_status status = kd_eom_create(&def, &c->bare, NULL, 0);
    if (status == KD_OK) status = kd_eom_data_create(c->bare, &c->bare_data);
    if (status == KD_OK) status = kd_eom_data_create(c->eom, &c->full_data);
    return status;
}

void kd_check_release(kd_check_run *c)
{
    kd_eom_data_destroy(c->full_data);
    kd_eom_data_destroy(c->bare_data);
    kd_eom_destroy(c->bare);
    kd_arena_release(&c->arena);
}

// ---- report ---------------------------------------------------------------------------------------------------------

// Names of the functions as the manual writes them
static const char *function_letter(kd_fn fn)
{
    static const char *const letters[KD_FN_COUNT] = {[KD_KINEMATICS] = "kinematics",
                                                     [KD_RESIDUAL] = "residual",
                                                     [KD_B] = "b",
                                                     [KD_D] = "d",
                                                     [KD_C] = "c",
                                                     [KD_G] = "g",
                                                     [KD_GI] = "gI",
                                                     [KD_GII] = "gII",
                                                     [KD_H] = "h",
                                                     [KD_HI] = "hI",
                                                     [KD_Q] = "q",
                                                     [KD_E] = "e",
                                                     [KD_Y] = "y",
                                                     [KD_SWITCH] = "switching",
                                                     [KD_FORCE] = "f",
                                                     [KD_MASS] = "M"};
    return letters[fn];
}

void kd_check_report(kd_check_run *c, const char *format, ...)
{
    char    text[320];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    kd_text_append(c->report, c->size, "%s%s", c->found > 0 ? "\n" : "", text);
    c->found++;
}

// "gI row 2 (constraint 'rod length')"
kd_check_text kd_check_row(const kd_check_run *c, kd_fn fn, int row)
{
    kd_check_text out;
    char          name[96];
    kd_row_name(c->eom, fn, row, name, sizeof name);
    kd_text(out.text, sizeof out.text, "%s row %d (%s)", function_letter(fn), row, name);
    return out;
}

// "p[3] ('slider x')", "v[3] (rate of 'slider x')", "a[3] (acceleration to 'v')"; without name the first part alone.
kd_check_text kd_check_variable(const kd_check_run *c, kd_var var, int j)
{
    static const kd_kind kinds[KD_VAR_COUNT] = {
        [KD_P] = KD_NAME_P, [KD_V] = KD_NAME_V,        [KD_A] = KD_NAME_V,           [KD_R] = KD_NAME_R,
        [KD_W] = KD_NAME_W, [KD_S] = KD_NAME_S,        [KD_LAMBDA] = KD_NAME_LAMBDA, [KD_MU] = KD_NAME_MU,
        [KD_U] = KD_NAME_U, [KD_THETA] = KD_NAME_THETA};
    kd_check_text out;
    char          name[96], plain[32];
    if (var == KD_T) {
        kd_text(out.text, sizeof out.text, "t");
        return out;
    }
    // without a name of its own the letter and number are all there is
    kd_text(out.text, sizeof out.text, "%s[%d]", kd_var_letter(var), j);
    kd_text(plain, sizeof plain, "%s[%d]", kd_var_letter(var == KD_A ? KD_V : var), j);
    kd_eom_name(c->eom, kinds[var], j, name, sizeof name);
    if (strcmp(name, plain) == 0) return out;
    const char *quote = strchr(name, '\'') ? "" : "'"; // names of joints and rates bring their own
    kd_text_append(out.text, sizeof out.text, " (%s%s%s%s)", var == KD_A ? "acceleration to " : "", quote, name, quote);
    return out;
}

// What a column of a derivative belongs to: with own kinematics, positions are moved by increments along velocities.
kd_check_text kd_check_column(const kd_check_run *c, kd_var var, int j, bool raw)
{
    kd_check_text out;
    if (var != KD_P || raw || c->eom->kinematics == KD_Z_IDENTITY) return kd_check_variable(c, var, j);
    kd_text(out.text, sizeof out.text, "p along %s", kd_check_variable(c, KD_V, j).text);
    return out;
}

// relative to the larger of both, but not finer than SMALL_ENTRY of the largest number around
bool kd_check_differ(const kd_check_run *c, double a, double b, double largest)
{
    double size = fmax(fmax(fabs(a), fabs(b)), SMALL_ENTRY * largest);
    return fabs(a - b) > c->opt.tolerance * size;
}

// Two columns of the same rows; named by the function and what it was differentiated by.
void kd_check_compare_columns(kd_check_run *c, kd_fn fn, kd_var var, int j, const double *supplied, const double *other,
                              double largest, const char *who)
{
    for (int i = 0; i < c->eom->entry[fn].rows; i++)
        if (kd_check_differ(c, supplied[i], other[i], largest))
            kd_check_report(c, "%s by %s: supplied %.6g, %s %.6g", kd_check_row(c, fn, i).text,
                            kd_check_column(c, var, j, false).text, supplied[i], who, other[i]);
}

void kd_check_compare_values(kd_check_run *c, kd_fn fn, const double *supplied, const double *other, double largest,
                             const char *who)
{
    for (int i = 0; i < c->eom->entry[fn].rows; i++)
        if (kd_check_differ(c, supplied[i], other[i], largest))
            kd_check_report(c, "%s: supplied %.6g, %s %.6g", kd_check_row(c, fn, i).text, supplied[i], who, other[i]);
}

// ---- points ---------------------------------------------------------------------------------------------------------

// -1 .. 1, away from 0 (xorshift)
static double next_random(kd_check_run *c)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    double x = (double)(c->random >> 11) * 0x1p-53; // 0 .. 1
    return x < 0.5 ? -1.0 + 1.5 * x : 1.0 - 1.5 * (x - 0.5);
}

// from + size * random, relative to entries above 1, absolute below
static void shake(kd_check_run *c, int n, const double *from, double size, double *to)
{
    for (int i = 0; i < n; i++)
        to[i] = (from ? from[i] : 0.0) + size * next_random(c) * fmax(from ? fabs(from[i]) : 0.0, 1.0);
}

// all stages at once, z of the state that is checked
void kd_check_set_point(const kd_check_run *c, kd_eom_data *d, const kd_check_spot *x)
{
    kd_eom_at_parameters(d, x->theta);
    kd_eom_at_time(d, x->t, x->u, x->du, x->ddu, c->x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
}

void kd_check_copy_spot(const kd_check_spot *from, kd_check_spot *to)
{
    to->t = from->t;
    memcpy(to->all, from->all, (size_t)from->n * sizeof(double));
}

// Newton for 0 = c(p, s), so that levels that were derived with c = 0 are met where they hold.
static kd_eval solve_contact(kd_check_run *c)
{
    const int    ns = c->eom->def.dims.ns;
    kd_eom_data *d = c->bare_data;
    kd_eval      answer = KD_EVAL_OK;
    for (int k = 0; k < CONTACT_STEPS && ns > 0 && answer == KD_EVAL_OK; k++) {
        // s -= c_s \ c
        kd_check_set_point(c, d, &c->base);
        answer = kd_eom_eval(d, KD_C, c->F);
        if (answer == KD_EVAL_OK) answer = kd_precise_block(d, KD_C, KD_S, c->supplied);
        if (answer == KD_EVAL_OK) answer = kd_factor_c_s(d, c->supplied, c->pivot);
        if (answer != KD_EVAL_OK) return answer;
        kd_lu_solve(ns, c->supplied, c->pivot, c->F, 1);
        kd_axpy(ns, -1.0, c->F, c->base.s);
        if (kd_norm_max(ns, c->F) <= 1e-14 * fmax(kd_norm_max(ns, c->base.s), 1.0)) break;
    }
    return answer;
}

// x itself (sample 0) or a point around it; velocities and forces are never 0, so that no term hides.
kd_eval kd_check_make_point(kd_check_run *c, int sample)
{
    const kd_dims  *n = &c->eom->def.dims;
    const kd_state *x = c->x;
    kd_check_spot  *y = &c->base;
    const double    spread = c->opt.spread, move = sample > 0 ? spread : 0.0;
    // time and inputs
    y->t = x->t + move * next_random(c);
    memset(y->all, 0, (size_t)y->n * sizeof(double));
    if (c->inputs && c->inputs->eval && n->nu > 0) {
        kd_eval answer = c->inputs->eval(y->t, c->inputs->context, y->u, y->du, y->ddu);
        if (answer != KD_EVAL_OK) return answer;
    }
    shake(c, 3 * n->nu, y->u, spread, y->u); // u, u', u'' lie side by side
    // parameters and contact coordinates as they are: moved at random they could leave their domain
    const double *theta = c->x->theta ? c->x->theta : c->eom->theta;
    if (n->ntheta > 0) memcpy(y->theta, theta, (size_t)n->ntheta * sizeof(double));
    if (n->ns > 0) memcpy(y->s, x->s, (size_t)n->ns * sizeof(double));
    // velocities, forces, multipliers at random around those of x
    shake(c, n->nv, x->v, spread, y->v);
    shake(c, n->nr, x->r, spread, y->r);
    shake(c, n->nv, x->a, 1.0, y->a);
    shake(c, n->nw, x->w, spread, y->w);
    shake(c, n->nlambda, x->lambda, 1.0, y->lambda);
    shake(c, n->nmu, x->mu, 1.0, y->mu);
    if (n->np > 0) memcpy(y->p, x->p, (size_t)n->np * sizeof(double));
    // p oplus e with a random increment
    if (sample > 0) {
        bool Z_is_I = c->eom->kinematics == KD_Z_IDENTITY;
        shake(c, n->nv, Z_is_I ? x->p : NULL, spread, c->e);
        if (Z_is_I) kd_axpy(n->nv, -1.0, x->p, c->e);
        kd_eom_at_time(c->bare_data, y->t, y->u, y->du, y->ddu, x->z);
        kd_eval answer = kd_eom_oplus(c->bare_data, x->p, c->e, y->p);
        if (answer != KD_EVAL_OK) return answer;
    }
    return solve_contact(c);
}

// The array of a variable.
static double *array_of(kd_check_spot *x, kd_var var)
{
    switch (var) {
    case KD_P:
        return x->p;
    case KD_V:
        return x->v;
    case KD_A:
        return x->a;
    case KD_R:
        return x->r;
    case KD_W:
        return x->w;
    case KD_S:
        return x->s;
    case KD_LAMBDA:
        return x->lambda;
    case KD_MU:
        return x->mu;
    case KD_U:
        return x->u;
    case KD_THETA:
        return x->theta;
    default:
        return NULL;
    }
}

// The data that answers a function best: the user's own, or the library's from a bare definition.
kd_eom_data *kd_check_answering(kd_check_run *c, kd_fn fn)
{
    bool own_level = (fn == KD_GI || fn == KD_GII || fn == KD_HI || fn == KD_RESIDUAL) && c->eom->entry[fn].user;
    return own_level ? c->full_data : c->bare_data;
}

// The function with column j of var moved by h (KD_P: along Z e_j; raw: coordinate j itself).
kd_eval kd_check_value_moved(kd_check_run *c, kd_fn fn, kd_var var, int j, double h, bool raw, double *out)
{
    const kd_dims *n = &c->eom->def.dims;
    kd_check_spot *y = &c->moved;
    kd_eom_data   *d = kd_check_answering(c, fn);
    kd_check_copy_spot(&c->base, y);
    // t with u along u', u' along u''; p along Z e_j; or one component
    if (var == KD_T) {
        y->t += h;
        for (int i = 0; i < n->nu; i++) {
            y->u[i] += h * (y->du[i] + 0.5 * h * y->ddu[i]);
            y->du[i] += h * y->ddu[i];
        }
    } else if (var == KD_P && !raw) {
        kd_axpy(n->np, h, c->Z + j * n->np, y->p);
    } else {
        array_of(y, var)[j] += h;
    }
    kd_mark_unset(out, c->eom->entry[fn].rows); // also where only some calls leave an entry out
    kd_check_set_point(c, d, y);
    return kd_eom_eval(d, fn, out);
}

// Central differences of order 4 of column j.
kd_eval kd_check_difference_column(kd_check_run *c, kd_fn fn, kd_var var, int j, double relative, bool raw, double *out)
{
    static const struct {
        double at, weight;
    } stencil[4] = {{1.0, 8.0 / 12.0}, {-1.0, -8.0 / 12.0}, {2.0, -1.0 / 12.0}, {-2.0, 1.0 / 12.0}};
    const int rows = c->eom->entry[fn].rows;
    // relative to the entry, and to TYPICAL where that is small; a parameter may have any size, so only its own counts
    double size = var == KD_T || (var == KD_P && !raw) ? 1.0 : fabs(array_of(&c->base, var)[j]);
    double h = relative * (size > 0.0 ? size : TYPICAL);
    if (var != KD_THETA) h = relative * fmax(size, TYPICAL);
    // (8 (F(+1) - F(-1)) - (F(+2) - F(-2))) / (12 h)
    memset(out, 0, (size_t)rows * sizeof(double));
    for (int k = 0; k < 4; k++) {
        kd_eval answer = kd_check_value_moved(c, fn, var, j, stencil[k].at * h, raw, c->F);
        if (answer != KD_EVAL_OK) return answer;
        kd_axpy(rows, stencil[k].weight / h, c->F, out);
    }
    return KD_EVAL_OK;
}
