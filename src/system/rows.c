// rows.c: constraints as rows 0 = combination of measures.
//
// Joints (frames A: from, B: to; d, C as in pair.h) that close loops, or all of them in Cartesian coordinates:
//
//     fixed        d = 0          C_xy = C_xz = C_yz = 0
//     revolute     d = 0          C_xz = C_yz = 0
//     prismatic    d_x = d_y = 0  C_xy = C_xz = C_yz = 0
//     screw        d_x = d_y = 0  C_xz = C_yz = 0, d_z = lead * angle
//     cylindrical  d_x = d_y = 0  C_xz = C_yz = 0
//     universal    d = 0          C_zx = 0
//     planar       d_z = 0        C_xz = C_yz = 0
//     spherical    d = 0
//     constant_velocity: d = 0, C_yx - C_xy = 0; free and cardan hold nothing
//
// and coordinate = motion(t) for rheonomic ones that the tree does not prescribe. Behind all others stand one-sided
// rows g >= 0 of stops and contacts with restitution: q - lower, upper - q, d_z - radius.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/constraint.h"
#include "element/force.h"

// ---- making rows ----------------------------------------------------------------------------------------------------

// "joint 'hinge' shift along x": kind, element, what
static void name_row(kd_row_builder *b, kd_row *row, const char *what)
{
    size_t size = strlen(b->kind) + strlen(b->element) + strlen(what) + 8;
    char  *name = kd_arena_cut(&b->s->arena, size, 1);
    if (!name)
        b->status = KD_ERR_MEMORY;
    else
        kd_text(name, size, "%s '%s' %s", b->kind, b->element, what);
    row->name = name;
    row->joint = b->joint;
    row->constraint = b->constraint;
    row->component = b->component++;
}

// 0 = sum coefficient * slot - offset
kd_row *kd_row_linear(kd_row_builder *b, bool nonholonomic, int nterms, const int *slot, const double *coefficient,
                      const char *what)
{
    if (b->status != KD_OK) return NULL;
    kd_row *row = kd_system_new_row(b->s, nonholonomic);
    if (!row) {
        b->status = KD_ERR_MEMORY;
        return NULL;
    }
    row->nterms = nterms;
    row->slot = kd_cut_int(&b->s->arena, nterms);
    row->coefficient = kd_cut_double(&b->s->arena, nterms);
    if (!row->slot || !row->coefficient) {
        b->status = KD_ERR_MEMORY;
        row->nterms = 0;
        return NULL;
    }
    // a slot below 0 could not be made
    for (int i = 0; i < nterms; i++) {
        if (slot[i] < 0) b->status = KD_ERR_MEMORY;
        row->slot[i] = slot[i];
        row->coefficient[i] = coefficient[i];
    }
    name_row(b, row, what);
    return row;
}

kd_row *kd_row_measure(kd_row_builder *b, int measure, const char *what)
{
    int slot = measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 0);
    return kd_row_linear(b, false, 1, &slot, (const double[]){1.0}, what);
}

int kd_row_shift(kd_row_builder *b, int pair, int i)
{
    return kd_system_measure(b->s, &(kd_measure){KD_MEASURE_SHIFT, .pair = pair, .dof = -1, .i = i, .turns = -1});
}

int kd_row_cosine(kd_row_builder *b, int pair, int i, int j)
{
    return kd_system_measure(b->s,
                             &(kd_measure){KD_MEASURE_COSINE, .pair = pair, .dof = -1, .i = i, .j = j, .turns = -1});
}

static void fill_expression(kd_row_builder *b, kd_row *row, kd_expr *expr)
{
    row->expr = expr;
    row->nterms = kd_expr_slot_count(expr);
    row->slot = kd_cut_int(&b->s->arena, row->nterms);
    if (!row->slot)
        b->status = KD_ERR_MEMORY;
    else
        for (int i = 0; i < row->nterms; i++) row->slot[i] = kd_expr_slot(expr, i);
}

kd_row *kd_row_expression(kd_row_builder *b, bool nonholonomic, const char *text, const kd_source *source,
                          const kd_local *local, int nlocal, const char *what)
{
    kd_expr *expr = NULL;
    if (b->status != KD_OK) return NULL;
    for (int i = 0; i < nlocal; i++)
        if (local[i].slot == -1) b->status = KD_ERR_MEMORY;
    if (b->status == KD_OK)
        b->status = kd_system_compile(b->s, text, b->element, source, false, local, nlocal, &expr, b->message, b->size);
    kd_row *row = b->status == KD_OK ? kd_system_new_row(b->s, nonholonomic) : NULL;
    if (!row) {
        if (b->status == KD_OK) b->status = KD_ERR_MEMORY;
        return NULL;
    }
    // terms are all variables of the expression
    fill_expression(b, row, expr);
    name_row(b, row, what);
    return row;
}

