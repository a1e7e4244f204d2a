// unseen_turn.c: the path of a step in which joints turn far. Method: docs/methods/intervals.md
//
// In joint coordinates a step may be many turns long: a point of a body goes round meanwhile, and its values and rates at the
// ends of the step tell nothing of that. Where the cubic between the ends is no picture of what laws read the path is made of
// pieces: joint coordinates move along their cubics, and at the ends of the pieces places are found from them.
#include "system/unseen.h"

#include <math.h>
#include <string.h>

#include "math/space.h"

#define TURNED 0.4     // [rad] cubics of places are wrong by 1e-4 of their radius
#define NEAR 5e-3      // of the way in a step: so far may a place be from its cubic
#define NEAR_RATE 0.1  // of a rate that is known alone: so far from a straight line
#define SAMPLED 8      // pieces at most at whose ends mobilities are found
#define LEAST_LEFT 0.9 // of the longest step that pieces suffice for

// parts of the step at which cubics are tested: no simple fractions, of several whole turns neither
static const double inner[] = {0.381966, 0.7};

double kd_turning(const kd_work *w, int pair, const double *v0, const double *v1)
{
    const kd_pair *p = &w->system->pair[pair];
    double         sum = 0.0;
    for (int l = 0; l < p->nsteps; l++) {
        const kd_step *step = &p->step[l];
        const double   rate = step->v < 0 ? fabs(w->dx[step->dof]) : fmax(fabs(v0[step->v]), fabs(v1[step->v]));
        if (rate > 0.0) sum += rate * kd_vec_norm(w->motion.axis[step->axis].w);
    }
    return sum;
}

// ---- lists ----------------------------------------------------------------------------------------------------------

// Measures of laws that are no coordinates of joints, and the pairs that they belong to
static void list_places(const kd_system *s, kd_unseen_work *u)
{
    for (int i = 0; i < s->nmeasures; i++) u->place[i] = -1;
    for (int i = 0; i < s->nlaws; i++)
        for (int k = 0; k < s->law[i].nslots; k++) {
            const kd_slot at = s->slot[s->law[i].slot[k]];
            if (at.kind != KD_SLOT_MEASURE || s->measure[at.index].kind == KD_MEASURE_DOF || u->place[at.index] >= 0)
                continue;
            u->place[at.index] = u->nplaces++;
            const int pair = s->measure[at.index].pair;
            bool      is_new = true;
            for (int j = 0; j < u->nturning && is_new; j++) is_new = u->turning[j] != pair;
            if (is_new && s->pair[pair].nsteps > 0) u->turning[u->nturning++] = pair;
        }
}

bool kd_unseen_cut_turns(const kd_system *s, kd_arena *arena, kd_unseen_work *u)
{
    u->pieces = 1;
    u->nplaces = u->nturning = 0;
    u->place = kd_cut_int(arena, s->nmeasures);
    u->turning = kd_cut_int(arena, s->laws_of_places ? s->npairs : 0);
    if (arena->failed || !s->laws_of_places) return !arena->failed;
    list_places(s, u);
    const int n = s->tree.nposition;
    u->piece_value = kd_cut_matrix(arena, u->nplaces, KD_PIECES + 1);
    u->piece_rate = kd_cut_matrix(arena, u->nplaces, KD_PIECES + 1);
    for (int k = 0; k < 2; k++) {
        u->turn_x[k] = kd_cut_double(arena, n);
        u->turn_rate[k] = kd_cut_double(arena, n);
    }
    u->piece_way = kd_cut_matrix(arena, 6 * u->nplaces, KD_PIECES + 1);
    for (int k = 0; k < 2; k++) u->end[k].way = kd_cut_double(arena, 6 * u->nplaces);
    u->inside = kd_cut_double(arena, s->np + s->nv + 3 * s->model->ninputs);
    return !arena->failed;
}

bool kd_unseen_reads_places(const kd_work *w, const kd_law *law)
{
    for (int k = 0; k < law->nslots; k++) {
        const kd_slot at = w->system->slot[law->slot[k]];
        if (at.kind == KD_SLOT_MEASURE && w->unseen.place[at.index] >= 0) return true;
    }
    return false;
}

// ---- between the ends -----------------------------------------------------------------------------------------------

// Coordinates of the tree and their rates at both ends; those that are prescribed are found from the time later
static void take_coordinates(kd_work *w)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    for (int k = 0; k < 2; k++) {
        const double *p = u->end[k].state, *v = p + s->np;
        for (int i = 0; i < s->np - s->nturns; i++) w->x[s->x_of_p[i]] = p[i];
        for (int i = 0; i < s->tree.nv; i++) w->dx[s->tree.v_dof[i]] = v[i];
        kd_tree_rates(&s->tree, w->x, w->dx, u->turn_rate[k]);
        memcpy(u->turn_x[k], w->x, (size_t)s->tree.nposition * sizeof(double));
    }
    kd_work_forget(w); // x and dx are those of no point
}

