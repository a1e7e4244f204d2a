// qualify_vectors.c: vectors in expressions inside of subsystems. Components are those in the coordinates of the subsystem:
// they become sums of the components that the model has, x = Q'(y - c); where c follows parameters it is an expression.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "model/element.h"
#include "modelfile/qualify.h"

// ---- texts that grow ------------------------------------------------------------------------------------------------

void kd_out_put(kd_out *o, const char *text, size_t n)
{
    if (o->used + n + 1 > o->size) {
        o->full = true;
        return;
    }
    memcpy(o->text + o->used, text, n);
    o->used += n;
    o->text[o->used] = '\0';
}

void kd_out_word(kd_out *o, const char *text)
{
    kd_out_put(o, text, strlen(text));
}

// ---- vectors --------------------------------------------------------------------------------------------------------

static double entry(const kd_mat3 *A, int i, int j)
{
    const kd_vec3 *c = j == 0 ? &A->x : j == 1 ? &A->y : &A->z;
    return i == 0 ? c->x : i == 1 ? c->y : c->z;
}

static void put_number(kd_out *o, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    kd_out_word(o, text);
}

// "+ a*", "- ", ...
static void put_factor(kd_out *o, double a, bool first)
{
    kd_out_word(o, a < 0.0 ? (first ? "-" : " - ") : first ? "" : " + ");
    if (fabs(a) == 1.0) return;
    put_number(o, fabs(a));
    kd_out_word(o, "*");
}

// The numbers of how the subsystem is turned become parts of an expression: its place cannot live any longer. Where it is
// may change as long as it is not turned: that has become an expression itself.
bool kd_reader_hold_place(kd_reader *r, kd_scope *scope)
{
    const struct kd_bindings *all = &r->m->private->bindings;
    if (!scope->turns || r->looks) return true;
    // from the subsystem outwards, each once
    for (kd_scope *s = scope; s && s->number > 0; s = s->outer) {
        if (s->held) continue;
        s->held = true;
        for (int i = s->first_binding; i < s->end_binding; i++) {
            // each number of its place is bound to nothing: a change of its parameters is refused by name
            kd_binding b = all->binding[i];
            char       key[KD_MAX_NAME + 60];
            if (b.target == KD_BIND_NOTHING) continue;
            kd_text(key, sizeof key, "'%s' of subsystem '%s'", b.key, s->name);
            b.key = kd_model_text(r->m, key);
            b.value = kd_expr_value(all->expr[b.expr], all->index + b.index, r->work);
            b.source.file = r->m->subsystem[s->number - 1].source.file;
            b.target = KD_BIND_NOTHING;
            if (!b.key || kd_model_bind(r->m, &b) < 0) return kd_reader_short_of_memory(r);
        }
    }
    return true;
}

// row' of the vector whose components are called head + x, y, z, less the origin of the subsystem (NULL: not less that)
static void put_component(kd_out *o, kd_vec3 row, double factor, const char *head, const kd_subsystem *s,
                          const char *const *origin)
{
    const double a[] = {row.x, row.y, row.z}, c[] = {s ? s->c.x : 0.0, s ? s->c.y : 0.0, s ? s->c.z : 0.0};
    double       constant = 0.0;
    bool         first = true;
    // row' v, factors of 0 left out
    kd_out_word(o, "(");
    for (int j = 0; j < 3; j++) {
        if (a[j] == 0.0) continue;
        put_factor(o, factor * a[j], first);
        kd_out_word(o, head);
        kd_out_put(o, &"xyz"[j], 1);
        first = false;
    }
    // less row' c: parts of the origin that live stay words, the others become one number
    for (int j = 0; s && j < 3; j++) {
        if (!origin[j]) constant -= a[j] * c[j];
        if (!origin[j] || a[j] == 0.0) continue;
        put_factor(o, -a[j], false);
        kd_out_word(o, origin[j]);
    }
    // the sum of all that is constant
    if (constant != 0.0) {
        kd_out_word(o, constant < 0.0 ? " - " : " + ");
        put_number(o, fabs(constant));
    }
    kd_out_word(o, ")");
}

