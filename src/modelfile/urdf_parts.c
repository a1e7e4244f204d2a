// urdf_parts.c: links and joints of a robot description as elements of the model: bodies with their shapes, joints with
// limits, friction and mimicry, closures, the base.
#include "modelfile/urdf.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/mesh_shape.h"
#include "modelfile/paths.h"

// ---- bodies ---------------------------------------------------------------------------------------------------------

// "package://NAME/path" in the folders of packages: NAME/path in them, or path in one that is the package itself
static kd_status find_in_packages(const kd_urdf *u, const char *written, const char *rest, char path[KD_PATH_LENGTH],
                                  char *why, size_t size)
{
    kd_status status = KD_ERR_MODEL;
    char      other[200];
    for (int i = 0; i < u->opt->npackages && status == KD_ERR_MODEL; i++) {
        status = kd_model_file_path(u->opt->package[i], written, path, other, sizeof other);
        if (status == KD_ERR_MODEL && rest)
            status = kd_model_file_path(u->opt->package[i], rest + 1, path, other, sizeof other);
    }
    if (status == KD_ERR_MODEL && u->opt->npackages > 0) kd_text_append(why, size, ", nor in a library");
    return status;
}

// The file of a mesh: as a path, or "package://NAME/path", which is NAME/path or path beside the description, or in a
// folder of packages
static kd_status find_mesh(const kd_urdf *u, const char *written, char path[KD_PATH_LENGTH], char *why, size_t size)
{
    static const char package[] = "package://", file[] = "file://";
    if (strncmp(written, file, sizeof file - 1) == 0) written += sizeof file - 1;
    if (strncmp(written, package, sizeof package - 1) != 0)
        return kd_model_file_path(u->folder, written, path, why, size);
    written += sizeof package - 1;
    const char *rest = strchr(written, '/');
    kd_status   status = kd_model_file_path(u->folder, written, path, why, size);
    if (status == KD_ERR_MODEL && rest) status = kd_model_file_path(u->folder, rest + 1, path, why, size);
    return status == KD_ERR_MODEL ? find_in_packages(u, written, rest, path, why, size) : status;
}

// The path from the folder of the description; in a package, what stands behind package://
static const char *name_of_mesh(const kd_urdf *u, const char *written, const char *path)
{
    const size_t n = strcmp(u->folder, ".") == 0 ? 0 : strlen(u->folder) + 1;
    const char  *behind = strstr(written, "://");
    const bool   beside = n == 0 ? path[0] != '/' : strncmp(path, u->folder, n - 1) == 0 && path[n - 1] == '/';
    if (beside) return path + n;
    return behind ? behind + 3 : written;
}

// A mesh with one scale for all directions. false: it is not drawn, why says why not.
static bool read_mesh(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *g, kd_shape *shape, char *why,
                      size_t size)
{
    const char *file = kd_xml_attribute_of(g, "filename");
    double      scale[3] = {1.0, 1.0, 1.0};
    char        path[KD_PATH_LENGTH];
    kd_text(why, size, "it has no filename");
    if (!file) return false;
    // one scale: shapes know no other
    if (kd_xml_attribute_of(g, "scale") && !kd_urdf_read_numbers(u, owner, g, "scale", 3, scale)) return false;
    if (!(scale[0] > 0.0) || scale[0] != scale[1] || scale[0] != scale[2]) {
        kd_text(why, size, "its three scales differ, or are not positive");
        return false;
    }
    // the file is looked for where packages are, then read
    kd_status status = find_mesh(u, file, path, why, size);
    if (status == KD_OK) status = kd_model_mesh_read(u->m, path, &shape->read, why, size);
    if (status == KD_ERR_MEMORY) kd_urdf_keep_failure(u, status);
    if (status != KD_OK) return false;
    // a shape with the path as it will be written
    shape->kind = KD_MESH;
    shape->mesh = kd_model_text(u->m, name_of_mesh(u, file, path));
    shape->size[0] = scale[0];
    return true;
}

