// describe.c: what the assembly of a system found, in words.
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "core/writer.h"
#include "system/system.h"

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

enum { MAX_LISTED = 12 }; // elements named in one line

// bodies, joints, and which of them close loops in the uncut tree
static void say_tree(kd_writer *w, const kd_system *s)
{
    const kd_system *tree = s->joints ? s->joints : s;
    int              cut = 0;
    kd_write(w, "%d bod%s, %d joint%s", s->info.nbodies, s->info.nbodies == 1 ? "y" : "ies", s->info.njoints,
             plural(s->info.njoints));
    for (int j = 0; j < s->model->njoints; j++) {
        if (tree->edge[j].link > 0 || tree->edge[j].nrows == 0) continue;
        kd_write(w, "%s'%s'",
                 cut == 0           ? "; loops are closed by joint "
                 : cut < MAX_LISTED ? ", "
                                    : "",
                 cut < MAX_LISTED ? s->model->joint[j].name : "...");
        if (++cut > MAX_LISTED) break;
    }
    if (s->info.nloops == 0) kd_write(w, "; no loops");
    kd_write(w, "\n");
}

// ---- the drawing ----------------------------------------------------------------------------------------------------

static const double OPEN = 1e-6; // [m], [rad]: below this a joint is closed at the design position

// origin and axes of an anchor at the design position, in the world
static void place_of(const kd_model *m, const kd_anchor *at, kd_vec3 *r, kd_mat3 *R)
{
    *r = at->r;
    *R = at->R;
    if (at->body < 0) return;
    const kd_body *b = &m->body[at->body];
    *r = kd_vec_add(b->r, kd_mat_vec(&b->R, at->r));
    *R = kd_mat_mul(&b->R, &at->R);
}

// How far a joint is open at the design position, along [m] and about [rad] the directions that it holds.
static void gap_of(const kd_model *m, const kd_joint *j, double *shift, double *turn)
{
    kd_vec3 rA, rB;
    kd_mat3 RA, RB;
    place_of(m, &j->from, &rA, &RA);
    place_of(m, &j->to, &rB, &RB);
    const kd_joint_form form = kd_model_joint_form(j);
    const kd_mat3       C = kd_mat_tmul(&RA, &RB);
    kd_joint_gap(&form, &C, kd_mat_tvec(&RA, kd_vec_sub(rB, rA)), shift, turn);
}

// joints that do not fit at the design position: by shift first, by turn otherwise
static void say_drawing(kd_writer *w, const kd_system *s)
{
    int listed = 0;
    for (int j = 0; j < s->model->njoints && listed <= MAX_LISTED; j++) {
        const kd_joint *joint = &s->model->joint[j];
        double          shift, turn;
        gap_of(s->model, joint, &shift, &turn);
        if (shift <= OPEN && turn <= OPEN) continue;
        kd_write(w, "%s", listed > 0 ? ", " : "the drawing is open, and assembly moves bodies to close it: ");
        if (listed == MAX_LISTED)
            kd_write(w, "...");
        else if (shift > OPEN)
            kd_write(w, "joint '%s' by %.3g m", joint->name, shift);
        else
            kd_write(w, "joint '%s' by %.3g rad", joint->name, turn);
        listed++;
    }
    if (listed > 0) kd_write(w, "\n");
}

// ---- rows -----------------------------------------------------------------------------------------------------------

// The rows that follow from others, joint by joint.
static void say_redundant(kd_writer *w, const kd_system *s)
{
    const kd_system *t = s->joints ? s->joints : s;
    int              listed = 0;
    if (!t->keep || t->info.nredundant == 0) return;
    kd_write(w, "%d constraint%s redundant at every position and %s: ", t->info.nredundant,
             t->info.nredundant == 1 ? " is" : "s are", s->options.keep_redundant ? "kept as asked for" : "left out");
    for (int i = 0; i < t->nrows_g - t->none_sided && listed <= MAX_LISTED; i++) {
        if (t->keep[i]) continue;
        kd_write(w, "%s%s", listed > 0 ? ", " : "", listed < MAX_LISTED ? t->row_g[i].name : "...");
        listed++;
    }
    kd_write(w, "\n");
    if (!t->redundancy.certain)
        kd_write(w, "  (this was judged at the start position only: the mechanism could not be moved to others)\n");
}

// Joints with a row in a dependency: the force can be shared in many ways.
static void say_not_unique(kd_writer *w, const kd_system *s)
{
    const kd_system *t = s->joints ? s->joints : s;
    int              listed = 0, last = -1;
    if (!t->redundancy.shares || t->info.nredundant == 0) return;
    kd_write(w, "reactions that are not unique (only their sum is): ");
    for (int i = 0; i < t->nrows_g - t->none_sided && listed <= MAX_LISTED; i++) {
        if (!t->redundancy.shares[i] || (t->row_g[i].joint >= 0 && t->row_g[i].joint == last)) continue;
        last = t->row_g[i].joint;
        const char *name = last >= 0 ? t->model->joint[last].name : t->row_g[i].name;
        kd_write(w, "%s%s%s%s", listed > 0 ? ", " : "", listed < MAX_LISTED && last >= 0 ? "joint '" : "",
                 listed < MAX_LISTED ? name : "...", listed < MAX_LISTED && last >= 0 ? "'" : "");
        listed++;
    }
    kd_write(w, ", and what these loops carry\n");
}

size_t kd_system_describe(const kd_system *s, char *text, size_t size)
{
    if (!s) kd_text(text, size, "%s", "");
    if (!s) return 0;
    kd_writer w = kd_writer_of(text, size);
    // from the whole to the details: tree, freedoms, drawing, rows that depend
    say_tree(&w, s);
    kd_write(&w, "%d degree%s of freedom: %d velocit%s in %s coordinates, %d constraint%s\n", s->info.dof,
             plural(s->info.dof), s->nv, s->nv == 1 ? "y" : "ies",
             s->options.coordinates == KD_CARTESIAN ? "Cartesian" : "joint", s->info.nconstraints,
             plural(s->info.nconstraints));
    if (s->none_sided > 0)
        kd_write(&w, "%d one-sided constraint%s of stops and contacts, which impacts obey\n", s->none_sided,
                 plural(s->none_sided));
    say_drawing(&w, s);
    if (!s->info.assembled)
        kd_write(&w, "the loops could not be closed at the start position: redundancy was not examined\n");
    say_redundant(&w, s);
    say_not_unique(&w, s);
    if (s->info.nsingular > 0)
        kd_write(&w, "the start position is singular: %d further constraint%s dependent there, but not elsewhere\n",
                 s->info.nsingular, s->info.nsingular == 1 ? " is" : "s are");
    return w.length;
}
