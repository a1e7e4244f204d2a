// The writer of model files: what is written reads back as the same model.
#define _POSIX_C_SOURCE 200809L
#include "modelfile/files.h"

#include <dirent.h>
#include <kardan/kardan.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>

#include "model/build.h"
#include "model/schema.h"

#define FIRST KD_BINARY_DIR "/writer_first.yaml"
#define SECOND KD_BINARY_DIR "/writer_second.yaml"

static kd_model *read_file(const char *path)
{
    char      message[4000];
    kd_model *m = NULL;
    kd_status status = kd_model_read(path, NULL, 0, &m, message, sizeof message);
    if (status != KD_OK) print_error("%s\n", message);
    assert_int_equal(status, KD_OK);
    return m;
}

static void write_file(const kd_model *m, const char *path)
{
    char message[1000];
    assert_int_equal(kd_model_write(m, path, message, sizeof message), KD_OK);
    assert_string_equal(message, "");
}

static void assert_same_text(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a) assert_string_equal(a, b);
}

// ---- equal definitions, field by field ------------------------------------------------------------------------------

static void assert_same_fields(const kd_schema *schema, const char *a, const char *b);

static void assert_same_field(const kd_field *field, int kind, const char *a, const char *b)
{
    const void *x = a + field->offset, *y = b + field->offset;
    int         n = kd_field_count(field, kind), na = 0, nb = 0;
    if (field->length) {
        memcpy(&na, a + field->length, sizeof na);
        memcpy(&nb, b + field->length, sizeof nb);
        assert_int_equal(na, nb);
    }
    switch (field->type) {
    case KD_FIELD_NUMBER:
    case KD_FIELD_INERTIA:
    case KD_FIELD_MATRIX:
    case KD_FIELD_ORIENTATION:
        assert_numbers(x, y, n);
        break;
    case KD_FIELD_INTEGER:
    case KD_FIELD_WORD:
        assert_memory_equal(x, y, sizeof(int));
        break;
    case KD_FIELD_BOOLEAN:
        assert_memory_equal(x, y, sizeof(bool));
        break;
    case KD_FIELD_TEXT:
    case KD_FIELD_NAME:
    case KD_FIELD_LAW:
        for (int i = 0; i < n; i++) assert_same_text(((const char *const *)x)[i], ((const char *const *)y)[i]);
        break;
    case KD_FIELD_PATHS:
    case KD_FIELD_TERMS:
        for (int i = 0; i < na; i++) assert_string_equal(((const char *const *)x)[i], ((const char *const *)y)[i]);
        if (field->second) assert_memory_equal(a + field->second, b + field->second, (size_t)na * sizeof(double));
        break;
    case KD_FIELD_PLACE:
        assert_same_fields(kd_schema_of(KD_SCHEMA_PLACE), x, y);
        break;
    case KD_FIELD_PLACES:
        for (int i = 0; i < na; i++)
            assert_same_fields(kd_schema_of(KD_SCHEMA_PLACE), (const char *)((const kd_place *)x + i),
                               (const char *)((const kd_place *)y + i));
        break;
    case KD_FIELD_SHAPES:
        for (int i = 0; i < na; i++) {
            assert_same_fields(kd_schema_of(KD_SCHEMA_SHAPE), (const char *)((const kd_shape *)x + i),
                               (const char *)((const kd_shape *)y + i));
        }
        break;
    case KD_FIELD_SAMPLES:
        assert_memory_equal(*(const double *const *)x, *(const double *const *)y, (size_t)na * sizeof(double));
        break;
    case KD_FIELD_SIGNALS:
    case KD_FIELD_NEXT:
        for (int i = 0; i < na; i++) {
            assert_same_text(((const char *const *)x)[i], ((const char *const *)y)[i]);
            if (!field->second) continue;
            assert_same_text(((const char *const *)(const void *)(a + field->second))[i],
                             ((const char *const *)(const void *)(b + field->second))[i]);
        }
        break;
    case KD_FIELD_STARTS:
        assert_numbers(x, y, na);
        break;
    case KD_FIELD_ROWS: {
        int columns;
        memcpy(&columns, a + field->second, sizeof columns);
        assert_true((*(const double *const *)x == NULL) == (*(const double *const *)y == NULL));
        if (*(const double *const *)x)
            assert_numbers(*(const double *const *)x, *(const double *const *)y, na * columns);
        break;
    }
    case KD_FIELD_TYPE_COUNT:
        break;
    }
}

