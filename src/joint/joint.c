// joint.c: the table of joint kinds, and what follows from their words.
//
// With the first two different axes i, j of the turns, k the third and e = 1, -1 where i j k is even, odd:
//
//     turn i:       C e_j = cos a e_j + e sin a e_k
//     turns i j:    C e_j = cos a e_j + e sin a e_k,   e_i'C = cos b e_i' + e sin b e_k'
//     turns i j k:  C e_k = cos b (cos a e_k - e sin a e_j) + e sin b e_i,   e_i'C = cos b (cos c e_i' - e sin c e_j') + ...
//     i/2 j i/2:    quaternion (cos b/2 cos a/2, cos b/2 sin a/2 [i], sin b/2 [j], 0 [k]): no twist about k
#include "joint/joint.h"

#include "joint/place.h"
#include "joint/table.h"

// ---- the table ------------------------------------------------------------------------------------------------------

typedef struct joint_row {
    kd_letter word[KD_MAX_LETTERS + 1];
    bool      ball;
    bool      curved, angle; // joint.h
} joint_row;

enum { Tx = KD_SHIFT_X, Ty = KD_SHIFT_Y, Tz = KD_SHIFT_Z, Rx = KD_TURN_X, Ry = KD_TURN_Y, Rz = KD_TURN_Z };

// kind, how it is written, what its coordinates are; the word: {motion, coordinate, how much of it}, in the order from A to B
// clang-format off
#define JOINTS(ROW) \
    ROW(KD_FIXED,       "fixed",       "no motion", {{0}}) \
    ROW(KD_REVOLUTE,    "revolute",    "q: angle about z", {{Rz, 0, KD_WHOLE}}) \
    ROW(KD_PRISMATIC,   "prismatic",   "q: shift along z", {{Tz, 0, KD_WHOLE}}) \
    ROW(KD_SCREW,       "screw",       "q: angle about z, with a shift of `pitch` per turn along z", \
        {{Rz, 0, KD_WHOLE}, {Tz, 0, KD_LEAD}}) \
    ROW(KD_CYLINDRICAL, "cylindrical", "q1: angle about z, q2: shift along z", {{Rz, 0, KD_WHOLE}, {Tz, 1, KD_WHOLE}}) \
    ROW(KD_UNIVERSAL,   "universal",   "q1: angle about z of `from`, q2: angle about x of `to`", {{Rz, 0, KD_WHOLE}, {Rx, 1, KD_WHOLE}}) \
    ROW(KD_PLANAR,      "planar",      "q1, q2: shifts along x and y of `from`, q3: angle about z", \
        {{Tx, 0, KD_WHOLE}, {Ty, 1, KD_WHOLE}, {Rz, 2, KD_WHOLE}}) \
    ROW(KD_SPHERICAL,   "spherical",   "unit quaternion, scalar first", {{0}}, .ball = true) \
    ROW(KD_FREE,        "free",        "three shifts along the axes of `from`, then a unit quaternion", \
        {{Tx, 0, KD_WHOLE}, {Ty, 1, KD_WHOLE}, {Tz, 2, KD_WHOLE}}, .ball = true) \
    ROW(KD_CARDAN,      "cardan", \
        "q1, q2, q3: shifts along the axes of `from`, q4, q5, q6: turns about z, x and y, each carried by those before", \
        {{Tx, 0, KD_WHOLE}, {Ty, 1, KD_WHOLE}, {Tz, 2, KD_WHOLE}, {Rz, 3, KD_WHOLE}, {Rx, 4, KD_WHOLE}, {Ry, 5, KD_WHOLE}}) \
    ROW(KD_CONSTANT_VELOCITY, "constant_velocity", \
        "bends without twist about z; q1: bend about x, half of it before and half behind q2: bend about y", \
        {{Rx, 0, KD_HALF}, {Ry, 1, KD_WHOLE}, {Rx, 0, KD_HALF}}) \
    ROW(KD_LEFT_CYLINDRICAL, "left_cylindrical", "q1: angle about z, q2: shift against z; a cylindrical joint in a mirror", \
        {{Rz, 0, KD_WHOLE}, {Tz, 1, KD_BACK}}) \
    ROW(KD_LEFT_FREE,   "left_free",   "three shifts against the axes of `from`, then a unit quaternion; a free joint in a mirror", \
        {{Tx, 0, KD_BACK}, {Ty, 1, KD_BACK}, {Tz, 2, KD_BACK}}, .ball = true) \
    ROW(KD_LEFT_CARDAN, "left_cardan", \
        "q1, q2, q3: shifts against the axes of `from`, q4, q5, q6: turns about z, x and y; a cardan joint in a mirror", \
        {{Tx, 0, KD_BACK}, {Ty, 1, KD_BACK}, {Tz, 2, KD_BACK}, {Rz, 3, KD_WHOLE}, {Rx, 4, KD_WHOLE}, {Ry, 5, KD_WHOLE}}) \
    ROW(KD_TABLE,       "table",       "q: a length on which curves make position and orientation of `to` in `from` depend", \
        {{0}}, .curved = true) \
    ROW(KD_ANGLE_TABLE, "angle_table", "q: an angle on which curves make position and orientation of `to` in `from` depend", \
        {{0}}, .curved = true, .angle = true)

