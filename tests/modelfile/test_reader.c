// The reader of model files: a file and the same model built in C are one model; sugar, repetition, parameters, limits.
#define _POSIX_C_SOURCE 200809L
#include "modelfile/files.h"

#include <math.h>
#include <time.h>

#include "core/failing_allocator.h"
#include "model/schema.h"

#define ARM "bodies:\n  arm: {mass: 1, inertia: [0.1, 0.2, 0.3]}\n"

// ---- fields ---------------------------------------------------------------------------------------------------------

// A file that says everything about a joint gives the definition that C would give.
static void joint_as_in_c(void **state)
{
    (void)state;
    kd_model    *m = model_of("kardan: 1\n" ARM "joints:\n"
                                 "  hinge:\n"
                                 "    type: cylindrical\n"
                                 "    from: {body: ground, point: [1, 2, 3], axis: [0, 0, 2], reference: [1, 0, 0]}\n"
                                 "    to: {body: arm, point: [4, 5, 6], orientation: [0, 1, 0, 0], in: world}\n"
                                 "    q: [0.5, null]\n"
                                 "    v: [1, 2]\n"
                                 "    hold: true\n"
                                 "    cut: no\n");
    kd_joint_def def = kd_joint_def_default(KD_CYLINDRICAL);
    def.from = kd_in("ground", 1, 2, 3);
    def.from.axis[2] = 2;
    def.from.reference[0] = 1;
    def.to = kd_at("arm", 4, 5, 6);
    memcpy(def.to.orientation, (double[4]){0, 1, 0, 0}, sizeof def.to.orientation);
    def.q[0] = 0.5;
    def.v[0] = 1;
    def.v[1] = 2;
    def.hold = true;
    def.cut = KD_CUT_NO;
    const kd_joint_def *read = &m->joint[0].def;
    assert_int_equal(read->kind, def.kind);
    assert_numbers(read->q, def.q, 7);
    assert_numbers(read->v, def.v, 6);
    assert_true(read->hold);
    assert_int_equal(read->cut, def.cut);
    const kd_place *a[] = {&read->from, &read->to}, *b[] = {&def.from, &def.to};
    for (int i = 0; i < 2; i++) {
        assert_string_equal(a[i]->body, b[i]->body);
        assert_numbers(a[i]->position, b[i]->position, 3);
        assert_numbers(a[i]->axis, b[i]->axis, 3);
        assert_numbers(a[i]->reference, b[i]->reference, 3);
        assert_numbers(a[i]->orientation, b[i]->orientation, 4);
        assert_int_equal(a[i]->in, b[i]->in);
    }
    kd_model_destroy(m);
}

// The short form of places is the long form with both sides in the world; in: body and points; no points at all, which
// joins bodies as drawn if the joint is fixed.
static void short_form_of_places(void **state)
{
    (void)state;
    kd_model           *m = model_of("kardan: 1\n" ARM "joints:\n"
                                               "  a: {type: revolute, bodies: [ground, arm], point: [1, 2, 3], axis: [0, 1, 0]}\n"
                                               "  b: {type: revolute, bodies: [ground, arm], points: [[1, 0, 0], [0, 2, 0]], "
                                               "axis: [1, 0, 0], in: body}\n"
                                               "  c: {type: free, bodies: [ground, arm]}\n"
                                               "  d: {type: fixed, bodies: [ground, arm]}\n"
                                               "forces:\n"
                                               "  f: {type: applied, body: arm, point: [0, 0, 7], force: [1, 0, 0]}\n"
                                               "  g: {type: applied, body: arm, force: [1, 0, 0]}\n");
    const kd_joint_def *a = &m->joint[0].def, *b = &m->joint[1].def, *c = &m->joint[2].def, *d = &m->joint[3].def;
    assert_int_equal(a->from.in, KD_IN_WORLD);
    assert_int_equal(a->to.in, KD_IN_WORLD);
    assert_string_equal(a->from.body, "ground");
    assert_string_equal(a->to.body, "arm");
    assert_numbers(a->from.position, (double[]){1, 2, 3}, 3);
    assert_numbers(a->to.position, (double[]){1, 2, 3}, 3);
    assert_numbers(a->from.axis, (double[]){0, 1, 0}, 3);
    assert_numbers(a->to.axis, (double[]){0, 1, 0}, 3);
    assert_int_equal(b->to.in, KD_IN_BODY);
    assert_numbers(b->from.position, (double[]){1, 0, 0}, 3);
    assert_numbers(b->to.position, (double[]){0, 2, 0}, 3);
    assert_int_equal(c->to.in, KD_IN_BODY);
    assert_numbers(c->to.position, (double[]){0, 0, 0}, 3);
    assert_int_equal(d->from.in, KD_IN_WORLD); // as drawn
    assert_int_equal(d->to.in, KD_IN_WORLD);
    assert_numbers(d->to.position, (double[]){0, 0, 0}, 3);
    assert_numbers(m->force[0].def.to.position, (double[]){0, 0, 7}, 3);
    assert_int_equal(m->force[0].def.to.in, KD_IN_WORLD);
    assert_int_equal(m->force[1].def.to.in, KD_IN_BODY);
    kd_model_destroy(m);
}

