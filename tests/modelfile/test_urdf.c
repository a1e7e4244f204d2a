// Import of URDF: links, joints and parts of them as elements of the model, the report, errors, real robots.
#define _POSIX_C_SOURCE 200809L // folders
#include <dirent.h>
#include <stdlib.h>

#include "core/failing_allocator.h"
#include "model/build_helpers.h"

static char report[1 << 18], message[8192];

static kd_status read_with(const char *text, const kd_urdf_options *opt, kd_model **m)
{
    return kd_model_read_urdf_text("robot.urdf", text, strlen(text), opt, m, report, sizeof report, message,
                                   sizeof message);
}

static kd_model *read_right(const char *text, const kd_urdf_options *opt)
{
    kd_model       *m = NULL;
    const kd_status status = read_with(text, opt, &m);
    if (status < 0) print_error("%s\n", message);
    assert_int_equal(status, KD_OK);
    return m;
}

static bool available(void)
{
    kd_model *m = NULL;
    if (read_with("<robot/>", NULL, &m) != KD_ERR_UNAVAILABLE) return true;
    assert_has(message, "libxml2");
    print_message("skipped: built without libxml2\n");
    return false;
}

// mass 2, some inertia
#define INERTIAL                                                                                                       \
    "<inertial><origin xyz='0 0 .1'/><mass value='2'/><inertia ixx='1' iyy='2' izz='2.5' ixy='0' ixz='0' iyz='0'/>"    \
    "</inertial>"
#define LINK(name) "<link name='" name "'>" INERTIAL "</link>\n"
#define ENDS(a, b) "<parent link='" a "'/><child link='" b "'/>"

static kd_anchor in_world(const kd_model *m, const kd_anchor *a)
{
    if (a->body < 0) return *a;
    const kd_body *b = &m->body[a->body];
    return (kd_anchor){-1, kd_vec_add(b->r, kd_mat_vec(&b->R, a->r)), kd_mat_mul(&b->R, &a->R), 0};
}

// At coordinates 0 both frames of every joint coincide in the world.
static void assert_closed(const kd_model *m)
{
    for (int i = 0; i < m->njoints; i++) {
        const kd_anchor a = in_world(m, &m->joint[i].from), b = in_world(m, &m->joint[i].to);
        assert_vec(a.r, b.r.x, b.r.y, b.r.z, 1e-12);
        assert_vec(a.R.x, b.R.x.x, b.R.x.y, b.R.x.z, 1e-12);
        assert_vec(a.R.z, b.R.z.x, b.R.z.y, b.R.z.z, 1e-12);
    }
}

// Poses follow the origins: R = Rz(yaw) Ry(pitch) Rx(roll), and the axis of a joint is z of its frames.
static void poses_and_axes(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model *m =
        read_right("<robot name='r'>" LINK("a") LINK("b") LINK("c") "<joint name='j' type='revolute'>" ENDS(
                       "a", "b") "<origin xyz='1 2 3' rpy='0 0 1.5707963267948966'/><axis xyz='0 2 0'/>"
                                 "<limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
                                 "<joint name='k' type='prismatic'>" ENDS(
                                     "b", "c") "<origin xyz='1 0 0' rpy='1.5707963267948966 0 0'/></joint></robot>",
                   NULL);
    assert_string_equal(kd_model_title(m), "r");
    assert_int_equal(m->nbodies, 3);
    assert_int_equal(m->njoints, 3); // with the base
    assert_vec(m->body[1].r, 1, 2, 3, 1e-15);
    assert_vec(m->body[1].R.x, 0, 1, 0, 1e-15);
    assert_vec(m->body[2].r, 1, 3, 3, 1e-15);   // 1 along x of b, which is y of the world
    assert_vec(m->body[2].R.y, 0, 0, 1, 1e-15); // Rz(90) Rx(90)
    const kd_anchor j = in_world(m, &m->joint[0].from), k = in_world(m, &m->joint[1].from);
    assert_vec(j.R.z, -1, 0, 0, 1e-15); // y of b
    assert_vec(k.R.z, 0, 1, 0, 1e-15);  // x of c: the default axis
    assert_int_equal(m->joint[0].def.kind, KD_REVOLUTE);
    assert_int_equal(m->joint[1].def.kind, KD_PRISMATIC);
    assert_int_equal(m->joint[2].def.kind, KD_FIXED);
    assert_closed(m);
    kd_model_destroy(m);
}

