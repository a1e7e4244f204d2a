// The builder: copies, names, messages, positions, size, memory.
#include <stdlib.h>

#include "build_helpers.h"
#include "core/failing_allocator.h"
#include "model/build.h"

// Definitions and their strings are copied: the caller's may change afterwards.
static void definitions_are_copied(void **state)
{
    (void)state;
    kd_model *m = new_model();
    char      body[] = "arm", name[] = "hinge", law[] = "-2*q";
    add_ball(m, body);
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    j.to = kd_at(body, 0, 0, 0);
    CHECK(kd_model_add_joint(m, name, &j));
    kd_force_def f = kd_force_def_default(KD_JOINT_SPRING);
    f.joint = name;
    f.spring.law = law;
    CHECK(kd_model_add_force(m, "drive", &f));
    double       x[] = {0, 1}, y[] = {0, 2};
    kd_curve_def c = kd_curve_def_default();
    c.n = 2;
    c.x = x;
    c.y = y;
    CHECK(kd_model_add_curve(m, "profile", &c));
    body[0] = name[0] = law[0] = '#';
    x[1] = y[1] = 7.0;
    CHECK(kd_model_finish(m));
    assert_string_equal(m->joint[0].name, "hinge");
    assert_string_equal(m->joint[0].def.to.body, "arm");
    assert_string_equal(m->force[0].def.spring.law, "-2*q");
    assert_int_equal(m->force[0].joint, 0);
    assert_near(kd_curve_value(m->curve[0].curve, 1.0), 2.0, 0);
    kd_model_destroy(m);
}

// Every section gives its elements back by name, and names of different sections do not disturb each other.
static void elements_by_name(void **state)
{
    (void)state;
    kd_model *m = arm_model();
    add_ball(m, "hinge");
    add_joint(m, "arm", KD_REVOLUTE, "arm", "hinge");
    CHECK(kd_model_add_parameter(m, "k", 3.0));
    assert_int_equal(kd_model_find(m, KD_SECTION_BODY, "arm"), 0);
    assert_int_equal(kd_model_find(m, KD_SECTION_BODY, "hinge"), 1);
    assert_int_equal(kd_model_find(m, KD_SECTION_JOINT, "hinge"), 0);
    assert_int_equal(kd_model_find(m, KD_SECTION_JOINT, "arm"), 1);
    assert_int_equal(kd_model_find(m, KD_SECTION_JOINT, "leg"), -1);
    assert_near(kd_model_parameter(m, "k")->value, 3.0, 0);
    assert_null(kd_model_parameter(m, "arm"));
    assert_right(m);
}

// Title, gravity and run settings are kept; a new model has the defaults.
static void settings(void **state)
{
    (void)state;
    kd_model *m = new_model();
    assert_string_equal(kd_model_title(m), "");
    assert_near(m->gravity[2], -9.81, 0);
    char       title[] = "crane", plot[] = "joint.a.q";
    kd_run_def run = *kd_model_run(m);
    run.t_end = 3.0;
    run.nplots = 1;
    run.plots[0] = plot;
    run.coordinates = "cartesian";
    CHECK(kd_model_set_title(m, title));
    CHECK(kd_model_set_gravity(m, (double[]){1, 2, 3}));
    CHECK(kd_model_set_run(m, &run));
    title[0] = plot[0] = '#';
    assert_string_equal(kd_model_title(m), "crane");
    assert_near(m->gravity[0], 1.0, 0);
    assert_near(kd_model_run(m)->t_end, 3.0, 0);
    assert_string_equal(kd_model_run(m)->plots[0], "joint.a.q");
    assert_string_equal(kd_model_run(m)->coordinates, "cartesian");
    assert_int_equal(kd_model_set_gravity(m, (double[]){NAN, 0, 0}), KD_ERR_MODEL);
    run.t_end = -1.0;
    assert_int_equal(kd_model_set_run(m, &run), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "t_end");
    kd_model_destroy(m);
}

// Wrong names are refused, each with its reason, and the model counts them as errors.
static void wrong_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"arm", "body 'arm': the name is used twice"},
        {"ground", "body 'ground': the ground is there already"},
        {"", "body ''"},
        {"1st", "must start with a letter"},
        {"a b", "must consist of letters"},
        {"a(x)", "must be whole numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_model         *m = arm_model();
        const kd_body_def b = ball();
        assert_int_equal(kd_model_add_body(m, cases[i].name, &b), KD_ERR_MODEL);
        assert_has(kd_model_message(m), cases[i].message);
        assert_int_equal(m->nbodies, 1);
        assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
        kd_model_destroy(m);
    }
    kd_model *m = new_model();
    assert_int_equal(kd_model_add_parameter(m, "sin", 1.0), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "parameter 'sin': the name is a word of the expression language");
    assert_int_equal(kd_model_add_parameter(m, "t", 1.0), KD_ERR_MODEL);
    assert_int_equal(kd_model_add_parameter(m, "k", NAN), KD_ERR_MODEL);
    kd_model_destroy(m);
}