// One coordinate at a part of the step, and its rate
static double coordinate_at(const kd_unseen_work *u, int i, double h, double part, double *rate)
{
    double         bend;
    const kd_cubic c = {{u->turn_x[0][i], u->turn_x[1][i]}, {h * u->turn_rate[0][i], h * u->turn_rate[1][i]}};
    const double   x = kd_cubic_at(&c, part, rate, &bend);
    *rate /= h;
    return x;
}

// Coordinates of one link: scalars by their cubics, a quaternion by its own, its angular velocity straight
static void link_inside(kd_work *w, const kd_link *l, double h, double part)
{
    const kd_system      *s = w->system;
    const kd_unseen_work *u = &w->unseen;
    const double         *v0 = u->end[0].state + s->np, *v1 = u->end[1].state + s->np;
    const int             q = l->form.nscalars, first = l->position + q;
    double                rate;
    for (int k = 0; k < q; k++) w->x[l->position + k] = coordinate_at(u, l->position + k, h, part, &w->dx[l->dof + k]);
    if (!l->form.ball) return;
    for (int k = 0; k < 4; k++) w->x[first + k] = coordinate_at(u, first + k, h, part, &rate);
    kd_quat_to(kd_quat_normalised(kd_quat_of(w->x + first)), w->x + first);
    for (int k = 0; k < 3; k++) {
        const int i = s->tree.dof_v[l->dof + q + k];
        if (i >= 0) w->dx[l->dof + q + k] = v0[i] + part * (v1[i] - v0[i]);
    }
}

// Inputs by their expressions, or between the ends
static void inputs_inside(kd_work *w, double h, double part, double *out)
{
    const kd_system      *s = w->system;
    const kd_unseen_work *u = &w->unseen;
    const int             nu = s->model->ninputs;
    const double          t = u->end[0].t + part * h;
    for (int k = 0; k < nu; k++) {
        double         bend;
        const kd_cubic c = {{u->end[0].u[k], u->end[1].u[k]}, {h * u->end[0].u[nu + k], h * u->end[1].u[nu + k]}};
        out[k] = kd_cubic_at(&c, part, &out[nu + k], &bend);
        out[nu + k] /= h;
        out[2 * nu + k] = bend / (h * h);
        if (!u->foreign && s->input[k]) out[k] = kd_expr_value(s->input[k], &t, w->expr_work);
    }
}

// The point at a part of the step, behind take_coordinates
static kd_point point_inside(kd_work *w, const kd_point *x1, double part)
{
    const kd_system *s = w->system;
    kd_unseen_work  *u = &w->unseen;
    const double     h = u->end[1].t - u->end[0].t;
    const int        nu = s->model->ninputs;
    double          *p = u->inside, *v = p + s->np, *in = v + s->nv;
    kd_point         x = *x1;
    for (int i = 1; i < s->tree.nlinks; i++) link_inside(w, &s->tree.link[i], h, part);
    for (int i = 0; i < s->np - s->nturns; i++) p[i] = w->x[s->x_of_p[i]];
    for (int i = s->np - s->nturns; i < s->np; i++)
        p[i] = u->end[0].state[i] + part * (u->end[1].state[i] - u->end[0].state[i]);
    for (int i = 0; i < s->nv; i++) v[i] = w->dx[s->tree.v_dof[i]];
    inputs_inside(w, h, part, in);
    x.t = u->end[0].t + part * h;
    x.p = p, x.v = v, x.u = in, x.du = in + nu, x.ddu = in + 2 * nu;
    x.time_stamp = x.position_stamp = x.velocity_stamp = x.acceleration_stamp = --w->enclosure.stamp;
    return x;
}

// Measures of laws there, as values and rates of node k
static void take_node(kd_work *w, const kd_point *x, int k)
{
    kd_unseen_work *u = &w->unseen;
    kd_work_forget(w);
    kd_work_velocity(w, x, KD_FOR_LOADS);
    for (int i = 0; i < w->system->upto[KD_FOR_LOADS].measures; i++)
        if (u->place[i] >= 0) {
            u->piece_value[k * u->nplaces + u->place[i]] = w->value[i];
            u->piece_rate[k * u->nplaces + u->place[i]] = w->rate[i];
            if (kd_unseen_is_length(w, i)) kd_unseen_take_way(w, i, u->piece_way + (size_t)k * 6 * (size_t)u->nplaces);
        }
}