// The inertia is given in the axes of its origin.
static void inertia_is_turned(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model      *m = read_right("<robot name='r'><link name='a'><inertial><origin xyz='1 2 3' rpy='0 0 0.3'/>"
                                       "<mass value='2'/><inertia ixx='1' iyy='2' izz='2.5' ixy='0.1' ixz='0' iyz='0.2'/>"
                                       "</inertial></link></robot>",
                                  NULL);
    const double   c = cos(0.3), s = sin(0.3); // R I R' for a turn about z, by hand
    const kd_sym3 *I = &m->body[0].inertia;
    assert_near(m->body[0].def.mass, 2.0, 0);
    assert_vec(m->body[0].centre, 1, 2, 3, 0);
    assert_near(I->xx, c * c * 1 + s * s * 2 - 2 * s * c * 0.1, 1e-15);
    assert_near(I->yy, s * s * 1 + c * c * 2 + 2 * s * c * 0.1, 1e-15);
    assert_near(I->xy, s * c * (1 - 2) + (c * c - s * s) * 0.1, 1e-15);
    assert_near(I->xz, -s * 0.2, 1e-15);
    assert_near(I->yz, c * 0.2, 1e-15);
    kd_model_destroy(m);
}

// Every type of joint has its kind; the base is fixed or free.
static void types_and_base(void **state)
{
    (void)state;
    if (!available()) skip();
    static const struct {
        const char   *type;
        kd_joint_kind kind;
    } cases[] = {{"fixed", KD_FIXED},         {"revolute", KD_REVOLUTE}, {"continuous", KD_REVOLUTE},
                 {"prismatic", KD_PRISMATIC}, {"planar", KD_PLANAR},     {"floating", KD_FREE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "<robot name='r'>" LINK("a") LINK("b") "<joint name='j' type='%s'>" ENDS("a", "b") "</joint></robot>",
                 cases[i].type);
        kd_urdf_options opt = kd_urdf_options_default();
        opt.free_base = i % 2;
        opt.gravity[2] = -1.62;
        kd_model *m = read_right(text, &opt);
        assert_int_equal(m->joint[0].def.kind, cases[i].kind);
        assert_int_equal(m->joint[1].def.kind, i % 2 ? KD_FREE : KD_FIXED);
        assert_near(m->gravity[2], -1.62, 0);
        assert_has(report,
                   i % 2 ? "root link 'a': free to move over the ground" : "root link 'a': fixed to the ground");
        kd_model_destroy(m);
    }
}

#define PAIR(parts)                                                                                                    \
    "<robot name='r'>" LINK("a") LINK("b") LINK("c") "<joint name='j' type='revolute'>" ENDS("a", "b") parts           \
        "</joint>\n<joint name='k' type='prismatic'>" ENDS("b", "c") "</joint></robot>"

