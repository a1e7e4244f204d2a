// joint_table.c: the curves of a joint by tables (joint/table.h) are found in the model and checked: they must be smooth,
// overlap, move the joint everywhere, and quaternions must be unit ones.
#include <math.h>

#include "model/build.h"
#include "model/element.h"

static const double UNIT = 1e-5;    // how far |e|^2 may be from 1 at a row: numbers of six digits
static const double BETWEEN = 0.1;  // and between rows: then they turn too far from row to row, or change the sign
static const double STANDS = 1e-12; // S.S of the slowest place, to that of the fastest one
enum { PLACES = 400 };              // along the rows, at which the motion is looked at

static const char *const key[KD_TABLE_COLUMNS] = {
    "x", "y", "z", "turn_z", "turn_x", "turn_y", "quaternion_w", "quaternion_x", "quaternion_y", "quaternion_z"};

void kd_fill_joint_table(kd_model *m, int i)
{
    kd_joint        *j = &m->joint[i];
    const kd_curve **into[KD_TABLE_COLUMNS];
    j->table = (kd_joint_table){.mirrored = j->def.mirrored};
    for (int k = 0; k < KD_TABLE_COLUMNS; k++) {
        into[k] = k < 3 ? &j->table.shift[k] : k < 6 ? &j->table.turn[k - 3] : &j->table.quaternion[k - 6];
        *into[k] = j->curve[k] >= 0 ? m->curve[j->curve[k]].curve : NULL;
    }
}

// ---- checks ---------------------------------------------------------------------------------------------------------

// Second derivatives must be continuous: the joint would be hit otherwise
static bool is_smooth(kd_model *m, int i, int column)
{
    const kd_model_curve *c = &m->curve[m->joint[i].curve[column]];
    if (c->def.form == KD_CURVE_SPLINE) return true;
    kd_model_error(
        m, KD_SECTION_JOINT, i, key[column],
        "curve '%s' must be a spline (form: spline): with others the velocity or the acceleration of the joint "
        "jumps at every row",
        c->name);
    return false;
}

// names to curves; false: an error has been told
static bool find_curves(kd_model *m, int i)
{
    kd_joint *j = &m->joint[i];
    bool      fine = true;
    for (int k = 0; k < KD_TABLE_COLUMNS; k++) {
        if (!j->def.curve[k]) continue;
        j->curve[k] = kd_finish_curve(m, KD_SECTION_JOINT, i, key[k], j->def.curve[k]);
        fine = fine && j->curve[k] >= 0 && m->curve[j->curve[k]].curve; // a wrong curve has been told
        if (fine) fine = is_smooth(m, i, k);
    }
    return fine;
}

// turns or a whole quaternion
static bool is_complete(kd_model *m, int i)
{
    const kd_joint *j = &m->joint[i];
    int             shifts = 0, turns = 0, parts = 0;
    for (int k = 0; k < KD_TABLE_COLUMNS; k++) *(k < 3 ? &shifts : k < 6 ? &turns : &parts) += j->curve[k] >= 0;
    if (shifts + turns + parts == 0)
        kd_model_error(m, KD_SECTION_JOINT, i, NULL,
                       "it has no curve: x, y, z, turn_z, turn_x, turn_y or a quaternion");
    else if (parts > 0 && turns > 0)
        kd_model_error(m, KD_SECTION_JOINT, i, key[KD_TABLE_QUATERNION_W], "either turns or a quaternion, not both");
    else if (parts > 0 && parts < 4)
        kd_model_error(m, KD_SECTION_JOINT, i, NULL, "a quaternion has four curves: quaternion_w, _x, _y and _z");
    else
        return true;
    return false;
}

// |e|^2 - 1 at q
static double off_unit(const kd_joint_table *t, double q)
{
    double sum = -1.0;
    for (int k = 0; k < 4; k++) {
        const double e = kd_curve_value(t->quaternion[k], q);
        sum += e * e;
    }
    return sum;
}

// at the rows, and half-way between them
static bool is_unit(kd_model *m, int i)
{
    const kd_joint     *j = &m->joint[i];
    const kd_curve_def *c = &m->curve[j->curve[KD_TABLE_QUATERNION_W]].def;
    // each row, then the middle to the next: a quaternion of other sign passes through 0 there
    for (int row = 0; row < c->n; row++) {
        const double off = off_unit(&j->table, c->x[row]);
        if (!(fabs(off) <= UNIT)) {
            kd_model_error(m, KD_SECTION_JOINT, i, key[KD_TABLE_QUATERNION_W],
                           "the quaternion at q = %.6g has the length %.6g; it must be 1", c->x[row], sqrt(1.0 + off));
            return false;
        }
        if (row + 1 < c->n && !(fabs(off_unit(&j->table, 0.5 * (c->x[row] + c->x[row + 1]))) <= BETWEEN)) {
            kd_model_error(m, KD_SECTION_JOINT, i, key[KD_TABLE_QUATERNION_W],
                           "between q = %.6g and %.6g the quaternion changes its sign or turns too far from row to row",
                           c->x[row], c->x[row + 1]);
            return false;
        }
    }
    return true;
}

// S.S along the rows: nowhere may it stand still
static void check_motion(kd_model *m, int i, double first, double last)
{
    double slowest = INFINITY, fastest = 0.0, at = first;
    for (int k = 0; k <= PLACES; k++) {
        const double q = first + (last - first) * k / PLACES;
        kd_mat3      C;
        kd_vec3      d;
        kd_axis      S[KD_TABLE_AXES];
        kd_joint_table_pose(&m->joint[i].table, q, &C, &d, S);
        const double square = kd_vec_dot(S->w, S->w) + kd_vec_dot(S->u, S->u);
        fastest = fmax(fastest, square);
        if (square < slowest) slowest = square, at = q;
    }
    if (slowest > STANDS * fastest) return;
    kd_model_error(m, KD_SECTION_JOINT, i, NULL,
                   "at q = %.6g none of its curves has a slope: `to` would stand still there", at);
}

// the start, where a curve has no value outside
static void check_start(kd_model *m, int i)
{
    const kd_joint *j = &m->joint[i];
    const kd_curve *c = isnan(j->def.q[0]) ? NULL : kd_joint_table_outside(&j->table, j->def.q[0]);
    double          first, last;
    if (!c || kd_curve_rule(c) != KD_OUTSIDE_ERROR) return;
    kd_curve_ends(c, &first, &last);
    kd_model_error(m, KD_SECTION_JOINT, i, "q",
                   "q = %.6g is outside of the rows of its curves, which go from %.6g to %.6g", j->def.q[0], first,
                   last);
}

void kd_finish_joint_table(kd_model *m, int i, const kd_joint_form *form)
{
    kd_joint *j = &m->joint[i];
    double    first, last;
    for (int k = 0; k < KD_TABLE_COLUMNS; k++) j->curve[k] = -1;
    if (!form->curved || !find_curves(m, i)) return;
    kd_fill_joint_table(m, i);
    if (!is_complete(m, i) || (j->table.quaternion[0] && !is_unit(m, i))) return;
    kd_joint_table_ends(&j->table, &first, &last);
    if (first < last) {
        check_motion(m, i, first, last);
        check_start(m, i);
    } else {
        kd_model_error(m, KD_SECTION_JOINT, i, NULL, "the rows of its curves do not overlap");
    }
}