void kd_row_motion(kd_row_builder *b, kd_row *row, const char *text, const kd_source *source)
{
    kd_expr *expr = NULL;
    b->status = kd_system_compile(b->s, text, b->element, source, false, NULL, 0, &expr, b->message, b->size);
    if (b->status == KD_OK) fill_expression(b, row, expr);
}

// The numbers of a row that come from the model, when it is made and when parameters change
void kd_row_set(const kd_system *s, kd_row *row)
{
    const kd_model      *m = s->model;
    const kd_joint      *j = row->joint >= 0 ? &m->joint[row->joint] : NULL;
    const kd_constraint *c = row->constraint >= 0 ? &m->constraint[row->constraint] : NULL;
    if (row->offset_of) row->offset = row->cosine ? cos(*row->offset_of) : *row->offset_of;
    if (row->offset_of && row->one_sided) row->offset *= row->coefficient[0];
    if (row->coefficient_of) memcpy(row->coefficient, row->coefficient_of, (size_t)row->nterms * sizeof(double));
    if (row->scale_of) row->scale = *row->scale_of;
    if (row->restitution_of) row->restitution = *row->restitution_of;
    if (j && kd_joint_form_of(j->def.kind).lead && row->nterms == 2)
        row->coefficient[1] = -j->def.pitch / (2.0 * KD_PI);
    if (c && row->wheel)
        kd_wheel_create(row->wheel, &c->def.rail, c->wheel_curve >= 0 ? m->curve[c->wheel_curve].curve : NULL,
                        c->rail_curve >= 0 ? m->curve[c->rail_curve].curve : NULL);
}

// ---- joints ---------------------------------------------------------------------------------------------------------
// One row of the turns that a joint holds: C_ij = 0, or C_ji - C_ij = 0 with `twist`.
typedef struct held_turn {
    int         i, j;
    bool        twist;
    const char *what;
} held_turn;

// No turn: none of C_xy, C_xz, C_yz. One, about i: the axis i of B has no components along the others of A. Two, about
// i and j: axis i of A is normal to axis j of B. Half about i, j, half about i: no twist about the third axis.
static int held_turns(const kd_joint_form *f, held_turn held[3])
{
    static const char *const about[] = {"turn about x", "turn about y", "turn about z"};
    const int                i = f->turn[0], j = f->turn[1];
    int                      n = 0;
    if (f->ball) return 0;
    if (f->nturns == 0) {
        held[n++] = (held_turn){0, 1, .what = about[2]};
        held[n++] = (held_turn){0, 2, .what = about[1]};
        held[n++] = (held_turn){1, 2, .what = about[0]};
    }
    for (int k = 0; k < 3 && f->nturns == 1; k++)
        if (k != i) held[n++] = (held_turn){k, i, .what = about[3 - i - k]};
    if (f->nturns == 2) held[n++] = (held_turn){i, j, .what = "angle between the axes"};
    if (f->folds) held[n++] = (held_turn){i, j, true, "twist"};
    return n;
}