// Geometry as a shape of the body. false: it is none that kardan draws; *what says which, why (may be "") why not.
static bool read_geometry(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, kd_shape *shape,
                          const char **what, char *why, size_t size)
{
    const kd_xml_element *geometry = kd_xml_child(e, "geometry"), *g = geometry ? geometry->child : NULL;
    kd_vec3               r;
    kd_mat3               R;
    *what = g ? g->name : "no geometry";
    why[0] = '\0';
    if (!g || !kd_urdf_read_origin(u, owner, kd_xml_child(e, "origin"), &r, &R)) return false;
    *shape = (kd_shape){.kind = KD_SHAPE_NONE};
    bool fine = true;
    // the shapes that both languages know
    if (kd_urdf_is(g, "box")) {
        shape->kind = KD_BOX;
        fine = kd_urdf_read_numbers(u, owner, g, "size", 3, shape->size);
    } else if (kd_urdf_is(g, "sphere")) {
        shape->kind = KD_SPHERE;
        fine = kd_urdf_read_numbers(u, owner, g, "radius", 1, shape->size);
    } else if (kd_urdf_is(g, "cylinder")) {
        shape->kind = KD_CYLINDER;
        fine = kd_urdf_read_numbers(u, owner, g, "radius", 1, shape->size) &&
               kd_urdf_read_numbers(u, owner, g, "length", 1, shape->size + 1);
    } else if (kd_urdf_is(g, "mesh")) {
        fine = read_mesh(u, owner, g, shape, why, size);
    }
    // where it stands in the axes of the link
    kd_vec_to(r, shape->position);
    kd_quat_to(kd_quat_of_matrix(&R), shape->orientation);
    return fine && shape->kind != KD_SHAPE_NONE;
}

// A shape that can be drawn has a size.
static bool has_size(const kd_shape *s)
{
    const int n = s->kind == KD_BOX ? 3 : s->kind == KD_CYLINDER ? 2 : 1;
    for (int i = 0; i < n; i++) {
        if (!(s->size[i] > 0.0)) return false;
    }
    return true;
}

// A shape is drawn, or it is said why not
static void take_shape(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, bool draw, kd_body_def *def)
{
    const char *what;
    char        why[600];
    kd_shape    shape;
    const bool  known = read_geometry(u, owner, e, &shape, &what, why, sizeof why);
    const char *unused = kd_urdf_is(e, "collision") ? "; contact between links is not modelled" : "";
    if (!known) {
        // each way to refuse has its reason
        kd_urdf_report(u, owner, e, "refused: %.60s is not drawn%s%s%s", what, why[0] ? ": " : "", why, unused);
    } else if (!draw) {
        kd_urdf_report(u, owner, e, "refused: contact between links is not modelled");
    } else if (!has_size(&shape)) {
        kd_urdf_report(u, owner, e, "refused: a %s without size", what);
    } else if (def->nshapes == KD_MAX_SHAPES) {
        kd_urdf_report(u, owner, e, "refused: a body has at most %d shapes", KD_MAX_SHAPES);
    } else {
        def->shape[def->nshapes++] = shape;
        kd_urdf_report(u, owner, e, "converted: drawn as %s%s", what, unused);
    }
    // the drawing has its own colours
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (kd_urdf_is(c, "material")) kd_urdf_report(u, owner, c, "refused: colours are not kept");
    }
}

// The shapes that stand for the link: the visual ones; without any of these the ones for collisions
static void read_shapes(kd_urdf *u, const kd_xml_element *owner, kd_body_def *def)
{
    for (const kd_xml_element *e = owner->child; e; e = e->next)
        if (kd_urdf_is(e, "visual")) take_shape(u, owner, e, true, def);
    const bool visual = def->nshapes > 0;
    for (const kd_xml_element *e = owner->child; e; e = e->next)
        if (kd_urdf_is(e, "collision")) take_shape(u, owner, e, !visual, def);
}

// Children of an element that nobody reads.
static void report_children(kd_urdf *u, const kd_xml_element *owner, const char *known)
{
    for (const kd_xml_element *e = owner->child; e; e = e->next) {
        char word[64];
        kd_text(word, sizeof word, " %.60s ", e->name);
        if (!strstr(known, word)) {
            kd_urdf_report(u, owner, e, "refused: kardan has no use for it");
        } else if (kd_xml_child(owner, e->name) != e && !kd_urdf_is(e, "visual") && !kd_urdf_is(e, "collision")) {
            kd_urdf_report(u, owner, e, "refused: only the first one counts");
        }
    }
}