// A place may be the name of a frame, which is its place, or of a body, which is its frame; such a frame is used.
static void places_by_name(void **state)
{
    (void)state;
    kd_model           *m = model_of("kardan: 1\n" ARM "joints:\n  j: {type: free, bodies: [ground, arm]}\n"
                                               "frames:\n  eye: {body: arm, point: [1, 2, 3], axis: [0, 1, 0]}\n"
                                               "forces:\n  strut: {type: tsda, from: eye, to: ground, stiffness: 3}\n");
    const kd_force_def *def = &m->force[0].def;
    assert_string_equal(def->from.body, "arm");
    assert_numbers(def->from.position, (double[]){1, 2, 3}, 3);
    assert_numbers(def->from.axis, (double[]){0, 1, 0}, 3);
    assert_int_equal(def->from.in, KD_IN_BODY);
    assert_string_equal(def->to.body, "ground");
    assert_int_equal(kd_model_warning_count(m), 0);
    kd_model_destroy(m);
}

// Three ways to write one orientation.
static void orientations_agree(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\nbodies:\n"
                           "  a: {mass: 1, inertia: [1, 1, 1], orientation: [cos(0.3), 0, 0, sin(0.3)]}\n"
                           "  b: {mass: 1, inertia: [1, 1, 1], orientation: {axis: [0, 0, 5], angle: 0.6}}\n"
                           "  c: {mass: 1, inertia: [1, 1, 1], orientation: {yaw: 0.6}}\n"
                           "  d: {mass: 1, inertia: [1, 1, 1], orientation: {roll: 0.3, pitch: -0.2, yaw: 0.6}}\n"
                           "joints:\n"
                           "  j(i): {type: free, for: i = 1..1, bodies: [ground, a]}\n"
                           "  k: {type: free, bodies: [ground, b]}\n"
                           "  l: {type: free, bodies: [ground, c]}\n"
                           "  m: {type: free, bodies: [ground, d]}\n");
    for (int i = 0; i < 4; i++) {
        assert_near(m->body[1].def.orientation[i], m->body[0].def.orientation[i]);
        assert_near(m->body[2].def.orientation[i], m->body[0].def.orientation[i]);
    }
    // R = Rz(yaw) Ry(pitch) Rx(roll): its x axis is Rz Ry e_x
    kd_mat3 R = kd_quat_matrix(kd_quat_of(m->body[3].def.orientation));
    assert_near(R.x.x, cos(0.6) * cos(-0.2));
    assert_near(R.x.y, sin(0.6) * cos(-0.2));
    assert_near(R.x.z, -sin(-0.2));
    assert_near(R.y.z, sin(0.3) * cos(-0.2));
    kd_model_destroy(m);
}

