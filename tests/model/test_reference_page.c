// docs/reference/model-file.md is what the schema table gives.
//
// After a change of the table write it anew: KARDAN_WRITE_REFERENCE=1 build/tests/test_reference_page
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/text.h"
#include "core/written_page.h"
#include "model/element.h"

#define PAGE KD_SOURCE_DIR "/docs/reference/model-file.md"

enum { SIZE = 1 << 18 };

static char page[SIZE];

#define PUT(...) kd_text_append(page, SIZE, __VA_ARGS__)

// ---- the columns of a row -------------------------------------------------------------------------------------------

static void put_type(const kd_field *field)
{
    static const char *const word[KD_FIELD_TYPE_COUNT] = {
        [KD_FIELD_NUMBER] = "number",
        [KD_FIELD_INTEGER] = "whole number",
        [KD_FIELD_BOOLEAN] = "true or false",
        [KD_FIELD_TEXT] = "text",
        [KD_FIELD_LAW] = "expression",
        [KD_FIELD_PATHS] = "list of paths",
        [KD_FIELD_ORIENTATION] = "[orientation](#orientations)",
        [KD_FIELD_INERTIA] = "3 or 6 numbers",
        [KD_FIELD_MATRIX] = "6 numbers, or 6 rows of 6",
        [KD_FIELD_PLACE] = "[place](#places)",
        [KD_FIELD_PLACES] = "[place](#places), or a list of places",
        [KD_FIELD_SHAPES] = "[shape](#shapes), or a list of shapes",
        [KD_FIELD_TERMS] = "map from paths to numbers",
        [KD_FIELD_SAMPLES] = "list of numbers",
        [KD_FIELD_SIGNALS] = "expression, list of expressions, or map from names to expressions",
        [KD_FIELD_NEXT] = "map from states to expressions",
        [KD_FIELD_STARTS] = "number, or list of numbers",
        [KD_FIELD_ROWS] = "list of rows",
    };
    if (field->words) {
        for (int i = 0; field->words[i]; i++) PUT("%s`%s`", i > 0 ? ", " : "", field->words[i]);
    } else if (field->type == KD_FIELD_SIGNALS && !field->second) {
        PUT("expression, or list of expressions");
    } else if (field->type == KD_FIELD_SIGNALS && (field->flags & KD_FIELD_NAMED)) {
        PUT("map from paths to expressions");
    } else if (field->type == KD_FIELD_NAME) {
        PUT("name of a %s", kd_schema_of(field->refers)->singular);
    } else if (field->counts && field->count > 1) {
        PUT("%s for each coordinate", word[field->type]);
    } else if (field->count > 1 && (field->type == KD_FIELD_NUMBER || field->type == KD_FIELD_LAW)) {
        PUT("%d %ss", field->count, word[field->type]);
    } else {
        PUT("%s", word[field->type]);
    }
    if (field->range.open)
        PUT(", > %g", field->range.min);
    else if (isfinite(field->range.max))
        PUT(", %g to %g", field->range.min, field->range.max);
    else if (isfinite(field->range.min))
        PUT(", >= %g", field->range.min);
}

static void put_default(const kd_field *field)
{
    if (field->flags & KD_FIELD_REQUIRED) {
        PUT("needed");
    } else if (field->type == KD_FIELD_WORD) {
        PUT("`%s`", field->words[(int)field->value]);
    } else if (field->type == KD_FIELD_BOOLEAN) {
        PUT("%s", field->value != 0 ? "true" : "false");
    } else if ((field->type == KD_FIELD_NUMBER || field->type == KD_FIELD_INTEGER || field->type == KD_FIELD_MATRIX) &&
               isfinite(field->value) && !(field->flags & KD_FIELD_DIRECTION)) {
        PUT("%g", field->value);
    }
}

// "N/m|N m/rad" as "N/m, N m/rad"
static void put_unit(const char *unit)
{
    for (; *unit; unit++) {
        if (*unit == '|')
            PUT(", ");
        else
            PUT("%c", *unit);
    }
}

static void put_kinds(const kd_schema *schema, const kd_field *field)
{
    int has = 0, all = 0;
    for (int k = 0; k < schema->nkinds; k++) {
        all += kd_schema_word(schema, k)->word != NULL;
        has += kd_schema_word(schema, k)->word && kd_field_has(field, k);
    }
    if (has == all) {
        PUT("all");
        return;
    }
    bool except = has > 4 && has >= all - 3;
    if (except) PUT("all but ");
    for (int k = 0, n = 0; k < schema->nkinds; k++) {
        if (kd_schema_word(schema, k)->word && kd_field_has(field, k) != except)
            PUT("%s%s", n++ > 0 ? ", " : "", kd_schema_word(schema, k)->word);
    }
}