static void assert_same_fields(const kd_schema *schema, const char *a, const char *b)
{
    int kind = kd_schema_kind_of(schema, a);
    assert_int_equal(kind, kd_schema_kind_of(schema, b));
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *field = kd_schema_field_at(schema, kind, i);
        if (kd_field_has(field, kind)) assert_same_field(field, kind, a, b);
    }
}

static void assert_same_models(const kd_model *a, const kd_model *b)
{
    static const struct {
        kd_schema_id id;
        kd_section   section;
        size_t       def;
    } sections[] = {
        {KD_SCHEMA_CURVE, KD_SECTION_CURVE, offsetof(kd_model_curve, def)},
        {KD_SCHEMA_TRACK, KD_SECTION_TRACK, offsetof(kd_model_track, def)},
        {KD_SCHEMA_INPUT, KD_SECTION_INPUT, offsetof(kd_input, def)},
        {KD_SCHEMA_BODY, KD_SECTION_BODY, offsetof(kd_body, def)},
        {KD_SCHEMA_FRAME, KD_SECTION_FRAME, offsetof(kd_frame, def)},
        {KD_SCHEMA_JOINT, KD_SECTION_JOINT, offsetof(kd_joint, def)},
        {KD_SCHEMA_CONSTRAINT, KD_SECTION_CONSTRAINT, offsetof(kd_constraint, def)},
        {KD_SCHEMA_FORCE, KD_SECTION_FORCE, offsetof(kd_force, def)},
        {KD_SCHEMA_STATE, KD_SECTION_STATE, offsetof(kd_state_element, def)},
        {KD_SCHEMA_ALGEBRAIC, KD_SECTION_ALGEBRAIC, offsetof(kd_algebraic, def)},
        {KD_SCHEMA_BLOCK, KD_SECTION_BLOCK, offsetof(kd_block, def)},
        {KD_SCHEMA_VARIABLE, KD_SECTION_VARIABLE, offsetof(kd_variable, def)},
        {KD_SCHEMA_EVENT, KD_SECTION_EVENT, offsetof(kd_model_event, def)},
        {KD_SCHEMA_SENSOR, KD_SECTION_SENSOR, offsetof(kd_sensor, def)},
        {KD_SCHEMA_INVARIANT, KD_SECTION_INVARIANT, offsetof(kd_invariant, def)},
        {KD_SCHEMA_CONDITION, KD_SECTION_CONDITION, offsetof(kd_condition, def)},
    };
    assert_string_equal(a->title, b->title);
    assert_numbers(a->gravity, b->gravity, 3);
    assert_same_fields(kd_schema_of(KD_SCHEMA_RUN), (const char *)&a->run, (const char *)&b->run);
    assert_int_equal(a->run.noptions, b->run.noptions);
    for (int i = 0; i < a->run.noptions; i++) {
        const kd_run_option *one = &a->run.option[i], *other = &b->run.option[i];
        assert_string_equal(one->name, other->name);
        assert_true(one->value == other->value && !one->word == !other->word);
        if (one->word) assert_string_equal(one->word, other->word);
    }
    assert_int_equal(a->nparameters, b->nparameters);
    for (int i = 0; i < a->nparameters; i++) {
        assert_string_equal(a->parameter[i].name, b->parameter[i].name);
        assert_true(a->parameter[i].value == b->parameter[i].value);
    }
    for (size_t s = 0; s < sizeof sections / sizeof sections[0]; s++) {
        int n = kd_section_count(a, sections[s].section);
        assert_int_equal(n, kd_section_count(b, sections[s].section));
        for (int i = 0; i < n; i++) {
            assert_string_equal(kd_element_name(a, sections[s].section, i), kd_element_name(b, sections[s].section, i));
            assert_same_fields(kd_schema_of(sections[s].id),
                               (const char *)kd_element(a, sections[s].section, i) + sections[s].def,
                               (const char *)kd_element(b, sections[s].section, i) + sections[s].def);
        }
    }
}

// Read, write, read: equal definitions, and written once more the same text.
static void assert_round_trip(kd_model *m)
{
    write_file(m, FIRST);
    kd_model *again = read_file(FIRST);
    assert_same_models(m, again);
    write_file(again, SECOND);
    char *a = file_content(FIRST, NULL), *b = file_content(SECOND, NULL);
    assert_string_equal(a, b);
    free(a);
    free(b);
    kd_model_destroy(again);
    unlink(FIRST);
    unlink(SECOND);
}