// A rod from point to point lies between them: its ends are where they were put.
static void rod_from_point_to_point(void **state)
{
    (void)state;
    static const double ends[][6] = {
        {0, 0, 0, 1, 2, 3}, {1, 0, 0, 1, 0, -4}, {1, 0, 0, 1, 0, 4}, {0, 3, 0, 0, -3, 0}, {0, 0, 1, 1e-9, 0, -1}};
    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        const double *e = ends[k];
        char          text[600];
        snprintf(text, sizeof text,
                 "kardan: 1\nbodies:\n  a: {shape: {rod: 0.1, from: [%g, %g, %g], to: [%g, %g, %g], density: 10}}\n"
                 "joints:\n  j: {type: free, bodies: [ground, a]}\n",
                 e[0], e[1], e[2], e[3], e[4], e[5]);
        kd_model       *m = model_of(text);
        const kd_shape *s = &m->body[0].def.shape[0];
        kd_mat3         R = kd_quat_matrix(kd_quat_of(s->orientation));
        kd_vec3         end = kd_vec_axpy(kd_vec_of(s->position), 0.5 * s->size[1], R.z);
        assert_int_equal(s->kind, KD_ROD);
        assert_true(s->size[0] == 0.1);
        assert_near(end.x, e[3]);
        assert_near(end.y, e[4]);
        assert_near(end.z, e[5]);
        kd_model_destroy(m);
    }
}

// Keys of flexible bodies need a part beside the model: tests/models/test_flexible_models.c
static bool belongs_to_flexible(kd_schema_id id, const kd_field *field)
{
    return id == KD_SCHEMA_BODY && field->offset >= offsetof(kd_body_def, flexible) &&
           field->offset < offsetof(kd_body_def, nshapes);
}

