// archive.c: what an evaluation remembers from call to call, for saved simulations. Values at a point follow from the point;
// pivots of sparse factors, Newton matrices along the tree, breaks that were found and the search for what steps have
// not seen do not.
#include "core/archive.h"
#include "math/linsolve.h"
#include "system/system.h"
#include "tree/implicit_body.h"

#include <limits.h>
#include <math.h>

enum { MOST_WAIT = INT_MAX / 2 };

static void archive_breaks(kd_archive *a, const kd_system *s, kd_breaks *b)
{
    const size_t n = (size_t)s->nbreaking;
    KD_ARCHIVE_REALS(a, &b->all_from, &b->all_next);
    kd_archive_doubles(a, b->from, n);
    kd_archive_doubles(a, b->next, n);
    kd_archive_doubles(a, b->unsearched, n);
}

static void archive_end(kd_archive *a, const kd_system *s, int nplaces, kd_unseen_end *end)
{
    kd_archive_real(a, &end->t);
    if (s->nlaws == 0) return;
    kd_archive_doubles(a, end->state, (size_t)(s->np + s->nv + s->nr));
    kd_archive_doubles(a, end->value, (size_t)s->nmeasures);
    kd_archive_doubles(a, end->rate, (size_t)s->nmeasures);
    kd_archive_doubles(a, end->way, 6 * (size_t)nplaces);
    kd_archive_doubles(a, end->u, 2 * (size_t)s->model->ninputs);
}

// Branches of laws are bits of any kind
static void archive_crossed(kd_archive *a, kd_crossed *c)
{
    int part[] = {
        (int)(c->from & 0xffff), (int)(c->from >> 16 & 0xffff), (int)(c->from >> 32 & 0xffff), (int)(c->from >> 48),
        (int)(c->to & 0xffff),   (int)(c->to >> 16 & 0xffff),   (int)(c->to >> 32 & 0xffff),   (int)(c->to >> 48)};
    kd_archive_real(a, &c->t);
    kd_archive_ints(a, part, 8, 0, 0xffff);
    c->from = c->to = 0;
    for (int k = 3; k >= 0; k--)
        c->from = c->from << 16 | (unsigned long long)part[k], c->to = c->to << 16 | (unsigned long long)part[4 + k];
}

static void archive_unseen(kd_archive *a, const kd_system *s, kd_unseen_work *u)
{
    const size_t n = (size_t)s->nlaws;
    const int    boxes = n > 0 ? s->law[n - 1].box + s->law[n - 1].nboxes : 0;
    double      *each[] = {u->mobility, u->speed, u->box_limit, u->box_share, u->box_step, u->until, u->reach};
    for (int i = 0; i < 2; i++) archive_end(a, s, u->nplaces, &u->end[i]);
    kd_archive_bool(a, &u->known);
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) kd_archive_doubles(a, each[k], n);
    if (n > 0 && s->tree.column) kd_archive_doubles(a, u->mass, (size_t)s->tree.column[s->nv]);
    kd_archive_doubles(a, (double *)u->box, 2 * (size_t)boxes);
    for (size_t k = 0; k < 2 * n; k++) archive_crossed(a, &u->crossed[k]);
    // counters of steps
    int *wait[] = {u->pause, u->wait, u->waited};
    for (size_t k = 0; k < sizeof wait / sizeof *wait; k++) kd_archive_ints(a, wait[k], n, 0, MOST_WAIT);
    kd_archive_int(a, &u->age, 0, MOST_WAIT);
    KD_ARCHIVE_REALS(a, &u->drive_until, &u->drive_reach);
    kd_archive_int(a, &u->drive_wait, 0, MOST_WAIT);
    kd_archive_int(a, &u->drive_waited, 0, MOST_WAIT);
    // the input is known by its place among all
    int foreign = -1;
    for (int k = 0; u->foreign && k < s->model->ninputs; k++)
        if (s->model->input[k].name == u->foreign) foreign = k;
    kd_archive_int(a, &foreign, -1, s->model->ninputs - 1);
    if (a->reads) u->foreign = foreign >= 0 ? s->model->input[foreign].name : NULL;
}

// Blocks of stiff elements that are renewed one after the other
static void archive_stiff(kd_archive *a, const kd_system *s, kd_stiff_part *part)
{
    kd_archive_same(a, part->npaths, "pairs of stiff elements");
    for (int i = 0; i < part->npaths && kd_archive_good(a); i++) {
        const size_t steps = (size_t)s->pair[part->path[i].pair].nsteps;
        kd_archive_doubles(a, part->path[i].block, steps * steps);
    }
    kd_archive_bool(a, &part->blocks_known);
    if (a->reads) part->summed = 0; // follows from the blocks
}

void kd_work_archive(void *work, kd_archive *a)
{
    kd_work         *w = work;
    const kd_system *s = w->system;
    bool             implicit = w->implicit != NULL;
    kd_archive_tag(a, "evaluation");
    archive_breaks(a, s, &w->breaks);
    archive_unseen(a, s, &w->unseen);
    if (a->reads) w->t_passing = NAN;
    archive_stiff(a, s, &w->stiff);
    kd_sparse_lu_archive(a, s->topological.n, true, &w->kkt_lu);
    kd_archive_bool(a, &implicit);
    if (!kd_archive_good(a) || !implicit) return;
    if (!s->inside_joints) {
        kd_archive_fail(a, KD_ERR_SAVED, "this model has no Newton matrix along its tree");
        return;
    }
    if (!kd_work_implicit_reserve(w)) kd_archive_fail(a, KD_ERR_MEMORY, "no memory for Newton matrices");
    if (kd_archive_good(a)) kd_implicit_body_archive(w->implicit, a);
}
