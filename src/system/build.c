// build.c: pairs, measures and variables that rows, loads and sensors ask for, made once each.
#include <math.h>
#include <string.h>

#include "system/system.h"

void *kd_grow(void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity) return array;
    int   larger = *capacity > 0 ? 2 * *capacity : 16;
    char *memory = kd_alloc((size_t)larger * size);
    if (!memory) return NULL;
    if (count > 0) memcpy(memory, array, (size_t)count * size);
    kd_free(array);
    *capacity = larger;
    return memory;
}

enum { PAIRS, MEASURES, SLOTS, ROWS_G, ROWS_H, LOADS, TURNS, EXPRS, PAIR_ENDS };

// Room for one more entry of an array of the system; leaves the function when there is none.
#define GROW(s, field, count, index)                                                                                   \
    do {                                                                                                               \
        void *grown = kd_grow((s)->field, (s)->count, &(s)->capacity[index], sizeof *(s)->field);                      \
        if (!grown) return FAILED;                                                                                     \
        (s)->field = grown;                                                                                            \
    } while (0)

// ---- pairs ----------------------------------------------------------------------------------------------------------
static int link_of(const kd_system *s, const kd_anchor *a)
{
    const int marker = a->body >= 0 && a->node > 0 ? s->node_link[s->first_node[a->body] + a->node - 1] : 0;
    if (marker > 0) return marker;
    if (a->body >= 0 && a->node > 0) return s->wide_link[a->body]; // the joint that carries the body stands there
    return a->body < 0 ? 0 : s->body_link[a->body];
}

static bool add_path(kd_system *s, kd_pair *pair)
{
    if (!kd_pair_path(&s->tree, pair, &s->arena)) return false;
    if (pair->nsteps > s->max_path) s->max_path = pair->nsteps;
    return true;
}

static bool is_unit(const kd_mat3 *R)
{
    return R->x.x == 1.0 && R->x.y == 0.0 && R->x.z == 0.0 && R->y.x == 0.0 && R->y.y == 1.0 && R->y.z == 0.0 &&
           R->z.x == 0.0 && R->z.y == 0.0 && R->z.z == 1.0;
}

void kd_system_place_pair(kd_system *s, int i)
{
    kd_pair *pair = &s->pair[i];
    kd_anchor_in_link(s, s->pair_ends[i].from, &pair->ra, &pair->Ra);
    kd_anchor_in_link(s, s->pair_ends[i].to, &pair->rb, &pair->Rb);
    // half a turn of the first frame: two of its axes point the other way
    const int about = s->pair_ends[i].turned - 1;
    if (about >= 0 && about != 0) pair->Ra.x = kd_vec_neg(pair->Ra.x);
    if (about >= 0 && about != 1) pair->Ra.y = kd_vec_neg(pair->Ra.y);
    if (about >= 0 && about != 2) pair->Ra.z = kd_vec_neg(pair->Ra.z);
    pair->along_a = is_unit(&pair->Ra);
    pair->along_b = is_unit(&pair->Rb);
    pair->straight = pair->a == 0 && pair->along_a;
}

#define FAILED (-1)
int kd_system_pair(kd_system *s, const kd_anchor *from, const kd_anchor *to)
{
    // room in both arrays, which have the same length: a pair and the anchors that it came from
    GROW(s, pair, npairs, PAIRS);
    void *grown_ends = kd_grow(s->pair_ends, s->npairs, &s->capacity[PAIR_ENDS], sizeof *s->pair_ends);
    if (!grown_ends) return FAILED;
    s->pair_ends = grown_ends;
    s->pair_ends[s->npairs] = (kd_pair_ends){from, to, 0};
    kd_pair *pair = &s->pair[s->npairs];
    pair->a = link_of(s, from);
    pair->b = link_of(s, to);
    kd_system_place_pair(s, s->npairs);
    // its path in the tree, unless nobody differentiates it (bare_paths)
    if (!s->bare_paths && !add_path(s, pair)) return FAILED;
    return s->npairs++;
}

int kd_system_joint_pair(kd_system *s, int joint)
{
    kd_tree_edge *edge = &s->edge[joint];
    if (edge->pair < 0) edge->pair = kd_system_pair(s, &s->model->joint[joint].from, &s->model->joint[joint].to);
    return edge->pair;
}