// Every field of every kind is reached: read one file that gives all of them, and nothing keeps its default.
static void all_fields_are_read(void **state)
{
    (void)state;
    char      message[4000] = "";
    kd_model *m = NULL;
    if (kd_model_read(KD_SOURCE_DIR "/tests/modelfile/everything.yaml", NULL, 0, &m, message, sizeof message) != KD_OK)
        fail_msg("%s", message);
    static const struct {
        kd_schema_id id;
        size_t       count, array, size, def;
    } sections[] = {
#define ROW(id, count, array, type)                                                                                    \
    {id, offsetof(kd_model, count), offsetof(kd_model, array), sizeof(type), offsetof(type, def)}
        ROW(KD_SCHEMA_CURVE, ncurves, curve, kd_model_curve),
        ROW(KD_SCHEMA_TRACK, ntracks, track, kd_model_track),
        ROW(KD_SCHEMA_INPUT, ninputs, input, kd_input),
        ROW(KD_SCHEMA_BODY, nbodies, body, kd_body),
        ROW(KD_SCHEMA_JOINT, njoints, joint, kd_joint),
        ROW(KD_SCHEMA_CONSTRAINT, nconstraints, constraint, kd_constraint),
        ROW(KD_SCHEMA_FORCE, nforces, force, kd_force),
        ROW(KD_SCHEMA_STATE, nstates, state, kd_state_element),
        ROW(KD_SCHEMA_ALGEBRAIC, nalgebraic, algebraic, kd_algebraic),
        ROW(KD_SCHEMA_BLOCK, nblocks, block, kd_block),
        ROW(KD_SCHEMA_VARIABLE, nvariables, variable, kd_variable),
        ROW(KD_SCHEMA_EVENT, nevents, event, kd_model_event),
        ROW(KD_SCHEMA_SENSOR, nsensors, sensor, kd_sensor),
#undef ROW
    };
    for (size_t s = 0; s < sizeof sections / sizeof sections[0]; s++) {
        const kd_schema *schema = kd_schema_of(sections[s].id);
        int              n;
        const char      *array;
        memcpy(&n, (const char *)m + sections[s].count, sizeof n);
        memcpy(&array, (const char *)m + sections[s].array, sizeof array);
        const bool kinds = kd_schema_has_kinds(schema);
        for (int kind = 0; kind < schema->nkinds; kind++) {
            if (kinds && !kd_schema_word(schema, kind)->word) continue;
            // code of others needs a file beside the model: tests/fmi/test_foreign.c
            if (sections[s].id == KD_SCHEMA_BLOCK && (kind == KD_BLOCK_FMU || kind == KD_BLOCK_LIBRARY)) continue;
            for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
                const kd_field *field = kd_schema_field_at(schema, kind, i);
                if (!kd_field_has(field, kind) || belongs_to_flexible(sections[s].id, field)) continue;
                bool changed = false;
                for (int k = 0; k < n; k++) {
                    const char *def = array + (size_t)k * sections[s].size + sections[s].def;
                    union {
                        char         bytes[8192];
                        kd_force_def align;
                    } defaults;
                    if (kd_schema_kind_of(schema, def) != kind) continue;
                    assert_true(schema->size <= sizeof defaults);
                    kd_schema_default(schema, kind, &defaults);
                    size_t bytes = field->type == KD_FIELD_BOOLEAN ? sizeof(bool)
                                   : field->type == KD_FIELD_PLACE ? sizeof(kd_place)
                                   : field->length || field->type == KD_FIELD_INTEGER || field->type == KD_FIELD_WORD
                                       ? sizeof(int)
                                       : sizeof(double); // or a pointer
                    size_t at = field->length ? field->length : field->offset;
                    changed = changed || memcmp(def + at, defaults.bytes + at, bytes) != 0;
                }
                if (!changed) {
                    print_error("%s: '%s' of %s keeps its default\n", schema->word, field->key,
                                kinds ? kd_schema_word(schema, kind)->word : schema->singular);
                }
                assert_true(changed);
            }
        }
    }
    kd_model_destroy(m);
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// Numbers may be expressions everywhere, with commas inside brackets and braces, quoted or over several lines.
static void expressions_in_brackets(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\n"
                           "parameters: {a: 2, b: max(a, 3), c: 'a + b'}\n"
                           "gravity: [max(a, b), min(1, 2), -if(a < b, 1, 2)]\n"
                           "bodies:\n"
                           "  arm: {mass: max(1, atan2(a, b)), inertia: [max(a,\n"
                           "    b), max(max(1, 2), 3), \"c - 1\"], position: [1, 2, (1 + 2)*3]}\n"
                           "joints:\n  j: {type: free, bodies: [ground, arm]}\n"
                           "sensors: {s: max(a*t, b), r: body.arm.pos.x}\n");
    assert_numbers(m->gravity, (double[]){3, 1, -1}, 3);
    assert_true(m->body[0].def.mass == 1);
    assert_numbers(m->body[0].def.inertia, (double[]){3, 3, 4, 0, 0, 0}, 6);
    assert_numbers(m->body[0].def.position, (double[]){1, 2, 9}, 3);
    assert_int_equal(m->nsensors, 2);
    assert_string_equal(m->sensor[0].def.value, "max(a*t, b)");
    kd_model_destroy(m);
}

// Named expressions are put into laws with parentheses, through each other, not into paths and calls; a repetition has its indices.
static void named_expressions(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\nparameters: {k: 2}\n"
                           "expressions: {push: k*far + 1, far: joint.j.q - 3}\n"
                           "bodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n"
                           "joints: {j: {type: prismatic, bodies: [ground, b], point: [0, 0, 0], axis: [1, 0, 0]}}\n"
                           "forces: {f: {type: joint_spring, joint: j, law: -push*v}}\n"
                           "sensors: {far: far, s(i): {for: i = 1..2, value: i*far + sin( far )}, p: sensor.far}\n");
    assert_string_equal(m->force[0].def.spring.law, "-(k*(joint.j.q - 3) + 1)*v");
    assert_string_equal(m->sensor[0].def.value, "(joint.j.q - 3)");
    assert_string_equal(m->sensor[2].def.value, "2*(joint.j.q - 3) + sin( (joint.j.q - 3) )");
    assert_string_equal(m->sensor[3].def.value, "sensor.far");
    kd_model_destroy(m);
}

