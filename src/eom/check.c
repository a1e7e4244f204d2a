// check.c: does what a definition supplies agree with itself?
//
// At x, and at points moved at random around it, every supplied derivative is compared with differences of its
// function, every constraint level with derivatives of g and h along the motion, the residual with M, f and the
// constraint matrices, and the promises of the definition (zero[], autonomous, mass structure, q_p Z = 0, oplus) are
// tried out. The second opinion comes from a bare definition, from which levels and derivatives are taken away, so that
// the library makes them by differences. The first point with disagreements ends the check: more points would repeat
// them.
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/option.h"
#include "core/text.h"
#include "eom/internal.h"
#include "math/dense.h"

#define STEPS 3          // increments of central differences of order 4; an entry disagrees if it does so with all
#define COARSE_STEP 1e-3 // the largest one, relative
#define CANCELLING 1e-3  // size of terms that may cancel where a function vanishes: 1e-11 apart is rounding
#define SMALL_ENTRY 1e-3 // disagreement counts relative to the entry or to this part of the largest one in the block
#define CONTACT_STEPS 30 // Newton for 0 = c
#define TYPICAL 0.1      // size of quantities that are 0
#define LATER 0.37       // [s] an autonomous system must not notice

kd_check_options kd_check_options_default(void)
{
    return (kd_check_options){.tolerance = 1e-5, .samples = 3, .spread = 0.1, .cookie = KD_OPTIONS_COOKIE};
}

// Smooth functions, rounding and steep ones (friction laws) want different increments.
static const double steps[STEPS] = {COARSE_STEP, 2e-5, 1e-6};

// ---- workspace ------------------------------------------------------------------------------------------------------

// All quantities of a point in one block.
typedef struct spot {
    double  t;
    double *u, *du, *ddu, *theta, *p, *s, *v, *r, *a, *w, *lambda, *mu;
    double *all;
    int     n;
} spot;

// what a check works with: the definition, its bare twin, the point of the sample and room for both opinions
typedef struct check {
    const kd_eom    *eom;
    kd_eom          *bare;
    kd_eom_data     *full_data, *bare_data;
    const kd_inputs *inputs;
    const kd_state  *x;
    kd_check_options opt;
    spot             base, moved;
    double          *F, *G, *values[4];                // (rows) function values
    double          *supplied, *by_differences[STEPS]; // (rows x columns)
    double          *M, *M_first;                      // (nv x nv)
    double          *Z, *GZ, *HZ, *e;
    int             *pivot;
    uint64_t         random;
    bool             has_M_first;
    char            *report;
    size_t           size;
    int              found;
    kd_arena         arena;
} check;

static void cut_spot(kd_arena *arena, const kd_dims *n, spot *x)
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

static kd_status check_create(check *c)
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

static void check_release(check *c)
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

static void report_line(check *c, const char *format, ...) KD_PRINTF(2, 3);
static void report_line(check *c, const char *format, ...)
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
typedef struct row_text {
    char text[160];
} row_text;
static row_text row_of(const check *c, kd_fn fn, int row)
{
    row_text out;
    char     name[96];
    kd_row_name(c->eom, fn, row, name, sizeof name);
    kd_text(out.text, sizeof out.text, "%s row %d (%s)", function_letter(fn), row, name);
    return out;
}

// "p[3] ('slider x')", "v[3] (rate of 'slider x')", "a[3] (acceleration to 'v')"; without name the first part alone.
static row_text variable_text(const check *c, kd_var var, int j)
{
    static const kd_kind kinds[KD_VAR_COUNT] = {
        [KD_P] = KD_NAME_P, [KD_V] = KD_NAME_V,        [KD_A] = KD_NAME_V,           [KD_R] = KD_NAME_R,
        [KD_W] = KD_NAME_W, [KD_S] = KD_NAME_S,        [KD_LAMBDA] = KD_NAME_LAMBDA, [KD_MU] = KD_NAME_MU,
        [KD_U] = KD_NAME_U, [KD_THETA] = KD_NAME_THETA};
    row_text out;
    char     name[96], plain[32];
    if (var == KD_T) {
        kd_text(out.text, sizeof out.text, "t");
        return out;
    }
    kd_text(out.text, sizeof out.text, "%s[%d]", kd_var_letter(var), j);
    kd_text(plain, sizeof plain, "%s[%d]", kd_var_letter(var == KD_A ? KD_V : var), j);
    kd_eom_name(c->eom, kinds[var], j, name, sizeof name);
    if (strcmp(name, plain) == 0) return out;
    const char *quote = strchr(name, '\'') ? "" : "'"; // names of joints and rates bring their own
    kd_text_append(out.text, sizeof out.text, " (%s%s%s%s)", var == KD_A ? "acceleration to " : "", quote, name, quote);
    return out;
}

