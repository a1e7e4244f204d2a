// flexible_loads.c: what a flexible body carries at an evaluation point: motion of its frame, modes, and the loads at its interfaces.
#include <string.h>

#include "flexible/load_case.h"
#include "system/system.h"

// Moment and force on the body, turned into its axes; sign: of the reaction
static void take_wrench(const kd_mat3 *R, const kd_wrench *reaction, double sign, double *load)
{
    kd_vec_to(kd_mat_tvec(R, kd_vec_scale(sign, reaction->F)), load);
    kd_vec_to(kd_mat_tvec(R, kd_vec_scale(sign, reaction->N)), load + 3);
}

kd_eval kd_system_flexible_loads(const kd_system *s, kd_eom_data *data, int body, kd_carried_loads *out)
{
    if (!s || !data || kd_eom_data_eom(data) != s->eom || kd_eom_data_stage(data) < KD_STAGE_ACCELERATION)
        return KD_EVAL_STOP;
    kd_work       *w = kd_eom_data_context(data);
    const kd_body *b = &s->model->body[body];
    // loads are those that the residual leaves on the links
    const kd_eval answer = kd_work_residual(w, kd_eom_point(data));
    if (answer != KD_EVAL_OK) return answer;
    const int             wide = s->wide_link[body], *node = s->node_link + s->first_node[body];
    const kd_link        *link = &s->tree.link[wide];
    const kd_link_motion *m = &w->motion.link[wide];
    kd_vec_to(kd_mat_tvec(&m->R, m->dv), out->a);
    kd_vec_to(kd_mat_tvec(&m->R, m->w), out->w);
    kd_vec_to(kd_mat_tvec(&m->R, m->dw), out->dw);
    for (int k = 0; k < b->nmodes; k++) {
        out->q[k] = w->x[link->position + k];
        out->dq[k] = w->dx[link->dof + k];
        out->ddq[k] = w->ddx[link->dof + k];
    }
    // the marker of an interface needs what acts on it, turned round; the frame is held by its joint and its own loads
    memset(out->load, 0, 6 * (size_t)b->def.read->nframes * sizeof *out->load);
    for (int i = 0; i < b->def.read->nframes; i++)
        if (node[i] > 0) take_wrench(&m->R, &w->motion.reaction[node[i]], -1, out->load + 6 * i);
    take_wrench(&m->R, &w->motion.reaction[wide], 1, out->rest);
    return KD_EVAL_OK;
}