#define AS_ROW(kind, text, sentence, ...) [kind] = {.word = __VA_ARGS__},
#define AS_WORD(kind, text, sentence, ...) [kind] = {text, sentence},
static const joint_row row[KD_JOINT_KIND_COUNT] = {JOINTS(AS_ROW)};
const kd_kind_word     kd_joint_words[KD_JOINT_KIND_COUNT] = {JOINTS(AS_WORD)};
// clang-format on

// ---- counts ---------------------------------------------------------------------------------------------------------

// does the word turn about the axis of its first turn again, behind another one?
static bool word_folds(const kd_joint_form *f)
{
    return f->nturns == 3 && f->turn[0] == f->turn[2];
}

kd_joint_form kd_joint_form_of(kd_joint_kind kind)
{
    static const joint_row none = {.ball = false}; // of a kind that does not exist: models are checked for that
    const joint_row       *r = (int)kind >= 0 && kind < KD_JOINT_KIND_COUNT ? &row[kind] : &none;
    kd_joint_form          f = {.word = r->word, .ball = r->ball, .curved = r->curved, .angle = r->angle};
    // letters are counted: coordinates by the largest number, turns in their order, shifts as a set of axes
    for (const kd_letter *l = r->word; l->motion; l++) {
        f.nletters++;
        if (l->coordinate >= f.nscalars) f.nscalars = (short)(l->coordinate + 1);
        if (l->scale == KD_LEAD) f.lead = true;
        if (kd_letter_turns(l))
            f.turn[f.nturns++] = (signed char)kd_letter_axis(l);
        else
            f.shifts |= (unsigned char)(1u << kd_letter_axis(l));
    }
    // scalars first, then the quaternion: four positions, three velocities
    if (f.curved) f.nscalars = 1;
    f.ndof = (short)(f.nscalars + (f.ball ? 3 : 0));
    f.nposition = (short)(f.nscalars + (f.ball ? 4 : 0));
    // shapes of words that kernels know by themselves
    f.hinge = f.nletters == 1 && r->word[0].motion == KD_TURN_Z && !f.ball;
    f.floats = r->word[0].motion == KD_SHIFT_X && r->word[1].motion == KD_SHIFT_Y && r->word[2].motion == KD_SHIFT_Z;
    f.folds = word_folds(&f);
    return f;
}

bool kd_joint_turns(kd_joint_kind kind, int i)
{
    for (const kd_letter *l = row[kind].word; l->motion; l++)
        if (l->coordinate == i) return kd_letter_turns(l);
    return row[kind].angle;
}

bool kd_joint_has_one_axis(const kd_joint_form *f, int *axis)
{
    const int first = kd_letter_axis(f->word);
    for (const kd_letter *l = f->word; l->motion; l++)
        if (kd_letter_axis(l) != first) return false;
    if (axis) *axis = first;
    return f->nletters > 0 && !f->ball;
}

bool kd_joint_is_cross(const kd_joint_form *f)
{
    return f->nturns == 2 && f->shifts == 0 && !f->ball;
}

// ---- axes -----------------------------------------------------------------------------------------------------------

static kd_vec3 unit(int i)
{
    return kd_vec(i == 0, i == 1, i == 2);
}

static double entry(const kd_mat3 *C, int i, int j)
{
    const kd_vec3 c = kd_column(C, j);
    return i == 0 ? c.x : i == 1 ? c.y : c.z;
}

static void set_column(kd_mat3 *A, int j, kd_vec3 a)
{
    *(j == 0 ? &A->x : j == 1 ? &A->y : &A->z) = a;
}

// i, j, k of the head of this file; the sign of their order
static double order_of(const kd_joint_form *f, int *i, int *j, int *k)
{
    *i = f->turn[0];
    *j = f->nturns > 1 ? f->turn[1] : (*i + 1) % 3;
    *k = 3 - *i - *j;
    return (*j - *i + 3) % 3 == 1 ? 1.0 : -1.0;
}