// ---- sections -------------------------------------------------------------------------------------------------------

static void put_short_form(const kd_schema *schema)
{
    const bool  number = kd_schema_field(schema, 0, schema->short_key)->type == KD_FIELD_NUMBER;
    const char *word = number ? "number" : "expression";
    PUT(" Short form: `name: %s` for `name: {%s: %s}`.", word, schema->short_key, word);
}

static void put_field(const kd_schema *schema, const kd_field *field, bool kinds)
{
    PUT("| `%s` | ", field->key);
    put_type(field);
    PUT(" | ");
    put_default(field);
    PUT(" | ");
    put_unit(field->unit);
    PUT(" | ");
    if (kinds) {
        put_kinds(schema, field);
        PUT(" | ");
    }
    PUT("%s |\n", field->doc);
}

// Each element with its fields and, where it has any, with what sensors can ask
static void put_elements(const kd_schema *schema)
{
    for (int k = 0; k < schema->nkinds; k++) {
        const kd_element_class *class = schema->class(k);
        if (!class->kind.word) continue; // written in C
        PUT("\n### %s `%s`\n\n%s.\n\n", schema->singular, class->kind.word, class->kind.doc);
        PUT("| key | value | default | unit | meaning |\n|---|---|---|---|---|\n");
        for (int i = 0; i < class->nfields; i++) put_field(schema, &class->fields[i], false);
        int n = 0;
        for (int i = 0; i < class->nreadings; i++) {
            const kd_readable *r = &class->readings[i];
            PUT("%s`%s.NAME%s%s`", n++ > 0 ? ", " : "\nReadings: ", schema->singular, r->word[0] ? "." : "", r->word);
            if (r->unit[0]) PUT(" [");
            put_unit(r->unit);
            if (r->unit[0]) PUT("]");
        }
        if (n > 0) PUT("\n");
    }
}

static void put_schema(kd_schema_id id, const char *title)
{
    const kd_schema *schema = kd_schema_of(id);
    bool             kinds = kd_schema_has_kinds(schema) && !schema->kind_by_key;
    PUT("\n## %s\n\n%s.", title, schema->doc);
    if (schema->short_key) put_short_form(schema);
    PUT("\n\n");
    if (kinds) {
        PUT("| `type` | |\n|---|---|\n");
        for (int k = 0; k < schema->nkinds; k++) {
            const kd_kind_word *kind = kd_schema_word(schema, k);
            if (!kind->word) continue;
            if (schema->class)
                PUT("| [`%s`](#%s-%s) | %s |\n", kind->word, schema->singular, kind->word, kind->doc);
            else
                PUT("| `%s` | %s |\n", kind->word, kind->doc);
        }
    }
    if (schema->class) {
        put_elements(schema);
        return;
    }
    if (kinds) PUT("\n");
    if (id == KD_SCHEMA_FRAME) {
        PUT("The keys are those of a [place](#places).\n");
        return;
    }
    PUT(schema->kinds ? "| key | value | default | unit | %s | meaning |\n|---|---|---|---|---|---|\n"
                      : "| key | value | default | unit | meaning |\n|---|---|---|---|---|\n",
        kinds ? "types" : "of");
    for (int i = 0; i < schema->nfields; i++) put_field(schema, &schema->fields[i], schema->kinds != NULL);
}