// What a column of a derivative belongs to: with own kinematics, positions are moved by increments along velocities.
static row_text column_of(const check *c, kd_var var, int j, bool raw)
{
    row_text out;
    if (var != KD_P || raw || c->eom->kinematics == KD_Z_IDENTITY) return variable_text(c, var, j);
    kd_text(out.text, sizeof out.text, "p along %s", variable_text(c, KD_V, j).text);
    return out;
}

// relative to the larger of both, but not finer than SMALL_ENTRY of the largest number around
static bool differ(const check *c, double a, double b, double largest)
{
    double size = fmax(fmax(fabs(a), fabs(b)), SMALL_ENTRY * largest);
    return fabs(a - b) > c->opt.tolerance * size;
}

// Two columns of the same rows; named by the function and what it was differentiated by.
static void compare_columns(check *c, kd_fn fn, kd_var var, int j, const double *supplied, const double *other,
                            double largest, const char *who)
{
    for (int i = 0; i < c->eom->entry[fn].rows; i++)
        if (differ(c, supplied[i], other[i], largest))
            report_line(c, "%s by %s: supplied %.6g, %s %.6g", row_of(c, fn, i).text, column_of(c, var, j, false).text,
                        supplied[i], who, other[i]);
}

static void compare_values(check *c, kd_fn fn, const double *supplied, const double *other, double largest,
                           const char *who)
{
    for (int i = 0; i < c->eom->entry[fn].rows; i++)
        if (differ(c, supplied[i], other[i], largest))
            report_line(c, "%s: supplied %.6g, %s %.6g", row_of(c, fn, i).text, supplied[i], who, other[i]);
}

// ---- points ---------------------------------------------------------------------------------------------------------

// -1 .. 1, away from 0 (xorshift)
static double next_random(check *c)
{
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    double x = (double)(c->random >> 11) * 0x1p-53; // 0 .. 1
    return x < 0.5 ? -1.0 + 1.5 * x : 1.0 - 1.5 * (x - 0.5);
}

// from + size * random, relative to entries above 1, absolute below
static void shake(check *c, int n, const double *from, double size, double *to)
{
    for (int i = 0; i < n; i++)
        to[i] = (from ? from[i] : 0.0) + size * next_random(c) * fmax(from ? fabs(from[i]) : 0.0, 1.0);
}

// all stages at once, z of the state that is checked
static void set_point(const check *c, kd_eom_data *d, const spot *x)
{
    kd_eom_at_parameters(d, x->theta);
    kd_eom_at_time(d, x->t, x->u, x->du, x->ddu, c->x->z);
    kd_eom_at_position(d, x->p, x->s);
    kd_eom_at_velocity(d, x->v, x->r);
    kd_eom_at_acceleration(d, x->a, x->w, x->lambda, x->mu);
}

static void copy_spot(const spot *from, spot *to)
{
    to->t = from->t;
    memcpy(to->all, from->all, (size_t)from->n * sizeof(double));
}