// Missing arguments are refused, and so is a change after the model is finished; NULL can be destroyed and asked.
static void contracts(void **state)
{
    (void)state;
    kd_model         *m = arm_model();
    const kd_body_def b = ball();
    assert_int_equal(kd_model_create(NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_add_body(m, NULL, &b), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_add_body(m, "x", NULL), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_add_body(NULL, "x", &b), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_finish(NULL), KD_ERR_ARGUMENT);
    CHECK(kd_model_finish(m));
    CHECK(kd_model_finish(m));
    assert_int_equal(kd_model_add_body(m, "x", &b), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_set_title(m, "x"), KD_ERR_ARGUMENT);
    kd_model_destroy(m);
    kd_model_destroy(NULL);
    assert_string_equal(kd_model_message(NULL), "");
    assert_int_equal(kd_model_warning_count(NULL), 0);
    assert_string_equal(kd_model_warning(NULL, 0), "");
}

// A number out of range is refused when the element is added, with the position of its field.
static void numbers_out_of_range(void **state)
{
    (void)state;
    kd_model   *m = new_model();
    kd_body_def b = ball();
    b.mass = -1.0;
    CHECK(kd_model_at(m, "arm.yaml", 3, 5));
    CHECK(kd_model_field_at(m, "mass", 4, 11));
    assert_int_equal(kd_model_add_body(m, "arm", &b), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "arm.yaml:4:11: body 'arm': ");
    assert_has(kd_model_message(m), "mass");
    kd_model_destroy(m);
}

// Messages about elements of files start with the position of the field, or of the part or element around it.
static void positions_of_fields(void **state)
{
    (void)state;
    kd_model *m = new_model();
    CHECK(kd_model_at(m, "truck.yaml", 10, 3));
    add_ball(m, "trailer");
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    j.from = kd_at("trailr", 0, 0, 0);
    j.to = kd_at("trailer", 0, 0, 0);
    CHECK(kd_model_at(m, "truck.yaml", 40, 5));
    CHECK(kd_model_field_at(m, "from", 41, 9));
    CHECK(kd_model_add_joint(m, "hitch", &j));
    CHECK(kd_model_at(m, "truck.yaml", 50, 5));
    CHECK(kd_model_add_joint(m, "other", &j));
    assert_wrong(m, "truck.yaml:41:9: joint 'hitch': unknown body 'trailr', did you mean 'trailer'?\n"
                    "truck.yaml:50:5: joint 'other': unknown body 'trailr', did you mean 'trailer'?");
}

// A name used twice says where it was first.
static void used_twice_in_a_file(void **state)
{
    (void)state;
    kd_model         *m = new_model();
    const kd_body_def b = ball();
    CHECK(kd_model_at(m, "a.yaml", 10, 3));
    add_ball(m, "arm");
    CHECK(kd_model_at(m, "a.yaml", 20, 3));
    assert_int_equal(kd_model_add_body(m, "arm", &b), KD_ERR_MODEL);
    assert_string_equal(kd_model_message(m), "a.yaml:20:3: body 'arm': the name is used twice, first in line 10");
    kd_model_destroy(m);
}

// All errors are listed, up to a limit, and warnings too.
static void many_errors(void **state)
{
    (void)state;
    kd_model    *m = new_model();
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    j.to = kd_at("nobody", 0, 0, 0);
    char name[30];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "j(%d)", i);
        CHECK(kd_model_add_joint(m, name, &j));
        kd_body_def b = ball();
        b.mass = 0.0;
        CHECK(kd_model_add_body(m, name, &b));
    }
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    int lines = 1;
    for (const char *c = kd_model_message(m); *c; c++) lines += *c == '\n';
    assert_int_equal(lines, KD_MODEL_MAX_ERRORS + 1);
    assert_has(kd_model_message(m), "joint 'j(49)'");
    assert_has(kd_model_message(m), "\nfurther errors are not shown");
    assert_int_equal(kd_model_warning_count(m), KD_MODEL_MAX_WARNINGS);
    assert_string_equal(kd_model_warning(m, KD_MODEL_MAX_WARNINGS - 1), "further warnings are not shown");
    kd_model_destroy(m);
}

