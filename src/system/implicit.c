// implicit.c: Newton matrices of implicit methods along the tree (tree/implicit_body.h), for models in joint coordinates
// whose loads act inside of single joints: springs, dampers and motors in joints, forces between a body and the one that
// carries it. Their derivatives stay within the dofs of a link; all other models have the matrices of derivatives.c.
#include "system/system.h"

// The link whose dofs a measure moves with; 0: with none that is free, -1: with those of several
static int link_of(const kd_system *s, int measure)
{
    const kd_measure *m = &s->measure[measure];
    const kd_tree    *tree = &s->tree;
    if (m->kind == KD_MEASURE_DOF) return tree->dof_v[m->dof] >= 0 ? tree->dof_link[m->dof] : 0;
    const kd_pair *pair = &s->pair[m->pair];
    int            link = 0;
    for (int l = 0; l < pair->nsteps; l++) {
        const int own = tree->dof_link[pair->step[l].dof];
        if (pair->step[l].v < 0 || own == link) continue;
        if (link != 0) return -1;
        link = own;
    }
    return link;
}

// Do all channels and variables of a load move with the dofs of one link?
static bool acts_inside_joint(const kd_system *s, const kd_load *load)
{
    int link = 0;
    for (int k = 0; k < load->nchannels + load->nvariables; k++) {
        const int     channel = k < load->nchannels ? load->channel[k] : -1;
        const kd_slot at =
            channel < 0 ? s->slot[load->variable[k - load->nchannels]] : (kd_slot){KD_SLOT_MEASURE, 0, 0};
        if (at.kind != KD_SLOT_MEASURE) continue;
        const int own = link_of(s, channel >= 0 ? channel : at.index);
        if (own < 0 || (own > 0 && link > 0 && own != link)) return false;
        if (own > 0) link = own;
    }
    return true;
}

bool kd_system_acts_inside_joints(const kd_system *s)
{
    const bool plain = s->nlambda + s->nmu + s->nr + s->nw + s->ns == 0 && s->nquaternions + s->nturns == 0;
    if (s->for_start || !plain || s->nv == 0 || s->tree.nwide > 0 || !kd_implicit_body_fits(&s->tree)) return false;
    for (int i = 0; i < s->nloads; i++)
        if (!acts_inside_joint(s, &s->load[i])) return false;
    return true;
}

bool kd_work_implicit_reserve(void *context)
{
    kd_work         *w = context;
    const kd_system *s = w->system;
    if (w->implicit) return true;
    w->joint_p.value = kd_cut_double(&w->arena, s->joint_p.column[s->nv]);
    w->joint_v.value = kd_cut_double(&w->arena, s->joint_v.column[s->nv]);
    if (!w->arena.failed) w->implicit = kd_implicit_body_create(&s->tree);
    return w->implicit != NULL;
}

// entries of a plan to the blocks of their links
static void put_blocks(const kd_work *w, const kd_matrix_values *m, double *out)
{
    const kd_tree *tree = &w->system->tree;
    for (int j = 0; j < tree->nv; j++) {
        const int link = tree->dof_link[tree->v_dof[j]], first = tree->link_v[link];
        double   *column =
            out + kd_implicit_body_block(w->implicit, link) + (ptrdiff_t)(j - first) * (tree->link_v[link + 1] - first);
        for (int k = m->plan->column[j]; k < m->plan->column[j + 1]; k++) column[m->plan->row[k] - first] = m->value[k];
    }
}

kd_eval kd_work_implicit_set(const kd_point *x, void *context)
{
    kd_work *w = context;
    kd_eval  answer = kd_work_joint_derivatives(w, x);
    if (answer != KD_EVAL_OK) return answer;
    kd_implicit_body_set(w->implicit, &w->motion, w->dx, w->ddx);
    put_blocks(w, &w->joint_p, kd_implicit_body_by_position(w->implicit));
    put_blocks(w, &w->joint_v, kd_implicit_body_by_velocity(w->implicit));
    return KD_EVAL_OK;
}

bool kd_work_implicit_pair(void *context, int k)
{
    kd_work *w = context;
    return kd_implicit_body_pair(w->implicit, k);
}

bool kd_work_implicit_factor(void *context, double re, double im)
{
    kd_work *w = context;
    return kd_implicit_body_factor(w->implicit, re, im);
}

void kd_work_implicit_solve(void *context, double *re, double *im)
{
    kd_work *w = context;
    kd_implicit_body_solve(w->implicit, re, im);
}
