// qualify.c: names inside of subsystems become those of the model: own ones get the names of the subsystems in front,
// those that were handed in become what was handed in, offers of parts become what is offered.
//
// Expressions are taken apart into words. Paths (joint.hinge.q), parameters and curves get full names; signals that were
// handed in are put in as they are meant outside. Components of vectors (body.wheel.pos.y, joint.hinge.force.x) are
// those in the coordinates of the subsystem: they become sums of the components that the model has, x = Q'(y - c).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "model/element.h"
#include "modelfile/find.h"

enum { MAX_LOOKS = 64 }; // from one subsystem to the next in search of a name

// ---- texts that grow ------------------------------------------------------------------------------------------------

typedef struct output {
    char  *text; // NULL: only counted
    size_t used, size;
    bool   full;
} output;

static void put(output *o, const char *text, size_t n)
{
    if (o->used + n + 1 > o->size) {
        o->full = true;
        return;
    }
    memcpy(o->text + o->used, text, n);
    o->used += n;
    o->text[o->used] = '\0';
}

static void put_word(output *o, const char *text)
{
    put(o, text, strlen(text));
}

// ---- words of expressions -------------------------------------------------------------------------------------------

typedef struct qualifier {
    kd_reader     *r;
    kd_scope      *scope; // in which the text is meant
    const kd_node *node;
    const char    *key;
    const char    *text;
    int            looks;
    bool           locals; // of the field that is being read are known
    output        *out;
} qualifier;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9');
}

static const char *const path_words[] = {"body",  "frame",  "joint", "force",    "constraint", "state",
                                         "input", "sensor", "block", "variable", "algebraic",  NULL};

static bool is_path_word(const char *text, size_t n)
{
    for (int i = 0; path_words[i]; i++)
        if (strlen(path_words[i]) == n && strncmp(path_words[i], text, n) == 0) return true;
    return false;
}

// u, u1, .., z, z1, ..: signals of a block that have no names of their own
static bool is_signal_word(const char *word)
{
    return (word[0] == 'u' || word[0] == 'z') && strspn(word + 1, "0123456789") == strlen(word + 1);
}

static bool has_key(const kd_node *map, const char *section, const char *word)
{
    const kd_node *inner = map && map->type == KD_NODE_MAP ? kd_node_find(map, section) : NULL;
    return inner && inner->type == KD_NODE_MAP && kd_node_find(inner, word);
}

// Which of the variables of the law itself; -1: none
static int local_of(const qualifier *q, const char *word)
{
    const kd_field *field = q->r->field;
    if (!q->locals || !field) return -1;
    for (int i = 0; field->locals && field->locals[i]; i++)
        if (strcmp(field->locals[i][0] ? field->locals[i] : q->r->name, word) == 0) return i;
    if (field->type != KD_FIELD_SIGNALS && field->type != KD_FIELD_NEXT) return -1;
    const bool own = has_key(q->r->map, "input", word) || has_key(q->r->map, "states", word) || is_signal_word(word);
    return own ? 0 : -1;
}

static bool complain_at(const qualifier *q, const char *c, const char *format, const char *word, const char *near)
{
    kd_node at = *q->node;
    char    text[300];
    if (q->node->first > 0 && q->text == q->node->text) at.column = q->node->first + (int)(c - q->text);
    kd_text(text, sizeof text, format, word);
    if (near) kd_text_append(text, sizeof text, ", did you mean '%s'?", near);
    const char *const before = q->r->findings->at;
    if (q->looks > 0) q->r->findings->at = q->node->file; // it was handed in
    kd_reader_complain(q->r, &at, "'%s': %s", q->key, text);
    q->r->findings->at = before;
    return false;
}

static const char *nearest_name(const qualifier *q, const char *word)
{
    kd_nearest     nearest = kd_nearest_start(word);
    const kd_node *parameters = kd_node_find(q->scope->root, "parameters");
    for (int i = 0; parameters && parameters->type == KD_NODE_MAP && i < parameters->n; i++)
        kd_nearest_offer(&nearest, parameters->item[2 * i].text);
    for (int i = 0; i < q->scope->nhanded; i++) kd_nearest_offer(&nearest, q->scope->handed[i].name);
    return nearest.best;
}

