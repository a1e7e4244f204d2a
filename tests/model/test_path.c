// Paths: every quantity of the list, and words for every wrong one.
#include "build_helpers.h"

#include "model/schema.h"

// 1 for all numbers that must be given
static void fill(const kd_schema *schema, int kind, void *def)
{
    for (int i = 0; i < kd_schema_field_count(schema, kind); i++) {
        const kd_field *f = kd_schema_field_at(schema, kind, i);
        if (f->type != KD_FIELD_NUMBER || !(f->flags & KD_FIELD_REQUIRED)) continue;
        for (int k = 0; k < f->count; k++) ((double *)(void *)((char *)def + f->offset))[k] = 1.0;
    }
}

// Elements of all kinds that paths can name.
static kd_model *path_model(void)
{
    kd_model                *m = new_model();
    static const char *const joint[] = {"fix", "rev", "pri", "scr", "cyl", "uni", "pla", "sph",
                                        "fre", "car", "cv",  "lcy", "lfr", "lca", "tab", "ata"};
    add_ball(m, "arm");
    for (int k = 0; k < KD_JOINT_KIND_COUNT; k++) {
        kd_joint_def j = kd_joint_def_default((kd_joint_kind)k);
        j.to = kd_at("arm", 0, 0, 0);
        j.pitch = 1.0;
        CHECK(kd_model_add_joint(m, joint[k], &j));
    }
    kd_frame_def f = kd_frame_def_default();
    f.at = kd_at("arm", 0, 0, 0);
    CHECK(kd_model_add_frame(m, "tip(2)", &f));
    static const char *const force[] = {"ts", "rs", "bu", "ap", "js", "st", "fr", "ty",
                                        "co", "mx", "hy", "as", "cl", "mt", "te", "sc"};
    for (int k = 0; k < KD_FORCE_KIND_COUNT; k++) {
        kd_force_def d = kd_force_def_default((kd_force_kind)k);
        d.from = kd_at("ground", 0, 0, 0);
        d.to = kd_at("arm", 0, 0, 0);
        d.joint = k == KD_RSDA || k == KD_CLUTCH ? NULL : "rev";
        if (k == KD_CLUTCH) d.clutch.capacity = "1";
        fill(kd_schema_of(KD_SCHEMA_FORCE), k, &d);
        if (k == KD_CONTACT) d.contact.stiffness = 1.0;
        if (k == KD_SURFACE_CONTACT) d.surfaces.stiffness = 1.0;
        if (k == KD_JOINT_STOP) d.stop.stiffness = 1.0;
        if (k == KD_AIR_SPRING) d.air_spring.auxiliary = 1.0;
        if (k == KD_MAGIC_TYRE) d.magic.tir = KD_SOURCE_DIR "/models/data/car.tir";
        CHECK(kd_model_add_force(m, force[k], &d));
    }
    static const char *const constraint[] = {"dis",   "plane", "line", "curve", "coup",  "ori", "disc",
                                             "knife", "expr",  "velo", "rope",  "wheel", "kept"};
    for (int k = 0; k < KD_CONSTRAINT_KIND_COUNT; k++) {
        kd_constraint_def c = kd_constraint_def_default((kd_constraint_kind)k);
        c.to = kd_at("arm", 0, 0, 1);
        c.radius = c.rail.radius = c.rail.spacing = c.rail.load = 1.0;
        c.value = k == KD_VELOCITY ? "joint.rev.v" : "t";
        c.nterms = 1;
        c.coordinate[0] = "joint.rev.q";
        c.factor[0] = 1.0;
        CHECK(kd_model_add_constraint(m, constraint[k], &c));
    }
    for (int k = 0; k < KD_STATE_KIND_COUNT; k++) {
        kd_state_def s = kd_state_def_default((kd_state_kind)k);
        s.input = "t";
        CHECK(kd_model_add_state(m, ((const char *[]){"lag", "pi", "ode"})[k], &s));
    }
    kd_algebraic_def w = kd_algebraic_def_default();
    w.equation = "w - t";
    CHECK(kd_model_add_algebraic(m, "w", &w));
    const kd_input_def u = kd_input_def_default();
    CHECK(kd_model_add_input(m, "pedal-left", &u));
    kd_sensor_def o = kd_sensor_def_default();
    o.value = "t";
    CHECK(kd_model_add_sensor(m, "height", &o));
    return m;
}