// Entry ij of R = Q'R_b L of a body or frame called head
static void put_axis(kd_out *o, const kd_subsystem *s, const char *head, int i, int j)
{
    bool first = true;
    kd_out_word(o, "(");
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) {
            const double a = entry(&s->Q, k, i) * entry(&s->L, l, j);
            if (a == 0.0) continue;
            put_factor(o, a, first);
            kd_out_word(o, head);
            kd_out_word(o, ".R.");
            kd_out_put(o, &"xyz"[k], 1);
            kd_out_put(o, &"xyz"[l], 1);
            first = false;
        }
    kd_out_word(o, ")");
}

int kd_axis_letter(char c)
{
    return c == 'x' ? 0 : c == 'y' ? 1 : c == 'z' ? 2 : -1;
}

static bool is_tail(const char *tail, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(tail, word, n) == 0 && kd_axis_letter(tail[n]) >= 0 && tail[n + 1] == '\0';
}

// Cardan angles of R = Rz Ry Rx
static void put_angle(kd_out *o, const kd_subsystem *s, const char *head, const char *angle)
{
    if (strcmp(angle, "pitch") == 0) {
        kd_out_word(o, "(-asin(");
        put_axis(o, s, head, 2, 0);
        kd_out_word(o, "))");
        return;
    }
    const bool roll = strcmp(angle, "roll") == 0;
    kd_out_word(o, "atan2(");
    put_axis(o, s, head, roll ? 2 : 1, roll ? 1 : 0);
    kd_out_word(o, ", ");
    put_axis(o, s, head, roll ? 2 : 0, roll ? 2 : 0);
    kd_out_word(o, ")");
}

// A reading of a body or frame of the subsystem, in its coordinates. false: it is no component
bool kd_out_motion(kd_out *o, const kd_subsystem *s, const char *const *origin, const char *head, const char *tail)
{
    static const char *const vectors[] = {"pos.", "com.", "vel.", "acc.", "omega.", "alpha.", NULL};
    char                     name[KD_EXPR_MAX_NAME + 1];
    // vectors: the component is a row of Q' v; turning ones change sign in a mirror
    for (int k = 0; vectors[k]; k++) {
        if (!is_tail(tail, vectors[k])) continue;
        const int     i = kd_axis_letter(tail[strlen(vectors[k])]);
        const kd_vec3 column = i == 0 ? s->Q.x : i == 1 ? s->Q.y : s->Q.z;
        kd_text(name, sizeof name, "%s.%s", head, vectors[k]);
        put_component(o, column, k > 3 && s->mirrored ? -1.0 : 1.0, name, k < 2 ? s : NULL, origin);
        return true;
    }
    // entries of the rotation matrix
    if (strncmp(tail, "R.", 2) == 0 && kd_axis_letter(tail[2]) >= 0 && kd_axis_letter(tail[3]) >= 0 &&
        tail[4] == '\0') {
        put_axis(o, s, head, kd_axis_letter(tail[2]), kd_axis_letter(tail[3]));
        return true;
    }
    // angles
    if (strcmp(tail, "roll") == 0 || strcmp(tail, "pitch") == 0 || strcmp(tail, "yaw") == 0) {
        put_angle(o, s, head, tail);
        return true;
    }
    return false;
}

// Signs of the components of a force or moment that an element reads in the axes of its `from`; false: it has none
static bool signs_of_element(const kd_model *m, kd_section section, const char *name, double sign[3])
{
    const int i = kd_model_find(m, section, name);
    if (i < 0) return false;
    if (section == KD_SECTION_JOINT) {
        (void)kd_joint_image(m->joint[i].def.kind, sign);
        return true;
    }
    const kd_element_class *class = section == KD_SECTION_FORCE ? kd_force_element((int)m->force[i].def.kind)
                                                                : kd_constraint_element((int)m->constraint[i].def.kind);
    const kd_field *from = kd_element_field(class, "from");
    if (!from || from->type != KD_FIELD_PLACE) return false;
    sign[0] = 1.0;
    sign[1] = from->image == KD_IMAGE_KEEPS_XY ? 1.0 : -1.0;
    sign[2] = -sign[1];
    return true;
}