// A model with every kind and every field survives.
static void everything_survives(void **state)
{
    (void)state;
    kd_model *m = read_file(KD_SOURCE_DIR "/tests/modelfile/everything.yaml");
    assert_int_equal(system("cp '" KD_SOURCE_DIR "/tests/modelfile/everything.tir' '" KD_SOURCE_DIR
                            "/tests/modelfile/everything.crg' '" KD_BINARY_DIR "/'"),
                     0);
    assert_round_trip(m);
    kd_model_destroy(m);
}

// The start with its accelerations, in joint coordinates
static kd_state *start_of(kd_model *m, kd_system **system)
{
    char      message[1000] = "";
    kd_state *x = NULL;
    assert_true(kd_system_create(m, NULL, system, message, sizeof message) >= 0);
    assert_int_equal(kd_state_create(kd_system_eom(*system), &x), KD_OK);
    assert_true(kd_system_start(*system, x, message, sizeof message) >= 0);
    return x;
}

// A model with subsystems is written flat, its numbers placed and mirrored: the same motion, and a form that survives.
static void assert_flat_form(kd_model *m)
{
    kd_system *one, *other;
    write_file(m, FIRST);
    kd_model     *flat = read_file(FIRST);
    kd_state     *x = start_of(m, &one), *y = start_of(flat, &other);
    const kd_dims d = kd_eom_dims(kd_system_eom(one)), e = kd_eom_dims(kd_system_eom(other));
    assert_true(d.np == e.np && d.nv == e.nv && d.nlambda == e.nlambda);
    for (int i = 0; i < d.np; i++) assert_true(fabs(x->p[i] - y->p[i]) <= 1e-13 * (1 + fabs(x->p[i])));
    for (int i = 0; i < d.nv; i++) assert_true(fabs(x->v[i] - y->v[i]) <= 1e-13 * (1 + fabs(x->v[i])));
    for (int i = 0; i < d.nv; i++) assert_true(fabs(x->a[i] - y->a[i]) <= 1e-11 * (1 + fabs(x->a[i])));
    kd_state_destroy(x);
    kd_state_destroy(y);
    kd_system_destroy(one);
    kd_system_destroy(other);
    assert_round_trip(flat);
    kd_model_destroy(flat);
}

// So do all models of the gallery, and none of them has a warning.
static void gallery_survives(void **state)
{
    (void)state;
    DIR *folder = opendir(KD_SOURCE_DIR "/models");
    int  count = 0;
    assert_non_null(folder);
    // meshes and parts are looked for beside what is written
    assert_int_equal(
        system("cp -r '" KD_SOURCE_DIR "/models/data' '" KD_SOURCE_DIR "/models/parts' '" KD_BINARY_DIR "/'"), 0);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char   path[1000];
        size_t n = strlen(entry->d_name);
        if (n < 5 || strcmp(entry->d_name + n - 5, ".yaml") != 0) continue;
        snprintf(path, sizeof path, KD_SOURCE_DIR "/models/%s", entry->d_name);
        kd_model *m = read_file(path);
        if (kd_model_warning_count(m) > 0) print_error("%s\n", kd_model_warning(m, 0));
        assert_int_equal(kd_model_warning_count(m), 0);
        if (kd_model_count(m, KD_SECTION_SUBSYSTEM) > 0)
            assert_flat_form(m);
        else
            assert_round_trip(m);
        kd_model_destroy(m);
        count++;
    }
    closedir(folder);
    assert_true(count > 0);
}

// A repeated model survives: its elements are written one by one, their names with indices.
static void repetition_survives(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\nparameters: {N: 3}\n"
                           "bodies: {arm(i,j): {for: [i = 1..N, j = 1..2], mass: i/3, inertia: [1, 1, j]}}\n"
                           "joints: {j(i,j): {for: [i = 1..N, j = 1..2], type: free, bodies: [ground, arm(i,j)]}}\n"
                           "sensors:\n  s: body.arm(N,2).pos.x\n");
    assert_round_trip(m);
    kd_model_destroy(m);
}