// As many faults as elements are no reason to search for long: positions and likely names stop with the messages.
static void wrong_everywhere(void **state)
{
    (void)state;
    enum { N = 10000 };
    kd_model *m = new_model();
    char      name[30], other[30];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "link(%d)", i);
        snprintf(other, sizeof other, "lunk(%d)", i);
        CHECK(kd_model_at(m, "chain.yaml", i + 1, 1));
        add_ball(m, name);
        CHECK(kd_model_field_at(m, "from", i + 1, 9));
        CHECK(kd_model_field_at(m, "to", i + 1, 30));
        add_joint(m, name, KD_REVOLUTE, other, name);
    }
    assert_int_equal(kd_model_finish(m), KD_ERR_MODEL);
    assert_has(kd_model_message(m), "chain.yaml:12:9: joint 'link(11)': unknown body 'lunk(11)', did you mean");
    assert_int_equal(kd_model_error_count(m), N);
    kd_model_destroy(m);
}

// A chain of 10,000 bodies is built and finished, with few probes per look-up.
static void ten_thousand_bodies(void **state)
{
    (void)state;
    enum { N = 10000 };
    kd_model *m = new_model();
    char      name[30], last[30] = "ground";
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "link(%d)", i + 1);
        add_ball(m, name);
        add_joint(m, name, KD_REVOLUTE, last, name);
        memcpy(last, name, sizeof last);
    }
    CHECK(kd_model_finish(m));
    assert_int_equal(m->joint[N - 1].from.body, N - 2);
    const kd_names *names = &m->private->names;
    long            run = 0, longest = 0; // a look-up walks through one run of used entries
    for (int i = 0; i < names->size; i++) {
        run = names->entry[i].name ? run + 1 : 0;
        if (run > longest) longest = run;
    }
    assert_true(longest < 200);
    kd_model_destroy(m);
}

static kd_eval spring(double t, const double *value, const double *rate, const double *inner, void *context,
                      double *force, double *inner_rate)
{
    (void)t, (void)rate, (void)inner, (void)context, (void)inner_rate;
    force[0] = -value[0];
    return KD_EVAL_OK;
}

// One of everything. Returns the first failure.
static kd_status build_everything(kd_model **out)
{
    kd_model *m = NULL;
    kd_status status = kd_model_create(&m);
    *out = m;
    const kd_body_def b = ball();
    const char       *measure[] = {"joint.hinge.q"};
#define TRY(call)                                                                                                      \
    if (status >= 0) status = (call)
    TRY(kd_model_set_title(m, "everything"));
    TRY(kd_model_at(m, "file.yaml", 1, 1));
    TRY(kd_model_field_at(m, "mass", 1, 2));
    TRY(kd_model_add_body(m, "arm", &b));
    kd_joint_def j = kd_joint_def_default(KD_REVOLUTE);
    j.to = kd_at("arm", 0, 0, 0);
    j.motion[0] = NULL;
    TRY(kd_model_add_joint(m, "hinge", &j));
    TRY(kd_model_add_parameter(m, "k", 1.0));
    TRY(kd_model_set_parameter_text(m, "k", "2/2"));
    kd_curve_def c = kd_curve_def_default();
    c.n = 2;
    c.x = (double[]){0, 1};
    c.y = (double[]){0, 1};
    TRY(kd_model_add_curve(m, "profile", &c));
    kd_input_def u = kd_input_def_default();
    u.value = "sin(t)";
    TRY(kd_model_add_input(m, "u", &u));
    kd_frame_def f = kd_frame_def_default();
    f.at = kd_in("arm", 1, 0, 0);
    TRY(kd_model_add_frame(m, "tip", &f));
    kd_constraint_def g = kd_constraint_def_default(KD_EXPRESSION);
    g.value = "frame.tip.pos.z";
    TRY(kd_model_add_constraint(m, "floor", &g));
    kd_force_def drive = kd_force_def_default(KD_JOINT_SPRING);
    drive.joint = "hinge";
    drive.spring.law = "profile(q) - k*state.lag + input.u";
    TRY(kd_model_add_force(m, "drive", &drive));
    kd_user_force_def user = kd_user_force_def_default();
    user.nmeasures = 1;
    user.measure = measure;
    user.nstates = 1;
    user.start = (double[]){1.0};
    user.eval = spring;
    TRY(kd_model_add_user_force(m, "user", &user));
    kd_state_def s = kd_state_def_default(KD_STATE_LAG);
    s.input = "joint.hinge.v";
    TRY(kd_model_add_state(m, "lag", &s));
    kd_sensor_def o = kd_sensor_def_default();
    o.value = "joint.hinge.force.x + sensor.other";
    o.unit = "N";
    TRY(kd_model_add_sensor(m, "bearing", &o));
    o.value = "force.drive.force";
    TRY(kd_model_add_sensor(m, "other", &o));
    TRY(kd_model_finish(m));
#undef TRY
    return status;
}