// first coordinate that is an angle: those of the turns follow each other
static int first_turn(const kd_joint_form *f)
{
    for (const kd_letter *l = f->word; l->motion; l++)
        if (kd_letter_turns(l)) return l->coordinate;
    return f->nscalars;
}

static int count_angles(const kd_joint_form *f)
{
    return f->folds ? 2 : f->nturns;
}

// Motions of the angles, axes of A: the first axis is one of A, the last one of B, the one between is normal to both.
static void turn_axes(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 S[3])
{
    int          i, j, k;
    const double e = order_of(f, &i, &j, &k);
    S[0] = unit(i);
    // a fold turns about two axes at once, without twist: both motions lie between the axes of A and B
    if (f->folds) {
        double x[6];
        kd_joint_coordinates_of_pose(f, C, kd_vec(0, 0, 0), x);
        const double half = 0.5 * x[first_turn(f)];
        S[1] = kd_vec_axpy(kd_vec_scale(cos(half), unit(j)), e * sin(half), unit(k));
        S[0] = kd_vec_scale(0.5, kd_vec_add(S[0], kd_column(C, i)));
        return;
    }
    // two turns: the second axis is one of B; three: the line of nodes stands between first and last
    if (f->nturns == 2) S[1] = kd_column(C, j);
    if (f->nturns < 3) return;
    const kd_vec3 nodes = kd_vec_cross(kd_column(C, k), S[0]);
    S[1] = kd_vec_scale(e / kd_vec_norm(nodes), nodes);
    S[2] = kd_column(C, k);
}

// D_a . S_b = 1 for a = b, 0 otherwise; two axes are normal to each other in all words
static void dual_axes(int n, const kd_vec3 S[3], kd_vec3 D[3])
{
    if (n < 3) {
        for (int a = 0; a < n; a++) D[a] = kd_vec_scale(1.0 / kd_vec_dot(S[a], S[a]), S[a]);
        return;
    }
    const kd_vec3 first = kd_vec_cross(S[1], S[2]);
    const double  volume = kd_vec_dot(S[0], first);
    D[0] = kd_vec_scale(1.0 / volume, first);
    D[1] = kd_vec_scale(1.0 / volume, kd_vec_cross(S[2], S[0]));
    D[2] = kd_vec_scale(1.0 / volume, kd_vec_cross(S[0], S[1]));
}

// ---- backwards ------------------------------------------------------------------------------------------------------

// Letters along one axis: half a turn about the next one. Turns only: the last axis takes the place of the first, both
// the other way round. The word backwards must be the word: the motion of each letter, and how much of its coordinate.
bool kd_joint_reversal(const kd_joint_form *f, kd_mat3 *turn, int other[6])
{
    int axis;
    *turn = kd_mat_identity();
    for (int i = 0; i < 6; i++) other[i] = i;
    if (f->nletters == 0) return true;
    // one axis: half a turn about a normal of it turns it round
    if (kd_joint_has_one_axis(f, &axis)) {
        for (int i = 0; i < 3; i++)
            if (i != (axis + 1) % 3) set_column(turn, i, kd_vec_neg(unit(i)));
        return true;
    }
    // turns: the last axis takes the place of the first, which a palindrome allows
    if (f->ball || f->shifts != 0) return false;
    const kd_letter *first = f->word, *last = f->word + f->nletters - 1;
    for (; first <= f->word + f->nletters - 1; first++, last--) {
        if (first->scale != last->scale) return false;
        other[first->coordinate] = last->coordinate;
        set_column(turn, kd_letter_axis(first), kd_vec_neg(unit(kd_letter_axis(last))));
    }
    // the axis between follows from the two others
    int i, j, k;
    order_of(f, &i, &j, &k);
    set_column(turn, k, kd_vec_cross(kd_column(turn, (k + 1) % 3), kd_column(turn, (k + 2) % 3)));
    return true;
}

// ---- in a mirror ----------------------------------------------------------------------------------------------------

// the letter whose shift goes the other way round where its axis does
static kd_letter image_of(kd_letter l, const double sign[3])
{
    if (l.motion && !kd_letter_turns(&l) && l.scale != KD_LEAD && sign[kd_letter_axis(&l)] < 0.0)
        l.scale = l.scale == KD_BACK ? KD_WHOLE : KD_BACK;
    return l;
}

