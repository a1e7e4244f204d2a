// load_case.c: loads of a flexible body at an instant as forces at the nodes of its finite elements, and a step of CalculiX with them.
// Equations: load_case.h
#include "flexible/load_case.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

bool kd_carried_loads_cut(int nmodes, int nframes, kd_arena *arena, kd_carried_loads *l)
{
    *l = (kd_carried_loads){.nmodes = nmodes, .nframes = nframes};
    l->q = kd_cut_double(arena, nmodes);
    l->dq = kd_cut_double(arena, nmodes);
    l->ddq = kd_cut_double(arena, nmodes);
    l->load = kd_cut_double(arena, 6 * nframes);
    return !arena->failed;
}

void kd_carried_deflection(const kd_flexible_body *b, const kd_carried_loads *l, int i, double e[6])
{
    memset(e, 0, 6 * sizeof *e);
    for (int k = 0; k < l->nmodes; k++)
        for (int d = 0; d < 3; d++) {
            e[d] += b->frame[i].Phi[d + 3 * k] * l->q[k];
            e[d + 3] += b->frame[i].Psi[d + 3 * k] * l->q[k];
        }
}

// ---- forces ---------------------------------------------------------------------------------------------------------

// sum of the modes of node i at amplitudes
static kd_vec3 shift_of(const kd_flexible_body *b, int nmodes, int i, const double *q)
{
    kd_vec3 sum = {0, 0, 0};
    for (int k = 0; k < nmodes; k++)
        sum = kd_vec_axpy(sum, q[k], kd_vec_of(b->shape + (size_t)k * 3 * (size_t)b->nnodes + 3 * (size_t)i));
    return sum;
}

static kd_vec3 acceleration_of(const kd_flexible_body *b, const kd_carried_loads *l, int i)
{
    const kd_vec3 w = kd_vec_of(l->w);
    const kd_vec3 c = kd_vec_add(kd_vec_of(b->node + 3 * (size_t)i), shift_of(b, l->nmodes, i, l->q));
    const kd_vec3 du = shift_of(b, l->nmodes, i, l->dq), ddu = shift_of(b, l->nmodes, i, l->ddq);
    const kd_vec3 turning = kd_vec_cross(w, kd_vec_axpy(kd_vec_cross(w, c), 2, du));
    return kd_vec_add(kd_vec_add(kd_vec_of(l->a), kd_vec_cross(kd_vec_of(l->dw), c)), kd_vec_add(turning, ddu));
}

kd_status kd_load_case_inertia(const kd_fe_structure *s, const kd_flexible_body *b, const kd_carried_loads *l,
                               double *f)
{
    kd_arena scratch = {0};
    double  *a = kd_cut_double(&scratch, s->n);
    bool     same = s->nnodes == b->nnodes;
    for (int i = 0; same && i < s->nnodes; i++)
        same =
            kd_vec_norm(kd_vec_sub(s->at[i], kd_vec_of(b->node + 3 * (size_t)i))) <= 1e-9 * (1 + kd_vec_norm(s->at[i]));
    kd_status status = !a ? KD_ERR_MEMORY : !same ? KD_ERR_ARGUMENT : KD_OK;
    for (int i = 0; status == KD_OK && i < s->nnodes; i++) {
        double at[3];
        kd_vec_to(acceleration_of(b, l, i), at);
        for (int d = 0; d < 3; d++)
            if (s->first[6 * i + d] >= 0) a[s->first[6 * i + d]] = -at[d];
    }
    if (status == KD_OK) kd_sparse_apply(&s->M, 1, a, f);
    kd_arena_release(&scratch);
    return status;
}

// one force and moment at a place, into the sums
static void add_load(kd_vec3 at, kd_vec3 F, kd_vec3 N, kd_vec3 *force, kd_vec3 *moment, kd_load_balance *sizes)
{
    const kd_vec3 about = kd_vec_add(N, kd_vec_cross(at, F));
    *force = kd_vec_add(*force, F);
    *moment = kd_vec_add(*moment, about);
    sizes->force_size += kd_vec_norm(F);
    sizes->moment_size += kd_vec_norm(about);
}

static kd_vec3 force_at(const kd_fe_structure *s, const double *f, int i)
{
    double at[3] = {0};
    for (int d = 0; d < 3; d++)
        if (s->first[6 * i + d] >= 0) at[d] = f[s->first[6 * i + d]];
    return kd_vec_of(at);
}

kd_load_balance kd_load_case_balance(const kd_fe_structure *s, const kd_flexible_body *b, const kd_carried_loads *l,
                                     const double *f)
{
    kd_load_balance sum = {0};
    kd_vec3         force = {0, 0, 0}, moment = force;
    const kd_vec3   none = {0, 0, 0};
    for (int i = 0; i < s->nnodes; i++)
        add_load(kd_vec_add(s->at[i], shift_of(b, l->nmodes, i, l->q)), force_at(s, f, i), none, &force, &moment, &sum);
    for (int i = 0; i < l->nframes; i++) {
        double e[6];
        kd_carried_deflection(b, l, i, e);
        add_load(kd_vec_add(b->frame[i].at, kd_vec_of(e)), kd_vec_of(l->load + 6 * i), kd_vec_of(l->load + 6 * i + 3),
                 &force, &moment, &sum);
    }
    add_load(none, kd_vec_of(l->rest), kd_vec_of(l->rest + 3), &force, &moment, &sum);
    sum.force = kd_vec_norm(force);
    sum.moment = kd_vec_norm(moment);
    return sum;
}

// ---- a step of CalculiX ---------------------------------------------------------------------------------------------