// The link as a body of the model
void kd_urdf_add_body(kd_urdf *u, const kd_urdf_link *l)
{
    const kd_xml_element *e = l->xml;
    kd_body_def           def = kd_body_def_default();
    // mass, centre and inertia are those of the file
    def.mass = l->mass.mass;
    kd_vec_to(l->mass.centre, def.centre);
    const kd_sym3 *I = &l->mass.inertia;
    memcpy(def.inertia, (double[6]){I->xx, I->yy, I->zz, I->xy, I->xz, I->yz}, sizeof def.inertia);
    // its place at coordinates 0
    kd_vec_to(l->r, def.position);
    kd_quat_to(kd_quat_of_matrix(&l->R), def.orientation);
    // names that are no names here were changed
    if (strcmp(l->body, l->name) == 0) {
        kd_urdf_report(u, e, NULL, "taken%s", kd_urdf_is_massless(l) ? ": a body without mass" : "");
    } else {
        kd_urdf_report(u, e, NULL, "converted: named '%s'%s", l->body,
                       kd_urdf_is_massless(l) ? ", a body without mass" : "");
    }
    kd_urdf_report_attributes(u, e, e, " name type ");
    read_shapes(u, e, &def);
    // what else stands in the element, then into the model
    report_children(u, e, " inertial visual collision ");
    kd_urdf_keep_failure(u, kd_model_at(u->m, u->file, e->line, 0));
    kd_urdf_keep_failure(u, kd_model_add_body(u->m, l->body, &def));
}

// ---- parts of joints ------------------------------------------------------------------------------------------------

static kd_place place_on(const kd_urdf *u, int link, kd_vec3 r, const kd_mat3 *R)
{
    kd_place place = kd_in(u->link[link].body, r.x, r.y, r.z);
    kd_quat_to(kd_quat_of_matrix(R), place.orientation);
    return place;
}

static bool has_coordinate(const kd_urdf_joint *j)
{
    return kd_joint_form_of(j->kind).ndof == 1;
}

// Position limits as stops; the start moves to the nearest limit if 0 is outside.
static void take_limit(kd_urdf *u, const kd_urdf_joint *j, const kd_xml_element *e, kd_joint_def *def)
{
    double lower = 0.0, upper = 0.0;
    kd_urdf_report_attributes(u, j->xml, e, " lower upper effort velocity ");
    // both limits, 0 where they are missing
    if (!kd_urdf_read_numbers(u, j->xml, e, "lower", 1, &lower) ||
        !kd_urdf_read_numbers(u, j->xml, e, "upper", 1, &upper))
        return;
    // what is said depends on whether a stop can be made of them
    if (j->continuous) {
        kd_urdf_report(u, j->xml, e, "refused: a continuous joint has no limits; effort and velocity belong to drives");
    } else if (!has_coordinate(j)) {
        kd_urdf_report(u, j->xml, e, "refused: only revolute and prismatic joints have limits");
    } else if (!(lower <= upper)) {
        kd_urdf_complain(u, j->xml, e, "the lower limit %g is above the upper %g", lower, upper);
    } else if (u->opt->limit_stiffness > 0.0) {
        kd_force_def stop = kd_force_def_default(KD_JOINT_STOP);
        stop.joint = j->model_name;
        stop.stop.stiffness = u->opt->limit_stiffness;
        stop.stop.lower = lower;
        stop.stop.upper = upper;
        // the start at the limit that is nearer
        const bool outside = lower > 0.0 || upper < 0.0;
        if (outside) def->q[0] = lower > 0.0 ? lower : upper;
        const char *name = kd_urdf_make_name(u, KD_SECTION_FORCE, j->name, "_stop");
        kd_urdf_report(u, j->xml, e, "converted: stops at %g and %g, force '%s'%s; effort and velocity are not limited",
                       lower, upper, name, outside ? ", start at the limit, because 0 is outside" : "");
        kd_urdf_keep_failure(u, kd_model_add_force(u->m, name, &stop));
    } else {
        kd_urdf_report(u, j->xml, e,
                       "refused: %g to %g, because stops need a stiffness (limit_stiffness)%s; drives are not modelled",
                       lower, upper, lower > 0.0 || upper < 0.0 ? "; the start at 0 is outside" : "");
    }
}