// Definitions with their defaults, but without the cookie: as a program makes them that skips the default function
#define FORGED(type, arguments)                                                                                        \
    static kd_status forged_##type(kd_model *m)                                                                        \
    {                                                                                                                  \
        kd_##type##_def def = kd_##type##_def_default arguments;                                                       \
        def.cookie = 0;                                                                                                \
        return kd_model_add_##type(m, "it", &def);                                                                     \
    }
FORGED(body, ())
FORGED(frame, ())
FORGED(joint, (KD_REVOLUTE))
FORGED(constraint, (KD_DISTANCE))
FORGED(force, (KD_TSDA))
FORGED(state, (KD_STATE_LAG))
FORGED(input, ())
FORGED(algebraic, ())
FORGED(block, (KD_BLOCK_PID))
FORGED(variable, ())
FORGED(event, ())
FORGED(sensor, ())
FORGED(curve, ())
FORGED(track, ())
FORGED(user_force, ())
FORGED(invariant, (KD_INVARIANT_ENERGY))
FORGED(condition, ())

static kd_status forged_user_block(kd_model *m)
{
    kd_block_def def = kd_block_def_default(KD_BLOCK_USER);
    def.cookie = 0;
    return kd_model_add_block(m, "it", &def);
}

static kd_status forged_run(kd_model *m)
{
    kd_run_def def = kd_run_def_default();
    def.cookie = 0;
    return kd_model_set_run(m, &def);
}

// Every definition that was not made by its default function is refused, with the name of its structure.
static void cookies_are_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        kd_status (*add)(kd_model *m);
    } all[] = {
        {"body", forged_body},
        {"frame", forged_frame},
        {"joint", forged_joint},
        {"constraint", forged_constraint},
        {"force", forged_force},
        {"state", forged_state},
        {"input", forged_input},
        {"algebraic", forged_algebraic},
        {"block", forged_block},
        {"block", forged_user_block},
        {"variable", forged_variable},
        {"event", forged_event},
        {"sensor", forged_sensor},
        {"curve", forged_curve},
        {"track", forged_track},
        {"user_force", forged_user_force},
        {"invariant", forged_invariant},
        {"condition", forged_condition},
        {"run", forged_run},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        kd_model *m;
        char      words[200];
        assert_int_equal(kd_model_create(&m), KD_OK);
        assert_int_equal(all[i].add(m), KD_ERR_ARGUMENT);
        snprintf(words, sizeof words, "kd_%s_def does not start from kd_%s_def_default", all[i].type, all[i].type);
        if (!strstr(kd_model_message(m), words)) fail_msg("%s: '%s'", all[i].type, kd_model_message(m));
        kd_model_destroy(m);
    }
}

// Wherever memory fails, the status says so, and nothing is leaked.
static void memory_fails_anywhere(void **state)
{
    (void)state;
    failing_allocator f = {0};
    kd_model         *m = NULL;
    failing_allocator_use(&f);
    const kd_status whole = build_everything(&m);
    if (whole < 0) print_error("%s\n", kd_model_message(m));
    assert_int_equal(whole, KD_OK);
    kd_model_destroy(m);
    assert_int_equal(f.live, 0);
    const long calls = f.calls;
    assert_true(calls > 10);
    for (long n = 1; n <= calls; n++) {
        f = (failing_allocator){.fail_at = n};
        const kd_status status = build_everything(&m);
        kd_model_destroy(m);
        assert_int_equal(status, KD_ERR_MEMORY);
        assert_int_equal(f.live, 0);
    }
    kd_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_are_copied),
        cmocka_unit_test(elements_by_name),
        cmocka_unit_test(settings),
        cmocka_unit_test(wrong_names),
        cmocka_unit_test(contracts),
        cmocka_unit_test(cookies_are_asked_for),
        cmocka_unit_test(numbers_out_of_range),
        cmocka_unit_test(positions_of_fields),
        cmocka_unit_test(used_twice_in_a_file),
        cmocka_unit_test(many_errors),
        cmocka_unit_test(ten_thousand_bodies),
        cmocka_unit_test(memory_fails_anywhere),
        cmocka_unit_test(wrong_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