// Newton for 0 = c(p, s), so that levels that were derived with c = 0 are met where they hold.
static kd_eval solve_contact(check *c)
{
    const int    ns = c->eom->def.dims.ns;
    kd_eom_data *d = c->bare_data;
    kd_eval      answer = KD_EVAL_OK;
    for (int k = 0; k < CONTACT_STEPS && ns > 0 && answer == KD_EVAL_OK; k++) {
        // s -= c_s \ c
        set_point(c, d, &c->base);
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
static kd_eval make_point(check *c, int sample)
{
    const kd_dims  *n = &c->eom->def.dims;
    const kd_state *x = c->x;
    spot           *y = &c->base;
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
static double *array_of(spot *x, kd_var var)
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
static kd_eom_data *answering(check *c, kd_fn fn)
{
    bool own_level = (fn == KD_GI || fn == KD_GII || fn == KD_HI || fn == KD_RESIDUAL) && c->eom->entry[fn].user;
    return own_level ? c->full_data : c->bare_data;
}

// The function with column j of var moved by h (KD_P: along Z e_j; raw: coordinate j itself).
static kd_eval value_moved(check *c, kd_fn fn, kd_var var, int j, double h, bool raw, double *out)
{
    const kd_dims *n = &c->eom->def.dims;
    spot          *y = &c->moved;
    kd_eom_data   *d = answering(c, fn);
    copy_spot(&c->base, y);
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
    set_point(c, d, y);
    return kd_eom_eval(d, fn, out);
}

// Central differences of order 4 of column j.
static kd_eval difference_column(check *c, kd_fn fn, kd_var var, int j, double relative, bool raw, double *out)
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
        kd_eval answer = value_moved(c, fn, var, j, stencil[k].at * h, raw, c->F);
        if (answer != KD_EVAL_OK) return answer;
        kd_axpy(rows, stencil[k].weight / h, c->F, out);
    }
    return KD_EVAL_OK;
}

// ---- derivative blocks ----------------------------------------------------------------------------------------------

// supplied (rows x columns) against differences with all increments.
static kd_eval compare_block(check *c, kd_fn fn, kd_var var, int columns, bool raw, const char *who)
{
    const int rows = c->eom->entry[fn].rows;
    kd_eval   answer = KD_EVAL_OK;
    double    largest = kd_norm_max(rows * columns, c->supplied);
    // differences with all increments
    for (int j = 0; j < columns && answer == KD_EVAL_OK; j++)
        for (int k = 0; k < STEPS && answer == KD_EVAL_OK; k++)
            answer = difference_column(c, fn, var, j, steps[k], raw, c->by_differences[k] + j * rows);
    if (answer != KD_EVAL_OK) return answer;
    // the value itself: its rounding is in every difference
    answer = value_moved(c, fn, KD_T, 0, 0.0, false, c->F);
    if (answer != KD_EVAL_OK) return answer;
    // what disagreement is measured by
    largest = fmax(largest, kd_norm_max(rows * columns, c->by_differences[0]));
    largest = fmax(largest, kd_norm_max(rows, c->F));              // differences are good to this size times 1e-10
    largest = fmax(largest, CANCELLING);                           // where everything vanishes, rounding is left
    if (answering(c, fn)->entry[fn].noisy) largest /= SMALL_ENTRY; // differences of differences: only to 1e-7
    // an entry is right if one of the increments confirms it
    for (int j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++) {
            double a = c->supplied[j * rows + i], b = INFINITY; // the closest of the differences
            for (int k = 0; k < STEPS; k++) {
                const double other = c->by_differences[k][j * rows + i];
                if (fabs(a - other) < fabs(a - b)) b = other;
            }
            if (differ(c, a, b, largest))
                report_line(c, "%s by %s: %s %.6g, differences say %.6g", row_of(c, fn, i).text,
                            column_of(c, var, j, raw).text, who, a, b);
        }
    return KD_EVAL_OK;
}

// every derivative that is supplied or said to vanish, block by block
static kd_eval check_blocks(check *c)
{
    const kd_eom  *eom = c->eom;
    const kd_dims *n = &eom->def.dims;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        const int rows = eom->entry[fn].rows;
        for (int var = 0; var < KD_VAR_COUNT && rows > 0; var++) {
            const int columns = eom->columns[var];
            // supplied blocks, and those that zero[] calls zero
            bool    given = kd_is_given(eom, (kd_fn)fn, (kd_var)var) && (eom->depends[fn] & KD_BIT(var));
            bool    zero = eom->def.zero[fn] & c->bare->depends[fn] & KD_BIT(var);
            bool    raw = given && fn == KD_Q && var == KD_P; // norm equations: by the coordinates
            kd_eval answer = KD_EVAL_OK;
            if (columns == 0 || (!given && !zero)) continue;
            if (var == KD_THETA && eom->def.theta_held) continue; // they cannot be moved
            set_point(c, c->full_data, &c->base);
            memset(c->supplied, 0, (size_t)rows * (size_t)(raw ? n->np : columns) * sizeof(double));
            // the block as the definition gives it, against differences
            if (raw)
                answer =
                    eom->def.derivative(&c->full_data->x, KD_Q, KD_P, KD_PART_ALL, c->full_data->context, c->supplied);
            else if (given)
                answer = kd_supplied_block(c->full_data, (kd_fn)fn, (kd_var)var, KD_PART_ALL, c->supplied);
            if (answer == KD_EVAL_OK)
                answer = compare_block(c, (kd_fn)fn, (kd_var)var, raw ? n->np : columns, raw,
                                       given ? "supplied" : "zero[] says");
            if (answer != KD_EVAL_OK) return answer;
        }
    }
    return KD_EVAL_OK;
}