// Damping and friction as force elements of the joint
static void take_dynamics(kd_urdf *u, const kd_urdf_joint *j, const kd_xml_element *e)
{
    double damping = 0.0, friction = 0.0;
    kd_urdf_report_attributes(u, j->xml, e, " damping friction ");
    // both numbers, 0 where they are missing
    if (!kd_urdf_read_numbers(u, j->xml, e, "damping", 1, &damping) ||
        !kd_urdf_read_numbers(u, j->xml, e, "friction", 1, &friction)) {
        return;
    }
    if (damping == 0.0 && friction == 0.0) {
        kd_urdf_report(u, j->xml, e, "taken: damping and friction are 0");
        return;
    }
    if (!has_coordinate(j)) {
        kd_urdf_report(u, j->xml, e, "refused: only revolute and prismatic joints have damping and friction");
        return;
    }
    if (damping < 0.0 || friction < 0.0) {
        kd_urdf_complain(u, j->xml, e, "damping %g and friction %g must not be negative", damping, friction);
        return;
    }
    // a damper and a friction element in the joint
    if (damping > 0.0) {
        kd_force_def f = kd_force_def_default(KD_JOINT_SPRING);
        f.joint = j->model_name;
        f.spring.damping = damping;
        const char *name = kd_urdf_make_name(u, KD_SECTION_FORCE, j->name, "_damping");
        kd_urdf_report(u, j->xml, e, "converted: damping %g, force '%s'", damping, name);
        kd_urdf_keep_failure(u, kd_model_add_force(u->m, name, &f));
    }
    if (friction > 0.0) {
        kd_force_def f = kd_force_def_default(KD_JOINT_FRICTION);
        f.joint = j->model_name;
        f.friction.coulomb = friction;
        const char *name = kd_urdf_make_name(u, KD_SECTION_FORCE, j->name, "_friction");
        kd_urdf_report(u, j->xml, e, "converted: friction %g, force '%s'", friction, name);
        kd_urdf_keep_failure(u, kd_model_add_force(u->m, name, &f));
    }
}

// q = multiplier * q_other + offset
static void take_mimic(kd_urdf *u, const kd_urdf_joint *j, const kd_xml_element *e)
{
    const char *other = kd_xml_attribute_of(e, "joint");
    double      multiplier = 1.0, offset = 0.0;
    // numbers with their defaults
    kd_urdf_report_attributes(u, j->xml, e, " joint multiplier offset ");
    if (!kd_urdf_read_numbers(u, j->xml, e, "multiplier", 1, &multiplier)) return;
    if (!kd_urdf_read_numbers(u, j->xml, e, "offset", 1, &offset)) return;
    // the joint that it follows, by its name in the file
    const int k = other ? kd_names_find(&u->names, KD_SECTION_JOINT, other) : -1;
    if (k < 0) {
        char        hint[150];
        const char *wanted = other ? other : "";
        kd_urdf_complain(u, j->xml, e, "unknown joint '%.100s'%s", wanted,
                         kd_urdf_suggest(u, KD_SECTION_JOINT, wanted, hint, sizeof hint));
        return;
    }
    // both need a coordinate
    if (!has_coordinate(j) || !has_coordinate(&u->joint[k])) {
        kd_urdf_report(u, j->xml, e, "refused: joint '%.100s' has no coordinate to follow with",
                       has_coordinate(j) ? other : j->name);
        return;
    }
    if (&u->joint[k] == j) {
        kd_urdf_complain(u, j->xml, e, "the joint follows itself");
        return;
    }
    // 0 = q - multiplier q_other - offset
    char              path[2][130];
    kd_constraint_def c = kd_constraint_def_default(KD_COUPLING);
    kd_text(path[0], sizeof path[0], "joint.%s.q", j->model_name);
    kd_text(path[1], sizeof path[1], "joint.%s.q", u->joint[k].model_name);
    c.nterms = multiplier != 0.0 ? 2 : 1;
    c.coordinate[0] = path[0];
    c.coordinate[1] = path[1];
    c.factor[0] = 1.0;
    c.factor[1] = -multiplier;
    c.offset = offset;
    const char *name = kd_urdf_make_name(u, KD_SECTION_CONSTRAINT, j->name, "_mimic");
    kd_urdf_report(u, j->xml, e, "converted: coupling with joint '%.100s', constraint '%s'", other, name);
    kd_urdf_keep_failure(u, kd_model_add_constraint(u->m, name, &c));
}