// The path of an element of the scope that is called so: 'algebraic.w' for 'w'; NULL: there is none
static const char *path_of(const qualifier *q, const char *word, char path[KD_EXPR_MAX_NAME])
{
    static const char *const section[][2] = {{"inputs", "input"},
                                             {"algebraic", "algebraic"},
                                             {"states", "state"},
                                             {"variables", "variable"},
                                             {"sensors", "sensor"}};
    for (size_t k = 0; k < sizeof section / sizeof section[0]; k++) {
        const kd_node *map = kd_node_find(q->scope->root, section[k][0]);
        if (!map || map->type != KD_NODE_MAP || !kd_node_find(map, word)) continue;
        kd_text(path, KD_EXPR_MAX_NAME, "%s.%.100s", section[k][1], word);
        return path;
    }
    return NULL;
}

// A name that the scope does not know; perhaps it is that of an element, or one around it does
static bool complain_name(const qualifier *q, const char *c, const char *word)
{
    char        path[KD_EXPR_MAX_NAME];
    const char *element = path_of(q, word, path), *near = element ? element : nearest_name(q, word);
    if (!near && kd_reader_is_around(q->scope, word))
        return complain_at(q, c, "unknown name '%s': it is one of the model around; hand it in", word, NULL);
    return complain_at(q, c, "unknown name '%s'", word, near);
}

static bool qualify(qualifier *q);

// The expression of a signal of another scope, in parentheses
static bool put_signal(qualifier *q, const char *c, const char *word, kd_scope *scope, const kd_node *node,
                       const char *text)
{
    qualifier inner = {q->r, scope, node, q->key, text, q->looks + 1, false, q->out};
    if (inner.looks > MAX_LOOKS)
        return complain_at(q, c, "'%s' leads from one subsystem to the next in a circle", word, NULL);
    put_word(q->out, "(");
    if (!qualify(&inner)) return false;
    put_word(q->out, ")");
    return true;
}

// A name of a scope: parameter, curve, function of a track
static void put_own(qualifier *q, const char *kind, const char *word)
{
    if (q->scope->number > 0) {
        put_word(q->out, kind);
        put_word(q->out, q->scope->name);
        put_word(q->out, ".");
    }
    put_word(q->out, word);
}

static bool is_curve(const kd_scope *scope, const char *word)
{
    static const char *const part[] = {"_x", "_y", "_heading", "_curvature"};
    if (kd_reader_has_element(scope->root, "curves", word)) return true;
    for (int i = 0; i < 4; i++) {
        const size_t n = strlen(word), m = strlen(part[i]);
        char         name[KD_EXPR_MAX_NAME + 1];
        if (n <= m || strcmp(word + n - m, part[i]) != 0) continue;
        kd_text(name, sizeof name, "%.*s", (int)(n - m), word);
        if (kd_reader_has_element(scope->root, "tracks", name)) return true;
    }
    return false;
}

static bool has_parameter(const qualifier *q, const char *word)
{
    kd_scope *const before = q->r->scope;
    q->r->scope = q->scope;
    const bool has = kd_reader_has_parameter(q->r, word);
    q->r->scope = before;
    return has;
}

// ---- vectors --------------------------------------------------------------------------------------------------------

static double entry(const kd_mat3 *A, int i, int j)
{
    const kd_vec3 *c = j == 0 ? &A->x : j == 1 ? &A->y : &A->z;
    return i == 0 ? c->x : i == 1 ? c->y : c->z;
}

static void put_number(output *o, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    put_word(o, text);
}

// "+ a*", "- ", ...
static void put_factor(output *o, double a, bool first)
{
    put_word(o, a < 0.0 ? (first ? "-" : " - ") : first ? "" : " + ");
    if (fabs(a) == 1.0) return;
    put_number(o, fabs(a));
    put_word(o, "*");
}