// Damping, friction, limits and mimic become elements of the model, and the report names them.
static void parts_of_joints(void **state)
{
    (void)state;
    if (!available()) skip();
    const char *text = PAIR("<limit lower='0.5' upper='1' effort='9' velocity='9'/><dynamics damping='3' friction='4'/>"
                            "<mimic joint='k' multiplier='-2' offset='0.25'/><safety_controller k_velocity='1'/>"
                            "<calibration rising='0'/>");
    kd_model   *m = read_right(text, NULL);
    assert_int_equal(m->nforces, 2);
    assert_has(report, "joint 'j': limit: refused: 0.5 to 1");
    assert_has(report, "the start at 0 is outside");
    kd_model_destroy(m);

    kd_urdf_options opt = kd_urdf_options_default();
    opt.limit_stiffness = 5000.0;
    m = read_right(text, &opt);
    assert_int_equal(m->nforces, 3);
    const kd_force_def *stop = &m->force[0].def, *damping = &m->force[1].def, *friction = &m->force[2].def;
    assert_int_equal(stop->kind, KD_JOINT_STOP);
    assert_near(stop->stop.lower, 0.5, 0);
    assert_near(stop->stop.upper, 1.0, 0);
    assert_near(stop->stop.stiffness, 5000.0, 0);
    assert_near(m->joint[0].def.q[0], 0.5, 0);
    assert_int_equal(damping->kind, KD_JOINT_SPRING);
    assert_near(damping->spring.damping, 3.0, 0);
    assert_near(damping->spring.stiffness, 0.0, 0);
    assert_int_equal(friction->kind, KD_JOINT_FRICTION);
    assert_near(friction->friction.coulomb, 4.0, 0);
    assert_int_equal(m->nconstraints, 1);
    const kd_constraint_def *c = &m->constraint[0].def; // q_j = -2 q_k + 0.25
    assert_int_equal(c->kind, KD_COUPLING);
    assert_string_equal(c->coordinate[0], "joint.j.q");
    assert_string_equal(c->coordinate[1], "joint.k.q");
    assert_near(c->factor[0], 1.0, 0);
    assert_near(c->factor[1], 2.0, 0);
    assert_near(c->offset, 0.25, 0);
    assert_has(report, "joint 'j': limit: converted: stops at 0.5 and 1, force 'j_stop', start at the limit");
    assert_has(report, "joint 'j': dynamics: converted: damping 3, force 'j_damping'");
    assert_has(report, "joint 'j': dynamics: converted: friction 4, force 'j_friction'");
    assert_has(report, "joint 'j': mimic: converted: coupling with joint 'k', constraint 'j_mimic'");
    assert_has(report, "joint 'j': safety_controller: refused");
    assert_has(report, "joint 'j': calibration: refused");
    kd_model_destroy(m);
}

// Closures: the place in the child is given, or follows from the position at coordinates 0.
static void closures(void **state)
{
    (void)state;
    if (!available()) skip();
#define LOOP(closure)                                                                                                  \
    "<robot name='r'>" LINK("a") LINK("b") LINK("c") "<joint name='j' type='continuous'>" ENDS(                        \
        "a", "b") "<origin xyz='1 0 0' rpy='0 0 1'/><axis xyz='0 0 1'/></joint><joint name='k' "                       \
                  "type='continuous'>" ENDS("a", "c") "<origin xyz='0 1 0'/><axis xyz='0 0 1'/></joint>" closure       \
                                                      "</robot>"
    kd_model *m =
        read_right(LOOP("<closure name='rod' type='revolute'>" ENDS(
                       "b", "c") "<origin xyz='0.5 0.6 0.7' rpy='0.1 0.2 0.3'/><axis xyz='0 1 1'/></closure>"),
                   NULL);
    assert_int_equal(m->joint[2].def.kind, KD_REVOLUTE);
    assert_int_equal(m->joint[2].def.cut, KD_CUT_YES);
    assert_closed(m);
    kd_model_destroy(m);
    m = read_right(LOOP("<closure name='rod' type='spherical'>" ENDS(
                       "b", "c") "<origin xyz='0.5 0 0'/><child_origin xyz='1 2 3'/></closure>"),
                   NULL);
    assert_vec(m->joint[2].from.r, 0.5, 0, 0, 0);
    assert_vec(m->joint[2].to.r, 1, 2, 3, 0);
    kd_model_destroy(m);
    kd_model *none = NULL;
    assert_int_equal(read_with(LOOP("<closure name='rod' type='floating'>" ENDS("b", "c") "</closure>"), NULL, &none),
                     KD_ERR_MODEL);
    assert_has(message, "closure 'rod': unknown type 'floating'");
#undef LOOP
}