// Expressions of numbers are kept: the written file depends on its parameters as the first one does.
static void expressions_are_kept(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\nparameters: {l: 0.5, n: 2*l}\n"
                           "bodies:\n"
                           "  plain: {mass: 1, inertia: [1, 1, 1]}\n"
                           "  arm: {mass: n + 1, inertia: [l, \"max(l, 1)\", 3], shape: {box: [l, 1, n]}}\n"
                           "  leg(i): {for: i = 1..1, mass: l*i, inertia: [l, l, l]}\n"
                           "joints:\n"
                           "  j: {type: revolute, bodies: [ground, arm], point: [l, 0, n], axis: [0, l, 0], q: n}\n"
                           "  k: {type: free, bodies: [ground, plain]}\n"
                           "  f(i): {for: i = 1..1, type: free, bodies: [arm, leg(i)]}\n"
                           "constraints:\n  c: {type: coupling, terms: {joint.j.q: l, joint.k.q1: -1}, offset: n}\n"
                           "forces:\n  b: {type: bushing, bodies: [ground, arm], stiffness: [[l, 1, 0, 0, 0, 0], "
                           "[1, 1, 0, 0, 0, 0], [0, 0, n, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], "
                           "[0, 0, 0, 0, 0, 1]]}\n");
    assert_round_trip(m);
    write_file(m, FIRST);
    char                    *text = file_content(FIRST, NULL);
    static const char *const parts[] = {"mass: n + 1\n",
                                        "inertia: [l, \"max(l, 1)\", 3]\n",
                                        "shape: [{box: [l, 1, n]}]\n",
                                        "from: {body: ground, point: [l, 0, n], axis: [0, l, 0], in: world}\n",
                                        "to: {body: arm, point: [l, 0, n], axis: [0, l, 0], in: world}\n",
                                        "q: n\n",
                                        "terms: {joint.j.q: l, joint.k.q1: -1}\n",
                                        "offset: n\n",
                                        "stiffness: [[l, 1, 0, 0, 0, 0], ",
                                        "mass: 0.5\n"}; // of what is repeated
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!strstr(text, parts[i])) print_error("missing: %s in\n%s", parts[i], text);
        assert_non_null(strstr(text, parts[i]));
    }
    kd_setting settings[] = {{"l", "0.25"}};
    kd_model  *changed = model_of_settings(text, settings, 1);
    assert_true(changed->body[1].def.mass == 1.5);
    assert_true(changed->joint[0].def.to.position[2] == 0.5);
    kd_model_destroy(changed);
    kd_model_destroy(m);
    free(text);
    unlink(FIRST);
}

// Numbers come back with all their bits, texts with all their characters, also where YAML needs quotes.
static void odd_numbers_and_texts(void **state)
{
    (void)state;
    static const double      numbers[] = {1.0 / 3,
                                          0.1,
                                          1e-300,
                                          4.9406564584124654e-324,
                                          1.7976931348623157e308,
                                          -0.0,
                                          1e22,
                                          123456789.123456789,
                                          9007199254740993.0,
                                          2.5e-8};
    static const char *const titles[] = {"",          "null",     "~",    "a: b",  "a #b",   "#",        "- a",
                                         "[a]",       "{a}",      "a, b", "\"q\"", "back\\", "tab\tend", "line\nend",
                                         "  blanks ", "!tag",     "&a",   "*a",    "%a",     "@a",       "`a`",
                                         "Größe",     "true",     "-",    "---",   "...",    "? a",      "| a",
                                         "> a",       "'single'", "a:",   ":a",    "0x10",   "é\x07"};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        kd_model *m = NULL;
        assert_int_equal(kd_model_create(&m), KD_OK);
        assert_int_equal(kd_model_set_title(m, titles[i]), KD_OK);
        double      x = numbers[i % (sizeof numbers / sizeof numbers[0])];
        kd_body_def body = kd_body_def_default();
        body.mass = 1;
        for (int k = 0; k < 6; k++) body.inertia[k] = k < 3 ? 1 : 0;
        kd_input_def  input = kd_input_def_default();
        kd_sensor_def sensor = kd_sensor_def_default();
        input.start = x;
        sensor.value = "1";
        sensor.unit = titles[i];
        assert_int_equal(kd_model_add_parameter(m, "p", x), KD_OK);
        assert_int_equal(kd_model_add_body(m, "a-b", &body), KD_OK);
        assert_int_equal(kd_model_add_input(m, "u", &input), KD_OK);
        if (titles[i][0]) assert_int_equal(kd_model_add_sensor(m, "s", &sensor), KD_OK);
        assert_int_equal(kd_model_finish(m), KD_OK);
        assert_round_trip(m);
        kd_model_destroy(m);
    }
}

