// subsystems.c: where the parts of subsystems are: mirrored, turned and shifted.
//
// A subsystem is written in coordinates x of its own. It is mirrored at a plane (n, p), turned by R and shifted by r:
//
//     S = I - 2 n n',   x -> R (S x + 2 n n'p) + r,   inside of another one:   Q = Q_o R S,  c = c_o + Q_o (2 R n n'p + r)
//
// In a mirror the frame of a body would become left-handed. The frame of its image is the one that is mirrored in its own
// axes once more: R_b -> Q R_b L', L = L_o S, so that vectors in it are multiplied by L. Which of these happens to a
// number is said by its row in the schema (kd_image). docs/methods/subsystems.md
#include <math.h>
#include <string.h>

#include "joint/joint.h"
#include "model/element.h"

kd_status kd_model_add_subsystem(kd_model *m, const char *name, const char *of, const kd_subsystem_def *def)
{
    kd_status status = kd_model_prepare(m, KD_SECTION_SUBSYSTEM, KD_SCHEMA_SUBSYSTEM, name, def);
    if (status < 0) return status;
    kd_subsystem *s = &m->subsystem[m->nsubsystems];
    *s = (kd_subsystem){.name = kd_model_text(m, name), .source = m->private->source, .def = *def};
    s->of = kd_model_text(m, of);
    return kd_model_enter(m, KD_SECTION_SUBSYSTEM, s->name);
}

kd_status kd_model_add_written(kd_model *m, const kd_written *part)
{
    kd_written *new = kd_arena_cut(&m->private->arena, 1, sizeof *new);
    if (!new) return KD_ERR_MEMORY;
    *new = *part;
    new->text = kd_model_text(m, part->text);
    new->path = kd_model_text(m, part->path);
    new->real = kd_model_text(m, part->real);
    if (!new->text || (part->path && !new->path) || (part->real && !new->real)) return KD_ERR_MEMORY;
    if (m->private->last_written)
        m->private->last_written->next = new;
    else
        m->private->written = new;
    m->private->last_written = new;
    return KD_OK;
}

void kd_model_within(kd_model *m, int subsystem)
{
    m->private->source.subsystem = subsystem;
}

const kd_subsystem *kd_subsystem_of(const kd_model *m, kd_section section, int element)
{
    if (m->nsubsystems == 0) return NULL;
    const int i = kd_model_source_of(m, section, element, NULL).subsystem;
    return i > 0 ? &m->subsystem[i - 1] : NULL;
}

bool kd_subsystem_is_inside(const kd_model *m, const kd_subsystem *inner, const kd_subsystem *outer)
{
    while (inner && inner != outer)
        inner = inner->source.subsystem > 0 ? &m->subsystem[inner->source.subsystem - 1] : NULL;
    return inner == outer;
}

// ---- where they are -------------------------------------------------------------------------------------------------

static kd_mat3 reflection(kd_vec3 n)
{
    return (kd_mat3){kd_vec_axpy(kd_vec(1, 0, 0), -2.0 * n.x, n), kd_vec_axpy(kd_vec(0, 1, 0), -2.0 * n.y, n),
                     kd_vec_axpy(kd_vec(0, 0, 1), -2.0 * n.z, n)};
}