// ---- constraint levels ----------------------------------------------------------------------------------------------

// Column j of a level by v or a, which it is linear in, against GZ or HZ from the level below; then the whole value.
static kd_eval check_level(check *c, kd_fn fn, kd_var var, const double *matrix)
{
    const int nv = c->eom->def.dims.nv, rows = c->eom->entry[fn].rows, before = c->found;
    double    largest = kd_norm_max(rows * nv, matrix);
    if (rows == 0 || !c->eom->entry[fn].user) return KD_EVAL_OK;
    kd_eval answer = value_moved(c, fn, KD_T, 0, 0.0, false, c->values[0]);
    // column j: F(e_j) - F(0) against GZ e_j or HZ e_j
    for (int j = 0; j < nv && answer == KD_EVAL_OK; j++) {
        answer = value_moved(c, fn, var, j, 1.0, false, c->values[1]);
        kd_axpy(rows, -1.0, c->values[0], c->values[1]);
        // the difference of two values is good to rounding of these
        double size = fmax(largest, 1e-3 * kd_norm_max(rows, c->values[0]));
        if (answer == KD_EVAL_OK)
            compare_columns(c, fn, var, j, c->values[1], matrix + j * rows, size, "differences say");
    }
    if (answer != KD_EVAL_OK || c->found > before) return answer;
    // the value against differences of the level below
    set_point(c, c->bare_data, &c->base);
    answer = kd_eom_eval(c->bare_data, fn, c->values[1]);
    if (answer == KD_EVAL_OK)
        compare_values(c, fn, c->values[0], c->values[1], fmax(largest, kd_norm_max(rows, c->values[1])),
                       "differences along the motion say");
    return answer;
}

// h is linear in v: h(v) = h(0) + HZ v.
static kd_eval check_linear_h(check *c)
{
    const int nv = c->eom->def.dims.nv, nmu = c->eom->def.dims.nmu;
    if (nmu == 0) return KD_EVAL_OK;
    copy_spot(&c->base, &c->moved);
    memset(c->moved.v, 0, (size_t)nv * sizeof(double));
    set_point(c, c->bare_data, &c->moved);
    kd_eval answer = kd_eom_eval(c->bare_data, KD_H, c->values[1]);
    // h(0) + HZ v
    kd_gemv(nmu, nv, 1.0, c->HZ, c->base.v, 1.0, c->values[1]);
    if (answer == KD_EVAL_OK) answer = value_moved(c, KD_H, KD_T, 0, 0.0, false, c->values[0]);
    if (answer == KD_EVAL_OK)
        compare_values(c, KD_H, c->values[0], c->values[1], fmax(1.0, kd_norm_max(nmu * nv, c->HZ)),
                       "linear in v it would be");
    return answer;
}

// h linear in v first: HZ as matrix of h makes sense only then; then gI by v, gII and hI by a
static kd_eval check_levels(check *c)
{
    set_point(c, c->bare_data, &c->base);
    kd_eval answer = kd_eom_constraint_matrices(c->bare_data, c->GZ, c->HZ);
    if (answer == KD_EVAL_OK) answer = check_linear_h(c);
    if (answer == KD_EVAL_OK) answer = check_level(c, KD_GI, KD_V, c->GZ);
    if (answer == KD_EVAL_OK) answer = check_level(c, KD_GII, KD_A, c->GZ);
    if (answer == KD_EVAL_OK) answer = check_level(c, KD_HI, KD_A, c->HZ);
    return answer;
}

// ---- dynamics -------------------------------------------------------------------------------------------------------

