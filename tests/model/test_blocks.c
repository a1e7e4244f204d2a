// tests/model/test_blocks.c: blocks, variables and events in the builder: what is refused and why, what is copied,
// paths.
#include "model/build_helpers.h"

#include "model/build.h"

static kd_block_def pid(void)
{
    kd_block_def b = kd_block_def_default(KD_BLOCK_PID);
    b.period = 0.1;
    b.input[0] = "1 - joint.hinge.q";
    b.kp = 2;
    return b;
}

static void add_block(kd_model *m, const char *name, const kd_block_def *def)
{
    CHECK(kd_model_add_block(m, name, def));
}

// Reads a path with a sensor, so that what is read is used.
static void read_path(kd_model *m, const char *name, const char *path)
{
    kd_sensor_def s = kd_sensor_def_default();
    s.value = path;
    CHECK(kd_model_add_sensor(m, name, &s));
}

static void assert_refused(const kd_block_def *def, const char *message)
{
    kd_model *m = arm_model();
    assert_int_equal(kd_model_add_block(m, "b", def), KD_ERR_MODEL);
    assert_string_equal(kd_model_message(m), message);
    kd_model_destroy(m);
}

// Defaults of the header.
static void defaults(void **state)
{
    (void)state;
    kd_block_def b = kd_block_def_default(KD_BLOCK_PID);
    assert_true(b.kind == KD_BLOCK_PID && b.period == 0 && b.offset == 0 && isinf(b.lower) && b.lower < 0);
    assert_true(isinf(b.upper) && b.upper > 0 && b.filter == 0 && !b.input[0] && b.start[31] == 0);
    assert_true(kd_variable_def_default().start == 0);
    kd_event_def e = kd_event_def_default();
    assert_true(!e.when && e.crossing == KD_CROSSING_BOTH && e.nsettings == 0 && !e.stop && !e.message);
}

// Everything that the definition points to is copied, and sizes that follow are filled in.
static void definitions_are_copied(void **state)
{
    (void)state;
    kd_model    *m = arm_model();
    kd_block_def b = kd_block_def_default(KD_BLOCK_STATE_SPACE);
    char         input[20] = "joint.hinge.q", name[4] = "e";
    double       A[] = {1, 2, 3, 4}, B[] = {1, 2}, C[] = {3, 4}, den[] = {1, 2, 3}, num[] = {1};
    b.period = 0.1;
    b.ninputs = 1, b.nstates = 2, b.noutputs = 1;
    b.input[0] = input, b.input_name[0] = name;
    b.A = A, b.B = B, b.C = C;
    add_block(m, "space", &b);
    kd_block_def t = kd_block_def_default(KD_BLOCK_TRANSFER);
    t.period = 0.1;
    t.input[0] = input;
    t.nnumerator = 1, t.numerator = num;
    t.ndenominator = 3, t.denominator = den;
    add_block(m, "transfer", &t);
    kd_block_def p = pid();
    p.kd = 1;
    add_block(m, "pid", &p);
    p.input[1] = "-joint.hinge.v";
    add_block(m, "pid2", &p);
    kd_block_def e = kd_block_def_default(KD_BLOCK_EXPRESSION);
    e.period = 0.1;
    e.ninputs = 2, e.nstates = 1, e.noutputs = 1;
    e.input[0] = e.input[1] = "t";
    e.input_name[1] = name;
    e.output[0] = "u1 + e + z";
    add_block(m, "named", &e); // names that are missing beside others are filled in
    memset(input, 'x', sizeof input - 1), memset(A, 0, sizeof A), memset(den, 0, sizeof den), name[0] = 'f';
    read_path(m, "all", "block.space.out + block.transfer.z2 + block.pid.rate + block.pid2.z + block.named.z");
    CHECK(kd_model_finish(m));
    assert_int_equal(kd_model_warning_count(m), 0);
    assert_string_equal(m->block[0].def.input[0], "joint.hinge.q");
    assert_string_equal(m->block[0].def.input_name[0], "e");
    assert_true(m->block[0].def.A[3] == 4 && !m->block[0].def.D && m->block[1].def.denominator[2] == 3);
    assert_int_equal(m->block[1].def.nstates, 2);
    assert_int_equal(m->block[2].def.nstates, 4);
    assert_int_equal(m->block[3].def.nstates, 1);
    assert_int_equal(m->block[3].def.ninputs, 2);
    assert_string_equal(m->block[4].def.input_name[0], "u1");
    assert_string_equal(m->block[4].def.state_name[0], "z");
    kd_model_destroy(m);
}