// A locale with a decimal comma changes nothing.
static void locale_changes_nothing(void **state)
{
    (void)state;
    kd_model *m = model_of("kardan: 1\nparameters: {a: 0.5}\ngravity: [0.25, 1e-3, -9.81]\n");
    write_file(m, FIRST);
    char *text = file_content(FIRST, NULL);
    assert_non_null(strstr(text, "gravity: [0.25, 0.001, -9.81]"));
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "de_DE")) {
        assert_round_trip(m);
        setlocale(LC_NUMERIC, "C");
    }
    free(text);
    kd_model_destroy(m);
    unlink(FIRST);
}

// Masses that come from shapes, and lengths from the start, are not written: the written model finds them again, with other
// parameters, too.
static void what_is_found_is_not_written(void **state)
{
    static const char text[] =
        "kardan: 1\nparameters: {L: 0.5}\ndefinitions:\n  arm:\n    parameters: {l: 1, e: 0.25}\n"
        "    bodies:\n      a: {position: [0, 0, 0.1], shape: {box: [l, 0.1, 0.2], density: 1000}}\n"
        "      b: {position: [0, 1, 0], mass: 3, shape: {rod: [0.1, 2-e], position: [e-1, -e, l-e]}}\n"
        "    joints: {j: {type: revolute, bodies: [ground, a], point: [0, 0, 0], axis: [0, 1, 0]},\n"
        "      k: {type: revolute, bodies: [a, b], point: [0, 1, 0], axis: [0, 1, 0]}}\n"
        "    forces: {s: {type: tsda, bodies: [ground, b], stiffness: 100}}\n"
        "subsystems: {p: {of: arm, parameters: {l: L}}, q: {of: arm, parameters: {l: 2*L}, mirror: [0, 1, 0.2]}}\n";
    const kd_setting longer = {"L", "0.8"};
    char             message[1000];
    (void)state;
    kd_model *m = model_of(text), *right = model_of_settings(text, &longer, 1), *flat = NULL;
#define ASSERT_ABOUT(a, b) assert_true(fabs((a) - (b)) <= 1e-13 * (1.0 + fabs(a)))
    assert_int_equal(kd_model_write_flat(m, FIRST, message, sizeof message), KD_OK);
    char *written = file_content(FIRST, NULL);
    char *inertia = strstr(written, "inertia");
    assert_non_null(inertia);
    assert_null(strstr(inertia + 1, "inertia")); // of q.b only
    assert_null(strstr(written, "length"));
    assert_non_null(strstr(written, "position: [parameter.p.e-1, -parameter.p.e, parameter.p.l-parameter.p.e]"));
    free(written);
    // with another length, as the model itself has it; places of shapes in a mirror are numbers, and masses with them
    assert_int_equal(kd_model_read(FIRST, &longer, 1, &flat, message, sizeof message), KD_OK);
    assert_int_equal(flat->nbodies, 4);
    for (int i = 0; i < 3; i++) {
        const kd_body_def *a = &right->body[i].def, *b = &flat->body[i].def;
        ASSERT_ABOUT(a->mass, b->mass);
        for (int k = 0; k < 3; k++) ASSERT_ABOUT(a->centre[k], b->centre[k]);
        for (int k = 0; k < 6; k++) ASSERT_ABOUT(a->inertia[k], b->inertia[k]);
    }
    ASSERT_ABOUT(right->body[0].def.mass, 16.0);
    kd_model_destroy(flat);
    kd_model_destroy(right);
    kd_model_destroy(m);
    unlink(FIRST);
#undef ASSERT_ABOUT
}

