// poses.c: where the bodies are at a state, the same for either coordinate set: with the frame of the link at P, R
// (world) and the frame of the body at r, R_b in it, the body's frame is at P + R r with the axes R R_b.
#include "system/system.h"

// a work object of its own, so that poses can be asked for beside a run
struct kd_poses {
    kd_work      *work;
    double       *u; // (3 ninputs) u, u', u''
    unsigned long stamp;
    kd_arena      arena;
};

kd_status kd_poses_create(const kd_system *system, kd_poses **poses)
{
    if (!poses) return KD_ERR_ARGUMENT;
    *poses = NULL;
    if (!system) return KD_ERR_ARGUMENT;
    kd_poses *s = kd_alloc(sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    s->u = kd_cut_double(&s->arena, 3 * system->model->ninputs);
    s->work = kd_work_create(system);
    if (!s->work || s->arena.failed) {
        kd_poses_destroy(s);
        return KD_ERR_MEMORY;
    }
    *poses = s;
    return KD_OK;
}

void kd_poses_destroy(kd_poses *s)
{
    if (!s) return;
    kd_work_destroy(s->work);
    kd_arena_release(&s->arena);
    kd_free(s);
}

// The place of a state, as if none had been seen before
static kd_eval point_of(kd_poses *s, const kd_state *x, kd_point *at)
{
    const kd_system *system = s->work->system;
    int              nu = system->model->ninputs;
    *at = (kd_point){.t = x->t,
                     .u = s->u,
                     .du = s->u + nu,
                     .ddu = s->u + 2 * nu,
                     .z = x->z,
                     .p = x->p,
                     .s = x->s,
                     .v = x->v,
                     .r = x->r};
    at->time_stamp = at->position_stamp = at->velocity_stamp = ++s->stamp;
    return system->inputs.eval(x->t, system->inputs.context, s->u, s->u + nu, s->u + 2 * nu);
}

// Position stage
static void place_bodies(kd_work *w, const kd_point *at, double *pose)
{
    const kd_system *system = w->system;
    kd_work_position(w, at, KD_FOR_ROWS);
    // origin, then unit quaternion of each body
    for (int b = 0; b < system->model->nbodies; b++, pose += 7) {
        const kd_link_motion *link = &w->motion.link[system->body_link[b]];
        kd_mat3               R = kd_mat_mul(&link->R, &system->body_R[b]);
        kd_vec_to(kd_vec_add(link->P, kd_mat_vec(&link->R, system->body_r[b])), pose);
        kd_quat_to(kd_quat_of_matrix(&R), pose + 3);
    }
}

// P' = v of the link, its frame turns with w: the body's frame moves with v + w x (R r). Velocity stage
static void move_bodies(kd_work *w, const kd_point *at, double *rate)
{
    const kd_system *system = w->system;
    kd_work_velocity(w, at, KD_FOR_ROWS);
    // velocity of the origin, then angular velocity, both in world axes
    for (int b = 0; b < system->model->nbodies; b++, rate += 6) {
        const kd_link_motion *link = &w->motion.link[system->body_link[b]];
        kd_vec3               arm = kd_mat_vec(&link->R, system->body_r[b]);
        kd_vec_to(kd_vec_add(link->v, kd_vec_cross(link->w, arm)), rate);
        kd_vec_to(link->w, rate + 3);
    }
}

kd_eval kd_poses_at(kd_poses *s, const kd_state *x, double *pose)
{
    if (!s || !pose || !kd_state_fits(s->work->system->eom, x)) return KD_EVAL_STOP;
    kd_point at;
    kd_eval  answer = point_of(s, x, &at);
    if (answer == KD_EVAL_OK) place_bodies(s->work, &at, pose);
    return answer;
}

kd_eval kd_poses_rates(kd_poses *s, const kd_state *x, double *rate)
{
    if (!s || !rate || !kd_state_fits(s->work->system->eom, x)) return KD_EVAL_STOP;
    kd_point at;
    kd_eval  answer = point_of(s, x, &at);
    if (answer == KD_EVAL_OK) move_bodies(s->work, &at, rate);
    return answer;
}

// ---- at an evaluation point of the equations ------------------------------------------------------------------------

// Its work object; NULL: the point belongs to other equations
static kd_work *work_of(const kd_system *s, const kd_eom_data *data)
{
    if (!s || !data || kd_eom_data_eom(data) != s->eom) return NULL;
    return kd_eom_data_context(data);
}

kd_eval kd_system_poses(const kd_system *s, kd_eom_data *data, double *pose)
{
    kd_work *w = work_of(s, data);
    if (!w || !pose || kd_eom_data_stage(data) < KD_STAGE_POSITION) return KD_EVAL_STOP;
    place_bodies(w, kd_eom_point(data), pose);
    return KD_EVAL_OK;
}

kd_eval kd_system_rates(const kd_system *s, kd_eom_data *data, double *rate)
{
    kd_work *w = work_of(s, data);
    if (!w || !rate || kd_eom_data_stage(data) < KD_STAGE_VELOCITY) return KD_EVAL_STOP;
    move_bodies(w, kd_eom_point(data), rate);
    return KD_EVAL_OK;
}