// Primitive visuals are drawn; where there are none, primitive collisions stand for them; the rest is reported.
static void shapes(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model *m = read_right(
        "<robot name='r'><material name='red'/><link name='a'>" INERTIAL
        "<visual><origin xyz='1 2 3' rpy='0 1.5707963267948966 0'/><geometry><cylinder radius='.1' length='2'/>"
        "</geometry><material name='red'/></visual><visual><geometry><mesh filename='a.stl'/></geometry></visual>"
        "<collision><geometry><sphere radius='1'/></geometry></collision></link><link name='b'>" INERTIAL
        "<visual><geometry><mesh filename='b.stl'/></geometry></visual>"
        "<collision><geometry><box size='1 2 3'/></geometry></collision><wheel/></link>"
        "<joint name='j' type='fixed'>" ENDS(
            "a", "b") "</joint><transmission name='t'><type/></transmission>"
                      "<gazebo reference='a'><mu1/></gazebo><xacro:include xmlns:xacro='x'/><linkk/></robot>",
        NULL);
    assert_int_equal(m->body[0].def.nshapes, 1);
    const kd_shape *s = &m->body[0].def.shape[0];
    assert_int_equal(s->kind, KD_CYLINDER);
    assert_near(s->size[0], 0.1, 0);
    assert_near(s->size[1], 2.0, 0);
    assert_near(s->position[2], 3.0, 0);
    assert_near(s->orientation[2], sqrt(0.5), 1e-15);
    assert_int_equal(m->body[1].def.nshapes, 1);
    assert_int_equal(m->body[1].def.shape[0].kind, KD_BOX);
    assert_near(m->body[0].def.mass, 2.0, 0); // drawn only
    static const char *const lines[] = {
        "link 'a': visual: converted: drawn as cylinder",
        "link 'a': visual: refused: mesh is not drawn",
        "link 'a': collision: refused: contact between links is not modelled",
        "link 'a': material: refused: colours are not kept",
        "link 'b': collision: converted: drawn as box; contact between links is not modelled",
        "link 'b': wheel: refused: kardan has no use for it",
        "material 'red': refused",
        "transmission 't': refused: drives are not modelled, with 1 element inside",
        "gazebo 'a': refused: settings of a simulator, with 1 element inside",
        "xacro:include '': refused: a macro; run the file through xacro first",
        "linkk '': refused: unknown element, did you mean 'link'?",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) assert_has(report, lines[i]);
    kd_model_destroy(m);
}

// Names that a model cannot have are changed, and stay different from each other.
static void names(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model *m = read_right(
        "<robot name='r'>" LINK("a b") LINK("a.b") LINK("ground") LINK("1") "<joint name='j/k' type='continuous'>" ENDS(
            "a b", "a.b") "</joint>"
                          "<joint name='j:k' type='continuous'>" ENDS(
                              "a b", "ground") "<mimic joint='j/k'/></joint>"
                                               "<joint name='l' type='continuous'>" ENDS("a b", "1") "</joint></robot>",
        NULL);
    assert_string_equal(m->body[0].name, "a_b");
    assert_string_equal(m->body[1].name, "a_b_2");
    assert_string_equal(m->body[2].name, "ground_2");
    assert_string_equal(m->body[3].name, "_1");
    assert_string_equal(m->joint[0].name, "j_k");
    assert_string_equal(m->joint[1].name, "j_k_2");
    assert_string_equal(m->constraint[0].def.coordinate[1], "joint.j_k.q");
    assert_has(report, "link 'a.b': converted: named 'a_b_2'");
    kd_model_destroy(m);
}