// Parameters use earlier and later ones; a setting from outside changes what depends on it; texts are kept.
static void parameters_in_any_order(void **state)
{
    (void)state;
    const char *text =
        "kardan: 1\nparameters:\n  m: rho*V\n  V: l^3\n  l: 0.5\n  rho: 1000\n"
        "bodies:\n  arm: {mass: m, inertia: [1, 1, 1]}\njoints:\n  j: {type: free, bodies: [ground, arm]}\n";
    kd_model *m = model_of(text);
    assert_true(m->body[0].def.mass == 125);
    assert_int_equal(m->nparameters, 4);
    assert_string_equal(m->parameter[0].name, "m");
    assert_string_equal(m->parameter[0].text, "rho*V");
    assert_true(m->parameter[0].value == 125);
    assert_int_equal(kd_model_warning_count(m), 0); // all are used
    kd_model_destroy(m);
    const kd_setting settings[] = {{"l", "2*0.5"}, {"rho", "10"}};
    m = model_of_settings(text, settings, 2);
    assert_true(m->body[0].def.mass == 10);
    kd_model_destroy(m);
}

// ---- repetition -----------------------------------------------------------------------------------------------------

// A repeated element is the same as its copies by hand: names, references, numbers and laws follow the index.
static void repetition_as_by_hand(void **state)
{
    (void)state;
    kd_model *m =
        model_of("kardan: 1\nparameters: {N: 3}\n"
                 "bodies:\n  arm(i): {for: i = 1..N, mass: i^2, inertia: [1, 1, 1], position: [i, 0, 0]}\n"
                 "joints:\n"
                 "  hinge(1): {type: revolute, bodies: [ground, arm(1)], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                 "  hinge(i): {for: i = 2..N, type: revolute, bodies: [arm(i - 1), arm(i)], "
                 "point: [i - 1, 0, 0], axis: [0, 0, 1], motion: i*sin(i*t)}\n"
                 "constraints:\n  gear: {type: coupling, terms: {joint.hinge(1).q: 1, joint.hinge(N).q: -2}}\n"
                 "sensors:\n  q(i): {for: i = N-2..N, value: joint.hinge(i).q + 0*i}\n  tip: body.arm(N).pos.x\n"
                 "run: {plots: [q(1), joint.hinge(N - 1).q]}\n");
    assert_int_equal(m->nbodies, 3);
    assert_int_equal(m->njoints, 3);
    assert_int_equal(m->nsensors, 4);
    for (int i = 0; i < 3; i++) {
        char name[20];
        snprintf(name, sizeof name, "arm(%d)", i + 1);
        assert_string_equal(m->body[i].name, name);
        assert_true(m->body[i].def.mass == (i + 1) * (i + 1));
        assert_true(m->body[i].def.position[0] == i + 1);
        assert_string_equal(m->joint[i].def.to.body, name);
        if (i > 0) assert_string_equal(m->joint[i].def.from.body, m->body[i - 1].name);
    }
    assert_string_equal(m->joint[2].def.motion[0], "3*sin(3*t)");
    assert_string_equal(m->constraint[0].def.coordinate[1], "joint.hinge(3).q");
    assert_string_equal(m->sensor[1].def.value, "joint.hinge(2).q + 0*2");
    assert_string_equal(m->run.plots[1], "joint.hinge(2).q");
    kd_model_destroy(m);
}

// Two indices, the second up to the first; words inside paths and numbers are no indices; empty ranges give nothing.
static void nested_repetition(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\n"
                           "bodies: {arm(i,j): {for: [i = 1..3, j = 1..i], mass: 10*i + j, inertia: [1, 1, 1]}}\n"
                           "joints:\n"
                           "  j(i,j):\n"
                           "    for: i = 1..3, j = 1..i\n"
                           "    type: free\n"
                           "    bodies: [ground, arm(i,j)]\n"
                           "sensors:\n"
                           "  s(i): {for: i = 4..3, value: joint.nothing(i).q}\n"
                           "  r(e): {for: e = 2..2, value: 1e-3*e + body.arm(3,e).pos.x - e^2*body.arm(e,1).R.xx}\n");
    assert_int_equal(m->nbodies, 6);
    assert_string_equal(m->body[5].name, "arm(3,3)");
    assert_true(m->body[4].def.mass == 32);
    assert_string_equal(m->joint[4].name, "j(3,2)");
    assert_string_equal(m->joint[4].def.to.body, "arm(3,2)");
    assert_int_equal(m->nsensors, 1);
    assert_string_equal(m->sensor[0].def.value, "1e-3*2 + body.arm(3,2).pos.x - 2^2*body.arm(2,1).R.xx");
    kd_model_destroy(m);
}