// what mass_structure promises; M of the first sample is kept to see whether it is constant
static void check_mass(check *c)
{
    const int         nv = c->eom->def.dims.nv;
    kd_mass_structure structure = c->eom->def.mass_structure;
    double            largest = kd_norm_max(nv * nv, c->M);
    bool              diagonal = structure == KD_MASS_DIAGONAL || structure == KD_MASS_DIAGONAL_CONSTANT;
    bool              constant = structure == KD_MASS_FULL_CONSTANT || structure == KD_MASS_DIAGONAL_CONSTANT;
    for (int j = 0; j < nv; j++) {
        for (int i = 0; i < nv; i++) {
            // diagonal, symmetric, constant: as promised?
            double a = c->M[j * nv + i], b = c->M[i * nv + j];
            if (diagonal && i != j && differ(c, a, 0.0, largest))
                report_line(c, "M[%d,%d] = %.6g, but mass_structure says diagonal", i, j, a);
            else if (i > j && differ(c, a, b, largest))
                report_line(c, "M[%d,%d] = %.6g and M[%d,%d] = %.6g: M must be symmetric", i, j, a, j, i, b);
            else if (constant && c->has_M_first && differ(c, a, c->M_first[j * nv + i], largest))
                report_line(c, "M[%d,%d] changes from %.6g to %.6g, but mass_structure says constant", i, j,
                            c->M_first[j * nv + i], a);
        }
    }
    if (!c->has_M_first) memcpy(c->M_first, c->M, (size_t)(nv * nv) * sizeof(double));
    c->has_M_first = true;
}

// M as the user's function gives it, without what the mass structure promises.
static kd_eval user_mass(check *c)
{
    const int nv = c->eom->def.dims.nv;
    set_point(c, c->bare_data, &c->base);
    if (!c->eom->def.M) return kd_linear_columns(c->bare_data, KD_RESIDUAL, KD_A, c->M);
    memset(c->M, 0, (size_t)(nv * nv) * sizeof(double));
    return c->eom->def.M(&c->bare_data->x, c->bare_data->context, c->M);
}

// Columns of the user's residual by lambda or mu against (GZ)', (HZ)'.
static kd_eval check_multiplier_columns(check *c, kd_var var, const double *matrix)
{
    const int nv = c->eom->def.dims.nv, m = c->eom->columns[var];
    kd_eval   answer = value_moved(c, KD_RESIDUAL, KD_T, 0, 0.0, false, c->values[0]);
    double    largest = fmax(kd_norm_max(m * nv, matrix), 1e-3 * kd_norm_max(nv, c->values[0]));
    for (int i = 0; i < m && answer == KD_EVAL_OK; i++) {
        // residual(e_i) - residual(0) against column i of (GZ)', (HZ)'
        answer = value_moved(c, KD_RESIDUAL, var, i, 1.0, false, c->values[1]);
        kd_axpy(nv, -1.0, c->values[0], c->values[1]);
        for (int j = 0; j < nv; j++) c->values[2][j] = matrix[j * m + i];
        if (answer == KD_EVAL_OK)
            compare_columns(c, KD_RESIDUAL, var, i, c->values[1], c->values[2], largest,
                            var == KD_LAMBDA ? "(GZ)' by differences says" : "(HZ)' by differences says");
    }
    return answer;
}

// The user's residual against M a - f + (GZ)' lambda + (HZ)' mu.
static kd_eval check_residual(check *c)
{
    const kd_eom_def *def = &c->eom->def;
    const kd_dims    *n = &def->dims;
    const int         before = c->found;
    kd_eval           answer = KD_EVAL_OK;
    if (!def->residual) return KD_EVAL_OK;
    // by lambda and mu
    if (!def->force_of_multipliers) {
        answer = check_multiplier_columns(c, KD_LAMBDA, c->GZ);
        if (answer == KD_EVAL_OK) answer = check_multiplier_columns(c, KD_MU, c->HZ);
    }
    if (answer != KD_EVAL_OK || c->found > before || !def->M || !def->f) return answer;
    // the whole: M a - f + (GZ)' lambda + (HZ)' mu
    set_point(c, c->bare_data, &c->base);
    answer = kd_eom_eval(c->bare_data, KD_RESIDUAL, c->values[1]);
    if (answer == KD_EVAL_OK) answer = value_moved(c, KD_RESIDUAL, KD_T, 0, 0.0, false, c->values[0]);
    if (answer == KD_EVAL_OK)
        compare_values(c, KD_RESIDUAL, c->values[0], c->values[1], kd_norm_max(n->nv, c->values[1]),
                       "M a - f + (GZ)' lambda + (HZ)' mu says");
    return answer;
}