static void take_parts(kd_urdf *u, const kd_urdf_joint *j, kd_joint_def *def)
{
    const kd_xml_element *e = j->xml;
    const kd_xml_element *limit = kd_xml_child(e, "limit"), *dynamics = kd_xml_child(e, "dynamics");
    const kd_xml_element *mimic = kd_xml_child(e, "mimic");
    if (limit) take_limit(u, j, limit, def);
    if (dynamics) take_dynamics(u, j, dynamics);
    if (mimic) take_mimic(u, j, mimic);
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (kd_urdf_is(c, "safety_controller")) kd_urdf_report(u, e, c, "refused: controllers are not modelled");
        if (kd_urdf_is(c, "calibration")) kd_urdf_report(u, e, c, "refused: it says nothing about the motion");
    }
    report_children(u, e, " origin parent child axis limit dynamics mimic safety_controller calibration ");
}

// ---- joints in the model --------------------------------------------------------------------------------------------

static void report_joint(kd_urdf *u, const kd_urdf_joint *j)
{
    if (strcmp(j->model_name, j->name) != 0) {
        kd_urdf_report(u, j->xml, NULL, "converted: named '%s'", j->model_name);
    } else if (j->continuous) {
        kd_urdf_report(u, j->xml, NULL, "converted: revolute without limits");
    } else if (j->kind == KD_FREE) {
        kd_urdf_report(u, j->xml, NULL, "converted: free");
    } else {
        kd_urdf_report(u, j->xml, NULL, "taken");
    }
}

void kd_urdf_add_joint(kd_urdf *u, const kd_urdf_joint *j)
{
    kd_joint_def  def = kd_joint_def_default(j->kind);
    const kd_mat3 from = kd_mat_mul(&j->R, &j->axes);
    def.from = place_on(u, j->parent, j->r, &from);
    def.to = place_on(u, j->child, kd_vec(0, 0, 0), &j->axes);
    report_joint(u, j);
    kd_urdf_keep_failure(u, kd_model_at(u->m, u->file, j->xml->line, 0));
    take_parts(u, j, &def);
    kd_urdf_keep_failure(u, kd_model_add_joint(u->m, j->model_name, &def));
}

// A joint that closes a loop
void kd_urdf_add_closure(kd_urdf *u, const kd_urdf_joint *j)
{
    const kd_xml_element *own = kd_xml_child(j->xml, "child_origin");
    const kd_urdf_link   *a = &u->link[j->parent], *b = &u->link[j->child];
    kd_vec3               r;
    kd_mat3               R;
    // where it is on the child, if the file says so
    if (!kd_urdf_read_origin(u, j->xml, own, &r, &R)) return;
    if (!own) { // the same place in the world, at coordinates 0
        const kd_vec3 p = kd_vec_add(a->r, kd_mat_vec(&a->R, j->r));
        const kd_mat3 P = kd_mat_mul(&a->R, &j->R);
        r = kd_mat_tvec(&b->R, kd_vec_sub(p, b->r));
        R = kd_mat_tmul(&b->R, &P);
    }
    // axes on both sides, then a joint that the tree leaves open
    kd_joint_def  def = kd_joint_def_default(j->kind);
    const kd_mat3 from = kd_mat_mul(&j->R, &j->axes), to = kd_mat_mul(&R, &j->axes);
    def.from = place_on(u, j->parent, j->r, &from);
    def.to = place_on(u, j->child, r, &to);
    def.cut = KD_CUT_YES;
    // what was made of it, line by line
    report_joint(u, j);
    report_children(u, j->xml, " origin parent child axis child_origin ");
    kd_urdf_keep_failure(u, kd_model_at(u->m, u->file, j->xml->line, 0));
    kd_urdf_keep_failure(u, kd_model_add_joint(u->m, j->model_name, &def));
}

// The root on the ground
void kd_urdf_add_base(kd_urdf *u)
{
    const kd_urdf_link *root = &u->link[u->root];
    kd_joint_def        def = kd_joint_def_default(u->opt->free_base ? KD_FREE : KD_FIXED);
    def.from = kd_at("ground", 0, 0, 0);
    def.to = kd_in(root->body, 0, 0, 0);
    const char *name = kd_urdf_make_name(u, KD_SECTION_JOINT, root->name, "_base");
    kd_urdf_say_piece(u, "root link '%.100s': %s the ground, joint '%s'\n", root->name,
                      u->opt->free_base ? "free to move over" : "fixed to", name);
    kd_urdf_keep_failure(u, kd_model_at(u->m, u->file, root->xml->line, 0));
    kd_urdf_keep_failure(u, kd_model_add_joint(u->m, name, &def));
}