static void hold_turn(kd_row_builder *b, int pair, const held_turn *h)
{
    if (!h->twist) {
        kd_row_measure(b, kd_row_cosine(b, pair, h->i, h->j), h->what);
        return;
    }
    int ji = kd_row_cosine(b, pair, h->j, h->i), ij = kd_row_cosine(b, pair, h->i, h->j);
    if (ji < 0 || ij < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    // 0.5 (C_ji - C_ij): the sine of a twist alone
    int slot[] = {kd_system_slot(b->s, KD_SLOT_MEASURE, ji, 0), kd_system_slot(b->s, KD_SLOT_MEASURE, ij, 0)};
    kd_row_linear(b, false, 2, slot, (const double[]){0.5, -0.5}, h->what);
}

// Shift and turn of a word with a lead belong together.
static void hold_lead(kd_row_builder *b, int joint, int pair, const kd_joint_form *f)
{
    const kd_letter *letter = f->word;
    while (letter->scale != KD_LEAD) letter++;
    int along = kd_row_shift(b, pair, kd_letter_axis(letter)),
        angle = kd_system_joint_coordinate(b->s, joint, letter->coordinate);
    if (along < 0 || angle < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    // 0 = shift - lead * angle
    int     slot[] = {kd_system_slot(b->s, KD_SLOT_MEASURE, along, 0), kd_system_slot(b->s, KD_SLOT_MEASURE, angle, 0)};
    kd_row *row = kd_row_linear(b, false, 2, slot, (const double[]){1.0, 0.0}, "advance of the screw");
    if (row) kd_row_set(b->s, row); // the lead
}

static void close_joint(kd_row_builder *b, int joint)
{
    static const char *const shift_word[] = {"shift along x", "shift along y", "shift along z"};
    const kd_joint_form      form = kd_joint_form_of(b->s->model->joint[joint].def.kind);
    held_turn                held[3];
    int                      pair = kd_system_joint_pair(b->s, joint), n = held_turns(&form, held);
    if (pair < 0) b->status = KD_ERR_MEMORY;
    // shifts that it does not have, turns that it holds, lead; the columns of a table
    if (form.curved && b->status == KD_OK && kd_row_table(b, joint, pair)) n = 0;
    for (int i = 0; i < 3 && !form.curved && b->status == KD_OK; i++)
        if (!(form.shifts >> i & 1)) kd_row_measure(b, kd_row_shift(b, pair, i), shift_word[i]);
    for (int i = 0; i < n && b->status == KD_OK; i++) hold_turn(b, pair, &held[i]);
    if (form.lead && b->status == KD_OK) hold_lead(b, joint, pair, &form);
}

void kd_row_move(kd_row_builder *b, kd_row *row, const char *motion, const char *name, const kd_source *source)
{
    kd_expr *target = NULL;
    if (!motion || b->status != KD_OK) return;
    b->status = kd_system_compile(b->s, motion, name, source, false, NULL, 0, &target, b->message, b->size);
    if (b->status == KD_OK) row->target = target;
}

static void prescribe(kd_row_builder *b, int joint, int i)
{
    const kd_joint *j = &b->s->model->joint[joint];
    kd_expr        *motion = NULL;
    if (!j->def.motion[i] || b->status != KD_OK) return;
    b->status =
        kd_system_compile(b->s, j->def.motion[i], j->name, &j->source, false, NULL, 0, &motion, b->message, b->size);
    if (b->status != KD_OK) return;
    // a dof of the tree is prescribed there; otherwise by a row of its own
    int dof = kd_edge_dof(b->s, joint, i);
    if (dof >= 0 && b->s->tree.dof_v[dof] < 0) {
        b->s->motion[dof] = motion;
        return;
    }
    kd_row *row = kd_row_measure(b, kd_system_joint_coordinate(b->s, joint, i), "prescribed motion");
    if (row) row->target = motion;
}

// ---- constraints and forces -----------------------------------------------------------------------------------------
static void add_constraint(kd_row_builder *b, const kd_constraint *c)
{
    const kd_constraint_class *class = kd_constraints[c->def.kind];
    const int pair = class->element.placeless ? -1 : kd_system_pair(b->s, &c->from, &c->to);
    if (!class->element.placeless && pair < 0)
        b->status = KD_ERR_MEMORY;
    else
        class->make(b, c, pair);
}

// Dry friction holds the rate of a measure while it sticks
void kd_row_sticking(kd_row_builder *b, int force, int measure, const double *scale)
{
    int     slot = measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 1);
    kd_row *row = kd_row_linear(b, true, 1, &slot, (const double[]){1.0}, "sticking");
    if (!row) return;
    row->force = force;
    row->scale_of = scale;
    row->direction = kd_system_add_z(b->s, 1);
    kd_row_set(b->s, row);
}

void kd_row_lift_off(kd_row_builder *b, kd_row *row, const double *restitution)
{
    if (!row) return;
    row->one_sided = true;
    row->restitution_of = restitution;
    kd_row_set(b->s, row);
    b->s->none_sided++;
}

// factor * (measure - offset) >= 0
kd_row *kd_row_one_sided(kd_row_builder *b, int force, int measure, double factor, const double *offset,
                         const double *restitution, const char *what)
{
    int     slot = measure < 0 ? -1 : kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 0);
    kd_row *row = kd_row_linear(b, false, 1, &slot, &factor, what);
    if (!row) return NULL;
    row->offset_of = offset;
    row->force = force;
    kd_row_lift_off(b, row, restitution);
    return row;
}

bool kd_constraint_lifts_off(const kd_constraint_def *def)
{
    return kd_constraints[def->kind]->make_one_sided && !isnan(def->restitution);
}