void kd_subsystem_place(kd_model *m, int i)
{
    kd_subsystem             *s = &m->subsystem[i];
    static const kd_subsystem whole = {.Q = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .L = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const kd_subsystem       *outer = s->source.subsystem > 0 ? &m->subsystem[s->source.subsystem - 1] : &whole;
    const kd_mat3             R = kd_quat_matrix(kd_quat_normalised(kd_quat_of(s->def.orientation)));
    kd_vec3                   n = kd_vec_of(s->def.mirror), r = kd_vec_of(s->def.position);
    const double              length = kd_vec_norm(n);
    kd_mat3                   Q = R;
    s->L = outer->L;
    s->mirrored = outer->mirrored;
    // x -> R (S x + 2 n n'through) + r: the mirror first, then the turn
    if (length > 0.0) {
        n = kd_vec_scale(1.0 / length, n);
        const kd_mat3 S = reflection(n);
        const kd_vec3 moved = kd_vec_scale(2.0 * kd_vec_dot(n, kd_vec_of(s->def.through)), n);
        Q = kd_mat_mul(&R, &S);
        r = kd_vec_add(kd_mat_vec(&R, moved), r);
        s->L = kd_mat_mul(&outer->L, &S);
        s->mirrored = !outer->mirrored;
    }
    // behind what the subsystem around does
    s->Q = kd_mat_mul(&outer->Q, &Q);
    s->c = kd_vec_add(outer->c, kd_mat_vec(&outer->Q, r));
}

// ---- numbers --------------------------------------------------------------------------------------------------------

static double entry(const kd_mat3 *A, int i, int j)
{
    const kd_vec3 *c = j == 0 ? &A->x : j == 1 ? &A->y : &A->z;
    return i == 0 ? c->x : i == 1 ? c->y : c->z;
}

// x := factor A x; components that are not given (NaN) touch only those that are made of them
static void multiply(const kd_mat3 *A, double factor, double *x)
{
    double y[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (entry(A, i, j) != 0.0) y[i] += factor * entry(A, i, j) * x[j];
    memcpy(x, y, sizeof y);
}

// R := A R B
static void turn(const kd_mat3 *A, const kd_mat3 *B, double *orientation)
{
    const kd_mat3 R = kd_quat_matrix(kd_quat_normalised(kd_quat_of(orientation))), AR = kd_mat_mul(A, &R);
    const kd_mat3 ARB = kd_mat_mul(&AR, B);
    kd_quat_to(kd_quat_of_matrix(&ARB), orientation);
}

// xx yy zz xy xz yz
static void rotate_tensor(const kd_mat3 *A, double *J)
{
    if (isnan(J[0])) return;
    const kd_sym3 turned = kd_sym_rotate(A, &(kd_sym3){J[0], J[1], J[2], J[3], J[4], J[5]});
    memcpy(J, (const double[]){turned.xx, turned.yy, turned.zz, turned.xy, turned.xz, turned.yz}, 6 * sizeof *J);
}

// K := G K G', with the sign of the determinant where forces meet turns; G = diag(sign)
static void reflect_matrix(const double sign[3], double *K)
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            const double factor = sign[i % 3] * sign[j % 3] * ((i < 3) != (j < 3) ? -1.0 : 1.0);
            if (factor < 0.0 && K[6 * i + j] != 0.0) K[6 * i + j] = -K[6 * i + j];
        }
}

// What the axes of a place become: M = diag(sign)
static void signs_of(kd_image image, double sign[3])
{
    sign[0] = 1.0;
    sign[1] = image == KD_IMAGE_KEEPS_XY ? 1.0 : -1.0;
    sign[2] = -sign[1];
}

static void image_number(const kd_subsystem *s, const kd_field *field, const double sign[3], double *x)
{
    const double  det = s->mirrored ? -1.0 : 1.0;
    const kd_mat3 Lt = kd_mat_transpose(&s->L);
    // by what a number is: points move, vectors turn, axial ones and senses of rotation change with the mirror, too
    switch (field->image) {
    case KD_IMAGE_POINT:
        multiply(&s->Q, 1.0, x);
        kd_vec_to(kd_vec_add(s->c, kd_vec_of(x)), x);
        break;
    case KD_IMAGE_VECTOR:
        multiply(&s->Q, 1.0, x);
        break;
    case KD_IMAGE_AXIAL:
        multiply(&s->Q, det, x);
        break;
    case KD_IMAGE_ORIENTATION:
        turn(&s->Q, &Lt, x);
        break;
    case KD_IMAGE_OWN_VECTOR:
        multiply(&s->L, 1.0, x);
        break;
    case KD_IMAGE_OWN_ORIENTATION:
        turn(&s->L, &Lt, x);
        break;
    case KD_IMAGE_INVERTED: {
        const kd_mat3 inverted = {{det, 0, 0}, {0, det, 0}, {0, 0, det}};
        turn(&s->L, &inverted, x);
        break;
    }
    case KD_IMAGE_TENSOR:
        rotate_tensor(&s->L, x);
        break;
    case KD_IMAGE_STIFFNESS:
        if (s->mirrored) reflect_matrix(sign, x);
        break;
    case KD_IMAGE_WRENCH:
        for (int i = 0; i < 6 && s->mirrored; i++) x[i] *= i < 3 ? sign[i] : -sign[i - 3];
        break;
    case KD_IMAGE_REVERSED:
        if (s->mirrored) *x = -*x;
        break;
    default:
        break;
    }
}