// The numbers of how the subsystem is turned become parts of an expression: its place cannot live any longer. Where it is
// may change as long as it is not turned: that has become an expression itself.
static bool hold_place(kd_reader *r, kd_scope *scope)
{
    const struct kd_bindings *all = &r->m->private->bindings;
    if (!scope->turns || r->looks) return true;
    for (kd_scope *s = scope; s && s->number > 0; s = s->outer) {
        if (s->held) continue;
        s->held = true;
        for (int i = s->first_binding; i < s->end_binding; i++) {
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
static void put_component(output *o, kd_vec3 row, double factor, const char *head, const kd_subsystem *s,
                          const char *const *origin)
{
    const double a[] = {row.x, row.y, row.z}, c[] = {s ? s->c.x : 0.0, s ? s->c.y : 0.0, s ? s->c.z : 0.0};
    double       constant = 0.0;
    bool         first = true;
    put_word(o, "(");
    for (int j = 0; j < 3; j++) {
        if (a[j] == 0.0) continue;
        put_factor(o, factor * a[j], first);
        put_word(o, head);
        put(o, &"xyz"[j], 1);
        first = false;
    }
    for (int j = 0; s && j < 3; j++) {
        if (!origin[j]) constant -= a[j] * c[j];
        if (!origin[j] || a[j] == 0.0) continue;
        put_factor(o, -a[j], false);
        put_word(o, origin[j]);
    }
    if (constant != 0.0) {
        put_word(o, constant < 0.0 ? " - " : " + ");
        put_number(o, fabs(constant));
    }
    put_word(o, ")");
}

// Entry ij of R = Q'R_b L of a body or frame called head
static void put_axis(output *o, const kd_subsystem *s, const char *head, int i, int j)
{
    bool first = true;
    put_word(o, "(");
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) {
            const double a = entry(&s->Q, k, i) * entry(&s->L, l, j);
            if (a == 0.0) continue;
            put_factor(o, a, first);
            put_word(o, head);
            put_word(o, ".R.");
            put(o, &"xyz"[k], 1);
            put(o, &"xyz"[l], 1);
            first = false;
        }
    put_word(o, ")");
}

static int axis_of(char c)
{
    return c == 'x' ? 0 : c == 'y' ? 1 : c == 'z' ? 2 : -1;
}

static bool is_tail(const char *tail, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(tail, word, n) == 0 && axis_of(tail[n]) >= 0 && tail[n + 1] == '\0';
}

// Cardan angles of R = Rz Ry Rx
static void put_angle(output *o, const kd_subsystem *s, const char *head, const char *angle)
{
    if (strcmp(angle, "pitch") == 0) {
        put_word(o, "(-asin(");
        put_axis(o, s, head, 2, 0);
        put_word(o, "))");
        return;
    }
    const bool roll = strcmp(angle, "roll") == 0;
    put_word(o, "atan2(");
    put_axis(o, s, head, roll ? 2 : 1, roll ? 1 : 0);
    put_word(o, ", ");
    put_axis(o, s, head, roll ? 2 : 0, roll ? 2 : 0);
    put_word(o, ")");
}

// A reading of a body or frame of the subsystem, in its coordinates. false: it is no component
static bool put_motion(output *o, const kd_subsystem *s, const char *const *origin, const char *head, const char *tail)
{
    static const char *const vectors[] = {"pos.", "com.", "vel.", "acc.", "omega.", "alpha.", NULL};
    char                     name[KD_EXPR_MAX_NAME + 1];
    for (int k = 0; vectors[k]; k++) {
        if (!is_tail(tail, vectors[k])) continue;
        const int     i = axis_of(tail[strlen(vectors[k])]);
        const kd_vec3 column = i == 0 ? s->Q.x : i == 1 ? s->Q.y : s->Q.z;
        kd_text(name, sizeof name, "%s.%s", head, vectors[k]);
        put_component(o, column, k > 3 && s->mirrored ? -1.0 : 1.0, name, k < 2 ? s : NULL, origin);
        return true;
    }
    if (strncmp(tail, "R.", 2) == 0 && axis_of(tail[2]) >= 0 && axis_of(tail[3]) >= 0 && tail[4] == '\0') {
        put_axis(o, s, head, axis_of(tail[2]), axis_of(tail[3]));
        return true;
    }
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
static bool put_applied(output *o, const kd_model *m, const kd_subsystem *s, const char *name, const char *tail)
{
    const int i = kd_model_find(m, KD_SECTION_FORCE, name);
    if (i < 0 || m->force[i].def.kind != KD_APPLIED || strlen(tail) != 2 || axis_of(tail[1]) < 0) return false;
    const kd_mat3 *A = m->force[i].def.applied.in == KD_IN_WORLD ? &s->Q : &s->L;
    const int      k = axis_of(tail[1]);
    const kd_vec3  column = k == 0 ? A->x : k == 1 ? A->y : A->z;
    char           head[KD_EXPR_MAX_NAME + 1];
    kd_text(head, sizeof head, "force.%s.%c", name, tail[0]);
    put_component(o, column, tail[0] == 't' && s->mirrored ? -1.0 : 1.0, head, NULL, NULL);
    return true;
}

// The part of a wrench: joint.hinge.force.x, force.bush.tz. false: it is none
static bool put_wrench(output *o, const kd_model *m, const kd_subsystem *s, kd_section section, const char *name,
                       const char *head, const char *tail)
{
    double     sign[3];
    const bool joint = section == KD_SECTION_JOINT;
    const bool force = joint ? is_tail(tail, "force.") : is_tail(tail, "f");
    const bool moment = joint ? is_tail(tail, "torque.") : is_tail(tail, "t");
    if (section == KD_SECTION_FORCE && put_applied(o, m, s, name, tail)) return true;
    if ((!force && !moment) || !s->mirrored || !signs_of_element(m, section, name, sign)) return false;
    const double factor = sign[axis_of(tail[strlen(tail) - 1])] * (moment ? -1.0 : 1.0);
    put_word(o, factor < 0.0 ? "(-" : "(");
    put_word(o, head);
    put_word(o, ".");
    put_word(o, tail);
    put_word(o, ")");
    return true;
}

// ---- paths ----------------------------------------------------------------------------------------------------------

// Does the path up to here end with something that can be read of a body?
static bool is_complete(const char *c, size_t n)
{
    static const char *const ends[] = {".pos.", ".vel.", ".acc.", ".com.", ".omega.", ".alpha.", ".force.", ".torque."};
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        const size_t m = strlen(ends[k]);
        if (n > m && axis_of(c[n - 1]) >= 0 && strncmp(c + n - 1 - m, ends[k], m) == 0) return true;
    }
    static const char *const words[] = {".roll", ".pitch", ".yaw", ".q", ".v", ".a", ".out"};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        const size_t m = strlen(words[k]);
        size_t       end = n;
        while (end > 0 && c[end - 1] >= '0' && c[end - 1] <= '9') end--;
        if (end > m && strncmp(c + end - m, words[k], m) == 0) return true;
    }
    return n > 5 && strncmp(c + n - 5, ".R.", 3) == 0;
}

// Characters of the path at c
static size_t path_length(const char *c)
{
    size_t n = 0;
    for (;;) {
        if (is_name(c[n]) || (c[n] == '.' && is_name(c[n + 1]))) {
            n++;
        } else if (c[n] == '(' && strcspn(c, ".") < n) {
            int open = 0;
            do {
                open += (c[n] == '(') - (c[n] == ')');
                n++;
            } while (c[n] && open > 0);
        } else if (c[n] == '-' && n > 0 && is_name(c[n - 1]) && is_letter(c[n + 1]) && !is_complete(c, n)) {
            n++;
        } else {
            return n;
        }
    }
}

// What stands behind the name of an element: "pos.x", "q", ""
static const char *tail_of(const char *path)
{
    static const char *const two[] = {".pos.",   ".vel.", ".acc.",   ".com.",   ".omega.",
                                      ".alpha.", ".R.",   ".force.", ".torque."};
    const char              *last = strrchr(path, '.');
    for (size_t k = 0; k < sizeof two / sizeof two[0]; k++) {
        const size_t m = strlen(two[k]);
        if (last && last - path >= (long)m - 1 && strncmp(last + 1 - m, two[k], m) == 0) return last + 2 - m;
    }
    return last ? last + 1 : path;
}

static kd_section section_of(const char *word, size_t n)
{
    for (int s = 0; s < KD_SECTION_ENERGY; s++)
        if (strlen(kd_section_word((kd_section)s)) == n && strncmp(kd_section_word((kd_section)s), word, n) == 0)
            return (kd_section)s;
    return KD_SECTION_COUNT;
}

// A path section.NAME...: with the full name of the element
static bool put_path(qualifier *q, const char *c, size_t n)
{
    char         path[KD_EXPR_MAX_NAME + 1], full[2 * KD_EXPR_MAX_NAME];
    const size_t word = strcspn(c, ".");
    const char  *name = c + word + 1;
    if (n >= sizeof path) return complain_at(q, c, "the name '%.20s...' is too long", c, NULL);
    kd_text(path, sizeof path, "%.*s", (int)(n - word - 1), name);
    const size_t first = strcspn(path, ".");
    // of a body that was handed in: as it is called outside, and not in our coordinates
    kd_handed *handed = kd_reader_find_handed(q->scope, path, first);
    if (handed && !handed->node) return false; // it has been told
    if (handed && handed->kind == KD_NEED_BODY) {
        const char *body = handed->name;
        if (word != 4 || strncmp(c, "body", 4) != 0)
            return complain_at(q, c, "'%s' is a body that is handed in: only body.%.0s.. can be read of it",
                               handed->name, NULL);
        if (!kd_reader_find_thing(q->r, q->node, q->scope, false, q->looks, &body)) return false;
        if (strcmp(body, "ground") == 0)
            return complain_at(q, c, "'%s' is the ground here, of which nothing can be read", handed->name, NULL);
        put_word(q->out, "body.");
        put_word(q->out, body);
        put_word(q->out, path + first);
        return true;
    }
    if (q->scope->number == 0) {
        put(q->out, c, n);
        return true;
    }
    kd_text(full, sizeof full, "%.*s.%s.%s", (int)word, c, q->scope->name, path);
    const kd_section    section = section_of(c, word);
    const kd_subsystem *s = &q->r->m->subsystem[q->scope->number - 1];
    const char         *tail = tail_of(full + word + 1 + strlen(q->scope->name));
    const bool          moves = section == KD_SECTION_BODY || section == KD_SECTION_FRAME;
    const bool loads = section == KD_SECTION_JOINT || section == KD_SECTION_FORCE || section == KD_SECTION_CONSTRAINT;
    if (q->scope->placed && (moves || loads) && tail > full && tail[-1] == '.') {
        char   head[2 * KD_EXPR_MAX_NAME];
        size_t used = q->out->used;
        kd_text(head, sizeof head, "%.*s", (int)(tail - 1 - full), full);
        const bool put_so = moves ? put_motion(q->out, s, q->scope->origin, head, tail)
                                  : put_wrench(q->out, q->r->m, s, section, head + word + 1, head, tail);
        if (put_so) return hold_place(q->r, q->scope);
        q->out->used = used;
    }
    put_word(q->out, full);
    return true;
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// table(name, x) becomes a call of the curve, whose full name may not be a word
static const char *put_table(qualifier *q, const char *c, size_t n)
{
    const char *open = c + n, *begin, *end;
    char        word[KD_EXPR_MAX_NAME + 1];
    while (*open == ' ') open++;
    for (begin = open + 1; *begin == ' ';) begin++;
    for (end = begin; is_name(*end);) end++;
    kd_text(word, sizeof word, "%.*s", (int)(end - begin), begin);
    while (*end == ' ') end++;
    if (*end != ',' || !is_curve(q->scope, word)) return NULL;
    put_own(q, "curve.", word);
    put_word(q->out, "(");
    return end + 1;
}

// The word at c, which is no path: a variable, a parameter, a curve, a function, a signal
static bool put_name(qualifier *q, const char *c, size_t n, const char **next)
{
    char       word[KD_EXPR_MAX_NAME + 1];
    const bool calls = c[n + strspn(c + n, " ")] == '(';
    *next = c + n;
    if (n >= sizeof word) return complain_at(q, c, "the name '%.20s...' is too long", c, NULL);
    kd_text(word, sizeof word, "%.*s", (int)n, c);
    const int local = local_of(q, word);
    if (local >= 0) {
        // components of a vector, in the axes of the element
        const bool turned = q->r->field->image == KD_IMAGE_FORCE && q->scope->number > 0 &&
                            q->r->m->subsystem[q->scope->number - 1].mirrored && local % 3 == 1;
        put_word(q->out, turned ? "(-" : "");
        put_word(q->out, word);
        put_word(q->out, turned ? ")" : "");
        return true;
    }
    if (calls && (strcmp(word, "table") == 0 || strcmp(word, "spline") == 0)) {
        const char *behind = put_table(q, c, n);
        if (behind) *next = behind;
        if (!behind) put_word(q->out, word);
        return true;
    }
    const bool way = strcmp(word, "s") == 0 && !has_parameter(q, word); // along a track
    if (kd_expr_is_reserved(word) || way || strcmp(word, "t") == 0 || strcmp(word, "and") == 0 ||
        strcmp(word, "or") == 0 || strcmp(word, "not") == 0) {
        put_word(q->out, word);
        return true;
    }
    kd_handed *handed = kd_reader_find_handed(q->scope, word, n);
    if (handed && !handed->node) return false; // it has been told
    if (handed && handed->kind == KD_NEED_SIGNAL)
        return put_signal(q, c, word, handed->scope, handed->node, handed->text);
    for (int i = 0; i < q->scope->nnamed && !calls; i++)
        if (strcmp(q->scope->named[i].name, word) == 0) {
            q->scope->named[i].used = true;
            return put_signal(q, c, word, q->scope, q->node, q->scope->named[i].text);
        }
    if (has_parameter(q, word)) {
        put_own(q, "parameter.", word);
    } else if (is_curve(q->scope, word)) {
        put_own(q, "curve.", word);
    } else if (q->scope->number == 0 && q->looks == 0) {
        put_word(q->out, word); // the model will say what is wrong
    } else {
        return complain_name(q, c, word);
    }
    return true;
}

// part.signal, part.parameter; a signal that is offered hides a parameter of the same name
static bool put_offer(qualifier *q, const char *c, size_t n, bool *taken)
{
    char        path[KD_EXPR_MAX_NAME + 1];
    const char *rest = NULL, *offer;
    *taken = false;
    if (n >= sizeof path) return true;
    kd_text(path, sizeof path, "%.*s", (int)n, c);
    kd_scope *part = kd_reader_find_part(q->r, q->scope, path, &rest);
    if (!part) return !kd_reader_misses_part(q->r, q->node, q->scope, path);
    *taken = true;
    const kd_node *offers = kd_node_find(part->root, "offers");
    const bool     offered = offers && offers->type == KD_NODE_MAP && kd_node_find(offers, rest);
    if (!offered && has_key(part->root, "parameters", rest)) {
        put_word(q->out, "parameter.");
        put_word(q->out, part->name);
        put_word(q->out, ".");
        put_word(q->out, rest);
        return true;
    }
    offer = kd_reader_find_offer(q->r, q->node, part, rest);
    if (!offer) return false;
    if (offer == rest) return complain_at(q, c, "'%s' is no signal", path, NULL);
    return put_signal(q, c, path, part, kd_node_find(offers, rest), offer);
}

static size_t number_length(const char *c)
{
    size_t n = 0;
    while ((c[n] >= '0' && c[n] <= '9') || c[n] == '.') n++;
    if (c[n] != 'e' && c[n] != 'E') return n;
    size_t digits = n + (c[n + 1] == '-' || c[n + 1] == '+' ? 2 : 1);
    if (c[digits] < '0' || c[digits] > '9') return n;
    while (c[digits] >= '0' && c[digits] <= '9') digits++;
    return digits;
}

static bool qualify(qualifier *q)
{
    bool fine = true;
    for (const char *c = q->text; *c && fine && !q->out->full;) {
        const size_t word =
            is_letter(*c) ? strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
        if (word == 0) { // numbers, operators
            const size_t n = (*c >= '0' && *c <= '9') ? number_length(c) : 1;
            put(q->out, c, n);
            c += n;
            continue;
        }
        const bool path = c[word] == '.' && is_path_word(c, word);
        const bool full = c[word] == '.' && (strncmp(c, "parameter.", 10) == 0 || strncmp(c, "curve.", 6) == 0);
        size_t     n = path || full || c[word] == '.' || c[word] == '(' ? path_length(c) : word;
        bool       taken = false;
        if (path) {
            fine = put_path(q, c, n);
        } else if (full && q->scope->number == 0) {
            put(q->out, c, n);
        } else if (c[word] == '.' && strncmp(c, "energy", word) == 0 && word == 6 && q->scope->number > 0) {
            fine = complain_at(q, c, "'%s' is that of the whole model; hand it in as a signal", "energy", NULL);
        } else {
            // part(1).signal begins like a call
            const size_t reach = c[word] == '(' ? word + strcspn(c + word, ")") + 1 : word;
            if (c[word] == '.' || (c[word] == '(' && strlen(c) > reach && c[reach] == '.')) {
                if (c[word] == '(') {
                    n = reach + 1;
                    while (is_name(c[n]) || (c[n] == '.' && is_letter(c[n + 1]))) n++;
                }
                fine = put_offer(q, c, n, &taken);
            }
            if (fine && !taken && c[word] == '.') {
                put(q->out, c, n);
            } else if (fine && !taken) {
                const char *next;
                fine = put_name(q, c, word, &next);
                n = (size_t)(next - c);
            }
        }
        c += n;
    }
    return fine;
}

bool kd_reader_qualify(kd_reader *r, const kd_node *node, const char *key, const char **text)
{
    output    o = {.size = 1024};
    const int complaints = r->findings->count;
    if (r->scope->number == 0 && !r->scope->has_parts && r->scope->nhanded == 0) return true;
    for (;;) {
        o.text = kd_arena_cut(&r->scratch, o.size, 1);
        if (!o.text) return kd_reader_short_of_memory(r);
        qualifier  q = {r, r->scope, node, key, *text, 0, true, &o};
        const bool fine = qualify(&q) && r->findings->count == complaints;
        if (!fine) return false;
        if (!o.full) break;
        if (o.size >= KD_EXPR_MAX_LENGTH) {
            kd_reader_complain(r, node, "'%s' is longer than %d characters", key, KD_EXPR_MAX_LENGTH);
            return false;
        }
        o = (output){.size = 8 * o.size};
    }
    *text = o.text;
    return true;
}

bool kd_reader_qualify_path(kd_reader *r, const kd_node *node, const char **path)
{
    char full[2 * KD_EXPR_MAX_NAME];
    if (r->scope->number == 0) return true;
    const size_t word = strcspn(*path, ".");
    if (!is_path_word(*path, word)) return true; // the model will say what is wrong
    kd_text(full, sizeof full, "%.*s.%s%s", (int)word, *path, r->scope->name, *path + word);
    if (strlen(full) > KD_EXPR_MAX_NAME) {
        kd_reader_complain(r, node, "the name '%.20s...' is longer than %d characters", full, KD_EXPR_MAX_NAME);
        return false;
    }
    *path = kd_reader_copy(r, full, strlen(full));
    return *path != NULL;
}

bool kd_reader_use_paths(kd_reader *r, const char *text, char *why, size_t size)
{
    for (const char *c = text; *c;) {
        const size_t word =
            is_letter(*c) ? strspn(c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
        const size_t n = word == 0 ? 1 : c[word] == '.' ? path_length(c) : word;
        char         name[2 * KD_EXPR_MAX_NAME];
        kd_path      path;
        kd_text(name, sizeof name, "%.*s", (int)n, c);
        const int parameter = kd_names_find(&r->parameter_names, KD_SECTION_PARAMETER,
                                            strncmp(name, "parameter.", 10) == 0 ? name + 10 : name);
        if (parameter >= 0) r->parameter[parameter].used = true;
        if (word > 0 && c[word] == '.' && is_path_word(c, word) && !kd_path_parse(r->m, name, &path, why, size))
            return false;
        c += n;
    }
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
static void put_summand(output *o, double a, const char *text, double value, double *constant)
{
    if (!text) *constant += a * value;
    if (!text || a == 0.0) return;
    put_factor(o, a, false);
    put_word(o, "(");
    put_word(o, text);
    put_word(o, ")");
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
    scope->turns = outer->turns;
    for (int i = scope->first_binding; i < scope->end_binding; i++) {
        const char *key = all->binding[i].key;
        scope->turns = scope->turns || (strcmp(key, "position") != 0 && strcmp(key, "through") != 0);
    }
    if (scope->turns) return true;
    const kd_vec3 n = kd_vec_of(s->def.mirror);
    const double  n2 = kd_vec_dot(n, n);
    const kd_mat3 R = kd_quat_matrix(kd_quat_normalised(kd_quat_of(s->def.orientation)));
    const kd_vec3 Rn = kd_mat_vec(&R, n);
    const double  Rnv[] = {Rn.x, Rn.y, Rn.z}, nv[] = {n.x, n.y, n.z};
    const char   *text[2][3];
    for (int j = 0; j < 3; j++) {
        text[0][j] = live_component(r, scope, map, "position", offsetof(kd_subsystem_def, position), j);
        text[1][j] = live_component(r, scope, map, "through", offsetof(kd_subsystem_def, through), j);
    }
    if (r->status != KD_OK) return false;
    for (int i = 0; i < 3; i++) {
        output o = {.size = MOST_OF_PLACE};
        double constant = 0.0;
        o.text = kd_arena_cut(&r->memory, o.size, 1);
        if (!o.text) return kd_reader_short_of_memory(r);
        put_word(&o, "(0");
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
        const bool lives = o.used > 2;
        if (constant != 0.0) put_factor(&o, constant, false), put_word(&o, "1");
        put_word(&o, ")");
        if (lives && o.full) scope->turns = true; // too long: what reads it is held
        if (lives && !o.full) scope->origin[i] = o.text;
    }
    return true;
}

// ---- vectors of expressions -----------------------------------------------------------------------------------------

// Component i of A times three expressions; NULL: it is 0
static const char *combine(kd_reader *r, const kd_mat3 *A, double factor, int i, const char *const law[3])
{
    output o = {.size = 100};
    bool   first = true;
    for (int j = 0; j < 3; j++) o.size += law[j] ? strlen(law[j]) + 50 : 0;
    o.text = kd_arena_cut(&r->scratch, o.size, 1);
    if (!o.text) return NULL;
    for (int j = 0; j < 3; j++) {
        const double a = factor * entry(A, i, j);
        if (!law[j] || a == 0.0) continue;
        put_factor(&o, a, first);
        put_word(&o, "(");
        put_word(&o, law[j]);
        put_word(&o, ")");
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
    return (field->locals || hold_place(r, r->scope)) && !r->scratch.failed;
}