// Is each place where its cubic between the ends says, but for a small part of its way?
static bool is_pictured(kd_work *w, const kd_point *x1, const kd_step_seen *seen, double part)
{
    const kd_unseen_work *u = &w->unseen;
    const kd_unseen_end  *e0 = &u->end[0], *e1 = &u->end[1];
    const double          h = e1->t - e0->t;
    const kd_point        x = point_inside(w, x1, part);
    double                slope, bend;
    take_node(w, &x, 0);
    for (int i = 0; i < w->system->upto[KD_FOR_LOADS].measures; i++) {
        if (u->place[i] < 0) continue;
        const kd_cubic c = {{e0->value[i], e1->value[i]}, {h * e0->rate[i], h * e1->rate[i]}};
        const double   way = fabs(c.v[0]) + fabs(c.v[1]);
        const bool     has_value = kd_measure_has_value(&w->system->measure[i]);
        const double   value =
            kd_unseen_is_length(w, i) ? kd_unseen_length(w, i, 0, part, 0) : kd_cubic_at(&c, part, &slope, &bend);
        const double off = has_value ? u->piece_value[u->place[i]] - value
                                     : h * u->piece_rate[u->place[i]] - c.v[0] - part * (c.v[1] - c.v[0]);
        const double near = has_value ? NEAR : NEAR_RATE;
        if (fabs(off) > near * way + seen->rtol * (fabs(c.s[0]) + fabs(c.s[1])) + kd_unseen_measure_atol(w, seen, i, 0))
            return false;
    }
    return true;
}

// ---- the path -------------------------------------------------------------------------------------------------------

// How far joints turn between the ends, on the way to what laws read; the work object is at one of the ends
static double turn_of_step(const kd_work *w)
{
    const kd_unseen_work *u = &w->unseen;
    const int             np = w->system->np;
    double                most = 0.0;
    for (int k = 0; k < u->nturning; k++)
        most = fmax(most, kd_turning(w, u->turning[k], u->end[0].state + np, u->end[1].state + np));
    return most * (u->end[1].t - u->end[0].t);
}

double kd_unseen_turn(const kd_work *w)
{
    return w->unseen.nturning > 0 ? turn_of_step(w) : 0.0;
}

static void name_it(const kd_work *w, kd_hidden *out)
{
    for (int i = 0; i < w->system->nlaws; i++)
        if (kd_unseen_reads_places(w, &w->system->law[i])) {
            out->name = w->system->law[i].name;
            return;
        }
}

void kd_unseen_make_path(kd_work *w, const kd_point *x0, const kd_point *x1, const kd_step_seen *seen, kd_hidden *out)
{
    kd_unseen_work *u = &w->unseen;
    double          turn = kd_unseen_turn(w);
    u->pieces = 1;
    if (!(turn > TURNED)) return;
    // of this step alone: those in between were clear
    if (u->end[0].t != x0->t) {
        kd_unseen_take_end(w, x0, &u->end[0]);
        turn = turn_of_step(w);
    }
    take_coordinates(w);
    if (is_pictured(w, x1, seen, inner[0]) && is_pictured(w, x1, seen, inner[1])) return;
    // more turns than pieces can show: a shorter step
    if (turn > KD_PIECES * TURNED) {
        out->part = fmin(out->part, LEAST_LEFT * KD_PIECES * TURNED / turn);
        out->size = turn;
        name_it(w, out);
    }
    const int n = (int)fmin(ceil(turn / TURNED), KD_PIECES), every = (n + SAMPLED - 1) / SAMPLED;
    for (int k = 0; k <= n; k++) {
        const kd_point x = point_inside(w, x1, (double)k / n);
        take_node(w, &x, k);
        // what a force does depends on where it meets the body
        if (k % every == 0 && k < n) kd_unseen_mobilities(w, seen, &x, true);
    }
    u->pieces = n;
}

// The piece with a part of the step, and what part of it that is
static int piece_of(const kd_unseen_work *u, double part, double *inside)
{
    const int k = (int)fmin(floor(part * u->pieces), u->pieces - 1);
    *inside = fmin(fmax(part * u->pieces - k, 0.0), 1.0);
    return k;
}

int kd_unseen_piece_of(const kd_work *w, int measure, double part, double *inside)
{
    *inside = part;
    return w->unseen.pieces > 1 && w->unseen.place[measure] >= 0 ? piece_of(&w->unseen, part, inside) : 0;
}

kd_cubic kd_unseen_piece(const kd_work *w, int measure, double part, double *inside)
{
    const kd_unseen_work *u = &w->unseen;
    const kd_unseen_end  *e0 = &u->end[0], *e1 = &u->end[1];
    const double          h = (e1->t - e0->t) / u->pieces;
    const int             place = u->pieces > 1 ? u->place[measure] : -1;
    *inside = part;
    if (place < 0) { // one cubic for all of it
        const double all = e1->t - e0->t;
        return (kd_cubic){{e0->value[measure], e1->value[measure]}, {all * e0->rate[measure], all * e1->rate[measure]}};
    }
    const int     k = piece_of(u, part, inside);
    const double *value = u->piece_value + k * u->nplaces + place, *rate = u->piece_rate + k * u->nplaces + place;
    return (kd_cubic){{value[0], value[u->nplaces]}, {h * rate[0], h * rate[u->nplaces]}};
}