static void image_of_definition(const kd_subsystem *s, const kd_schema *schema, void *def)
{
    // places on bodies decide how pairs of axes are reflected
    const int       kind = kd_schema_kind_of(schema, def);
    const kd_field *from = kd_schema_field(schema, kind, "from");
    double          sign[3];
    signs_of(from ? from->image : KD_IMAGE_SAME, sign);
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        char           *at = (char *)def + field->offset;
        int             n = 0;
        if (!kd_field_has(field, kind)) continue;
        // numbers by their kind of image, shapes one by one, sides exchanged
        switch (field->type) {
        case KD_FIELD_NUMBER:
        case KD_FIELD_ORIENTATION:
        case KD_FIELD_INERTIA:
        case KD_FIELD_MATRIX:
            image_number(s, field, sign, (double *)(void *)at);
            break;
        case KD_FIELD_SHAPES:
            memcpy(&n, (char *)def + field->length, sizeof n);
            for (int k = 0; k < n; k++)
                image_of_definition(s, kd_schema_of(KD_SCHEMA_SHAPE), at + (size_t)k * sizeof(kd_shape));
            break;
        case KD_FIELD_WORD: // left and right are the first two words
            memcpy(&n, at, sizeof n);
            if (field->image == KD_IMAGE_SIDE && s->mirrored) n = 1 - n;
            memcpy(at, &n, sizeof n);
            break;
        default:
            break;
        }
    }
}

static void image_of_joint(const kd_subsystem *s, kd_joint_def *def)
{
    double sign[3];
    image_of_definition(s, kd_schema_of(KD_SCHEMA_JOINT), def);
    if (!s->mirrored) return;
    def->kind = kd_joint_image(def->kind, sign);
    if (kd_joint_form_of(def->kind).curved) def->mirrored = !def->mirrored;
}

void kd_finish_subsystems(kd_model *m)
{
    if (m->nsubsystems == 0) return;
    // poses from outside in, then every definition takes the image of its subsystem
    for (int i = 0; i < m->nsubsystems; i++) kd_subsystem_place(m, i);
    const kd_subsystem *s;
    for (int i = 0; i < m->nbodies; i++)
        if ((s = kd_subsystem_of(m, KD_SECTION_BODY, i)))
            image_of_definition(s, kd_schema_of(KD_SCHEMA_BODY), &m->body[i].def);
    for (int i = 0; i < m->nconstraints; i++)
        if ((s = kd_subsystem_of(m, KD_SECTION_CONSTRAINT, i)))
            image_of_definition(s, kd_schema_of(KD_SCHEMA_CONSTRAINT), &m->constraint[i].def);
    for (int i = 0; i < m->nforces; i++)
        if ((s = kd_subsystem_of(m, KD_SECTION_FORCE, i)))
            image_of_definition(s, kd_schema_of(KD_SCHEMA_FORCE), &m->force[i].def);
    for (int i = 0; i < m->ninvariants; i++)
        if ((s = kd_subsystem_of(m, KD_SECTION_INVARIANT, i)))
            image_of_definition(s, kd_schema_of(KD_SCHEMA_INVARIANT), &m->invariant[i].def);
    for (int i = 0; i < m->njoints; i++)
        if ((s = kd_subsystem_of(m, KD_SECTION_JOINT, i))) image_of_joint(s, &m->joint[i].def);
}

// ---- axes of places -------------------------------------------------------------------------------------------------

static kd_image image_of_place(const kd_model *m, kd_section section, int element, const char *key)
{
    const kd_field *field = NULL;
    if (section == KD_SECTION_JOINT) return KD_IMAGE_OF_JOINT;
    if (section == KD_SECTION_FORCE) field = kd_element_field(kd_force_element((int)m->force[element].def.kind), key);
    if (section == KD_SECTION_CONSTRAINT)
        field = kd_element_field(kd_constraint_element((int)m->constraint[element].def.kind), key);
    return field ? field->image : KD_IMAGE_FRAME;
}

kd_mat3 kd_place_image(const kd_model *m, kd_section section, int element, const char *key, const kd_mat3 *R)
{
    const kd_subsystem *s = kd_subsystem_of(m, section, element);
    const kd_image      image = image_of_place(m, section, element, key);
    const kd_mat3       LR = kd_mat_mul(&s->L, R), Lt = kd_mat_transpose(&s->L);
    double              sign[3];
    if (image == KD_IMAGE_FRAME) return kd_mat_mul(&LR, &Lt);
    if (!s->mirrored) return LR;
    if (image == KD_IMAGE_OF_JOINT)
        (void)kd_joint_image(m->joint[element].def.kind, sign);
    else
        signs_of(image, sign);
    return (kd_mat3){kd_vec_scale(sign[0], LR.x), kd_vec_scale(sign[1], LR.y), kd_vec_scale(sign[2], LR.z)};
}