static void add_one_sided(kd_row_builder *b, const kd_constraint *c)
{
    const kd_constraint_class *class = kd_constraints[c->def.kind];
    if (!kd_constraint_lifts_off(&c->def)) return;
    const int pair = class->element.placeless ? -1 : kd_system_pair(b->s, &c->from, &c->to);
    if (!class->element.placeless && pair < 0)
        b->status = KD_ERR_MEMORY;
    else
        class->make_one_sided(b, c, pair);
}

kd_status kd_system_rows(kd_system *s, char *message, size_t size)
{
    const kd_model *m = s->model;
    kd_row_builder  b = {.s = s, .joint = -1, .constraint = -1, .message = message, .size = size};
    s->motion = kd_arena_cut(&s->arena, (size_t)s->tree.ndof, sizeof *s->motion);
    s->constraint_row = kd_cut_int(&s->arena, m->nconstraints);
    s->wheel = kd_arena_cut(&s->arena, (size_t)m->nconstraints, sizeof *s->wheel);
    s->touch = kd_arena_cut(&s->arena, (size_t)(m->nconstraints + m->nforces), sizeof *s->touch);
    if (s->arena.failed) return KD_ERR_MEMORY;
    // joints that close loops, and prescribed motions
    for (int j = 0; j < m->njoints && b.status == KD_OK; j++) {
        b.joint = j, b.component = 0, b.kind = "joint", b.element = m->joint[j].name;
        s->edge[j].row = s->nrows_g;
        if (s->edge[j].link == 0) close_joint(&b, j);
        for (int i = 0; i < kd_joint_coordinates(m->joint[j].def.kind); i++) prescribe(&b, j, i);
        s->edge[j].nrows = s->nrows_g - s->edge[j].row;
    }
    b.joint = -1;
    // constraints
    for (int c = 0; c < m->nconstraints && b.status == KD_OK; c++) {
        b.constraint = c, b.component = 0, b.kind = "constraint", b.element = m->constraint[c].name;
        s->constraint_row[c] = s->nrows_g;
        add_constraint(&b, &m->constraint[c]);
    }
    // one-sided rows last, behind all that always hold; start values do without them
    for (int c = 0; c < m->nconstraints && b.status == KD_OK && !s->for_start; c++) {
        b.constraint = c, b.component = 0, b.kind = "constraint", b.element = m->constraint[c].name;
        add_one_sided(&b, &m->constraint[c]);
    }
    b.constraint = -1;
    for (int i = 0; i < m->nforces && b.status == KD_OK && !s->for_start; i++) {
        const kd_force_class *class = kd_forces[m->force[i].def.kind];
        b.component = 0, b.kind = "force", b.element = m->force[i].name;
        if (class->rows) class->rows(&b, i);
    }
    return b.status == KD_OK ? kd_system_invariants(s, &b) : b.status;
}

// The row of g that is row `number` of a constraint; -1: it is none of g
int kd_system_row_of(const kd_system *s, int constraint, int number)
{
    // rows that always hold stand together, one-sided ones behind all of them
    for (int i = s->constraint_row[constraint]; i < s->nrows_g && s->row_g[i].constraint == constraint; i++)
        if (s->row_g[i].component == number) return i;
    for (int i = s->nrows_g - s->none_sided; i < s->nrows_g; i++)
        if (s->row_g[i].constraint == constraint && s->row_g[i].component == number) return i;
    return -1;
}

// Its multiplier as it is read: 0 where it was left out as redundant
double kd_row_hold(const kd_system *s, int row, const double *lambda)
{
    const int place = s->lambda_of[row];
    if (place < 0 || !lambda) return 0.0;
    return s->row_g[row].reversed ? -lambda[place] : lambda[place];
}

// ---- evaluation -----------------------------------------------------------------------------------------------------
static kd_jet target_jet(const kd_row *row, kd_work *w)
{
    return row->target ? kd_expr_jet(row->target, w->jet, w->expr_work) : kd_jet_const(0.0);
}

kd_jet kd_row_contact_jet(const kd_row *row, kd_work *w, double xi_d)
{
    kd_jet in[KD_WHEEL_INPUTS];
    // in a recording run no wheel is asked
    if (w->recording) return kd_jet_const(0.0);
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) in[i] = w->jet[row->slot[i]];
    const int k = (int)(row->wheel - w->system->wheel);
    return row->wheel->elastic ? kd_wheel_soft_gap(row->wheel, in, &w->spread[k])
                               : kd_wheel_gap(row->wheel, in, w->xi[k], xi_d);
}