// A turn about an axis is the same turn about the axis that points against its image; a shift is one along the image.
// An axis that does both turns round, and the shift is counted back: those kinds come in pairs.
kd_joint_kind kd_joint_image(kd_joint_kind kind, double sign[3])
{
    const kd_joint_form f = kd_joint_form_of(kind);
    if (f.curved) { // as table.h has it
        sign[0] = sign[2] = 1.0, sign[1] = -1.0;
        return kind;
    }
    // sign of each axis in the image: those of turns point back
    for (int i = 0; i < 3; i++) sign[i] = f.ball ? -1.0 : 1.0;
    for (int i = 0; i < f.nturns; i++) sign[f.turn[i]] = -1.0;
    if (sign[0] * sign[1] * sign[2] > 0.0) { // one more, of an axis along which nothing is counted
        int free = 1;
        while (f.shifts >> free & 1 || sign[free] < 0.0) free = (free + 1) % 3;
        sign[free] = -1.0;
    }
    // the kind whose word is the image, letter by letter
    for (int k = 0; k < KD_JOINT_KIND_COUNT; k++) {
        bool same = row[k].ball == f.ball;
        for (int i = 0; i <= f.nletters && same; i++) {
            const kd_letter a = image_of(f.word[i], sign), b = row[k].word[i];
            same = a.motion == b.motion && a.coordinate == b.coordinate && a.scale == b.scale;
        }
        if (same) return (kd_joint_kind)k;
    }
    return kind; // not reached: every kind has its image in the table
}

// ---- poses ----------------------------------------------------------------------------------------------------------

void kd_joint_pose(const kd_joint_form *f, double lead, const double *x, kd_mat3 *C, kd_vec3 *d, kd_axis *axis)
{
    double  c[3], s[3];
    kd_axis own[6], letter[KD_MAX_LETTERS];
    int     n = 0;
    if (f->curved) {
        kd_joint_table_pose(f->table, x[0], C, d, own);
        if (axis) axis[0] = own[0];
        return;
    }
    // cosine and sine of each turn, in the order of the word
    for (const kd_letter *l = f->word; l->motion; l++) {
        if (!kd_letter_turns(l)) continue;
        const double angle = kd_letter_factor(l, lead) * x[l->coordinate];
        c[n] = cos(angle);
        s[n++] = sin(angle);
    }
    *C = kd_mat_identity();
    *d = kd_vec(0, 0, 0);
    kd_joint_place(f, lead, x, c, s, axis ? axis : own, letter, C, d);
}

static void angles_of_pose(const kd_joint_form *f, const kd_mat3 *C, double *x)
{
    int          i, j, k;
    const double e = order_of(f, &i, &j, &k);
    // a fold by its quaternion, of which q and -q are the same turn
    if (f->folds) {
        const kd_quat q = kd_quat_of_matrix(C);
        const double  p[3] = {q.x, q.y, q.z};
        x[0] = 2.0 * atan2(q.w < 0.0 ? -p[i] : p[i], fabs(q.w));
        x[1] = 2.0 * atan2(q.w < 0.0 ? -p[j] : p[j], hypot(q.w, p[i]));
        // one, two, three angles by entries of C that hold no other one
    } else if (f->nturns == 1) {
        x[0] = atan2(e * (entry(C, k, j) - entry(C, j, k)), entry(C, j, j) + entry(C, k, k));
    } else if (f->nturns == 2) {
        x[0] = atan2(e * entry(C, k, j), entry(C, j, j));
        x[1] = atan2(e * entry(C, i, k), entry(C, i, i));
    } else if (f->nturns == 3) {
        x[0] = atan2(-e * entry(C, j, k), entry(C, k, k));
        x[1] = atan2(e * entry(C, i, k), hypot(entry(C, j, k), entry(C, k, k)));
        x[2] = atan2(-e * entry(C, i, j), entry(C, i, i));
    }
}

// Is it a coordinate for itself?
static bool is_own_shift(const kd_letter *l)
{
    return !kd_letter_turns(l) && (l->scale == KD_WHOLE || l->scale == KD_BACK);
}

void kd_joint_coordinates_of_pose(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, double *x)
{
    const double shift[3] = {d.x, d.y, d.z};
    if (f->curved) x[0] = kd_joint_table_coordinate(f->table, C, d);
    for (const kd_letter *l = f->word; l->motion; l++)
        if (is_own_shift(l)) x[l->coordinate] = kd_letter_factor(l, 0.0) * shift[kd_letter_axis(l)];
    if (f->nturns > 0) angles_of_pose(f, C, x + first_turn(f));
    if (f->ball) kd_quat_to(kd_quat_of_matrix(C), x + f->nscalars);
}