// ---- documentation --------------------------------------------------------------------------------------------------

// Copies the first block of YAML behind *page to text, and moves *page behind it; false: there is none.
static bool next_example(const char **page, char *text, size_t size)
{
    const char *begin = strstr(*page, "```yaml\n");
    if (!begin) return false;
    begin += strlen("```yaml\n");
    const char *end = strstr(begin, "```");
    assert_non_null(end);
    assert_true((size_t)(end - begin) < size);
    memcpy(text, begin, (size_t)(end - begin));
    text[end - begin] = '\0';
    *page = end + 3;
    return true;
}

// The examples about controllers: the first is the head of all others, which are read without warnings.
static void controllers_of_the_guide(void **state)
{
    (void)state;
    char *content = file_content(KD_SOURCE_DIR "/docs/guide/controllers.md", NULL), head[2000], part[2000], text[4000];
    const char *page = content;
    int         count = 0, blocks = 0;
    assert_true(next_example(&page, head, sizeof head));
    for (; next_example(&page, part, sizeof part); count++) {
        snprintf(text, sizeof text, "%s%s", head, part);
        kd_model *m = model_of(text);
        blocks += m->nblocks;
        assert_int_equal(kd_model_warning_count(m), 0);
        kd_model_destroy(m);
    }
    assert_int_equal(count, 5);
    assert_int_equal(blocks, 5);
    free(content);
}

// The first example of docs/guide/models.md is a model without a warning.
static void example_of_the_guide(void **state)
{
    (void)state;
    char *page = file_content(KD_SOURCE_DIR "/docs/guide/models.md", NULL);
    char *begin = strstr(page, "```yaml\n");
    assert_non_null(begin);
    begin += strlen("```yaml\n");
    char *end = strstr(begin, "```");
    assert_non_null(end);
    *end = '\0';
    kd_model *m = model_of(begin);
    assert_string_equal(m->title, "Slider-crank");
    assert_int_equal(m->njoints, 4);
    assert_int_equal(kd_model_warning_count(m), 0);
    kd_model_destroy(m);
    free(page);
}

// ---- limits ---------------------------------------------------------------------------------------------------------

// 10,000 bodies and as many joints are read in less than a second of processor time, repeated or written out.
static void large_models_are_fast(void **state)
{
    (void)state;
    enum { N = 10000, ROOM = 260 };
    char  *text = malloc((size_t)N * 2 * ROOM);
    size_t used = 0;
    assert_non_null(text);
    clock_t   start = clock();
    kd_model *m =
        model_of("kardan: 1\nparameters: {N: 10000, l: 0.5}\nbodies:\n"
                 "  link(i): {for: i = 1..N, mass: 1, inertia: [1, 1, 1], position: [0, 0, -(i - 0.5)*l]}\n"
                 "joints:\n"
                 "  hinge(1): {type: revolute, bodies: [ground, link(1)], point: [0, 0, 0], axis: [0, 1, 0]}\n"
                 "  hinge(i): {for: i = 2..N, type: revolute, bodies: [link(i-1), link(i)], "
                 "point: [0, 0, -(i-1)*l], axis: [0, 1, 0]}\n");
    double repeated = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(m->nbodies, N);
    assert_int_equal(m->njoints, N);
    used += (size_t)sprintf(text + used, "kardan: 1\nparameters: {l: 0.5}\nbodies:\n");
    for (int i = 1; i <= N; i++) {
        used += (size_t)sprintf(text + used, "  link%d: {mass: 1, inertia: [1, 1, 1], position: [0, 0, -%d.5*l]}\n", i,
                                i - 1);
    }
    used += (size_t)sprintf(text + used, "joints:\n");
    for (int i = 1; i <= N; i++) {
        used += (size_t)sprintf(text + used,
                                "  hinge%d: {type: revolute, bodies: [%s%.0d, link%d], point: [0, 0, -%d*l], "
                                "axis: [0, 1, 0]}\n",
                                i, i == 1 ? "ground" : "link", i - 1, i, i - 1);
    }
    start = clock();
    kd_model *written = model_of(text);
    double    one_by_one = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_int_equal(written->njoints, N);
    for (int i = 0; i < N; i++) assert_numbers(m->body[i].def.position, written->body[i].def.position, 3);
#ifdef __SANITIZE_ADDRESS__
    double limit = 20.0;
#else
    double limit = 1.0;
#endif
    if (repeated > limit || one_by_one > limit) print_error("%g s repeated, %g s one by one\n", repeated, one_by_one);
    assert_true(repeated < limit);
    assert_true(one_by_one < limit);
    kd_model_destroy(m);
    kd_model_destroy(written);
    free(text);
}

