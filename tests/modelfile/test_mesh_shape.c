// Shapes of bodies by meshes from files: mass, centre and inertia in the model, what is drawn, what is refused and how it is said.
#define _XOPEN_SOURCE 700
#include "modelfile/files.h"

#include <math.h>
#include <unistd.h>

#include "drawing/mesh.h"
#include "model/build.h"
#include "model/mesh_shape.h"
#include "modelfile/own_folder.h"

static void write_text(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

// An L of the boxes [0, 4] x [0, 1] and [0, 1] x [1, 3], 2 high, as OBJ; all faces but the last `missing` ones
static void write_profile(const char *name, int missing)
{
    static const int corner[6][2] = {{0, 0}, {4, 0}, {4, 1}, {1, 1}, {1, 3}, {0, 3}};
    static const int top[4][3] = {{1, 2, 3}, {1, 3, 4}, {1, 4, 5}, {1, 5, 6}};
    char             text[2000] = "";
    for (int z = 0; z < 2; z++)
        for (int i = 0; i < 6; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "v %d %d %d\n", corner[i][0], corner[i][1],
                     2 * z);
    for (int i = 0; i < 6; i++) {
        const int a = i + 1, b = (i + 1) % 6 + 1;
        snprintf(text + strlen(text), sizeof text - strlen(text), "f %d %d %d %d\n", a, b, b + 6, a + 6);
    }
    for (int i = 0; i < 4; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "f %d %d %d\n", top[i][2], top[i][1], top[i][0]);
    for (int i = 0; i < 4 - missing; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "f %d %d %d\n", top[i][0] + 6, top[i][1] + 6,
                 top[i][2] + 6);
    write_text(name, text);
}

static kd_model *read_body(const char *text, char *message, size_t size)
{
    char      path[300], whole[1000], said[3000];
    kd_model *m = NULL;
    snprintf(path, sizeof path, "%s/model.yaml", folder);
    snprintf(whole, sizeof whole, "kardan: 1\nparameters: {s: 0.01}\nbodies:\n  b: %s\n", text);
    write_text("model.yaml", whole);
    (void)!kd_model_read(path, NULL, 0, &m, said, sizeof said);
    snprintf(message, size, "%s", said[0] ? said + strlen(path) + 1 : "");
    return m;
}

static void says(const char *text, const char *expected)
{
    char      message[2000];
    kd_model *m = read_body(text, message, sizeof message);
    if (m || strcmp(message, expected) != 0) fail_msg("%s\n expected: %s\n      got: %s", text, expected, message);
}

// A mesh of two boxes has their mass, centre and inertia, turned, shifted and scaled like them.
static void mesh_is_its_boxes(void **state)
{
    char message[2000];
    (void)state;
    write_profile("l.obj", 0);
    kd_model *mesh = read_body("{shape: {mesh: l.obj, scale: s, density: 1000, position: [1, 2, 3], orientation: "
                               "{axis: [1, 2, 3], angle: 0.7}}}",
                               message, sizeof message);
    if (!mesh) fail_msg("%s", message);
    // the boxes with their middles in the axes of the shape
    const double  c = cos(0.35), s = sin(0.35) / sqrt(14.0);
    const double  q[4] = {c, s, 2 * s, 3 * s};
    const kd_mat3 R = kd_quat_matrix(kd_quat_of(q));
    kd_shape      box[2] = {{.kind = KD_BOX, .size = {0.04, 0.01, 0.02}, .density = 1000},
                            {.kind = KD_BOX, .size = {0.01, 0.02, 0.02}, .density = 1000}};
    const kd_vec3 middle[2] = {{0.02, 0.005, 0.01}, {0.005, 0.02, 0.01}};
    for (int k = 0; k < 2; k++) {
        kd_vec_to(kd_vec_add(kd_vec(1, 2, 3), kd_mat_vec(&R, middle[k])), box[k].position);
        memcpy(box[k].orientation, q, sizeof q);
    }
    kd_mass expected;
    assert_true(kd_shapes_mass(box, 2, NAN, &expected));
    const kd_body *b = &mesh->body[0];
    assert_true(fabs(b->def.mass - expected.mass) < 1e-14 && fabs(expected.mass - 0.012) < 1e-15);
    assert_true(kd_vec_norm(kd_vec_sub(b->centre, expected.centre)) < 1e-14);
    const double I[6] = {expected.inertia.xx, expected.inertia.yy, expected.inertia.zz,
                         expected.inertia.xy, expected.inertia.xz, expected.inertia.yz};
    for (int k = 0; k < 6; k++) assert_true(fabs(b->def.inertia[k] - I[k]) < 1e-13 * I[0] + 1e-19);
    kd_model_destroy(mesh);
}

// A mesh without density whose body has mass and inertia is only drawn, closed or not; with a hole it is refused for mass.
static void holes_are_drawn_and_refused(void **state)
{
    char message[2000];
    (void)state;
    write_profile("hole.obj", 1);
    says("{shape: {mesh: hole.obj, density: 1000}}",
         "4:14: body 'b': mesh 'hole.obj' encloses nothing that could have mass: 3 edges are open (a hole), the first "
         "one at (0.5, 1.5, 2); give "
         "mass, centre and inertia, then it is only drawn");
    kd_model *m = read_body("{mass: 1, centre: [0, 0, 0], inertia: [1, 1, 1], shape: {mesh: hole.obj, scale: 0.1}}",
                            message, sizeof message);
    if (!m) fail_msg("%s", message);
    assert_false(m->body[0].def.shape[0].read->closed);
    const double pose[7] = {0, 0, 0, 1, 0, 0, 0}, t = 0.0;
    kd_film      film = {.model = m, .nframes = 1, .t = &t, .pose = pose};
    kd_scene     scene;
    assert_int_equal(kd_scene_build(&film, &scene), KD_OK);
    assert_int_equal(scene.nmeshes, KD_MESHES + 1);
    bool found = false;
    for (int i = 0; i < scene.nsolids; i++) {
        if (scene.solid[i].mesh != KD_MESHES) continue;
        found = true;
        assert_true(fabs(scene.solid[i].size.x - 0.4) < 1e-15 && fabs(scene.solid[i].r.y - 0.15) < 1e-15);
    }
    assert_true(found);
    assert_int_equal(scene.fine[0].nfaces, 19);
    kd_scene_release(&scene);
    kd_model_destroy(m);
}

// Two bodies of one file share it.
static void files_are_read_once(void **state)
{
    char message[2000];
    (void)state;
    write_profile("l.obj", 0);
    kd_model *m = read_body(
        "{shape: {mesh: l.obj, density: 1}}\n  c: {shape: [{mesh: ./l.obj, density: 1}, {mesh: l.obj, density: 2}]}",
        message, sizeof message);
    if (!m) fail_msg("%s", message);
    assert_ptr_equal(m->body[0].def.shape[0].read, m->body[1].def.shape[1].read);
    assert_true(fabs(m->body[1].def.mass - 3 * m->body[0].def.mass) < 1e-12);
    kd_model_destroy(m);
}

// Wrong files say where and what.
static void wrong_files_say_why(void **state)
{
    (void)state;
    char expected[600];
    write_text("text.stl", "solid a\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 zero\n");
    write_text("empty.obj", "# nothing\n");
    write_text("a.dae", "<COLLADA/>");
    says("{shape: {mesh: none.stl, density: 1}}", "4:21: body 'b': there is no file 'none.stl' beside the model");
    says("{shape: {mesh: /etc/a.stl, density: 1}}",
         "4:21: body 'b': '/etc/a.stl' must be relative to the folder of the model");
    says("{shape: {mesh: l.obj, scale: 0, density: 1}}", "4:14: body 'b': the scale of a mesh must not be 0");
    says("{shape: {mesh: empty.obj, radius: 1}}",
         "4:32: body 'b': unknown key 'radius' for a mesh; possible are mesh, scale, position, orientation, density");
    snprintf(expected, sizeof expected, "4:21: body 'b': %s/empty.obj: there is no triangle with an area in it",
             folder);
    says("{shape: {mesh: empty.obj, density: 1}}", expected);
    snprintf(expected, sizeof expected,
             "4:21: body 'b': %s/a.dae: surfaces are read from files that end with .stl or .obj", folder);
    says("{shape: {mesh: a.dae, density: 1}}", expected);
}

// Triangles without area are told with their number and place; the surface around them is closed all the same.
static void flat_triangles_are_told(void **state)
{
    (void)state;
    write_text("flat.obj",
               "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0.5 0 0\nf 1 3 2\nf 1 2 4\nf 1 2 5\nf 2 3 4\nf 3 1 4\nf 1 1 2\n");
    char      message[2000];
    bool      told = false;
    kd_model *m = read_body("{shape: {mesh: flat.obj, density: 6}}", message, sizeof message);
    assert_non_null(m);
    assert_true(fabs(m->body[0].def.mass - 1.0) < 1e-14);
    for (int i = 0; i < kd_model_warning_count(m); i++)
        told = told || strstr(kd_model_warning(m, i), "body 'b': mesh 'flat.obj': 2 triangles without area left out, "
                                                      "the first one number 3 at (0, 0, 0)");
    assert_true(told);
    kd_model_destroy(m);
}

// package://NAME/file of a robot description is looked for in the folders of packages; what is written of it is found
// there again.
static void packages_are_found(void **state)
{
    static const char robot[] =
        "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' "
        "ixy='0' ixz='0' iyz='0'/></inertial><visual><geometry><mesh filename='package://arm/l.obj'/>"
        "</geometry></visual></link></robot>";
    char        command[1500], path[400], packages[300], report[2000], message[1000];
    const char *list[] = {packages};
    kd_model   *m = NULL;
    (void)state;
    snprintf(packages, sizeof packages, "%s/packages", folder);
    write_profile("l.obj", 0);
    snprintf(command, sizeof command, "mkdir -p '%s/robots' '%s/arm' && mv '%s/l.obj' '%s/arm'", folder, packages,
             folder, packages);
    assert_int_equal(system(command), 0);
    write_text("robots/r.urdf", robot);
    snprintf(path, sizeof path, "%s/robots/r.urdf", folder);
    kd_urdf_options opt = kd_urdf_options_default();
    if (kd_model_read_urdf(path, &opt, &m, report, sizeof report, message, sizeof message) == KD_ERR_UNAVAILABLE)
        return;
    assert_non_null(strstr(report, "there is no file"));
    kd_model_destroy(m);
    opt.package = list;
    opt.npackages = 1;
    assert_int_equal(kd_model_read_urdf(path, &opt, &m, report, sizeof report, message, sizeof message), KD_OK);
    assert_int_equal(m->body[0].def.nshapes, 1);
    assert_non_null(m->body[0].def.shape[0].read);
    // as a model file in another folder
    snprintf(path, sizeof path, "%s/robots/r.yaml", folder);
    assert_int_equal(kd_model_write(m, path, message, sizeof message), KD_OK);
    kd_model_destroy(m);
    assert_int_equal(kd_model_read(path, NULL, 0, &m, message, sizeof message), KD_ERR_MODEL);
    if (kd_model_read_with(path, NULL, 0, list, 1, &m, message, sizeof message) != KD_OK) fail_msg("%s", message);
    assert_string_equal(m->body[0].def.shape[0].mesh, "arm/l.obj");
    kd_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_is_its_boxes),       cmocka_unit_test(holes_are_drawn_and_refused),
        cmocka_unit_test(files_are_read_once),     cmocka_unit_test(wrong_files_say_why),
        cmocka_unit_test(flat_triangles_are_told), cmocka_unit_test(packages_are_found),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
