// part.c: flexible bodies of a model: their files, what they say of mass and modes, and their interfaces.
#include "model/part.h"

#include <string.h>

#include "core/text.h"
#include "flexible/flex_file.h"
#include "flexible/sid.h"
#include "model/build.h"

// ---- files ----------------------------------------------------------------------------------------------------------

const kd_flexible_body *kd_model_part_find(const kd_model *m, const char *path, int piece, int pieces)
{
    for (const kd_model_part *part = m->private->parts; part; part = part->next)
        if (!part->image_of && part->piece == piece && part->pieces == pieces && strcmp(part->path, path) == 0)
            return &part->body;
    return NULL;
}

const char *kd_model_part_path(const kd_model *m, const kd_flexible_body *body)
{
    for (const kd_model_part *part = m->private->parts; part; part = part->next)
        if (&part->body == body) return part->path;
    return NULL;
}

const kd_flexible_body *kd_model_part_enter(kd_model *m, const char *path, int piece, int pieces,
                                            kd_flexible_body *body)
{
    kd_model_part *part = kd_alloc(sizeof *part);
    const char    *kept = kd_model_text(m, path);
    if (!part || !kept) {
        kd_free(part);
        kd_flexible_body_release(body);
        return NULL;
    }
    *part = (kd_model_part){.path = kept, .piece = piece, .pieces = pieces, .body = *body, .next = m->private->parts};
    *body = (kd_flexible_body){0};
    m->private->parts = part;
    return &part->body;
}

static kd_status read_part(const char *path, kd_flexible_body *body, char *message, size_t size)
{
    if (kd_text_has_ending(path, ".flex")) return kd_flex_read(path, body, message, size);
    if (kd_text_has_ending(path, ".sid_fem") || kd_text_has_ending(path, ".sid"))
        return kd_sid_read(path, body, message, size);
    kd_text(message, size, "'%s' is no flexible body: its name ends neither with .flex nor with .SID_FEM", path);
    return KD_ERR_MODEL;
}

kd_status kd_model_part_read(kd_model *m, const char *path, const kd_flexible_body **body, char *message, size_t size)
{
    kd_flexible_body new = {0};
    *body = kd_model_part_find(m, path, 1, 1);
    if (*body) return KD_OK;
    const kd_status status = read_part(path, &new, message, size);
    if (status < 0) return status == KD_ERR_MEMORY ? status : KD_ERR_MODEL;
    *body = kd_model_part_enter(m, path, 1, 1, &new);
    return *body ? KD_OK : KD_ERR_MEMORY;
}

void kd_model_parts_release(kd_model_part *first)
{
    while (first) {
        kd_model_part *next = first->next;
        kd_flexible_body_release(&first->body);
        kd_free(first);
        first = next;
    }
}

// ---- bodies ---------------------------------------------------------------------------------------------------------

int kd_body_node(const kd_body *body, const char *name)
{
    const kd_flexible_body *f = body->def.read;
    for (int i = 0; f && i < f->nframes; i++)
        if (strcmp(f->frame[i].name, name) == 0) return i + 1;
    return 0;
}

// ---- mirrors --------------------------------------------------------------------------------------------------------

static bool same_matrix(const kd_mat3 *A, const kd_mat3 *B)
{
    const kd_vec3 d[] = {kd_vec_sub(A->x, B->x), kd_vec_sub(A->y, B->y), kd_vec_sub(A->z, B->z)};
    return kd_vec_norm(d[0]) + kd_vec_norm(d[1]) + kd_vec_norm(d[2]) < 1e-12;
}

static bool is_image(const kd_model *m, const kd_flexible_body *f)
{
    for (const kd_model_part *part = m->private->parts; part; part = part->next)
        if (&part->body == f) return part->image_of;
    return false;
}

// The body of a file as it is in a subsystem whose vectors are multiplied by L; bodies of one part share it
static const kd_flexible_body *image_of(kd_model *m, const kd_flexible_body *f, const kd_mat3 *L, kd_status *status)
{
    kd_flexible_body image = {0};
    kd_model_part   *own = m->private->parts;
    // a body that is not of this model stays as it is
    while (own && &own->body != f) own = own->next;
    *status = KD_OK;
    if (!own) return f;
    // one image for all bodies of the part that stand alike
    for (kd_model_part *part = m->private->parts; part; part = part->next)
        if (part->image_of == f && same_matrix(&part->L, L)) return &part->body;
    *status = kd_flexible_body_image(f, L, &image);
    if (*status < 0 || !kd_model_part_enter(m, own->path, own->piece, own->pieces, &image)) {
        if (*status == KD_OK) *status = KD_ERR_MEMORY;
        return NULL;
    }
    m->private->parts->image_of = f;
    m->private->parts->L = *L;
    return &m->private->parts->body;
}

// The matrix of the definition, of written models
static bool matrix_of(kd_model *m, int i, kd_mat3 *L)
{
    const double *x = m->body[i].def.image;
    *L = kd_mat_identity();
    if (isnan(x[0])) return true;
    *L = (kd_mat3){kd_vec(x[0], x[3], x[6]), kd_vec(x[1], x[4], x[7]), kd_vec(x[2], x[5], x[8])};
    const kd_mat3 LtL = kd_mat_tmul(L, L), one = kd_mat_identity();
    if (same_matrix(&LtL, &one)) return true;
    kd_model_error(m, KD_SECTION_BODY, i, "image", "image: the matrix is not orthogonal");
    return false;
}