// Many links whose names become the same are told apart without long searches.
static void many_equal_names(void **state)
{
    (void)state;
    if (!available()) skip();
    enum { N = 20000 };
    char  *text = malloc((size_t)N * 200 + 100);
    size_t n = (size_t)sprintf(text, "<robot name='r'><link name='root'/>");
    for (int i = 0; i < N; i++) {
        char name[20]; // 16 digits of two letters that both become '_'
        for (int k = 0; k < 16; k++) name[k] = i >> k & 1 ? '.' : ':';
        name[16] = '\0';
        n += (size_t)sprintf(text + n, "<link name='a%s'/><joint name='j%s' type='fixed'><parent link='root'/>", name,
                             name);
        n += (size_t)sprintf(text + n, "<child link='a%s'/></joint>", name);
    }
    sprintf(text + n, "</robot>");
    kd_model *m = read_right(text, NULL);
    assert_int_equal(m->nbodies, N + 1);
    kd_model_destroy(m);
    free(text);
}

// A joint with nothing to move becomes fixed, and implausible inertia is a warning.
static void poor_inertia(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model *m = read_right(
        "<robot name='r'>" LINK("a") "<link name='b'/><link name='c'/>"
                                     "<joint name='j' type='revolute'>" ENDS(
                                         "a", "b") "<mimic joint='k'/></joint>"
                                                   "<joint name='k' type='revolute'>" ENDS("b", "c") "</joint></robot>",
        NULL);
    assert_int_equal(m->joint[0].def.kind, KD_FIXED);
    assert_has(report, "joint 'j': converted: fixed, because nothing behind it has mass");
    assert_has(report, "joint 'j': mimic: refused");
    assert_true(has_warning(m, "body 'b': the body has no mass"));
    kd_model_destroy(m);
    m = read_right("<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='9' ixy='0' "
                   "ixz='0' iyz='0'/></inertial></link></robot>",
                   NULL);
    assert_true(has_warning(m, "robot.urdf:1: body 'a': no body has such inertia: principal moments 1 + 1 < 9"));
    kd_model_destroy(m);
}