// f must not change with the multipliers unless the definition says so.
static kd_eval check_force(check *c)
{
    const int nv = c->eom->def.dims.nv;
    kd_eval   answer = KD_EVAL_OK;
    if (c->eom->def.force_of_multipliers || !c->eom->def.f) return KD_EVAL_OK;
    // f as it is, then with each multiplier moved by 1: no entry may change
    answer = value_moved(c, KD_FORCE, KD_T, 0, 0.0, false, c->values[0]);
    for (int k = 0; k < 2 && answer == KD_EVAL_OK; k++) {
        kd_var var = k == 0 ? KD_LAMBDA : KD_MU;
        for (int j = 0; j < c->eom->columns[var] && answer == KD_EVAL_OK; j++) {
            answer = value_moved(c, KD_FORCE, var, j, 1.0, false, c->values[1]);
            for (int i = 0; i < nv && answer == KD_EVAL_OK; i++)
                if (differ(c, c->values[0][i], c->values[1][i], 0.0))
                    report_line(c, "%s depends on %s, but force_of_multipliers is not set", row_of(c, KD_FORCE, i).text,
                                variable_text(c, var, j).text);
        }
    }
    return answer;
}

// The explicit formalism: its acceleration makes the residual vanish. Where M is singular (a body without inertia whose
// joints move it) it cannot answer, which is no mistake.
static kd_eval check_acceleration(check *c)
{
    const int nv = c->eom->def.dims.nv;
    if (!c->eom->def.acceleration) return KD_EVAL_OK;
    // a by the explicit formalism
    set_point(c, c->full_data, &c->base);
    kd_eval answer = kd_eom_acceleration(c->full_data, c->e);
    if (answer == KD_EVAL_RETRY) return KD_EVAL_OK;
    if (answer != KD_EVAL_OK) return answer;
    // residual(a) = 0, relative to M a
    kd_eom_data *d = answering(c, KD_RESIDUAL);
    copy_spot(&c->base, &c->moved);
    memcpy(c->moved.a, c->e, (size_t)nv * sizeof(double));
    set_point(c, d, &c->moved);
    answer = kd_eom_eval(d, KD_RESIDUAL, c->values[0]);
    if (answer != KD_EVAL_OK) return answer;
    kd_gemv(nv, nv, 1.0, c->M, c->e, 0.0, c->values[1]); // the size of the terms
    double size = fmax(kd_norm_max(nv, c->values[1]), SMALL_ENTRY);
    for (int i = 0; i < nv; i++)
        if (fabs(c->values[0][i]) > c->opt.tolerance * size)
            report_line(c, "acceleration leaves %.6g in %s, should be 0", c->values[0][i],
                        row_of(c, KD_RESIDUAL, i).text);
    return KD_EVAL_OK;
}

// M first: the residual is compared with M a, and the size of M a measures what an acceleration leaves
static kd_eval check_dynamics(check *c)
{
    if (c->eom->def.dims.nv == 0) return KD_EVAL_OK;
    kd_eval answer = user_mass(c);
    if (answer == KD_EVAL_OK) check_mass(c);
    if (answer == KD_EVAL_OK) answer = check_residual(c);
    if (answer == KD_EVAL_OK) answer = check_force(c);
    if (answer == KD_EVAL_OK) answer = check_acceleration(c);
    return answer;
}

// ---- kinematics -----------------------------------------------------------------------------------------------------

// Kinematics without motion: what coordinates do by themselves
static kd_eval kinematics_at_rest(check *c, double *out)
{
    copy_spot(&c->base, &c->moved);
    memset(c->moved.v, 0, (size_t)c->eom->def.dims.nv * sizeof(double));
    set_point(c, c->bare_data, &c->moved);
    return kd_eom_eval(c->bare_data, KD_KINEMATICS, out);
}

// kinematics = Z v + z; q does not change along Z e_j.
static kd_eval check_Z(check *c)
{
    const kd_dims *n = &c->eom->def.dims;
    kd_eval        answer = KD_EVAL_OK;
    // kinematics(v) - kinematics(0) = Z v
    if (c->eom->def.kinematics && c->eom->def.Z) {
        answer = value_moved(c, KD_KINEMATICS, KD_T, 0, 0.0, false, c->values[0]);
        if (answer == KD_EVAL_OK) answer = kinematics_at_rest(c, c->values[1]);
        kd_gemv(n->np, n->nv, 1.0, c->Z, c->base.v, 1.0, c->values[1]);
        if (answer == KD_EVAL_OK)
            compare_values(c, KD_KINEMATICS, c->values[0], c->values[1], kd_norm_max(n->np, c->values[1]), "Z v says");
    }
    // q_p Z e_j = 0
    for (int j = 0; j < n->nv && n->nq > 0 && answer == KD_EVAL_OK; j++) {
        answer = difference_column(c, KD_Q, KD_P, j, COARSE_STEP, false, c->values[0]);
        for (int i = 0; i < n->nq && answer == KD_EVAL_OK; i++)
            if (fabs(c->values[0][i]) > c->opt.tolerance)
                report_line(c, "%s changes along %s: q_p Z = %.6g, must be 0", row_of(c, KD_Q, i).text,
                            variable_text(c, KD_V, j).text, c->values[0][i]);
    }
    return answer;
}