static bool take_image(kd_model *m, int i)
{
    const kd_mat3       identity = kd_mat_identity();
    kd_body_def        *def = &m->body[i].def;
    const kd_subsystem *s = kd_subsystem_of(m, KD_SECTION_BODY, i);
    kd_status           status;
    kd_mat3             L;
    if (is_image(m, def->read)) return true; // the model is finished again
    // the image in the axes of the body: its own, then that of the subsystem around it
    if (!matrix_of(m, i, &L)) return false;
    if (s) L = kd_mat_mul(&s->L, &L);
    if (same_matrix(&L, &identity)) return true;
    // one image of a part is made for all bodies that need the same
    const kd_flexible_body *image = image_of(m, def->read, &L, &status);
    if (image) {
        const double rows[] = {L.x.x, L.y.x, L.z.x, L.x.y, L.y.y, L.z.y, L.x.z, L.y.z, L.z.z};
        def->read = image;
        memcpy(def->image, rows, sizeof rows);
    }
    if (!image)
        kd_model_error(m, KD_SECTION_BODY, i, "flexible",
                       status == KD_ERR_MEMORY ? "out of memory"
                                               : "its stiffness under rotation is known for one axis, which the mirror "
                                                 "turns to none of the axes: mirror at a plane of two axes");
    return image;
}

// ---- checks ---------------------------------------------------------------------------------------------------------

// What belongs to flexible bodies alone
static bool check_rigid(kd_model *m, int i)
{
    const kd_body_def *def = &m->body[i].def;
    const char        *key = NULL;
    if (def->modes != 0) key = "modes";
    if (def->pieces != 0 || def->piece != 0) key = "pieces";
    if (!isnan(def->damping)) key = "damping";
    if (!isnan(def->image[0])) key = "image";
    for (int k = 0; k < KD_MAX_AMPLITUDES; k++)
        if (!isnan(def->amplitude[k]) || !isnan(def->rate[k])) key = isnan(def->rate[k]) ? "amplitude" : "rate";
    if (key)
        kd_model_error(m, KD_SECTION_BODY, i, key, "%s: only a flexible body has modes; name its file by 'flexible'",
                       key);
    return !key;
}

static bool check_modes(kd_model *m, int i, int nmodes)
{
    const kd_body_def *def = &m->body[i].def;
    if (def->modes < 0 || def->modes > def->read->nq) {
        kd_model_error(m, KD_SECTION_BODY, i, "modes", "%d modes are wanted, '%s' has %d", def->modes, def->flexible,
                       def->read->nq);
        return false;
    }
    for (int k = nmodes; k < KD_MAX_AMPLITUDES; k++)
        if (!isnan(def->amplitude[k]) || !isnan(def->rate[k])) {
            kd_model_error(m, KD_SECTION_BODY, i, isnan(def->rate[k]) ? "amplitude" : "rate",
                           "a start value of mode %d, but the body has %d", k + 1, nmodes);
            return false;
        }
    return true;
}

// Of natural modes: the last one that is taken has the frequency of the first one that is not
static void doubt_modes(kd_model *m, int i, int nmodes)
{
    const kd_flexible_body *f = m->body[i].def.read;
    const int               n = f->nq;
    if (nmodes < 1 || nmodes >= n) return;
    for (int k = 0; k < n * n; k++)
        if (k % (n + 1) != 0 && fabs(f->Ke[k]) > 1e-12 * fabs(f->Ke[(n + 1) * (k % n)])) return; // no natural modes
    const double last = f->Ke[(nmodes - 1) * (n + 1)] / f->Me[(nmodes - 1) * (n + 1)],
                 next = f->Ke[nmodes * (n + 1)] / f->Me[nmodes * (n + 1)];
    if (fabs(next - last) <= 1e-6 * fabs(next))
        kd_model_warn(m, KD_SECTION_BODY, i, "modes",
                      "modes %d and %d have the same frequency, and only one of them is taken: take both or none",
                      nmodes, nmodes + 1);
}

bool kd_finish_flexible(kd_model *m, int i)
{
    kd_body     *b = &m->body[i];
    kd_body_def *def = &b->def;
    b->nmodes = 0;
    if (!def->read) return check_rigid(m, i);
    if (!take_image(m, i)) return false;
    const kd_flexible_body *f = def->read;
    b->nmodes = def->modes > 0 ? def->modes : f->nq;
    if (!check_modes(m, i, b->nmodes)) return false;
    doubt_modes(m, i, b->nmodes);
    // mass, centre and inertia of the body without deformation
    const kd_vec3 c = kd_vec_scale(1 / f->mass, kd_vec_of(f->first));
    const double *S = f->second, trace = S[0] + S[4] + S[8];
    const kd_sym3 about_origin = {trace - S[0], trace - S[4], trace - S[8], -S[3], -S[6], -S[7]};
    const kd_sym3 I = kd_sym_steiner(&about_origin, -f->mass, c);
    def->mass = f->mass;
    kd_vec_to(c, def->centre);
    memcpy(def->inertia, (double[6]){I.xx, I.yy, I.zz, I.xy, I.xz, I.yz}, sizeof def->inertia);
    b->centre = c;
    b->inertia = I;
    return true;
}