// the motion of a curved joint at a pose that it can reach, and S.S
static kd_axis curved_motion(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, double *square)
{
    const double q = kd_joint_table_coordinate(f->table, C, d);
    kd_mat3      Cq;
    kd_axis      S[KD_TABLE_AXES];
    kd_joint_table_pose(f->table, q, &Cq, &d, S);
    *square = kd_vec_dot(S->w, S->w) + kd_vec_dot(S->u, S->u);
    return S[0];
}

void kd_joint_rates_of_motion(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, kd_vec3 dd, kd_vec3 omega,
                              double *rate)
{
    if (f->curved) { // least squares
        double        square;
        const kd_axis S = curved_motion(f, C, d, &square);
        rate[0] = (kd_vec_dot(S.w, kd_mat_vec(C, omega)) + kd_vec_dot(S.u, dd)) / square;
        return;
    }
    const double shift[3] = {dd.x, dd.y, dd.z};
    kd_vec3      S[3], D[3];
    // shifts are components of the relative velocity
    for (const kd_letter *l = f->word; l->motion; l++)
        if (is_own_shift(l)) rate[l->coordinate] = kd_letter_factor(l, 0.0) * shift[kd_letter_axis(l)];
    // rates of angles: components of omega along the axes that are dual to their motions
    if (f->nturns > 0) {
        turn_axes(f, C, S);
        dual_axes(count_angles(f), S, D);
        for (int a = 0; a < count_angles(f); a++) rate[first_turn(f) + a] = kd_vec_dot(D[a], kd_mat_vec(C, omega));
    }
    if (f->ball) kd_vec_to(omega, rate + f->nscalars);
}

void kd_joint_load(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, int i, kd_vec3 *N, kd_vec3 *F)
{
    if (f->curved) {
        double        square;
        const kd_axis S = curved_motion(f, C, d, &square);
        *N = kd_vec_scale(1.0 / square, S.w);
        *F = kd_vec_scale(1.0 / square, S.u);
        return;
    }
    const kd_letter *l = f->word;
    kd_vec3          S[3], D[3];
    *N = *F = kd_vec(0, 0, 0);
    // the load that does the work of one coordinate: a force along a shift, a moment along a dual axis
    while (l->motion && l->coordinate != i) l++;
    if (!l->motion) return;
    if (!kd_letter_turns(l)) {
        *F = kd_vec_scale(kd_letter_factor(l, 0.0), unit(kd_letter_axis(l)));
    } else if (f->nturns == 1) {
        *N = unit(kd_letter_axis(l));
    } else {
        turn_axes(f, C, S);
        dual_axes(count_angles(f), S, D);
        *N = D[i - first_turn(f)];
    }
}

// All turns held: the angle of C. One turn: the angle between its axes of A and B. Two: how far they are from being
// normal to each other. A fold: the twist.
void kd_joint_gap(const kd_joint_form *f, const kd_mat3 *C, kd_vec3 d, double *shift, double *turn)
{
    int     i, j, k;
    kd_mat3 left = *C;
    if (f->curved) { // from the nearest pose of the table
        double  x;
        kd_mat3 Cq;
        kd_vec3 dq;
        kd_joint_coordinates_of_pose(f, C, d, &x);
        kd_joint_pose(f, 0.0, &x, &Cq, &dq, NULL);
        d = kd_vec_sub(d, dq);
        left = kd_mat_tmul(&Cq, C);
    }
    // shifts that the joint allows are no gap
    if (f->shifts & 1u) d.x = 0.0;
    if (f->shifts & 2u) d.y = 0.0;
    if (f->shifts & 4u) d.z = 0.0;
    *shift = sqrt(kd_vec_dot(d, d));
    *turn = 0.0;
    if (f->ball) return;
    // what is left of the rotation when its turns are taken away
    order_of(f, &i, &j, &k);
    const kd_quat q = kd_quat_of_matrix(&left);
    if (f->nturns == 0)
        *turn = 2.0 * acos(fmin(1.0, fabs(q.w)));
    else if (f->nturns == 1)
        *turn = atan2(hypot(entry(C, j, i), entry(C, k, i)), entry(C, i, i));
    else if (f->nturns == 2)
        *turn = fabs(asin(fmax(-1.0, fmin(1.0, entry(C, i, j)))));
    else if (f->folds)
        *turn = 2.0 * fabs(asin(fmax(-1.0, fmin(1.0, k == 0 ? q.x : k == 1 ? q.y : q.z))));
}