// The load at a frame that follows its nodes in the mean, shared out: f_i = A_i inv(sum A'A) load, A_i = [1, -r_i x]
static kd_status share_out(const kd_fe_structure *s, const kd_interface *face, const double load[6], double *f)
{
    double S[36] = {0}, x[6];
    int    pivot[6];
    for (int i = 0; i < face->n; i++) {
        const kd_vec3 r = kd_vec_sub(s->at[face->node[i]], face->point);
        const double  A[3][6] = {{1, 0, 0, 0, r.z, -r.y}, {0, 1, 0, -r.z, 0, r.x}, {0, 0, 1, r.y, -r.x, 0}};
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++)
                for (int d = 0; d < 3; d++) S[a + 6 * b] += A[d][a] * A[d][b];
    }
    memcpy(x, load, sizeof x);
    if (kd_lu_factor(6, S, pivot) != 0) return KD_ERR_DECOMPOSITION;
    kd_lu_solve(6, S, pivot, x, 1);
    for (int i = 0; i < face->n; i++) {
        const kd_vec3 r = kd_vec_sub(s->at[face->node[i]], face->point);
        double        at[3];
        kd_vec_to(kd_vec_add(kd_vec_of(x), kd_vec_cross(kd_vec_of(x + 3), r)), at);
        for (int d = 0; d < 3; d++)
            if (s->first[6 * face->node[i] + d] >= 0) f[s->first[6 * face->node[i] + d]] += at[d];
    }
    return KD_OK;
}

// Forces of the nodes of a rigid interface go to its frame
static void gather(const kd_fe_structure *s, const kd_interface *face, double *f, double load[6])
{
    for (int i = 0; i < face->n; i++) {
        const kd_vec3 F = force_at(s, f, face->node[i]);
        const kd_vec3 N = kd_vec_cross(kd_vec_sub(s->at[face->node[i]], face->point), F);
        load[0] += F.x, load[1] += F.y, load[2] += F.z, load[3] += N.x, load[4] += N.y, load[5] += N.z;
        for (int d = 0; d < 3; d++)
            if (s->first[6 * face->node[i] + d] >= 0) f[s->first[6 * face->node[i] + d]] = 0;
    }
}

static void write_rigid(const kd_fe_structure *s, const kd_interface *face, int reference, FILE *file)
{
    fprintf(file, "*NODE, NSET=KARDAN_FRAMES\n");
    for (int k = 0; k < 2; k++) // the second one has the turns
        fprintf(file, "%d, %.12e, %.12e, %.12e\n", reference + k, face->point.x / s->unit_length,
                face->point.y / s->unit_length, face->point.z / s->unit_length);
    fprintf(file, "*NSET, NSET=KARDAN_%d\n", reference);
    for (int i = 0; i < face->n; i++) fprintf(file, "%d,\n", s->id[face->node[i]]);
    fprintf(file, "*RIGID BODY, NSET=KARDAN_%d, REF NODE=%d, ROT NODE=%d\n", reference, reference, reference + 1);
}

// *CLOAD of a node, in its unit: what is not 0
static void write_force(int id, const double value[3], double unit, FILE *file)
{
    for (int d = 0; d < 3; d++)
        if (value[d] != 0) fprintf(file, "%d, %d, %.12e\n", id, d + 1, value[d] / unit);
}

kd_status kd_load_case_write(const kd_fe_structure *s, const kd_flexible_body *b, const kd_interface *faces,
                             const kd_carried_loads *l, double *f, int held, const char *title, FILE *file)
{
    const int first = s->id[s->nnodes - 1] + 1;
    kd_status status = KD_OK;
    kd_fe_share_inner(s, f);
    fprintf(file, "** %s\n** behind mesh, material and section; axes of the body, frame by frame:\n", title);
    for (int i = 0; i < l->nframes; i++)
        fprintf(file, "**   %s%s\n", b->frame[i].name, i == held ? ": held here, it carries what is in balance" : "");
    // the model: frames that nodes follow
    for (int i = 0; i < l->nframes; i++)
        if (!faces[i].averages) write_rigid(s, &faces[i], first + 2 * i, file);
    fprintf(file, "*BOUNDARY\n");
    if (!faces[held].averages)
        fprintf(file, "%d, 1, 3\n%d, 1, 3\n", first + 2 * held, first + 2 * held + 1);
    else
        for (int i = 0; i < faces[held].n; i++) fprintf(file, "%d, 1, 3\n", s->id[faces[held].node[i]]);
    // the step
    fprintf(file, "*STEP\n*STATIC\n*CLOAD\n");
    for (int i = 0; i < l->nframes && status == KD_OK; i++) {
        double load[6];
        memcpy(load, l->load + 6 * i, sizeof load);
        if (faces[i].averages) {
            if (i != held) status = share_out(s, &faces[i], load, f);
            continue;
        }
        gather(s, &faces[i], f, load);
        if (i == held) continue;
        write_force(first + 2 * i, load, s->unit_force, file);
        write_force(first + 2 * i + 1, load + 3, s->unit_force * s->unit_length, file);
    }
    for (int i = 0; i < s->nnodes && status == KD_OK; i++) {
        double at[3];
        kd_vec_to(force_at(s, f, i), at);
        write_force(s->id[i], at, s->unit_force, file);
    }
    fprintf(file, "*NODE PRINT, NSET=KARDAN_FRAMES\nU\n*NODE FILE\nU\n"
                  "*EL FILE\nS\n*END STEP\n");
    return status == KD_OK && ferror(file) ? KD_ERR_FILE : status;
}
