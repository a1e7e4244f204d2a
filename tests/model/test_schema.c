// The schema table: it is complete and consistent, defaults are valid, checks refuse what they must.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/schema.h"

// Every kind has a word and a sentence, every field a unit and a sentence without full stop; offsets lie inside.
static void table_is_complete(void **state)
{
    (void)state;
    for (int s = 0; s < KD_SCHEMA_COUNT; s++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)s);
        assert_non_null(schema->word);
        assert_true(schema->size > 0 && kd_schema_field_count(schema, -1) > 0);
        for (int k = 0; kd_schema_has_kinds(schema) && k < schema->nkinds; k++) {
            const kd_kind_word *kind = kd_schema_word(schema, k);
            if (!kind->word) continue;
            assert_non_null(kind->doc);
            assert_int_equal(kd_schema_kind(schema, kind->word), k);
        }
        for (int i = 0; i < kd_schema_field_count(schema, -1); i++) {
            const kd_field *field = kd_schema_field_at(schema, -1, i);
            assert_true(field->offset < schema->size);
            assert_non_null(field->unit);
            assert_true(strlen(field->doc) > 3 && field->doc[strlen(field->doc) - 1] != '.');
            assert_true(field->type != KD_FIELD_WORD || field->words);
            assert_true(field->range.min <= field->range.max);
        }
    }
}

// A key means one field for each kind.
static void keys_are_unique(void **state)
{
    (void)state;
    for (int s = 0; s < KD_SCHEMA_COUNT; s++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)s);
        for (int k = 0; k < schema->nkinds; k++) {
            for (int i = 0; i < kd_schema_field_count(schema, k); i++) {
                const kd_field *field = kd_schema_field_at(schema, k, i);
                if (kd_field_has(field, k)) assert_ptr_equal(kd_schema_field(schema, k, field->key), field);
            }
        }
    }
}

// Defaults pass the checks, but for what must be given: then the message names a required field.
static void defaults_are_valid(void **state)
{
    (void)state;
    for (int s = 0; s < KD_SCHEMA_COUNT; s++) {
        const kd_schema *schema = kd_schema_of((kd_schema_id)s);
        for (int k = 0; k < schema->nkinds; k++) {
            union {
                kd_force_def force;
                kd_body_def  body;
                kd_block_def block;
                kd_event_def event;
            } def;
            char message[400] = "";
            assert_true(schema->size <= sizeof def);
            kd_schema_default(schema, k, &def);
            const kd_field *fault = kd_schema_check(schema, &def, message, sizeof message);
            if (!fault || (kd_schema_has_kinds(schema) && !kd_schema_word(schema, k)->word)) continue;
            if (!(fault->flags & KD_FIELD_REQUIRED)) print_error("%s: %s\n", schema->word, message);
            assert_true(fault->flags & KD_FIELD_REQUIRED);
            assert_non_null(strstr(message, fault->key));
        }
    }
}

// The defaults of the header.
static void defaults_of_the_header(void **state)
{
    (void)state;
    kd_body_def body = kd_body_def_default();
    assert_true(isnan(body.mass) && isnan(body.centre[2]) && isnan(body.inertia[5]) && isnan(body.velocity[1]));
    assert_true(body.position[0] == 0 && body.orientation[0] == 1 && body.nshapes == 0);
    kd_joint_def joint = kd_joint_def_default(KD_SCREW);
    assert_int_equal(joint.kind, KD_SCREW);
    assert_string_equal(joint.from.body, "ground");
    assert_int_equal(joint.to.in, KD_IN_WORLD);
    assert_true(isnan(joint.q[6]) && isnan(joint.v[5]) && !joint.motion[0] && joint.cut == KD_CUT_AUTO);
    kd_force_def force = kd_force_def_default(KD_TSDA);
    assert_true(isnan(force.spring.length) && force.spring.stiffness == 0 && !force.spring.law);
    force = kd_force_def_default(KD_JOINT_STOP);
    assert_true(force.coordinate == 1 && isinf(force.stop.lower) && force.stop.lower < 0);
    assert_true(kd_force_def_default(KD_BUSHING).bushing.matrix[1][35] == 0);
    assert_true(kd_force_def_default(KD_CONTACT).contact.exponent == 1.5);
    kd_run_def run = kd_run_def_default();
    assert_true(run.t_end == 10 && run.intervals == 500 && isnan(run.limit_energy) && run.nplots == 0);
    kd_place place = kd_place_default();
    assert_true(place.axis[2] == 0 && place.orientation[0] == 1 && place.in == KD_IN_WORLD);
}

static void assert_fault(const kd_schema *schema, const void *def, const char *message)
{
    char why[400] = "";
    assert_non_null(kd_schema_check(schema, def, why, sizeof why));
    assert_string_equal(why, message);
}