void kd_row_contact(const kd_row *row, kd_work *w, kd_wheel_point *out)
{
    double in[KD_WHEEL_INPUTS];
    *out = (kd_wheel_point){.c_x = {0, 0, 0, 0, 0, 1}};
    if (w->recording) return;
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) in[i] = w->slot[row->slot[i]];
    const int k = (int)(row->wheel - w->system->wheel);
    if (row->wheel->elastic)
        kd_wheel_soft_at(row->wheel, in, &w->spread[k], out);
    else
        kd_wheel_at(row->wheel, in, w->xi[k], out);
}

// g_p - g_xi c_p/c_xi
static void contact_gradient(const kd_row *row, kd_work *w, double *out)
{
    kd_wheel_point at;
    kd_row_contact(row, w, &at);
    double share = at.g_x[KD_WHEEL_INPUTS] / at.c_x[KD_WHEEL_INPUTS];
    for (int i = 0; i < KD_WHEEL_INPUTS; i++) out[i] = at.g_x[i] - share * at.c_x[i];
}

kd_jet kd_row_jet(const kd_row *row, kd_work *w)
{
    if (row->wheel) return kd_row_contact_jet(row, w, 0.0);
    if (row->expr) return kd_expr_jet(row->expr, w->jet, w->expr_work);
    // sum of terms less offset and target
    kd_jet sum = target_jet(row, w);
    sum = kd_jet_sub(kd_jet_const(-row->offset), sum);
    for (int i = 0; i < row->nterms; i++)
        sum = kd_jet_add(sum, kd_jet_scale(row->coefficient[i], w->jet[row->slot[i]]));
    return sum;
}

// A linear row that does not depend on time, without the rest of the jet
double kd_row_value(const kd_row *row, kd_work *w)
{
    if (!row->coefficient || row->target) return kd_row_jet(row, w).x;
    double sum = -row->offset;
    for (int i = 0; i < row->nterms; i++) sum += row->coefficient[i] * w->jet[row->slot[i]].x;
    return sum;
}

double kd_row_rate(const kd_row *row, kd_work *w)
{
    if (!row->coefficient || row->target) return kd_row_jet(row, w).x1;
    double sum = 0.0;
    for (int i = 0; i < row->nterms; i++) sum += row->coefficient[i] * w->jet[row->slot[i]].x1;
    return sum;
}

// Derivatives of the row by its terms.
void kd_row_gradient(const kd_row *row, kd_work *w, double *out)
{
    // by reverse differentiation, by elimination of the contact coordinate, or constant
    if (row->expr)
        (void)kd_expr_gradient(row->expr, w->slot, out, w->expr_work);
    else if (row->wheel)
        contact_gradient(row, w, out);
    else
        memcpy(out, row->coefficient, (size_t)row->nterms * sizeof *out);
}

static double *component(kd_vec3 *a, int i)
{
    return i == 0 ? &a->x : i == 1 ? &a->y : &a->z;
}

// A force along a measure.
void kd_work_apply(kd_work *w, int measure, double force)
{
    const kd_measure *m = &w->system->measure[measure];
    if (m->kind == KD_MEASURE_DOF) {
        w->joint_force[m->dof] += force;
        return;
    }
    kd_wrench *load = &w->pair_load[m->pair];
    kd_vec3    N, F;
    if (m->kind == KD_MEASURE_SHIFT) { // the gradient is a unit vector
        *component(&load->F, m->i) += force;
    } else if (m->kind == KD_MEASURE_LENGTH) {
        load->F = kd_vec_axpy(load->F, force, w->rel[m->pair].n);
    } else if (m->kind == KD_MEASURE_TURN) {
        *component(&load->N, m->i) += force;
    } else {
        kd_measure_gradient(m, &w->rel[m->pair], &N, &F);
        load->N = kd_vec_axpy(load->N, force, N);
        load->F = kd_vec_axpy(load->F, force, F);
    }
}

// Force of a row on the bodies: -multiplier * gradient. Nonholonomic rows act along the measures whose rates they read.
void kd_row_apply(const kd_row *row, bool nonholonomic, kd_work *w, double multiplier)
{
    if (multiplier == 0.0) return;
    kd_row_gradient(row, w, w->small);
    for (int i = 0; i < row->nterms; i++) {
        const kd_slot *slot = &w->system->slot[row->slot[i]];
        if (slot->kind == KD_SLOT_MEASURE && slot->level == (nonholonomic ? 1 : 0))
            kd_work_apply(w, slot->index, -multiplier * w->small[i]);
    }
}