// Residual of a model at the start of another one, with velocities and accelerations that have nothing to do with it
static int residual_of(const kd_model *m, kd_coordinates coordinates, const kd_state *start, kd_state **x, double *out)
{
    kd_system_options options = kd_system_options_default();
    kd_system        *s = NULL;
    kd_eom_data      *data = NULL;
    char              message[1000] = "";
    options.coordinates = coordinates;
    assert_int_equal(kd_system_create(m, &options, &s, message, sizeof message), KD_OK);
    const kd_dims n = kd_eom_dims(kd_system_eom(s));
    assert_true(n.nv <= 200);
    assert_int_equal(kd_state_create(kd_system_eom(s), x), KD_OK);
    assert_true(kd_system_start(s, *x, message, sizeof message) >= 0);
    assert_int_equal(kd_eom_data_create(kd_system_eom(s), &data), KD_OK);
    for (int i = 0; i < n.nv; i++) (*x)->v[i] = 0.3 * sin(1.0 + 3 * i), (*x)->a[i] = cos(2.0 * i);
    const kd_state *at = start ? start : *x;
    kd_eom_at_time(data, 0, NULL, NULL, NULL, at->z);
    kd_eom_at_position(data, at->p, at->s);
    kd_eom_at_velocity(data, at->v, at->r);
    kd_eom_at_acceleration(data, at->a, NULL, at->lambda, at->mu);
    assert_int_equal(kd_eom_eval(data, KD_RESIDUAL, out), KD_EVAL_OK);
    kd_eom_data_destroy(data);
    kd_system_destroy(s);
    return n.nv;
}

// Flexible bodies in mirrors, one of them twice, none along the axes: the flat file has the same equations
static void mirrored_parts_are_written_flat(void **state)
{
    char message[1000];
    (void)state;
    kd_model *m = read_file(KD_SOURCE_DIR "/tests/flexible/reference/mirrored-brackets.yaml"), *flat = NULL;
    assert_int_equal(system("cp '" KD_SOURCE_DIR "/tests/flexible/reference/bracket.yaml' '" KD_BINARY_DIR "/'"), 0);
    assert_int_equal(kd_model_write_flat(m, FIRST, message, sizeof message), KD_OK);
    assert_int_equal(kd_model_read(FIRST, NULL, 0, &flat, message, sizeof message), KD_OK);
    assert_int_equal(m->nbodies, flat->nbodies);
    for (int c = 0; c < 2; c++) {
        double    a[200], b[200], largest = 0;
        kd_state *x = NULL, *y = NULL;
        const int n = residual_of(m, c ? KD_CARTESIAN : KD_JOINT, NULL, &x, a);
        assert_int_equal(residual_of(flat, c ? KD_CARTESIAN : KD_JOINT, x, &y, b), n);
        for (int i = 0; i < n; i++) largest = fmax(largest, fabs(a[i]));
        assert_true(largest > 1);
        for (int i = 0; i < n; i++) assert_true(fabs(a[i] - b[i]) < 1e-12 * largest);
        kd_state_destroy(x);
        kd_state_destroy(y);
    }
    kd_model_destroy(flat);
    kd_model_destroy(m);
    unlink(FIRST);
}

static kd_eval nothing(double t, const double *value, const double *rate, const double *own, void *context,
                       double *force, double *own_rate)
{
    (void)t, (void)value, (void)rate, (void)own, (void)context, (void)own_rate;
    force[0] = 0;
    return KD_EVAL_OK;
}

// What cannot be written is said: forces in C, files that cannot be opened, full disks, missing arguments.
static void failures(void **state)
{
    (void)state;
    char      message[300];
    kd_model *m = NULL;
    assert_int_equal(kd_model_create(&m), KD_OK);
    assert_int_equal(kd_model_write(NULL, FIRST, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_write(m, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_write(m, "/nowhere/a.yaml", message, sizeof message), KD_ERR_FILE);
    assert_string_equal(message, "/nowhere/a.yaml: the file cannot be written");
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(kd_model_write(m, "/dev/full", message, sizeof message), KD_ERR_FILE);
        assert_string_equal(message, "/dev/full: the file could not be written to its end");
    }
    kd_user_force_def def = kd_user_force_def_default();
    def.nmeasures = 1;
    def.measure = (const char *const[]){"joint.a.q"};
    def.eval = nothing;
    assert_int_equal(kd_model_add_user_force(m, "mine", &def), KD_OK);
    assert_int_equal(kd_model_write(m, FIRST, message, sizeof message), KD_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "'mine'"));
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_survives),
        cmocka_unit_test(gallery_survives),
        cmocka_unit_test(repetition_survives),
        cmocka_unit_test(odd_numbers_and_texts),
        cmocka_unit_test(locale_changes_nothing),
        cmocka_unit_test(failures),
        cmocka_unit_test(expressions_are_kept),
        cmocka_unit_test(what_is_found_is_not_written),
        cmocka_unit_test(mirrored_parts_are_written_flat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