// Numbers out of range, not finite, unknown kinds and words, parts inside: all refused with words.
static void checks_refuse(void **state)
{
    (void)state;
    kd_body_def body = kd_body_def_default();
    body.mass = -1;
    assert_fault(kd_schema_of(KD_SCHEMA_BODY), &body, "'mass' must be at least 0, but is -1");
    body.mass = INFINITY;
    assert_fault(kd_schema_of(KD_SCHEMA_BODY), &body, "'mass' is not finite");
    body.mass = NAN; // not given
    body.position[1] = NAN;
    assert_fault(kd_schema_of(KD_SCHEMA_BODY), &body, "'position' is not finite");
    body = kd_body_def_default();
    body.nshapes = 9;
    assert_fault(kd_schema_of(KD_SCHEMA_BODY), &body, "'shape' has 9 entries, at most 8 are possible");
    body.nshapes = 1;
    assert_fault(kd_schema_of(KD_SCHEMA_BODY), &body, "'shape': kind 0 of a shape has no meaning");
    kd_schema_default(kd_schema_of(KD_SCHEMA_SHAPE), KD_BOX, &body.shape[0]);
    assert_fault(kd_schema_of(KD_SCHEMA_BODY), &body, "'shape': 'box' number 1 must be positive, but is 0");
    kd_joint_def joint = kd_joint_def_default(KD_REVOLUTE);
    joint.kind = (kd_joint_kind)99;
    assert_fault(kd_schema_of(KD_SCHEMA_JOINT), &joint, "kind 99 of a joint has no meaning");
    joint = kd_joint_def_default(KD_REVOLUTE);
    joint.cut = (kd_cut)7;
    assert_fault(kd_schema_of(KD_SCHEMA_JOINT), &joint, "'cut' is 7, which has no meaning");
    joint.cut = KD_CUT_AUTO;
    joint.to.orientation[0] = 2;
    assert_fault(kd_schema_of(KD_SCHEMA_JOINT), &joint, "'to': 'orientation' is no unit quaternion: its norm is 2");
    joint.to.orientation[0] = 1;
    joint.to.body = NULL;
    assert_fault(kd_schema_of(KD_SCHEMA_JOINT), &joint, "'to': 'body' is missing");
    kd_state_def lag = kd_state_def_default(KD_STATE_LAG);
    assert_fault(kd_schema_of(KD_SCHEMA_STATE), &lag, "'input' is missing");
    lag.input = "t";
    lag.time_constant = 0;
    assert_fault(kd_schema_of(KD_SCHEMA_STATE), &lag, "'time_constant' must be positive, but is 0");
    lag.kind = KD_STATE_ODE; // which has no time constant
    assert_null(kd_schema_check(kd_schema_of(KD_SCHEMA_STATE), &lag, NULL, 0));
    kd_run_def run = kd_run_def_default();
    run.coordinates = "joints";
    assert_fault(kd_schema_of(KD_SCHEMA_RUN), &run, "'coordinates' cannot be 'joints', did you mean 'joint'?");
}

// Names as the header says.
static void names(void **state)
{
    (void)state;
    static const char *const right[] = {"a", "A_1", "_x", "left-arm", "link(0)", "knot(12,3)"};
    static const char *const wrong[] = {"",    "1a",    "-a",    "a b",   "a.b",     "a(",    "a()",     "a(x)",
                                        "a(1", "a(1)b", "a(1,)", "a(-1)", "a(1)(2)", "a( 1)", "\xC3\xA4"};
    char                     why[300], endless[200];
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) assert_true(kd_name_check(right[i], why, sizeof why));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        why[0] = '\0';
        assert_false(kd_name_check(wrong[i], why, sizeof why));
        assert_true(strlen(why) > 10);
    }
    memset(endless, 'a', sizeof endless);
    endless[199] = '\0';
    assert_false(kd_name_check(endless, why, sizeof why));
}

// Mistyped keys and kinds are recognised.
static void suggestions(void **state)
{
    (void)state;
    const kd_schema *joint = kd_schema_of(KD_SCHEMA_JOINT);
    assert_string_equal(kd_schema_suggest_kind(joint, "revolut"), "revolute");
    assert_string_equal(kd_schema_suggest_field(joint, KD_SCREW, "pich"), "pitch");
    assert_null(kd_schema_suggest_field(joint, KD_REVOLUTE, "pich")); // not a key of this kind
    assert_null(kd_schema_suggest_kind(joint, "hexapod"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_complete),  cmocka_unit_test(keys_are_unique),
        cmocka_unit_test(defaults_are_valid), cmocka_unit_test(defaults_of_the_header),
        cmocka_unit_test(checks_refuse),      cmocka_unit_test(names),
        cmocka_unit_test(suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
