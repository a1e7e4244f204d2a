// table_rows.c: a joint by tables (joint/table.h) where it is no branch of the tree: in Cartesian coordinates, or closing a
// loop. One of its columns must be the coordinate itself, f_k(q) = q: then q is a measure of its frames, and
//
//     d_i - f_i(q) = 0   for the other shifts,    angle_i - f_i(q) = 0   for the turns about z, x, y (those of a cardan joint)
//
// or, without turns, C_xy = C_xz = C_yz = 0; of a quaternion e(q): D_xy = D_xz = D_yz = 0 with D = R(e(q))' C.
#include <string.h>

#include "core/text.h"
#include "system/system.h"

enum { OF_TURN = KD_TABLE_TURN_Z, COLUMNS = KD_TABLE_QUATERNION_W };

// y = x in all rows: the coordinate itself
static bool is_coordinate(const kd_model *m, int curve)
{
    const kd_curve_def *c = &m->curve[curve].def;
    for (int i = 0; i < c->n; i++)
        if (c->y[i] != c->x[i]) return false;
    return c->outside == KD_CURVE_EXTRAPOLATE || c->outside == KD_CURVE_ERROR;
}

// in a mirror y, and the turns about z and x
static bool is_reversed(const kd_joint *j, int column)
{
    return j->def.mirrored && (column == KD_TABLE_Y || column == KD_TABLE_TURN_Z || column == KD_TABLE_TURN_X ||
                               column == KD_TABLE_QUATERNION_X || column == KD_TABLE_QUATERNION_Z);
}

// The column that is the coordinate; -1: none
int kd_table_own_column(const kd_model *m, const kd_joint *j)
{
    for (int k = 0; k < COLUMNS; k++)
        if (j->curve[k] >= 0 && !is_reversed(j, k) && is_coordinate(m, j->curve[k])) return k;
    return -1;
}

static int measure_of(kd_system *s, int pair, int column)
{
    const kd_joint_form turns = kd_joint_form_of(KD_CARDAN); // about z, x and y, too
    if (column < OF_TURN)
        return kd_system_measure(s, &(kd_measure){KD_MEASURE_SHIFT, .pair = pair, .dof = -1, .i = column, .turns = -1});
    return kd_system_turn_of_pair(s, pair, &turns, column - OF_TURN);
}

int kd_system_table_coordinate(kd_system *s, int joint, int pair)
{
    const int column = kd_table_own_column(s->model, &s->model->joint[joint]);
    return column < 0 ? -1 : measure_of(s, pair, column);
}

// its measure less its curve of q
static void hold_column(kd_row_builder *b, int joint, int pair, int column, const char *what)
{
    const kd_joint *j = &b->s->model->joint[joint];
    const int       measure = measure_of(b->s, pair, column);
    if (j->curve[column] < 0) {
        kd_row_measure(b, measure, what);
        return;
    }
    const char    *curve = b->s->model->curve[j->curve[column]].name;
    const int      q = kd_system_joint_coordinate(b->s, joint, 0);
    const size_t   size = strlen(curve) + 50;
    char          *text = kd_arena_cut(&b->s->arena, size, 1);
    const kd_local local[] = {{KD_OWN "d", kd_system_slot(b->s, KD_SLOT_MEASURE, measure, 0)},
                              {KD_OWN "q", kd_system_slot(b->s, KD_SLOT_MEASURE, q, 0)}};
    if (!text) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    kd_text(text, size, "%sd %c curve.%s(%sq)", KD_OWN, is_reversed(j, column) ? '+' : '-', curve, KD_OWN);
    (void)kd_row_expression(b, false, text, &j->source, local, 2, what);
}

// A part of the quaternion as a factor: (-name(q))
static void append_part(char *text, size_t size, const kd_model *m, const kd_joint *j, int part)
{
    const int column = KD_TABLE_QUATERNION_W + part;
    kd_text_append(text, size, "(%scurve.%s(%sq))", is_reversed(j, column) ? "-" : "", m->curve[j->curve[column]].name,
                   KD_OWN);
}