// p oplus h v + p oplus -h v - 2 p = h^2 (Z v)_p Z v: the same second derivative as the midpoint rule.
static kd_eval check_oplus_second(check *c, kd_eom_data *d)
{
    const kd_dims *n = &c->eom->def.dims;
    // moves of 1e-3 in the fastest coordinate: h^2 is then far above rounding, h^4 below the limit 1e-3
    const double h = 1e-3 / fmax(kd_norm_max(n->nv, c->base.v), 1e-3);
    kd_eval      answer = KD_EVAL_OK;
    // p oplus h v and p oplus -h v, by the definition and by the midpoint rule
    for (int k = 0; k < 4 && answer == KD_EVAL_OK; k++) {
        for (int i = 0; i < n->nv; i++) c->e[i] = (k % 2 == 0 ? h : -h) * c->base.v[i];
        answer =
            k < 2 ? kd_eom_oplus(d, c->base.p, c->e, c->values[k]) : kd_move_midpoint(d, c->base.p, c->e, c->values[k]);
    }
    double size = kd_norm_max(n->nv, c->base.v);
    for (int i = 0; i < n->np && answer == KD_EVAL_OK; i++) {
        // second differences of both
        double user = (c->values[0][i] + c->values[1][i] - 2.0 * c->base.p[i]) / (h * h);
        double ours = (c->values[2][i] + c->values[3][i] - 2.0 * c->base.p[i]) / (h * h);
        if (fabs(user - ours) > 1e-3 * size * size)
            report_line(c, "oplus is not of second order in %s: second derivative %.6g, should be %.6g",
                        variable_text(c, KD_P, i).text, user, ours);
    }
    return answer;
}

// oplus moves along Z: (p oplus h e_j - p oplus -h e_j) / 2 h = Z e_j.
static kd_eval check_oplus(check *c)
{
    const kd_dims *n = &c->eom->def.dims;
    const double   h = 1e-4;
    const int      before = c->found;
    kd_eom_data   *d = c->full_data;
    kd_eval        answer = KD_EVAL_OK;
    if (!c->eom->def.oplus) return KD_EVAL_OK;
    set_point(c, d, &c->base);
    for (int j = 0; j < n->nv && answer == KD_EVAL_OK; j++) {
        // (p oplus h e_j - p oplus -h e_j) / 2 h
        memset(c->e, 0, (size_t)n->nv * sizeof(double));
        c->e[j] = h;
        answer = kd_eom_oplus(d, c->base.p, c->e, c->values[0]);
        c->e[j] = -h;
        if (answer == KD_EVAL_OK) answer = kd_eom_oplus(d, c->base.p, c->e, c->values[1]);
        for (int i = 0; i < n->np && answer == KD_EVAL_OK; i++) {
            double slope = (c->values[0][i] - c->values[1][i]) / (2.0 * h);
            if (fabs(slope - c->Z[j * n->np + i]) > fmax(c->opt.tolerance, 1e-6))
                report_line(c, "oplus moves %s by %.6g along %s, Z says %.6g", variable_text(c, KD_P, i).text, slope,
                            variable_text(c, KD_V, j).text, c->Z[j * n->np + i]);
        }
    }
    // order 2 is asked for only where order 1 is right
    if (answer == KD_EVAL_OK && c->found == before) answer = check_oplus_second(c, d);
    return answer;
}

// ---- time -----------------------------------------------------------------------------------------------------------