// Every form of the list is found and means what it says; only motion is kinematic.
static void every_form(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        kd_path     path;
        bool        kinematic;
    } cases[] = {
        {"body.arm.pos.x", {KD_SECTION_BODY, 0, KD_PROPERTY_POS, 0, 0, NULL}, true},
        {"body.arm.vel.y", {KD_SECTION_BODY, 0, KD_PROPERTY_VEL, 1, 0, NULL}, true},
        {"body.arm.acc.z", {KD_SECTION_BODY, 0, KD_PROPERTY_ACC, 2, 0, NULL}, false},
        {"body.arm.omega.x", {KD_SECTION_BODY, 0, KD_PROPERTY_OMEGA, 0, 0, NULL}, true},
        {"body.arm.alpha.z", {KD_SECTION_BODY, 0, KD_PROPERTY_ALPHA, 2, 0, NULL}, false},
        {"body.arm.com.y", {KD_SECTION_BODY, 0, KD_PROPERTY_COM, 1, 0, NULL}, true},
        {"body.arm.R.xy", {KD_SECTION_BODY, 0, KD_PROPERTY_R, 0, 1, NULL}, true},
        {"body.arm.R.zx", {KD_SECTION_BODY, 0, KD_PROPERTY_R, 2, 0, NULL}, true},
        {"body.arm.pitch", {KD_SECTION_BODY, 0, KD_PROPERTY_ANGLE, 1, 0, NULL}, true},
        {"frame.tip(2).yaw", {KD_SECTION_FRAME, 0, KD_PROPERTY_ANGLE, 2, 0, NULL}, true},
        {"joint.rev.q", {KD_SECTION_JOINT, 1, KD_PROPERTY_Q, 0, 0, NULL}, true},
        {"joint.rev.q1", {KD_SECTION_JOINT, 1, KD_PROPERTY_Q, 0, 0, NULL}, true},
        {"joint.cyl.v2", {KD_SECTION_JOINT, 4, KD_PROPERTY_V, 1, 0, NULL}, true},
        {"joint.pla.a3", {KD_SECTION_JOINT, 6, KD_PROPERTY_A, 2, 0, NULL}, false},
        {"joint.fre.q3", {KD_SECTION_JOINT, 8, KD_PROPERTY_Q, 2, 0, NULL}, true},
        {"joint.sph.torque.y", {KD_SECTION_JOINT, 7, KD_PROPERTY_FORCE, 4, 0, NULL}, false},
        {"joint.fix.force.z", {KD_SECTION_JOINT, 0, KD_PROPERTY_FORCE, 2, 0, NULL}, false},
        {"force.ts.length", {KD_SECTION_FORCE, 0, KD_PROPERTY_Q, 0, 0, NULL}, true},
        {"force.hy.pressure_b", {KD_SECTION_FORCE, 10, KD_PROPERTY_INNER, 1, 0, NULL}, true},
        {"force.hy.force", {KD_SECTION_FORCE, 10, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"force.as.pressure", {KD_SECTION_FORCE, 11, KD_PROPERTY_FORCE, 1, 0, NULL}, false},
        {"force.as.auxiliary_air", {KD_SECTION_FORCE, 11, KD_PROPERTY_INNER, 1, 0, NULL}, true},
        {"force.ty.rate", {KD_SECTION_FORCE, 7, KD_PROPERTY_V, 0, 0, NULL}, true},
        {"force.mx.force", {KD_SECTION_FORCE, 9, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"force.rs.angle", {KD_SECTION_FORCE, 1, KD_PROPERTY_Q, 0, 0, NULL}, true},
        {"force.rs.torque", {KD_SECTION_FORCE, 1, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"force.js.q", {KD_SECTION_FORCE, 4, KD_PROPERTY_Q, 0, 0, NULL}, true},
        {"force.fr.force", {KD_SECTION_FORCE, 6, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"force.cl.torque", {KD_SECTION_FORCE, 12, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"force.bu.tz", {KD_SECTION_FORCE, 2, KD_PROPERTY_FORCE, 5, 0, NULL}, false},
        {"force.ap.fx", {KD_SECTION_FORCE, 3, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"constraint.dis.force", {KD_SECTION_CONSTRAINT, 0, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"constraint.line.force2", {KD_SECTION_CONSTRAINT, 2, KD_PROPERTY_FORCE, 1, 0, NULL}, false},
        {"constraint.disc.force3", {KD_SECTION_CONSTRAINT, 6, KD_PROPERTY_FORCE, 2, 0, NULL}, false},
        {"joint.car.q6", {KD_SECTION_JOINT, 9, KD_PROPERTY_Q, 5, 0, NULL}, true},
        {"constraint.wheel.force", {KD_SECTION_CONSTRAINT, 11, KD_PROPERTY_FORCE, 0, 0, NULL}, false},
        {"constraint.wheel.contact", {KD_SECTION_CONSTRAINT, 11, KD_PROPERTY_WRENCH, 6, 0, NULL}, false},
        {"constraint.wheel.ty", {KD_SECTION_CONSTRAINT, 11, KD_PROPERTY_WRENCH, 4, 0, NULL}, false},
        {"state.lag", {KD_SECTION_STATE, 0, KD_PROPERTY_VALUE, 0, 0, NULL}, true},
        {"state.pi.out", {KD_SECTION_STATE, 1, KD_PROPERTY_OUT, 0, 0, NULL}, true},
        {"algebraic.w", {KD_SECTION_ALGEBRAIC, 0, KD_PROPERTY_VALUE, 0, 0, NULL}, true},
        {"input.pedal-left", {KD_SECTION_INPUT, 0, KD_PROPERTY_VALUE, 0, 0, NULL}, true},
        {"sensor.height", {KD_SECTION_SENSOR, 0, KD_PROPERTY_VALUE, 0, 0, NULL}, false},
        {"energy.total", {KD_SECTION_ENERGY, 0, KD_PROPERTY_VALUE, 2, 0, NULL}, false},
    };
    kd_model *m = path_model();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_path path;
        char    why[300] = "";
        if (!kd_path_parse(m, cases[i].text, &path, why, sizeof why)) fail_msg("%s: %s", cases[i].text, why);
        const kd_path *e = &cases[i].path;
        const bool same = path.section == e->section && path.element == e->element && path.property == e->property &&
                          path.i == e->i && path.j == e->j;
        if (!same) fail_msg("%s means something else", cases[i].text);
        if (kd_path_is_kinematic(&path) != cases[i].kinematic) fail_msg("%s: kinematic?", cases[i].text);
    }
    kd_model_destroy(m);
}

// Wrong paths say what is unknown and what it could have been.
static void wrong_paths(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"bdy.arm.pos.x", "unknown name 'bdy', did you mean 'body'?"},
        {"zzzzz", "unknown name 'zzzzz': a path starts with body, frame, joint"},
        {"body.amr.pos.x", "unknown body 'amr', did you mean 'arm'?"},
        {"body", "the name of a body is missing"},
        {"body.arm", "'body.arm' is no number"},
        {"body.arm.poss.x", "body 'arm' has no 'poss.x', did you mean 'pos.x'?"},
        {"body.arm.pos.w", "did you mean 'pos.x'?"},
        {"frame.tip(2).com.x", "frame 'tip(2)' has no 'com.x'"},
        {"frame.tip(3).pos.x", "unknown frame 'tip(3)', did you mean 'tip(2)'?"},
        {"joint.cyl.q", "joint 'cyl' (cylindrical) has no 'q', did you mean 'q1'?"},
        {"joint.cyl.q3", "joint 'cyl' (cylindrical) has no 'q3'"},
        {"joint.sph.q", "joint 'sph' (spherical) has no 'q'"},
        {"joint.rev.q2", "joint 'rev' (revolute) has no 'q2'"},
        {"force.ts.angle", "force 'ts'"},
        {"force.ts.fx", "has no 'fx'; it has length, rate, force"},
        {"force.bu.force", "has no 'force'; it has fx, fy, fz, tx, ty, tz"},
        {"constraint.dis.force2", "constraint 'dis' has no 'force2'"},
        {"constraint.line.force", "constraint 'line' has no 'force'"},
        {"state.lag.out", "state 'lag' has no 'out'"},
        {"energy.kinetc", "energy has no 'kinetc', did you mean 'kinetic'?"},
        {"input.pedal-rigt", "unknown input 'pedal-rigt'"},
        {"sensor.height.x", "sensor 'height' has no 'x'"},
        {"", "unknown name ''"},
        {"...", "unknown name ''"},
    };
    kd_model *m = path_model();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_path path;
        char    why[300] = "";
        assert_false(kd_path_parse(m, cases[i][0], &path, why, sizeof why));
        assert_has(why, cases[i][1]);
        assert_false(kd_path_parse(m, cases[i][0], &path, NULL, 0));
    }
    char    text[1000];
    kd_path path;
    memset(text, 'a', sizeof text);
    memcpy(text, "body.", 5);
    text[999] = '\0';
    assert_false(kd_path_parse(m, text, &path, NULL, 0));
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_form), cmocka_unit_test(wrong_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