// axes and origin of the ground
static const kd_anchor world = {.body = -1, .R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

// From the ground to a point of a body, axes of the body
static int pair_to_body(kd_system *s, int body, kd_vec3 r)
{
    kd_anchor *at = kd_arena_cut(&s->arena, 1, sizeof *at);
    if (!at) return FAILED;
    *at = (kd_anchor){.body = body, .r = r, .R = kd_mat_identity()};
    return kd_system_pair(s, &world, at);
}

int kd_system_body_pair(kd_system *s, int body)
{
    if (s->body_pair[body] < 0) s->body_pair[body] = pair_to_body(s, body, kd_vec(0, 0, 0));
    return s->body_pair[body];
}

int kd_system_centre_pair(kd_system *s, int body)
{
    if (s->centre_pair[body] < 0) s->centre_pair[body] = pair_to_body(s, body, s->model->body[body].centre);
    return s->centre_pair[body];
}

int kd_system_frame_pair(kd_system *s, int frame)
{
    if (s->frame_pair[frame] < 0) s->frame_pair[frame] = kd_system_pair(s, &world, &s->model->frame[frame].at);
    return s->frame_pair[frame];
}

// ---- measures -------------------------------------------------------------------------------------------------------
static bool same_measure(const kd_measure *a, const kd_measure *b)
{
    // the same kind of the same pair, and the same entries of d or C that its kind reads
    if (a->kind != b->kind || a->pair != b->pair) return false;
    switch (a->kind) {
    case KD_MEASURE_DOF:
        return a->dof == b->dof;
    case KD_MEASURE_COSINE:
    case KD_MEASURE_TILT:
        return a->i == b->i && a->j == b->j;
    case KD_MEASURE_LENGTH:
        return true;
    case KD_MEASURE_BEND:
        return a->i == b->i && memcmp(&a->sine, &b->sine, sizeof a->sine) == 0;
    case KD_MEASURE_PITCH:
        return memcmp(&a->sine, &b->sine, sizeof a->sine) == 0;
    case KD_MEASURE_ANGLE:
        return memcmp(&a->sine, &b->sine, sizeof a->sine) == 0 && memcmp(&a->cosine, &b->cosine, sizeof a->sine) == 0;
    default:
        return a->i == b->i;
    }
}

int kd_system_measure(kd_system *s, const kd_measure *measure)
{
    // measures of a pair form a list (next, numbers from 1): only those are compared
    for (int k = measure->pair < 0 ? 0 : s->pair[measure->pair].measure; k > 0; k = s->measure[k - 1].next)
        if (same_measure(&s->measure[k - 1], measure)) return k - 1;
    GROW(s, measure, nmeasures, MEASURES);
    kd_measure *made = &s->measure[s->nmeasures++];
    *made = *measure;
    if (measure->pair >= 0) {
        made->next = s->pair[measure->pair].measure;
        s->pair[measure->pair].measure = s->nmeasures;
    }
    return s->nmeasures - 1;
}

int kd_system_angle(kd_system *s, int pair, kd_entry sine, kd_entry cosine, bool counted)
{
    int measure = kd_system_measure(
        s, &(kd_measure){KD_MEASURE_ANGLE, .pair = pair, .dof = -1, .sine = sine, .cosine = cosine, .turns = -1});
    // counted: its turns become a coordinate of p of its own, once
    if (measure < 0 || !counted || s->measure[measure].turns >= 0) return measure;
    if (!s->pair[pair].step && !add_path(s, &s->pair[pair])) return FAILED; // its rate is a row of Z
    GROW(s, turn_measure, nturns, TURNS);
    s->turn_measure[s->nturns] = measure;
    s->measure[measure].turns = s->nturns++;
    return measure;
}

// Where angle a of the turns of a word is found in C (head of joint.c); those that may run over full turns are counted.
int kd_system_turn_of_pair(kd_system *s, int pair, const kd_joint_form *f, int a)
{
    // the two turns are about i and j, k is the third axis, e = 1 where i, j, k are right-handed
    const int i = f->turn[0], j = f->nturns > 1 ? f->turn[1] : (i + 1) % 3, k = 3 - i - j;
    const int e = (j - i + 3) % 3 == 1 ? 1 : -1;
    if (f->folds)
        return kd_system_measure(
            s, &(kd_measure){KD_MEASURE_BEND, .pair = pair, .dof = -1, .i = a, .sine = {i, j, 1}, .turns = -1});
    // the outer turns by two entries of C each, the middle one by its sine
    if (f->nturns == 3 && a == 0) return kd_system_angle(s, pair, (kd_entry){j, k, -e}, (kd_entry){k, k, 1}, !s->shows);
    if (f->nturns == 3 && a == 1) // asin(C_ik)
        return kd_system_measure(
            s, &(kd_measure){KD_MEASURE_PITCH, .pair = pair, .dof = -1, .sine = {i, k, e}, .turns = -1});
    if (f->nturns == 3) return kd_system_angle(s, pair, (kd_entry){i, j, -e}, (kd_entry){i, i, 1}, !s->shows);
    // two turns or one: the second from C_ik and C_ii, the first from C_kj and C_jj
    if (a == 1) return kd_system_angle(s, pair, (kd_entry){i, k, e}, (kd_entry){i, i, 1}, true);
    return kd_system_angle(s, pair, (kd_entry){k, j, e}, (kd_entry){j, j, 1}, true);
}

// The pair of a joint with its first frame turned by half a turn about one of its axes: shifts along the others are
// counted back.
static int pair_turned(kd_system *s, int joint, int axis)
{
    const int pair = kd_system_pair(s, &s->model->joint[joint].from, &s->model->joint[joint].to);
    if (pair < 0) return FAILED;
    s->pair_ends[pair].turned = axis + 1;
    kd_system_place_pair(s, pair);
    return pair;
}

// Where coordinate i of a joint is found in d and C.
static int joint_coordinate_of_pair(kd_system *s, int joint, int i)
{
    const kd_joint_form form = kd_joint_form_of(s->model->joint[joint].def.kind);
    // letters of the word in order: the one that has this coordinate; turns counts those before it
    int pair = kd_system_joint_pair(s, joint), turns = 0;
    if (pair < 0) return FAILED;
    if (form.curved) return kd_system_table_coordinate(s, joint, pair);
    for (const kd_letter *l = form.word; l->motion; l++) {
        if (l->coordinate == i && kd_letter_turns(l)) return kd_system_turn_of_pair(s, pair, &form, turns);
        if (l->coordinate == i && l->scale == KD_BACK) pair = pair_turned(s, joint, (kd_letter_axis(l) + 1) % 3);
        if (pair < 0) return FAILED;
        if (l->coordinate == i)
            return kd_system_measure(
                s, &(kd_measure){KD_MEASURE_SHIFT, .pair = pair, .dof = -1, .i = kd_letter_axis(l), .turns = -1});
        turns += kd_letter_turns(l);
    }
    return FAILED;
}

int kd_system_joint_coordinate(kd_system *s, int joint, int i)
{
    int *known = &s->edge[joint].coordinate[i];
    if (*known >= 0) return *known;
    // a joint of the tree: its dof itself; one that closes a loop: from its pair
    int dof = kd_edge_dof(s, joint, i);
    *known = dof >= 0 ? kd_system_measure(s, &(kd_measure){KD_MEASURE_DOF, .pair = -1, .dof = dof, .turns = -1})
                      : joint_coordinate_of_pair(s, joint, i);
    return *known;
}

// ---- variables, rows, loads -----------------------------------------------------------------------------------------
enum { LOOK_BACK = 24 }; // over variables that are not those of measures: finds most repetitions

int kd_system_slot(kd_system *s, kd_slot_kind kind, int index, int level)
{
    if (index < 0) return FAILED;                        // of a measure that could not be made
    if (kind == KD_SLOT_TIME && s->nslots > 0) return 0; // t is the first one, inputs rely on that
    // a variable of a measure is remembered there; others are searched among the last ones
    int *known = kind == KD_SLOT_MEASURE ? &s->measure[index].slot[level] : NULL;
    if (known && *known > 0) return *known;
    for (int k = s->nslots - 1; !known && k >= 0 && k >= s->nslots - LOOK_BACK; k--)
        if (s->slot[k].kind == kind && s->slot[k].index == index && s->slot[k].level == level) return k;
    GROW(s, slot, nslots, SLOTS);
    s->slot[s->nslots] = (kd_slot){kind, index, level};
    if (known) *known = s->nslots;
    return s->nslots++;
}

int kd_system_keep(kd_system *s, kd_expr *expr)
{
    GROW(s, expr, nexprs, EXPRS);
    s->expr[s->nexprs] = expr;
    return s->nexprs++;
}
#undef FAILED

#define FAILED NULL
kd_row *kd_system_new_row(kd_system *s, bool nonholonomic)
{
    kd_row *row;
    if (nonholonomic) {
        GROW(s, row_h, nrows_h, ROWS_H);
        row = &s->row_h[s->nrows_h++];
    } else {
        GROW(s, row_g, nrows_g, ROWS_G);
        row = &s->row_g[s->nrows_g++];
    }
    *row = (kd_row){.joint = -1, .constraint = -1, .force = -1, .direction = -1};
    return row;
}

kd_load *kd_system_new_load(kd_system *s)
{
    GROW(s, load, nloads, LOADS);
    s->load[s->nloads] = (kd_load){.state = s->nr, .direction = -1};
    return &s->load[s->nloads++];
}