// An applied force has its components in the axes that it is given in
static bool put_applied(kd_out *o, const kd_model *m, const kd_subsystem *s, const char *name, const char *tail)
{
    const int i = kd_model_find(m, KD_SECTION_FORCE, name);
    if (i < 0 || m->force[i].def.kind != KD_APPLIED || strlen(tail) != 2 || kd_axis_letter(tail[1]) < 0) return false;
    const kd_mat3 *A = m->force[i].def.applied.in == KD_IN_WORLD ? &s->Q : &s->L;
    const int      k = kd_axis_letter(tail[1]);
    const kd_vec3  column = k == 0 ? A->x : k == 1 ? A->y : A->z;
    char           head[KD_EXPR_MAX_NAME + 1];
    kd_text(head, sizeof head, "force.%s.%c", name, tail[0]);
    put_component(o, column, tail[0] == 't' && s->mirrored ? -1.0 : 1.0, head, NULL, NULL);
    return true;
}

// The part of a wrench: joint.hinge.force.x, force.bush.tz. false: it is none
bool kd_out_wrench(kd_out *o, const kd_model *m, const kd_subsystem *s, kd_section section, const char *name,
                   const char *head, const char *tail)
{
    double     sign[3];
    const bool joint = section == KD_SECTION_JOINT;
    const bool force = joint ? is_tail(tail, "force.") : is_tail(tail, "f");
    const bool moment = joint ? is_tail(tail, "torque.") : is_tail(tail, "t");
    if (section == KD_SECTION_FORCE && put_applied(o, m, s, name, tail)) return true;
    if ((!force && !moment) || !s->mirrored || !signs_of_element(m, section, name, sign)) return false;
    const double factor = sign[kd_axis_letter(tail[strlen(tail) - 1])] * (moment ? -1.0 : 1.0);
    kd_out_word(o, factor < 0.0 ? "(-" : "(");
    kd_out_word(o, head);
    kd_out_word(o, ".");
    kd_out_word(o, tail);
    kd_out_word(o, ")");
    return true;
}

// ---- places by parameters -------------------------------------------------------------------------------------------

enum { MOST_OF_PLACE = 2000 }; // characters of a component of a place

// Component j of `position` or `through` as it is meant in the model; NULL: it is a number
static const char *live_component(kd_reader *r, const kd_scope *scope, const kd_node *map, const char *key,
                                  size_t offset, int j)
{
    const struct kd_bindings *all = &r->m->private->bindings;
    const kd_node            *list = kd_node_find(map, key);
    bool                      lives = false;
    for (int i = scope->first_binding; i < scope->end_binding; i++)
        lives = lives || (all->binding[i].target == KD_BIND_DEFINITION &&
                          all->binding[i].offset == offset + (size_t)j * sizeof(double));
    if (!lives || !list || list->type != KD_NODE_LIST || j >= list->n) return NULL;
    const char *text = kd_reader_text_with_indices(r, &list->item[j]);
    return text && kd_reader_qualify(r, &list->item[j], key, &text) ? text : NULL;
}

// + a (text), or + a value where there is no text
static void put_summand(kd_out *o, double a, const char *text, double value, double *constant)
{
    if (!text) *constant += a * value;
    if (!text || a == 0.0) return;
    put_factor(o, a, false);
    kd_out_word(o, "(");
    kd_out_word(o, text);
    kd_out_word(o, ")");
}