// Whatever allocation fails, the answer is a status, and nothing leaks.
static void each_allocation_may_fail(void **state)
{
    (void)state;
    static const char text[] =
        "kardan: 1\ntitle: x\nparameters: {N: 2, l: N + 1}\ncurves: {c: {x: [0, 1], y: [0, 1]}}\ninputs: {u: 2*t}\n"
        "bodies: {arm(i): {for: i = 1..N, shape: {box: [1, l, i], density: 2}}}\n"
        "frames: {f: {body: arm(1), point: [l, 0, 0]}}\n"
        "joints: {j(i): {for: i = 1..N, type: revolute, bodies: [ground, arm(i)], point: [0, 0, 0], axis: [0, 0, 1]}}\n"
        "forces: {s: {type: tsda, from: f, to: arm(2), stiffness: 3, law: -c(length)*input.u}}\n"
        "sensors: {a: joint.j(1).q}\nrun: {plots: [a]}\n";
    for (int n = 1;; n++) {
        failing_allocator f = {.fail_at = n};
        kd_model         *m = NULL;
        char              message[1000];
        failing_allocator_use(&f);
        kd_status status = kd_model_read_text("x", text, strlen(text), NULL, 0, &m, message, sizeof message);
        kd_model_destroy(m);
        kd_set_allocator(NULL);
        assert_int_equal(f.live, 0);
        if (f.calls < n) { // nothing failed
            assert_int_equal(status, KD_OK);
            assert_true(n > 20);
            break;
        }
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_string_equal(message, "x: out of memory");
    }
}