// Wrong descriptions: file, line, element, cause.
static void wrong(void **state)
{
    (void)state;
    if (!available()) skip();
    static const char *const cases[][2] = {
        {"<robot", "robot.urdf:1: "},
        {"<sdf/>", "robot.urdf:1: sdf '': a URDF file has the root element <robot>"},
        {"<robot name='r'/>", "robot.urdf:1: robot 'r': it has no links"},
        {"<robot>\n<link/></robot>", "robot.urdf:2: link '': it has no name"},
        {"<robot>\n" LINK("a") LINK("a") "</robot>", "robot.urdf:3: link 'a': the name is used twice"},
        {"<robot>\n" LINK("a") LINK("b") "</robot>", "link 'b': no joint carries it, as no joint carries link 'a'"},
        {"<robot>\n" LINK("a") LINK("b") "<joint name='j' type='fixed'>" ENDS(
             "a", "b") "</joint>"
                       "<joint name='k' type='fixed'>" ENDS("a", "b") "</joint></robot>",
         "link 'b': it is the child of two joints, 'j' and 'k'; a loop is closed with <closure>"},
        {"<robot>\n" LINK("a") LINK("b") "<joint name='j' type='fixed'>" ENDS(
             "a", "b") "</joint>"
                       "<joint name='k' type='fixed'>" ENDS("b", "a") "</joint></robot>",
         "the joints form a circle without a root"},
        {"<robot>\n" LINK("a") LINK("b") LINK("c") "<joint name='j' type='fixed'>" ENDS(
             "c", "b") "</joint>"
                       "<joint name='k' type='fixed'>" ENDS("b", "c") "</joint></robot>",
         "its joints form a circle that no root carries"},
        {PAIR("<origin xyz='1 2'/>"), "robot.urdf:4: joint 'j': origin: xyz=\"1 2\" is not three numbers"},
        {PAIR("<origin rpy='1 2 x'/>"), "joint 'j': origin: rpy=\"1 2 x\" is not three numbers"},
        {PAIR("<axis xyz='0 0 0'/>"), "joint 'j': axis: the axis has no direction"},
        {PAIR("<dynamics damping='much'/>"), "joint 'j': dynamics: damping=\"much\" is not a number"},
        {PAIR("<dynamics damping='nan'/>"), "joint 'j': dynamics: damping=\"nan\" is not a number"},
        {PAIR("<dynamics damping='1e999'/>"), "joint 'j': dynamics: damping=\"1e999\" is not a number"},
        {PAIR("<dynamics damping='-1'/>"), "joint 'j': dynamics: damping -1 and friction 0 must not be negative"},
        {PAIR("<limit lower='1' upper='0'/>"), "joint 'j': limit: the lower limit 1 is above the upper 0"},
        {PAIR("<mimic joint='kk'/>"), "joint 'j': mimic: unknown joint 'kk'"},
        {PAIR("<mimic joint='j'/>"), "joint 'j': mimic: the joint follows itself"},
        {"<robot>" LINK("arm") LINK("b") "<joint name='j' type='revolut'>" ENDS("am", "b") "</joint></robot>",
         "joint 'j': unknown type 'revolut', did you mean 'revolute'?"},
        {"<robot>" LINK("arm") LINK("b") "<joint name='j' type='revolute'>" ENDS("amr", "b") "</joint></robot>",
         "joint 'j': parent: unknown link 'amr', did you mean 'arm'?"},
        {"<robot>" LINK("a") LINK("b") "<joint name='j'>" ENDS("a", "b") "</joint></robot>",
         "joint 'j': its type is missing"},
        {"<robot>" LINK("a") "<joint name='j' type='fixed'><parent link='a'/></joint></robot>",
         "joint 'j': <child link=\"..\"/> is missing"},
        {"<robot>" LINK("a") "<joint name='j' type='fixed'>" ENDS("a", "a") "</joint></robot>",
         "joint 'j': parent and child are both link 'a'"},
        {"<robot><link name='a'><inertial><mass value='-1'/></inertial></link></robot>", "robot.urdf:1: body 'a': "},
        {"<!DOCTYPE robot [<!ENTITY a 'b'>]><robot/>", "robot.urdf:1: a DOCTYPE is not accepted"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_model       *m = (kd_model *)1;
        const kd_status status = read_with(cases[i][0], NULL, &m);
        if (status != KD_ERR_MODEL) fail_msg("%s: %s", cases[i][0], kd_status_name(status));
        assert_null(m);
        assert_has(message, cases[i][1]);
    }
}

// Files and arguments: what cannot be opened is said; NULL is refused; report and message may be missing.
static void contracts(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model *m = NULL;
    assert_int_equal(kd_model_read_urdf("/no/such/file.urdf", NULL, &m, NULL, 0, message, sizeof message), KD_ERR_FILE);
    assert_has(message, "/no/such/file.urdf: the file cannot be opened");
    assert_int_equal(kd_model_read_urdf(NULL, NULL, &m, NULL, 0, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_read_urdf("x", NULL, NULL, NULL, 0, NULL, 0), KD_ERR_ARGUMENT);
    assert_int_equal(kd_model_read_urdf_text("x", NULL, 0, NULL, &m, NULL, 0, NULL, 0), KD_ERR_ARGUMENT);
    const char *text = "<robot name='r'>" LINK("a") "</robot>";
    CHECK(kd_model_read_urdf_text("x", text, strlen(text), NULL, &m, NULL, 0, NULL, 0));
    kd_model_destroy(m);
    char small[20];
    CHECK(kd_model_read_urdf_text("x", text, strlen(text), NULL, &m, small, sizeof small, NULL, 0));
    assert_string_equal(small, "robot 'r': 1 links,"); // cut off
    kd_model_destroy(m);
}

// Wherever memory fails, the status says so, and nothing is leaked.
static void memory_fails_anywhere(void **state)
{
    (void)state;
    if (!available()) skip();
    const char     *text = PAIR("<limit lower='-1' upper='1'/><dynamics damping='3' friction='4'/><mimic joint='k'/>");
    kd_urdf_options opt = kd_urdf_options_default();
    opt.limit_stiffness = 1.0;
    failing_allocator f = {0};
    kd_model         *m = NULL;
    failing_allocator_use(&f);
    CHECK(read_with(text, &opt, &m));
    kd_model_destroy(m);
    assert_int_equal(f.live, 0);
    const long calls = f.calls;
    for (long n = 1; n <= calls; n++) {
        f = (failing_allocator){.fail_at = n};
        assert_int_equal(read_with(text, &opt, &m), KD_ERR_MEMORY);
        assert_null(m);
        assert_int_equal(f.live, 0);
    }
    kd_set_allocator(NULL);
}

// The robot of the gallery: six revolute axes, no refused joints, frames that close, 0 reach error of the tool.
static void robot6(void **state)
{
    (void)state;
    if (!available()) skip();
    kd_model *m = NULL;
    CHECK(kd_model_read_urdf(KD_SOURCE_DIR "/models/robot6.urdf", NULL, &m, report, sizeof report, message,
                             sizeof message));
    int revolute = 0;
    for (int i = 0; i < m->njoints; i++) revolute += m->joint[i].def.kind == KD_REVOLUTE;
    assert_int_equal(revolute, 6);
    assert_closed(m);
    assert_int_equal(kd_model_warning_count(m), 1); // the frame of the tool has no mass
    const kd_body *tool = &m->body[kd_model_find(m, KD_SECTION_BODY, "tool")];
    assert_vec(tool->r, 0.16 + 0.10 + 0.67 + 0.115 + 0.03, 0, 0.40 + 0.19 + 0.68 + 0.13, 1e-12);
    assert_vec(tool->R.z, 1, 0, 0, 1e-12);
    kd_model_destroy(m);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

// Robots of others, where their folder is: all are read, with both bases and with stops, and every joint closes.
static void real_robots(void **state)
{
    (void)state;
    if (!available()) skip();
    const char *chosen = getenv("KARDAN_ROBOTS"); // another folder of robots to try
    const char *folder = chosen ? chosen : KD_SOURCE_DIR "/../shared/urdf";
    DIR        *list = opendir(folder);
    if (!list) {
        print_message("skipped: no folder of real robots\n");
        skip();
    }
    int n = 0;
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        if (!ends_with(entry->d_name, ".urdf")) continue;
        char path[1000];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        for (int k = 0; k < 2; k++) {
            kd_model       *m = NULL;
            kd_urdf_options opt = kd_urdf_options_default();
            opt.free_base = k;
            opt.limit_stiffness = k ? 1e4 : 0.0;
            const kd_status status = kd_model_read_urdf(path, &opt, &m, report, sizeof report, message, sizeof message);
            if (status < 0) fail_msg("%s", message);
            assert_closed(m);
            assert_has(report, "taken");
            kd_model_destroy(m);
            n++;
        }
    }
    closedir(list);
    if (n == 0) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_and_axes),
        cmocka_unit_test(inertia_is_turned),
        cmocka_unit_test(types_and_base),
        cmocka_unit_test(parts_of_joints),
        cmocka_unit_test(closures),
        cmocka_unit_test(shapes),
        cmocka_unit_test(names),
        cmocka_unit_test(poor_inertia),
        cmocka_unit_test(wrong),
        cmocka_unit_test(contracts),
        cmocka_unit_test(robot6),
        cmocka_unit_test(real_robots),
        cmocka_unit_test(memory_fails_anywhere),
        cmocka_unit_test(many_equal_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