// Paths to outputs and states: one output is out or out1, several are counted, pids have z.
static void paths(void **state)
{
    (void)state;
    kd_model    *m = arm_model();
    kd_block_def b = kd_block_def_default(KD_BLOCK_EXPRESSION), p = pid();
    kd_path      path;
    char         why[200];
    b.period = 0.1;
    b.noutputs = 2, b.nstates = 2;
    b.output[0] = b.output[1] = "z1";
    add_block(m, "two", &b);
    add_block(m, "one", &p);
    assert_true(kd_path_parse(m, "block.two.out2", &path, NULL, 0) && path.i == 1 && kd_path_is_kinematic(&path));
    assert_true(kd_path_parse(m, "block.two.z1", &path, NULL, 0) && path.i == 2);
    assert_true(kd_path_parse(m, "block.one.out", &path, NULL, 0) && path.i == 0);
    assert_true(kd_path_parse(m, "block.one.out1", &path, NULL, 0) && path.i == 0);
    assert_true(kd_path_parse(m, "block.one.z", &path, NULL, 0) && path.i == 1);
    assert_false(kd_path_parse(m, "block.two.out3", &path, why, sizeof why));
    assert_string_equal(why, "block 'two' has no 'out3', did you mean 'out1'?");
    assert_false(kd_path_parse(m, "block.two.position", &path, why, sizeof why));
    assert_string_equal(why, "block 'two' has no 'position'; it has out1, out2, z1, z2");
    assert_false(kd_path_parse(m, "variable.gear", &path, why, sizeof why));
    assert_string_equal(why, "unknown variable 'gear'");
    kd_model_destroy(m);
}

// What a block says wrong is told.
static void wrong_blocks(void **state)
{
    (void)state;
    kd_block_def b = pid();
    b.period = -1;
    assert_refused(&b, "block 'b': 'period' must be positive, but is -1");
    b.period = 1e-300, b.input[0] = "t";
    assert_refused(&b, "block 'b': the period is below 1e-12 s: too short for steps");
    b.period = 0.1, b.offset = -1e300;
    assert_refused(&b, "block 'b': the offset lies more than 1e12 periods back: sampling times lose all digits");
    b = pid();
    b.input[0] = NULL;
    assert_refused(&b, "block 'b': 'input' is missing");
    b = pid();
    b.kp = NAN;
    assert_refused(&b, "block 'b': 'kp' is not finite");
    b = kd_block_def_default(KD_BLOCK_TRANSFER);
    b.period = 1, b.input[0] = "t";
    assert_refused(&b, "block 'b': 'numerator' is missing");
    b.numerator = b.denominator = (const double[34]){1};
    b.nnumerator = 1, b.ndenominator = 34;
    assert_refused(&b, "block 'b': the denominator has a higher power than 32");
    b = kd_block_def_default(KD_BLOCK_USER);
    assert_int_equal(kd_model_add_block(NULL, "b", &b), KD_ERR_ARGUMENT);
    b = kd_block_def_default(KD_BLOCK_EXPRESSION);
    b.period = 1;
    b.noutputs = KD_MAX_SIGNALS + 1;
    kd_model *m = arm_model();
    assert_int_equal(kd_model_add_block(m, "b", &b), KD_ERR_ARGUMENT);
    kd_model_destroy(m);
    b.noutputs = 2;
    b.output[0] = "1";
    assert_refused(&b, "block 'b': 'output' number 2 is missing");
}

static kd_eval nothing(double t, const double *input, double *s, void *context, double *output)
{
    (void)t, (void)input, (void)s, (void)context, (void)output;
    return KD_EVAL_OK;
}

// The same of blocks in C.
static void wrong_user_blocks(void **state)
{
    (void)state;
    kd_block_def b = kd_block_def_default(KD_BLOCK_USER);
    b.sample = nothing;
    assert_refused(&b, "block 'b': the period must be positive, and the offset finite");
    b.period = 1;
    b.ninputs = 1;
    assert_refused(&b, "block 'b': an input is missing");
    b.input[0] = "t";
    b.start[3] = NAN;
    assert_refused(&b, "block 'b': a start value is not finite");
    b.start[3] = 0;
    b.input_name[0] = "a b";
    assert_refused(&b, "block 'b': the name 'a b' must be a word of letters, digits and '_'");
}

// Events: names of targets, expressions that read too much or nothing; what nobody reads is told.
static void events(void **state)
{
    (void)state;
    kd_model    *m = arm_model();
    kd_event_def e = kd_event_def_default();
    assert_int_equal(kd_model_add_event(m, "e", &e), KD_ERR_MODEL);
    assert_string_equal(kd_model_message(m), "event 'e': 'when' is missing");
    kd_model_destroy(m);
    m = arm_model();
    e.when = "joint.hinge.q - 1";
    e.nsettings = 1;
    assert_int_equal(kd_model_add_event(m, "e", &e), KD_ERR_MODEL);
    assert_string_equal(kd_model_message(m), "event 'e': 'set' number 1 is missing");
    kd_model_destroy(m);
    m = arm_model();
    e.target[0] = "body.arm.pos.x";
    e.value[0] = "0";
    CHECK(kd_model_add_event(m, "e", &e));
    assert_wrong(m, "event 'e': set: 'body.arm.pos.x' cannot be set: an event changes variable.NAME, state.NAME and "
                    "joint.NAME.v");
    m = arm_model();
    kd_variable_def v = kd_variable_def_default();
    v.start = 3;
    CHECK(kd_model_add_variable(m, "x", &v));
    kd_block_def b = pid();
    add_block(m, "b", &b);
    CHECK(kd_model_finish(m));
    assert_true(has_warning(m, "block 'b': it is never used") && has_warning(m, "variable 'x': it is never used"));
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),     cmocka_unit_test(definitions_are_copied), cmocka_unit_test(paths),
        cmocka_unit_test(wrong_blocks), cmocka_unit_test(wrong_user_blocks),      cmocka_unit_test(events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