// functions of an autonomous definition, now and LATER seconds later
static kd_eval check_autonomous(check *c)
{
    if (!c->eom->def.autonomous) return KD_EVAL_OK;
    for (int fn = 0; fn < KD_FN_COUNT; fn++) {
        const int rows = c->eom->entry[fn].rows;
        if (rows == 0 || !(c->eom->entry[fn].user || (fn == KD_MASS && c->eom->def.M))) continue;
        kd_eom_data *d = c->full_data;
        kd_eval      answer = KD_EVAL_OK;
        for (int k = 0; k < 2 && answer == KD_EVAL_OK; k++) {
            // the same point now and later
            copy_spot(&c->base, &c->moved);
            c->moved.t += k * LATER;
            set_point(c, d, &c->moved);
            memset(c->values[k], 0, (size_t)rows * sizeof(double));
            // M is kept when it is said to be constant: ask the function itself
            answer = fn == KD_MASS ? c->eom->def.M(&d->x, d->context, c->values[k])
                                   : kd_eom_eval(d, (kd_fn)fn, c->values[k]);
        }
        if (answer != KD_EVAL_OK) return answer;
        for (int i = 0; i < rows; i++)
            if (differ(c, c->values[0][i], c->values[1][i], 0.0))
                report_line(c, "%s changes with t from %.6g to %.6g, but autonomous is set",
                            row_of(c, (kd_fn)fn, i).text, c->values[0][i], c->values[1][i]);
    }
    return KD_EVAL_OK;
}

// ---- all ------------------------------------------------------------------------------------------------------------

// Every function once: an entry that is never set shows.
static kd_eval check_written(check *c)
{
    kd_eval answer = KD_EVAL_OK;
    for (int fn = 0; fn < KD_FN_COUNT && answer == KD_EVAL_OK; fn++)
        if (fn != KD_MASS) answer = value_moved(c, (kd_fn)fn, KD_T, 0, 0.0, false, c->values[0]);
    return answer;
}

// one sample: all checks, until a function cannot be evaluated
static kd_eval check_point(check *c)
{
    // kinematics, levels, dynamics, time, derivatives: what later checks use comes first
    kd_eval answer = check_written(c);
    set_point(c, c->bare_data, &c->base);
    if (answer == KD_EVAL_OK) answer = kd_eom_Z(c->bare_data, c->Z);
    if (answer == KD_EVAL_OK) answer = check_Z(c);
    if (answer == KD_EVAL_OK) answer = check_oplus(c);
    if (answer == KD_EVAL_OK) answer = check_levels(c);
    if (answer == KD_EVAL_OK) answer = check_dynamics(c);
    if (answer == KD_EVAL_OK) answer = check_autonomous(c);
    if (answer == KD_EVAL_OK) answer = check_blocks(c);
    return answer;
}

// The reason of an answer that was not OK, from the data that gave it.
static void report_fault(check *c)
{
    const char *full = kd_eom_data_message(c->full_data), *bare = kd_eom_data_message(c->bare_data);
    report_line(c, "%s", bare[0] ? bare : (full[0] ? full : "a function could not be evaluated"));
}

kd_status kd_eom_check(const kd_eom *eom, const kd_inputs *inputs, const kd_state *x, const kd_check_options *opt,
                       char *report, size_t size)
{
    // arguments: a state of these equations, options that make sense
    kd_text(report, size, "%s", "");
    if (eom && !kd_state_fits(eom, x))
        kd_text(report, size,
                "the state is NULL or belongs to other equations: make it with kd_state_create(eom, ...)");
    if (!kd_state_fits(eom, x)) return KD_ERR_ARGUMENT;
    check c = {.eom = eom, .inputs = inputs, .x = x, .report = report, .size = size, .random = 0x9e3779b97f4a7c15u};
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_check_options", report, size)) return KD_ERR_ARGUMENT;
    c.opt = opt ? *opt : kd_check_options_default();
    if (!(c.opt.tolerance > 0.0) || c.opt.samples < 0 || !(c.opt.spread >= 0.0)) return KD_ERR_ARGUMENT;

    // x, then points around it, until something is found
    kd_status status = check_create(&c);
    for (int sample = 0; sample <= c.opt.samples && status == KD_OK; sample++) {
        kd_eval answer = make_point(&c, sample);
        if (answer == KD_EVAL_OK) answer = check_point(&c);
        // x itself must be possible; a point around it may lie outside the domain
        if (answer == KD_EVAL_STOP || (answer == KD_EVAL_RETRY && sample == 0)) report_fault(&c);
        if (c.found > 0) status = KD_ERR_CHECK;
    }
    check_release(&c);
    return status;
}