static void make_page(void)
{
    page[0] = '\0';
    PUT("# Model files: all sections, kinds and fields\n\n"
        "This page is made from the tables in `src/model/schema.c` and `src/element`. [Writing a model "
        "file](../guide/models.md) explains "
        "by\n"
        "example. Numbers may be expressions of numbers and parameters; fields that are called expressions are "
        "evaluated\n"
        "during the simulation. Units are SI, angles in radians; where two units are given, they are those of shifts "
        "and of\n"
        "turns. A key without default need not be given; its meaning says what is taken then.\n\n"
        "| section | |\n|---|---|\n"
        "| `kardan` | version of the format, 1; needed |\n"
        "| `title` | a text |\n"
        "| `parameters` | names with numbers or expressions of other parameters |\n"
        "| `gravity` | 3 numbers, acceleration in m/s^2; default [0, 0, -9.81] |\n"
        "| `expressions` | names for expressions that laws, inputs, states, events and sensors use |\n"
        "| [`materials`](#materials) | names with densities and elastic numbers |\n"
        "| `include` | path of a file, or a list of paths: its parameters, expressions, materials, curves and tracks "
        "are "
        "taken over |\n"
        "| `needs` | of a subsystem: names of what is handed in, each `body`, `point` or `signal`, or `{type: body, "
        "default: ground}` |\n"
        "| `offers` | of a subsystem: list of bodies and frames, or a map: `{hub: body.upright, travel: joint.arm.q}`; "
        "not given: all bodies and frames |\n"
        "| `definitions` | names with sections of subsystems |\n"
        "| [`subsystems`](#subsystems) | names with files or definitions that are used here |\n");
    for (int k = 0; k < KD_SCHEMA_SECTION_COUNT; k++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)k);
        PUT("| [`%s`](#%s) | %s |\n", schema->word, schema->word, schema->doc);
    }
    PUT("\nElements of all sections but `parameters` and `run` are repeated by `for: i = 1..N`.\n");
    for (int k = 0; k < KD_SCHEMA_SECTION_COUNT; k++) put_schema((kd_schema_id)k, kd_schema_of((kd_schema_id)k)->word);
    PUT("\nBeside these keys stand all options of integrators, formulations, start, events and checks by their groups, "
        "as\n[Options of methods](../guide/options.md) lists them: `radau: {max_newton: 7}`, `form: {projection: "
        "always}`."
        "\n");
    put_schema(KD_SCHEMA_PLACE, "places");
    PUT("\nA place may also be the name of a frame, or of a body. Elements with two places have a short form in place "
        "of `from` and\n"
        "`to`: `bodies: [a, b]` with `point` (for both) or `points` (one each), `axis`, `reference`, `orientation`, in "
        "the world at the\n"
        "design position, or with `in: body` in the frame of each body. Elements with one place have `body` and "
        "`point`.\n");
    put_schema(KD_SCHEMA_SHAPE, "shapes");
    PUT("\nA rod, cylinder or tube may be given from point to point: `{rod: radius, from: [0, 0, 0], to: [1, 0, "
        "0]}`. `material` gives\nthe density in place of `density`; `material` of a body is that of its shapes that "
        "say "
        "neither.\n");
    put_schema(KD_SCHEMA_CURVE_FILE, "curves from files");
    put_schema(KD_SCHEMA_CURVE_ROAD, "random roads");
    put_schema(KD_SCHEMA_MATERIAL, "materials");
    PUT("\nOf [`wheel_rail`](#constraint-wheel_rail) `material` gives `shear` and `poisson`; of beams in part files "
        "`E`, "
        "`nu` and `density`.\nInside of a subsystem its own materials count, or those of a file that it includes; "
        "`replace` of an instance puts others in\ntheir place.\n");
    put_schema(KD_SCHEMA_SUBSYSTEM, "subsystems");
    PUT("\n| further key | meaning |\n|---|---|\n"
        "| `file` | path of a model file, from the folder of this one or in the library |\n"
        "| `of` | name of a definition, of this file or of `file` |\n"
        "| `parameters` | values for parameters of the subsystem, expressions of those outside; not live in `for` and "
        "`enabled` |\n"
        "| `connect` | what it needs: bodies, frames, expressions of outside |\n"
        "| `enabled` | an expression; 0 or false: the subsystem is left out |\n"
        "| `replace` | elements in place of those of the subsystem, by name or `section.name`; null: none |\n"
        "| `for` | repeats it: `for: i = 1..N` |\n");
    PUT("\n## orientations\n\n"
        "| form | meaning |\n|---|---|\n"
        "| `[w, x, y, z]` | unit quaternion, scalar first |\n"
        "| `{axis: [x, y, z], angle: a}` | turn about an axis |\n"
        "| `{roll: a, pitch: b, yaw: c}` | Rz(c) Ry(b) Rx(a); those not given are 0 |\n");
}

// ---- tests ----------------------------------------------------------------------------------------------------------

// The committed page is what the table gives.
static void page_is_up_to_date(void **state)
{
    (void)state;
    make_page();
    assert_true(strlen(page) + 1 < SIZE);
    assert_page(PAGE, page, "test_reference_page");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(page_is_up_to_date)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