// Missing arguments and files are answered with a status and words.
static void arguments(void **state)
{
    (void)state;
    kd_model *m = (kd_model *)1;
    char      message[300];
    assert_int_equal(kd_model_read(NULL, NULL, 0, &m, message, sizeof message), KD_ERR_ARGUMENT);
    assert_null(m);
    assert_int_equal(kd_model_read("x", NULL, 0, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_read_text("x", NULL, 0, NULL, 0, &m, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_read_text("x", "", 0, NULL, 1, &m, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_read_text("x", "", 0, NULL, 0, &m, NULL, 0), KD_ERR_MODEL);
    assert_int_equal(kd_model_read("/nowhere/a.yaml", NULL, 0, &m, message, sizeof message), KD_ERR_FILE);
    assert_string_equal(message, "/nowhere/a.yaml: the file cannot be opened: No such file or directory");
    assert_int_equal(kd_model_read("/", NULL, 0, &m, message, sizeof message), KD_ERR_FILE);
    assert_null(m);
}

// Positions in messages of the model count from 1 and are those of the elements and their fields.
static void positions_are_handed_on(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\n\n" ARM "joints:\n  j: {type: free, bodies: [ground, arm]}\n"
                           "frames:\n  unused: {body: arm}\n");
    assert_int_equal(m->body[0].source.line, 4);
    assert_int_equal(m->body[0].source.column, 3);
    assert_string_equal(m->body[0].source.file, "test");
    assert_int_equal(kd_model_warning_count(m), 1);
    assert_string_equal(kd_model_warning(m, 0), "test:8:3: frame 'unused': it is never used");
    kd_model_destroy(m);
}

// Named expressions that nobody uses are warned of at their place, those that only such ones use as well.
static void unused_expressions_are_told(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\n" ARM
                           "joints:\n  j: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                           "expressions:\n  twice: 2*joint.j.q\n  inner: joint.j.v\n  left: 3*inner\n"
                           "sensors: {s: twice + 1}\n");
    assert_int_equal(kd_model_warning_count(m), 2);
    assert_string_equal(kd_model_warning(m, 0), "test:8:3: expression 'inner': it is never used");
    assert_string_equal(kd_model_warning(m, 1), "test:9:3: expression 'left': it is never used");
    kd_model_destroy(m);
}

static kd_eval no_force(double t, const double *value, const double *rate, const double *state, void *context,
                        double *force, double *state_rate)
{
    (void)t, (void)value, (void)rate, (void)state, (void)context, (void)state_rate;
    force[0] = 0;
    return KD_EVAL_OK;
}

// Adds a force along the joint that context names
static kd_status add_force(kd_model *m, void *context)
{
    const char *const measure[] = {context};
    kd_user_force_def def = kd_user_force_def_default();
    def.nmeasures = 1, def.measure = measure, def.eval = no_force;
    return kd_model_add_user_force(m, "own", &def);
}

static kd_status refuse(kd_model *m, void *context)
{
    (void)m, (void)context;
    return KD_ERR_CALLBACK_STOP;
}

// What no file can hold is added before the model is finished, and is checked with it; a refusal leaves no model.
static void models_are_completed(void **state)
{
    (void)state;
    static const char TEXT[] =
        "kardan: 1\n" ARM "joints:\n  j: {type: revolute, bodies: [ground, arm], point: [0, 0, 0], axis: [0, 0, 1]}\n";
    kd_model_source source = kd_model_source_default();
    kd_model       *m = NULL;
    char            message[500];
    source.name = "test", source.text = TEXT, source.length = strlen(TEXT);
    source.complete = add_force, source.context = "joint.j.q";
    assert_int_equal(kd_model_read_by(&source, &m, message, sizeof message), KD_OK);
    assert_int_equal(kd_model_count(m, KD_SECTION_USER_FORCE), 1);
    kd_model_destroy(m);
    source.context = "joint.k.q";
    assert_int_equal(kd_model_read_by(&source, &m, message, sizeof message), KD_ERR_MODEL);
    assert_null(m);
    assert_non_null(strstr(message, "user force 'own': measure 1: unknown joint 'k'"));
    assert_null(strstr(message, "test:5")); // it has no place in the file
    source.complete = refuse;
    assert_int_equal(kd_model_read_by(&source, &m, message, sizeof message), KD_ERR_CALLBACK_STOP);
    assert_null(m);
    source.text = NULL;
    assert_int_equal(kd_model_read_by(&source, &m, message, sizeof message), KD_ERR_ARGUMENT);
    source = (kd_model_source){.text = TEXT, .length = strlen(TEXT)};
    assert_int_equal(kd_model_read_by(&source, &m, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "kd_model_source"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_completed),
        cmocka_unit_test(joint_as_in_c),
        cmocka_unit_test(short_form_of_places),
        cmocka_unit_test(places_by_name),
        cmocka_unit_test(orientations_agree),
        cmocka_unit_test(rod_from_point_to_point),
        cmocka_unit_test(all_fields_are_read),
        cmocka_unit_test(expressions_in_brackets),
        cmocka_unit_test(named_expressions),
        cmocka_unit_test(parameters_in_any_order),
        cmocka_unit_test(repetition_as_by_hand),
        cmocka_unit_test(nested_repetition),
        cmocka_unit_test(large_models_are_fast),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(arguments),
        cmocka_unit_test(positions_are_handed_on),
        cmocka_unit_test(unused_expressions_are_told),
        cmocka_unit_test(example_of_the_guide),
        cmocka_unit_test(controllers_of_the_guide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