// An entry of R(e) |e|^2: e_w^2 + e_i^2 - e_j^2 - e_k^2 on the diagonal, 2 (e_i e_j -+ e_w e_k) beside it
static void append_entry(char *text, size_t size, const kd_model *m, const kd_joint *j, int row, int column)
{
    const int third = 3 - row - column;
    kd_text_append(text, size, "(");
    for (int k = 0; k < 4 && row == column; k++) {
        kd_text_append(text, size, k == 0 ? "" : k == row + 1 ? " + " : " - ");
        append_part(text, size, m, j, k);
        kd_text_append(text, size, "^2");
    }
    if (row != column) {
        kd_text_append(text, size, "2*");
        append_part(text, size, m, j, row + 1);
        kd_text_append(text, size, "*");
        append_part(text, size, m, j, column + 1);
        kd_text_append(text, size, (column - row + 3) % 3 == 1 ? " - 2*" : " + 2*");
        append_part(text, size, m, j, 0);
        kd_text_append(text, size, "*");
        append_part(text, size, m, j, third + 1);
    }
    kd_text_append(text, size, ")");
}

// D_ab = 0, D = R(e(q))' C: column a of R, column b of C
static void hold_quaternion(kd_row_builder *b, int joint, int pair, int a, int of, const char *what)
{
    static const char *const name[3] = {KD_OWN "c1", KD_OWN "c2", KD_OWN "c3"};
    const kd_model          *m = b->s->model;
    const kd_joint          *j = &m->joint[joint];
    const int                q = kd_system_joint_coordinate(b->s, joint, 0);
    kd_local                 local[4] = {{KD_OWN "q", kd_system_slot(b->s, KD_SLOT_MEASURE, q, 0)}};
    size_t                   size = 200;
    for (int k = KD_TABLE_QUATERNION_W; k < KD_TABLE_COLUMNS; k++)
        size += 12 * (strlen(m->curve[j->curve[k]].name) + 30);
    char *text = kd_arena_cut(&b->s->arena, size, 1);
    if (!text) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    text[0] = '\0';
    for (int i = 0; i < 3; i++) {
        local[1 + i] = (kd_local){name[i], kd_system_slot(b->s, KD_SLOT_MEASURE, kd_row_cosine(b, pair, i, of), 0)};
        kd_text_append(text, size, "%s%s*", i > 0 ? " + " : "", name[i]);
        append_entry(text, size, m, j, i, a);
    }
    (void)kd_row_expression(b, false, text, &j->source, local, 4, what);
}

// Told where the joint cannot be a constraint
static void refuse_joint(kd_row_builder *b, const kd_joint *j)
{
    b->status = KD_ERR_MODEL;
    if (j->source.file) kd_text(b->message, b->size, "%s:%d: ", j->source.file, j->source.line);
    kd_text_append(
        b->message, b->size,
        "joint '%s': as a constraint (in Cartesian coordinates, or where it closes a loop) a joint by tables must "
        "have one curve that is its coordinate itself, y = x in all rows; use joint coordinates, or cut another "
        "joint",
        j->name);
}

bool kd_row_table(kd_row_builder *b, int joint, int pair)
{
    static const char *const what[COLUMNS] = {"table of x",
                                              "table of y",
                                              "table of z",
                                              "table of the turn about z",
                                              "table of the turn about x",
                                              "table of the turn about y"};
    static const char *const of_turns[3] = {"table of the turn about z", "table of the turn about y",
                                            "table of the turn about x"};
    const kd_joint          *j = &b->s->model->joint[joint];
    const int                own = kd_table_own_column(b->s->model, j);
    // no column is the coordinate itself: its value is not known from the frames
    if (own < 0) {
        refuse_joint(b, j);
        return true;
    }
    // turns by a quaternion: three rows of it, and the shifts
    if (j->curve[KD_TABLE_QUATERNION_W] >= 0) {
        for (int k = 0; k < OF_TURN && b->status == KD_OK; k++)
            if (k != own) hold_column(b, joint, pair, k, what[k]);
        for (int k = 0; k < 3 && b->status == KD_OK; k++)
            hold_quaternion(b, joint, pair, k / 2, 1 + (k + 1) / 2, of_turns[k]);
        return true;
    }
    // turns by angles, or shifts alone
    bool turns = false;
    for (int k = OF_TURN; k < COLUMNS; k++) turns = turns || j->curve[k] >= 0;
    for (int k = 0; k < (turns ? COLUMNS : OF_TURN) && b->status == KD_OK; k++)
        if (k != own) hold_column(b, joint, pair, k, what[k]);
    return turns;
}