// c = c_o + Q_o (2 R n n' p + r) with p and r as expressions of parameters, where Q_o, R and n are numbers
bool kd_reader_tell_origin(kd_reader *r, kd_scope *scope, const kd_node *map)
{
    const struct kd_bindings *all = &r->m->private->bindings;
    const kd_scope           *outer = scope->outer;
    const kd_subsystem       *s = &r->m->subsystem[scope->number - 1];
    const kd_subsystem       *around = outer->number > 0 ? &r->m->subsystem[outer->number - 1] : NULL;
    const kd_mat3             I = kd_mat_identity();
    const double             *p = s->def.through, *shift = s->def.position;
    // a subsystem that is turned by parameters, or one around it, has no fixed axes: it cannot be told so
    scope->turns = outer->turns;
    for (int i = scope->first_binding; i < scope->end_binding; i++) {
        const char *key = all->binding[i].key;
        scope->turns = scope->turns || (strcmp(key, "position") != 0 && strcmp(key, "through") != 0);
    }
    if (scope->turns) return true;
    // the mirror 2 n n'/n'n and the turn R as numbers
    const kd_vec3 n = kd_vec_of(s->def.mirror);
    const double  n2 = kd_vec_dot(n, n);
    const kd_mat3 R = kd_quat_matrix(kd_quat_normalised(kd_quat_of(s->def.orientation)));
    const kd_vec3 Rn = kd_mat_vec(&R, n);
    const double  Rnv[] = {Rn.x, Rn.y, Rn.z}, nv[] = {n.x, n.y, n.z};
    // the texts of both points, where parameters are in them
    const char *text[2][3];
    for (int j = 0; j < 3; j++) {
        text[0][j] = live_component(r, scope, map, "position", offsetof(kd_subsystem_def, position), j);
        text[1][j] = live_component(r, scope, map, "through", offsetof(kd_subsystem_def, through), j);
    }
    if (r->status != KD_OK) return false;
    // each component of c: that of the one around, then Q_o times what is here
    for (int i = 0; i < 3; i++) {
        kd_out o = {.size = MOST_OF_PLACE};
        double constant = 0.0;
        o.text = kd_arena_cut(&r->memory, o.size, 1);
        if (!o.text) return kd_reader_short_of_memory(r);
        kd_out_word(&o, "(0");
        put_summand(&o, 1.0, outer->origin[i],
                    around ? (i == 0   ? around->c.x
                              : i == 1 ? around->c.y
                                       : around->c.z)
                           : 0.0,
                    &constant);
        for (int k = 0; k < 3; k++) {
            const double Q = entry(around ? &around->Q : &I, i, k);
            put_summand(&o, Q, text[0][k], shift[k], &constant);
            for (int j = 0; j < 3 && n2 > 0.0; j++)
                put_summand(&o, 2.0 * Q * Rnv[k] * nv[j] / n2, text[1][j], p[j], &constant);
        }
        // nothing but a number: no text is needed
        const bool lives = o.used > 2;
        if (constant != 0.0) put_factor(&o, constant, false), kd_out_word(&o, "1");
        kd_out_word(&o, ")");
        if (lives && o.full) scope->turns = true; // too long: what reads it is held
        if (lives && !o.full) scope->origin[i] = o.text;
    }
    return true;
}

// ---- vectors of expressions -----------------------------------------------------------------------------------------

// Component i of A times three expressions; NULL: it is 0
static const char *combine(kd_reader *r, const kd_mat3 *A, double factor, int i, const char *const law[3])
{
    kd_out o = {.size = 100};
    bool   first = true;
    for (int j = 0; j < 3; j++) o.size += law[j] ? strlen(law[j]) + 50 : 0;
    o.text = kd_arena_cut(&r->scratch, o.size, 1);
    if (!o.text) return NULL;
    for (int j = 0; j < 3; j++) {
        const double a = factor * entry(A, i, j);
        if (!law[j] || a == 0.0) continue;
        put_factor(&o, a, first);
        kd_out_word(&o, "(");
        kd_out_word(&o, law[j]);
        kd_out_word(&o, ")");
        first = false;
    }
    return first ? NULL : o.text;
}

bool kd_reader_image_laws(kd_reader *r, const kd_field *field, const char **law)
{
    const kd_subsystem *s = &r->m->subsystem[r->scope->number - 1];
    const kd_node      *axes = kd_node_find(r->map, "axes");
    const bool          world = field->locals == NULL && (!axes || strcmp(axes->text, "world") == 0);
    const kd_mat3       sides = {{1, 0, 0}, {0, -1, 0}, {0, 0, 1}};
    // of the element's own axes (bushing), of the world, of the body
    const kd_mat3 *A = field->locals ? &sides : world ? &s->Q : &s->L;
    const char    *given[3] = {law[0], law[1], law[2]};
    const double   factor = field->image == KD_IMAGE_MOMENT && s->mirrored ? -1.0 : 1.0;
    if (!r->scope->placed || (field->locals && !s->mirrored)) return true;
    for (int i = 0; i < 3; i++) law[i] = combine(r, A, factor, i, given);
    return (field->locals || kd_reader_hold_place(r, r->scope)) && !r->scratch.failed;
}
