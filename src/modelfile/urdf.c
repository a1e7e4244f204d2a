// urdf.c: robot descriptions (URDF) as models.
//
// Links become bodies whose frames are the frames of the links, placed where all joint coordinates are 0. A joint has
// its origin in the parent link (x, then rpy: R = Rz(yaw) Ry(pitch) Rx(roll)) and an axis in its own frame; both ends
// get the same frame with z along the axis. The description is a tree; <closure> closes loops:
//
//     <closure name="rod" type="spherical">       type: fixed, revolute, prismatic, cylindrical, planar, spherical
//       <parent link="a"/> <child link="b"/>
//       <origin xyz="0 0 1" rpy="0 0 0"/>          in the parent link
//       <axis xyz="0 0 1"/>                        in the frame of the closure
//       <child_origin xyz="0 0 0" rpy="0 0 0"/>    in the child link; without it: where the origin is at coordinates 0
//     </closure>
//
// The report has one line for each link, joint and part of them that says something of its own: taken, converted or
// refused, so that nothing is lost silently. Format: http://wiki.ros.org/urdf/XML, docs/guide/urdf.md
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/load.h"
#include "core/option.h"
#include "core/text.h"
#include "expr/expr.h"
#include "model/build.h"
#include "model/mesh_shape.h"
#include "modelfile/paths.h"
#include "modelfile/xml.h"

typedef struct urdf_link {
    const kd_xml_element *xml;
    const char           *name;  // in the file
    const char           *body;  // in the model
    int                   joint; // that carries it; -1: root
    kd_vec3               r;     // pose in the world at coordinates 0
    kd_mat3               R;
    bool                  placed;
    kd_mass               mass;  // own, in the link's frame
    bool                  inert; // nothing behind it has mass or inertia, nor it itself
} urdf_link;

typedef struct urdf_joint {
    const kd_xml_element *xml;
    const char           *name, *model_name;
    bool                  closure;
    kd_joint_kind         kind;
    bool                  continuous;
    int                   parent, child; // links; -1: unknown
    kd_vec3               r;
    kd_mat3               R;
    kd_mat3               axes; // z along the axis, in the frame of the joint
} urdf_joint;

typedef struct importer {
    kd_model              *m;
    const char            *file;
    const char            *folder; // of the file; NULL: the text came from memory
    const kd_urdf_options *opt;
    char                  *report;
    size_t                 report_size, reported;
    kd_arena               arena;
    kd_names               names;   // links as bodies, joints as joints, by their names in the file
    kd_names               entered; // names in the model
    int                    nlinks, njoints, root;
    urdf_link             *link;
    urdf_joint            *joint;
    int                   *order; // (nlinks) parents before children
    kd_status              status;
} importer;

// ---- report and messages --------------------------------------------------------------------------------------------

static void say(importer *u, const char *format, va_list arguments)
{
    if (!u->report || u->reported + 1 >= u->report_size) return;
    const int n = vsnprintf(u->report + u->reported, u->report_size - u->reported, format, arguments);
    if (n > 0) u->reported += (size_t)n;
    if (u->reported >= u->report_size) u->reported = u->report_size - 1;
}

static void say_piece(importer *u, const char *format, ...) KD_PRINTF(2, 3);
static void say_piece(importer *u, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(u, format, arguments);
    va_end(arguments);
}

static const char *name_of(const kd_xml_element *e)
{
    const char *name = kd_xml_attribute_of(e, "name");
    return name ? name : "";
}

// "line 12: link 'arm': visual: converted: .."; part NULL: the element itself
static void report(importer *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
    KD_PRINTF(4, 5);
static void report(importer *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
{
    say_piece(u, "line %d: %.60s '%.100s': ", part ? part->line : owner->line, owner->name, name_of(owner));
    if (part) say_piece(u, "%.60s: ", part->name);
    va_list arguments;
    va_start(arguments, format);
    say(u, format, arguments);
    va_end(arguments);
    say_piece(u, "\n");
}

static void complain(importer *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
    KD_PRINTF(4, 5);
static void complain(importer *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
{
    char            text[400];
    const kd_source source = {u->file, part ? part->line : owner->line, 0, 0};
    va_list         arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    kd_model_error_at(u->m, &source, "%.60s '%.100s': %.60s%s%s", owner->name, name_of(owner), part ? part->name : "",
                      part ? ": " : "", text);
}

// Remember the first failure that is not an error of the model (those are collected).
static void keep_failure(importer *u, kd_status status)
{
    if (status < 0 && status != KD_ERR_MODEL && u->status >= 0) u->status = status;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

// 12, -0.5, 1e-3: an optional sign, digits with a point, an exponent
static bool is_number(const char *c)
{
    int digits = 0;
    if (*c == '+' || *c == '-') c++;
    // digits with a point anywhere
    for (; isdigit((unsigned char)*c); c++) digits++;
    if (*c == '.') c++;
    for (; isdigit((unsigned char)*c); c++) digits++;
    if (digits == 0) return false;
    if (*c == 'e' || *c == 'E') {
        c++;
        if (*c == '+' || *c == '-') c++;
        if (!isdigit((unsigned char)*c)) return false;
        while (isdigit((unsigned char)*c)) c++;
    }
    return *c == '\0';
}

static bool parse_number(const char *word, double *value)
{
    return is_number(word) && kd_expr_constant(word, NULL, value, NULL) >= 0 && isfinite(*value);
}

// Exactly n numbers, separated by blanks.
static bool parse_numbers(const char *text, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        char word[64];
        text += strspn(text, " \t\r\n");
        const size_t length = strcspn(text, " \t\r\n");
        if (length == 0 || length >= sizeof word) return false;
        memcpy(word, text, length);
        word[length] = '\0';
        if (!parse_number(word, &out[i])) return false;
        text += length;
    }
    return text[strspn(text, " \t\r\n")] == '\0';
}

// n numbers of an attribute; out keeps its values where there is none. A wrong one is an error.
static bool read_numbers(importer *u, const kd_xml_element *owner, const kd_xml_element *e, const char *attribute,
                         int n, double *out)
{
    const char *text = kd_xml_attribute_of(e, attribute);
    double      value[4];
    if (!text) return true;
    if (parse_numbers(text, n, value)) {
        memcpy(out, value, (size_t)n * sizeof *out);
        return true;
    }
    complain(u, owner, e == owner ? NULL : e, "%s=\"%.60s\" is not %s", attribute, text,
             n == 1 ? "a number" : "three numbers");
    return false;
}

// Attributes that nobody reads are reported.
static void report_attributes(importer *u, const kd_xml_element *owner, const kd_xml_element *e, const char *known)
{
    for (int i = 0; i < e->nattributes; i++) {
        const char  *name = e->attribute[i].name;
        const size_t n = strlen(name);
        const char  *found = strstr(known, name);
        while (found && (found[-1] != ' ' || found[n] != ' ')) found = strstr(found + 1, name); // known starts with ' '
        if (!found) {
            report(u, owner, e == owner ? NULL : e, "refused: attribute '%.60s' has no meaning in URDF", name);
        }
    }
}

// ---- poses ----------------------------------------------------------------------------------------------------------

static kd_mat3 matrix_of_rpy(const double rpy[3])
{
    const kd_quat x = kd_quat_exp(kd_vec(rpy[0], 0, 0)), y = kd_quat_exp(kd_vec(0, rpy[1], 0));
    const kd_quat z = kd_quat_exp(kd_vec(0, 0, rpy[2]));
    return kd_quat_matrix(kd_quat_mul(z, kd_quat_mul(y, x)));
}

// <origin xyz rpy>; e NULL: none
static bool read_origin(importer *u, const kd_xml_element *owner, const kd_xml_element *e, kd_vec3 *r, kd_mat3 *R)
{
    double xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0};
    *r = kd_vec(0, 0, 0);
    *R = kd_mat_identity();
    if (!e) return true;
    report_attributes(u, owner, e, " xyz rpy ");
    if (!read_numbers(u, owner, e, "xyz", 3, xyz) || !read_numbers(u, owner, e, "rpy", 3, rpy)) return false;
    *r = kd_vec_of(xyz);
    *R = matrix_of_rpy(rpy);
    return true;
}

// A frame with z along the axis.
static bool read_axis(importer *u, const kd_xml_element *owner, const kd_xml_element *e, kd_mat3 *axes)
{
    double axis[3] = {1, 0, 0};
    if (e) {
        report_attributes(u, owner, e, " xyz ");
        if (!read_numbers(u, owner, e, "xyz", 3, axis)) return false;
    }
    const double n = kd_vec_norm(kd_vec_of(axis));
    if (!(n > 1e-6 && n < 1e6)) {
        complain(u, owner, e, "the axis has no direction");
        return false;
    }
    // z along the axis, x across it
    const kd_vec3 z = kd_vec_scale(1.0 / n, kd_vec_of(axis));
    const kd_vec3 near = fabs(z.x) < 0.77 ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0);
    const kd_vec3 across = kd_vec_axpy(near, -kd_vec_dot(near, z), z);
    const kd_vec3 x = kd_vec_scale(1.0 / kd_vec_norm(across), across);
    *axes = (kd_mat3){x, kd_vec_cross(z, x), z};
    return true;
}

// ---- names ----------------------------------------------------------------------------------------------------------

// A name that the model accepts and that is new in its section: wrong letters become '_'.
static const char *make_name(importer *u, kd_section section, const char *wanted, const char *suffix)
{
    char   name[110];
    size_t n = 0;
    // letters that the model accepts
    if (!isalpha((unsigned char)wanted[0]) && wanted[0] != '_') name[n++] = '_';
    for (const char *c = wanted; *c && n < 70; c++) {
        const bool good = (unsigned char)*c < 128 && (isalnum((unsigned char)*c) || *c == '_' || *c == '-');
        name[n++] = good ? *c : '_';
    }
    kd_text(name + n, sizeof name - n, "%s", suffix);
    n += strlen(suffix);
    // a number behind it where the name is taken
    const bool ground = section == KD_SECTION_BODY && strcmp(name, "ground") == 0;
    int        k = 2; // beyond a few tries the number of all names, which grows: the search stays short
    while (kd_names_find(&u->entered, section, name) >= 0 || (ground && k == 2)) {
        kd_text(name + n, sizeof name - n, "_%d", k);
        k = k < 10 || k > u->entered.count ? k + 1 : u->entered.count + 1;
    }
    const char *text = kd_model_text(u->m, name);
    if (!text || kd_names_add(&u->entered, section, text, 0) < 0) {
        keep_failure(u, KD_ERR_MEMORY);
        return "_";
    }
    return text;
}

// The name of a link or joint that was probably meant by an unknown one, as "", or ", did you mean 'arm'?" in text.
static const char *suggest(const importer *u, kd_section section, const char *wanted, char *text, size_t size)
{
    text[0] = '\0';
    if (kd_model_error_count(u->m) > KD_MODEL_MAX_ERRORS) return text; // nobody will see it, and it takes time
    kd_nearest nearest = kd_nearest_start(wanted);
    const int  n = section == KD_SECTION_BODY ? u->nlinks : u->njoints;
    for (int i = 0; i < n; i++) {
        kd_nearest_offer(&nearest, section == KD_SECTION_BODY ? u->link[i].name : u->joint[i].name);
    }
    if (nearest.best) kd_text(text, size, ", did you mean '%.100s'?", nearest.best);
    return text;
}

// A link that an element names; -1: it is not there, which is an error.
static int read_link(importer *u, const kd_xml_element *owner, const char *which)
{
    const kd_xml_element *e = kd_xml_child(owner, which);
    const char           *name = e ? kd_xml_attribute_of(e, "link") : NULL;
    if (!name) {
        complain(u, owner, NULL, "<%s link=\"..\"/> is missing", which);
        return -1;
    }
    report_attributes(u, owner, e, " link ");
    const int i = kd_names_find(&u->names, KD_SECTION_BODY, name);
    if (i >= 0) return i;
    char hint[150];
    complain(u, owner, e, "unknown link '%.100s'%s", name, suggest(u, KD_SECTION_BODY, name, hint, sizeof hint));
    return -1;
}

// ---- collecting links and joints ------------------------------------------------------------------------------------

static bool is(const kd_xml_element *e, const char *name)
{
    return strcmp(e->name, name) == 0;
}

static bool is_joint(const kd_xml_element *e)
{
    return is(e, "joint") || is(e, "closure");
}

// Every name once in its section
static bool enter_name(importer *u, kd_section section, const kd_xml_element *e, int element)
{
    const char *name = kd_xml_attribute_of(e, "name");
    if (!name || !name[0]) {
        complain(u, e, NULL, "it has no name");
        return false;
    }
    if (kd_names_find(&u->names, section, name) >= 0) {
        complain(u, e, NULL, "the name is used twice");
        return false;
    }
    const kd_status status = kd_names_add(&u->names, section, name, element);
    keep_failure(u, status);
    return status >= 0;
}

// All links and joints by name
static void collect(importer *u, const kd_xml_element *robot)
{
    int nlinks = 0, njoints = 0;
    // count, then enter
    for (const kd_xml_element *e = robot->child; e; e = e->next) {
        nlinks += is(e, "link");
        njoints += is_joint(e);
    }
    u->link = kd_arena_cut(&u->arena, (size_t)nlinks, sizeof *u->link);
    u->joint = kd_arena_cut(&u->arena, (size_t)njoints, sizeof *u->joint);
    u->order = kd_cut_int(&u->arena, nlinks);
    if (u->arena.failed) {
        keep_failure(u, KD_ERR_MEMORY);
        return;
    }
    for (const kd_xml_element *e = robot->child; e; e = e->next) {
        if (is(e, "link") && enter_name(u, KD_SECTION_BODY, e, u->nlinks)) {
            u->link[u->nlinks++] = (urdf_link){.xml = e, .name = name_of(e), .joint = -1, .R = kd_mat_identity()};
        } else if (is_joint(e) && enter_name(u, KD_SECTION_JOINT, e, u->njoints)) {
            u->joint[u->njoints++] = (urdf_joint){.xml = e, .name = name_of(e), .closure = is(e, "closure")};
        }
    }
    if (u->nlinks == 0) complain(u, robot, NULL, "it has no links");
}

// ---- inertia --------------------------------------------------------------------------------------------------------

// Mass, centre and inertia in the axes of the link
static void read_inertial(importer *u, urdf_link *link)
{
    const kd_xml_element *owner = link->xml, *e = kd_xml_child(owner, "inertial");
    if (!e) return;
    const kd_xml_element *mass = kd_xml_child(e, "mass"), *inertia = kd_xml_child(e, "inertia");
    static const char    *name[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    double                value[6] = {0};
    kd_mat3               R;
    // what is missing or not understood is reported
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (!is(c, "origin") && !is(c, "mass") && !is(c, "inertia")) {
            report(u, owner, c, "refused: it is no part of an inertia in URDF");
        }
    }
    if (!mass) report(u, owner, e, "converted: without a mass it is 0");
    if (!inertia) report(u, owner, e, "converted: without an inertia it is a point mass");
    if (!read_origin(u, owner, kd_xml_child(e, "origin"), &link->mass.centre, &R)) return;
    if (mass) {
        report_attributes(u, owner, mass, " value ");
        if (!read_numbers(u, owner, mass, "value", 1, &link->mass.mass)) return;
    }
    if (inertia) {
        report_attributes(u, owner, inertia, " ixx iyy izz ixy ixz iyz ");
        for (int i = 0; i < 6; i++) {
            if (!read_numbers(u, owner, inertia, name[i], 1, &value[i])) return;
        }
    }
    // I_link = R I R'
    const kd_sym3 I = {value[0], value[1], value[2], value[3], value[4], value[5]};
    link->mass.inertia = kd_sym_rotate(&R, &I); // the inertia is given in the axes of <origin>
}

static bool is_massless(const urdf_link *link)
{
    const kd_sym3 *I = &link->mass.inertia;
    return link->mass.mass == 0.0 && I->xx == 0.0 && I->yy == 0.0 && I->zz == 0.0;
}

// ---- joints ---------------------------------------------------------------------------------------------------------

// Joints and closures have some types in common
static bool read_kind(importer *u, urdf_joint *j)
{
    static const struct {
        const char   *word;
        kd_joint_kind kind;
        bool          joint, closure;
    } kinds[] = {
        {"fixed", KD_FIXED, true, true},          {"revolute", KD_REVOLUTE, true, true},
        {"continuous", KD_REVOLUTE, true, true},  {"prismatic", KD_PRISMATIC, true, true},
        {"planar", KD_PLANAR, true, true},        {"floating", KD_FREE, true, false},
        {"spherical", KD_SPHERICAL, false, true}, {"cylindrical", KD_CYLINDRICAL, false, true},
    };
    const char *type = kd_xml_attribute_of(j->xml, "type");
    if (!type) {
        complain(u, j->xml, NULL, "its type is missing");
        return false;
    }
    kd_nearest nearest = kd_nearest_start(type);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (j->closure ? !kinds[i].closure : !kinds[i].joint) continue;
        if (strcmp(kinds[i].word, type) == 0) {
            j->kind = kinds[i].kind;
            j->continuous = strcmp(type, "continuous") == 0;
            return true;
        }
        kd_nearest_offer(&nearest, kinds[i].word);
    }
    complain(u, j->xml, NULL, "unknown type '%.60s'%s%s%s", type, nearest.best ? ", did you mean '" : "",
             nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
    return false;
}

static bool read_joint(importer *u, urdf_joint *j)
{
    const kd_xml_element *e = j->xml;
    report_attributes(u, e, e, " name type ");
    const bool kind = read_kind(u, j);
    j->parent = read_link(u, e, "parent");
    j->child = read_link(u, e, "child");
    const bool origin = read_origin(u, e, kd_xml_child(e, "origin"), &j->r, &j->R);
    const bool needs_axis = !kd_joint_form_of(j->kind).ball && kd_joint_form_of(j->kind).ndof > 0;
    j->axes = kd_mat_identity();
    const bool axis = !needs_axis || read_axis(u, e, kd_xml_child(e, "axis"), &j->axes);
    if (j->parent >= 0 && j->parent == j->child) {
        complain(u, e, NULL, "parent and child are both link '%.100s'", u->link[j->parent].name);
        return false;
    }
    return kind && origin && axis && j->parent >= 0 && j->child >= 0;
}

// ---- the tree -------------------------------------------------------------------------------------------------------

// Every link but one has exactly one joint that carries it.
static void connect(importer *u)
{
    // the joint that carries each link
    for (int k = 0; k < u->njoints; k++) {
        urdf_joint *j = &u->joint[k];
        if (!read_joint(u, j) || j->closure) continue;
        urdf_link *child = &u->link[j->child];
        if (child->joint >= 0) {
            complain(u, child->xml, NULL,
                     "it is the child of two joints, '%.100s' and '%.100s'; a loop is closed with "
                     "<closure>",
                     u->joint[child->joint].name, j->name);
        } else {
            child->joint = k;
        }
    }
    if (kd_model_error_count(u->m) > 0) return;
    // the one link that none carries
    u->root = -1;
    for (int i = 0; i < u->nlinks; i++) {
        if (u->link[i].joint >= 0) continue;
        if (u->root >= 0) {
            complain(u, u->link[i].xml, NULL,
                     "no joint carries it, as no joint carries link '%.100s': a robot has one "
                     "root",
                     u->link[u->root].name);
        } else {
            u->root = i;
        }
    }
    if (u->root < 0) complain(u, u->link[0].xml, NULL, "the joints form a circle without a root");
}

// Parents before children: each link is put behind its chain of parents that are not placed yet.
static void sort_links(importer *u)
{
    int n = 0;
    for (int i = 0; i < u->nlinks; i++) {
        // up to a link that is placed, or the root
        int chain = 0, k = i;
        while (k >= 0 && !u->link[k].placed && n + chain < u->nlinks) {
            u->order[n + chain++] = k;
            k = u->link[k].joint >= 0 ? u->joint[u->link[k].joint].parent : -1;
        }
        if (k >= 0 && !u->link[k].placed) { // longer than there are links
            complain(u, u->link[i].xml, NULL, "its joints form a circle that no root carries");
            return;
        }
        // turned round: parents first
        for (int a = n, b = n + chain - 1; a < b; a++, b--) {
            const int x = u->order[a];
            u->order[a] = u->order[b];
            u->order[b] = x;
        }
        for (int a = n; a < n + chain; a++) u->link[u->order[a]].placed = true;
        n += chain;
    }
}

// Poses at coordinates 0, and what is rigid because it has no mass
static void place_links(importer *u)
{
    // root to tips: r = r_parent + R_parent r_joint, R = R_parent R_joint
    for (int k = 0; k < u->nlinks; k++) {
        urdf_link *l = &u->link[u->order[k]];
        l->inert = is_massless(l);
        if (l->joint < 0) continue;
        const urdf_joint *j = &u->joint[l->joint];
        const urdf_link  *p = &u->link[j->parent];
        l->r = kd_vec_add(p->r, kd_mat_vec(&p->R, j->r));
        l->R = kd_mat_mul(&p->R, &j->R);
    }
    // tips to root: what carries a mass is not inert
    for (int k = u->nlinks - 1; k > 0; k--) {
        const urdf_link *l = &u->link[u->order[k]];
        if (l->joint >= 0 && !l->inert) u->link[u->joint[l->joint].parent].inert = false;
    }
    for (int k = 0; k < u->njoints; k++) { // nothing to move: rigid
        urdf_joint *j = &u->joint[k];
        if (!j->closure && j->kind != KD_FIXED && u->link[j->child].inert) {
            report(u, j->xml, NULL, "converted: fixed, because nothing behind it has mass");
            j->kind = KD_FIXED;
        }
    }
}

// ---- bodies ---------------------------------------------------------------------------------------------------------

// "package://NAME/path" in the folders of packages: NAME/path in them, or path in one that is the package itself
static kd_status find_in_packages(const importer *u, const char *written, const char *rest, char path[KD_PATH_LENGTH],
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
static kd_status find_mesh(const importer *u, const char *written, char path[KD_PATH_LENGTH], char *why, size_t size)
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
static const char *name_of_mesh(const importer *u, const char *written, const char *path)
{
    const size_t n = strcmp(u->folder, ".") == 0 ? 0 : strlen(u->folder) + 1;
    const char  *behind = strstr(written, "://");
    const bool   beside = n == 0 ? path[0] != '/' : strncmp(path, u->folder, n - 1) == 0 && path[n - 1] == '/';
    if (beside) return path + n;
    return behind ? behind + 3 : written;
}

// A mesh with one scale for all directions. false: it is not drawn, why says why not.
static bool read_mesh(importer *u, const kd_xml_element *owner, const kd_xml_element *g, kd_shape *shape, char *why,
                      size_t size)
{
    const char *file = kd_xml_attribute_of(g, "filename");
    double      scale[3] = {1.0, 1.0, 1.0};
    char        path[KD_PATH_LENGTH];
    kd_text(why, size, "it has no filename");
    if (!file) return false;
    if (kd_xml_attribute_of(g, "scale") && !read_numbers(u, owner, g, "scale", 3, scale)) return false;
    if (!(scale[0] > 0.0) || scale[0] != scale[1] || scale[0] != scale[2]) {
        kd_text(why, size, "its three scales differ, or are not positive");
        return false;
    }
    kd_status status = find_mesh(u, file, path, why, size);
    if (status == KD_OK) status = kd_model_mesh_read(u->m, path, &shape->read, why, size);
    if (status == KD_ERR_MEMORY) keep_failure(u, status);
    if (status != KD_OK) return false;
    shape->kind = KD_MESH;
    shape->mesh = kd_model_text(u->m, name_of_mesh(u, file, path));
    shape->size[0] = scale[0];
    return true;
}

// Geometry as a shape of the body. false: it is none that kardan draws; *what says which, why (may be "") why not.
static bool read_geometry(importer *u, const kd_xml_element *owner, const kd_xml_element *e, kd_shape *shape,
                          const char **what, char *why, size_t size)
{
    const kd_xml_element *geometry = kd_xml_child(e, "geometry"), *g = geometry ? geometry->child : NULL;
    kd_vec3               r;
    kd_mat3               R;
    *what = g ? g->name : "no geometry";
    why[0] = '\0';
    if (!g || !read_origin(u, owner, kd_xml_child(e, "origin"), &r, &R)) return false;
    *shape = (kd_shape){.kind = KD_SHAPE_NONE};
    bool fine = true;
    if (is(g, "box")) {
        shape->kind = KD_BOX;
        fine = read_numbers(u, owner, g, "size", 3, shape->size);
    } else if (is(g, "sphere")) {
        shape->kind = KD_SPHERE;
        fine = read_numbers(u, owner, g, "radius", 1, shape->size);
    } else if (is(g, "cylinder")) {
        shape->kind = KD_CYLINDER;
        fine = read_numbers(u, owner, g, "radius", 1, shape->size) &&
               read_numbers(u, owner, g, "length", 1, shape->size + 1);
    } else if (is(g, "mesh")) {
        fine = read_mesh(u, owner, g, shape, why, size);
    }
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
static void take_shape(importer *u, const kd_xml_element *owner, const kd_xml_element *e, bool draw, kd_body_def *def)
{
    const char *what;
    char        why[600];
    kd_shape    shape;
    const bool  known = read_geometry(u, owner, e, &shape, &what, why, sizeof why);
    const char *unused = is(e, "collision") ? "; contact between links is not modelled" : "";
    if (!known) {
        report(u, owner, e, "refused: %.60s is not drawn%s%s%s", what, why[0] ? ": " : "", why, unused);
    } else if (!draw) {
        report(u, owner, e, "refused: contact between links is not modelled");
    } else if (!has_size(&shape)) {
        report(u, owner, e, "refused: a %s without size", what);
    } else if (def->nshapes == KD_MAX_SHAPES) {
        report(u, owner, e, "refused: a body has at most %d shapes", KD_MAX_SHAPES);
    } else {
        def->shape[def->nshapes++] = shape;
        report(u, owner, e, "converted: drawn as %s%s", what, unused);
    }
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (is(c, "material")) report(u, owner, c, "refused: colours are not kept");
    }
}

// The shapes that stand for the link: the visual ones; without any of these the ones for collisions
static void read_shapes(importer *u, const kd_xml_element *owner, kd_body_def *def)
{
    for (const kd_xml_element *e = owner->child; e; e = e->next)
        if (is(e, "visual")) take_shape(u, owner, e, true, def);
    const bool visual = def->nshapes > 0;
    for (const kd_xml_element *e = owner->child; e; e = e->next)
        if (is(e, "collision")) take_shape(u, owner, e, !visual, def);
}

// Children of an element that nobody reads.
static void report_children(importer *u, const kd_xml_element *owner, const char *known)
{
    for (const kd_xml_element *e = owner->child; e; e = e->next) {
        char word[64];
        kd_text(word, sizeof word, " %.60s ", e->name);
        if (!strstr(known, word)) {
            report(u, owner, e, "refused: kardan has no use for it");
        } else if (kd_xml_child(owner, e->name) != e && !is(e, "visual") && !is(e, "collision")) {
            report(u, owner, e, "refused: only the first one counts");
        }
    }
}

// The link as a body of the model
static void add_body(importer *u, const urdf_link *l)
{
    const kd_xml_element *e = l->xml;
    kd_body_def           def = kd_body_def_default();
    def.mass = l->mass.mass;
    kd_vec_to(l->mass.centre, def.centre);
    const kd_sym3 *I = &l->mass.inertia;
    memcpy(def.inertia, (double[6]){I->xx, I->yy, I->zz, I->xy, I->xz, I->yz}, sizeof def.inertia);
    kd_vec_to(l->r, def.position);
    kd_quat_to(kd_quat_of_matrix(&l->R), def.orientation);
    if (strcmp(l->body, l->name) == 0) {
        report(u, e, NULL, "taken%s", is_massless(l) ? ": a body without mass" : "");
    } else {
        report(u, e, NULL, "converted: named '%s'%s", l->body, is_massless(l) ? ", a body without mass" : "");
    }
    report_attributes(u, e, e, " name type ");
    read_shapes(u, e, &def);
    report_children(u, e, " inertial visual collision ");
    keep_failure(u, kd_model_at(u->m, u->file, e->line, 0));
    keep_failure(u, kd_model_add_body(u->m, l->body, &def));
}

// ---- parts of joints ------------------------------------------------------------------------------------------------

static kd_place place_on(const importer *u, int link, kd_vec3 r, const kd_mat3 *R)
{
    kd_place place = kd_in(u->link[link].body, r.x, r.y, r.z);
    kd_quat_to(kd_quat_of_matrix(R), place.orientation);
    return place;
}

static bool has_coordinate(const urdf_joint *j)
{
    return kd_joint_form_of(j->kind).ndof == 1;
}

// Position limits as stops; the start moves to the nearest limit if 0 is outside.
static void take_limit(importer *u, const urdf_joint *j, const kd_xml_element *e, kd_joint_def *def)
{
    double lower = 0.0, upper = 0.0;
    report_attributes(u, j->xml, e, " lower upper effort velocity ");
    if (!read_numbers(u, j->xml, e, "lower", 1, &lower) || !read_numbers(u, j->xml, e, "upper", 1, &upper)) return;
    if (j->continuous) {
        report(u, j->xml, e, "refused: a continuous joint has no limits; effort and velocity belong to drives");
    } else if (!has_coordinate(j)) {
        report(u, j->xml, e, "refused: only revolute and prismatic joints have limits");
    } else if (!(lower <= upper)) {
        complain(u, j->xml, e, "the lower limit %g is above the upper %g", lower, upper);
    } else if (u->opt->limit_stiffness > 0.0) {
        kd_force_def stop = kd_force_def_default(KD_JOINT_STOP);
        stop.joint = j->model_name;
        stop.stop.stiffness = u->opt->limit_stiffness;
        stop.stop.lower = lower;
        stop.stop.upper = upper;
        // the start at the limit that is nearer
        const bool outside = lower > 0.0 || upper < 0.0;
        if (outside) def->q[0] = lower > 0.0 ? lower : upper;
        const char *name = make_name(u, KD_SECTION_FORCE, j->name, "_stop");
        report(u, j->xml, e, "converted: stops at %g and %g, force '%s'%s; effort and velocity are not limited", lower,
               upper, name, outside ? ", start at the limit, because 0 is outside" : "");
        keep_failure(u, kd_model_add_force(u->m, name, &stop));
    } else {
        report(u, j->xml, e,
               "refused: %g to %g, because stops need a stiffness (limit_stiffness)%s; drives are not modelled", lower,
               upper, lower > 0.0 || upper < 0.0 ? "; the start at 0 is outside" : "");
    }
}

// Damping and friction as force elements of the joint
static void take_dynamics(importer *u, const urdf_joint *j, const kd_xml_element *e)
{
    double damping = 0.0, friction = 0.0;
    report_attributes(u, j->xml, e, " damping friction ");
    if (!read_numbers(u, j->xml, e, "damping", 1, &damping) || !read_numbers(u, j->xml, e, "friction", 1, &friction)) {
        return;
    }
    if (damping == 0.0 && friction == 0.0) {
        report(u, j->xml, e, "taken: damping and friction are 0");
        return;
    }
    if (!has_coordinate(j)) {
        report(u, j->xml, e, "refused: only revolute and prismatic joints have damping and friction");
        return;
    }
    if (damping < 0.0 || friction < 0.0) {
        complain(u, j->xml, e, "damping %g and friction %g must not be negative", damping, friction);
        return;
    }
    // a damper and a friction element in the joint
    if (damping > 0.0) {
        kd_force_def f = kd_force_def_default(KD_JOINT_SPRING);
        f.joint = j->model_name;
        f.spring.damping = damping;
        const char *name = make_name(u, KD_SECTION_FORCE, j->name, "_damping");
        report(u, j->xml, e, "converted: damping %g, force '%s'", damping, name);
        keep_failure(u, kd_model_add_force(u->m, name, &f));
    }
    if (friction > 0.0) {
        kd_force_def f = kd_force_def_default(KD_JOINT_FRICTION);
        f.joint = j->model_name;
        f.friction.coulomb = friction;
        const char *name = make_name(u, KD_SECTION_FORCE, j->name, "_friction");
        report(u, j->xml, e, "converted: friction %g, force '%s'", friction, name);
        keep_failure(u, kd_model_add_force(u->m, name, &f));
    }
}

// q = multiplier * q_other + offset
static void take_mimic(importer *u, const urdf_joint *j, const kd_xml_element *e)
{
    const char *other = kd_xml_attribute_of(e, "joint");
    double      multiplier = 1.0, offset = 0.0;
    report_attributes(u, j->xml, e, " joint multiplier offset ");
    if (!read_numbers(u, j->xml, e, "multiplier", 1, &multiplier)) return;
    if (!read_numbers(u, j->xml, e, "offset", 1, &offset)) return;
    const int k = other ? kd_names_find(&u->names, KD_SECTION_JOINT, other) : -1;
    if (k < 0) {
        char        hint[150];
        const char *wanted = other ? other : "";
        complain(u, j->xml, e, "unknown joint '%.100s'%s", wanted,
                 suggest(u, KD_SECTION_JOINT, wanted, hint, sizeof hint));
        return;
    }
    if (!has_coordinate(j) || !has_coordinate(&u->joint[k])) {
        report(u, j->xml, e, "refused: joint '%.100s' has no coordinate to follow with",
               has_coordinate(j) ? other : j->name);
        return;
    }
    if (&u->joint[k] == j) {
        complain(u, j->xml, e, "the joint follows itself");
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
    const char *name = make_name(u, KD_SECTION_CONSTRAINT, j->name, "_mimic");
    report(u, j->xml, e, "converted: coupling with joint '%.100s', constraint '%s'", other, name);
    keep_failure(u, kd_model_add_constraint(u->m, name, &c));
}

static void take_parts(importer *u, const urdf_joint *j, kd_joint_def *def)
{
    const kd_xml_element *e = j->xml;
    const kd_xml_element *limit = kd_xml_child(e, "limit"), *dynamics = kd_xml_child(e, "dynamics");
    const kd_xml_element *mimic = kd_xml_child(e, "mimic");
    if (limit) take_limit(u, j, limit, def);
    if (dynamics) take_dynamics(u, j, dynamics);
    if (mimic) take_mimic(u, j, mimic);
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (is(c, "safety_controller")) report(u, e, c, "refused: controllers are not modelled");
        if (is(c, "calibration")) report(u, e, c, "refused: it says nothing about the motion");
    }
    report_children(u, e, " origin parent child axis limit dynamics mimic safety_controller calibration ");
}

// ---- joints in the model --------------------------------------------------------------------------------------------

static void report_joint(importer *u, const urdf_joint *j)
{
    if (strcmp(j->model_name, j->name) != 0) {
        report(u, j->xml, NULL, "converted: named '%s'", j->model_name);
    } else if (j->continuous) {
        report(u, j->xml, NULL, "converted: revolute without limits");
    } else if (j->kind == KD_FREE) {
        report(u, j->xml, NULL, "converted: free");
    } else {
        report(u, j->xml, NULL, "taken");
    }
}

static void add_joint(importer *u, const urdf_joint *j)
{
    kd_joint_def  def = kd_joint_def_default(j->kind);
    const kd_mat3 from = kd_mat_mul(&j->R, &j->axes);
    def.from = place_on(u, j->parent, j->r, &from);
    def.to = place_on(u, j->child, kd_vec(0, 0, 0), &j->axes);
    report_joint(u, j);
    keep_failure(u, kd_model_at(u->m, u->file, j->xml->line, 0));
    take_parts(u, j, &def);
    keep_failure(u, kd_model_add_joint(u->m, j->model_name, &def));
}

// A joint that closes a loop
static void add_closure(importer *u, const urdf_joint *j)
{
    const kd_xml_element *own = kd_xml_child(j->xml, "child_origin");
    const urdf_link      *a = &u->link[j->parent], *b = &u->link[j->child];
    kd_vec3               r;
    kd_mat3               R;
    if (!read_origin(u, j->xml, own, &r, &R)) return;
    if (!own) { // the same place in the world, at coordinates 0
        const kd_vec3 p = kd_vec_add(a->r, kd_mat_vec(&a->R, j->r));
        const kd_mat3 P = kd_mat_mul(&a->R, &j->R);
        r = kd_mat_tvec(&b->R, kd_vec_sub(p, b->r));
        R = kd_mat_tmul(&b->R, &P);
    }
    kd_joint_def  def = kd_joint_def_default(j->kind);
    const kd_mat3 from = kd_mat_mul(&j->R, &j->axes), to = kd_mat_mul(&R, &j->axes);
    def.from = place_on(u, j->parent, j->r, &from);
    def.to = place_on(u, j->child, r, &to);
    def.cut = KD_CUT_YES;
    report_joint(u, j);
    report_children(u, j->xml, " origin parent child axis child_origin ");
    keep_failure(u, kd_model_at(u->m, u->file, j->xml->line, 0));
    keep_failure(u, kd_model_add_joint(u->m, j->model_name, &def));
}

// The root on the ground
static void add_base(importer *u)
{
    const urdf_link *root = &u->link[u->root];
    kd_joint_def     def = kd_joint_def_default(u->opt->free_base ? KD_FREE : KD_FIXED);
    def.from = kd_at("ground", 0, 0, 0);
    def.to = kd_in(root->body, 0, 0, 0);
    const char *name = make_name(u, KD_SECTION_JOINT, root->name, "_base");
    say_piece(u, "root link '%.100s': %s the ground, joint '%s'\n", root->name,
              u->opt->free_base ? "free to move over" : "fixed to", name);
    keep_failure(u, kd_model_at(u->m, u->file, root->xml->line, 0));
    keep_failure(u, kd_model_add_joint(u->m, name, &def));
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static void report_other(importer *u, const kd_xml_element *e)
{
    char inside[60] = "";
    if (e->ninside > 0) {
        kd_text(inside, sizeof inside, ", with %d element%s inside", e->ninside, e->ninside == 1 ? "" : "s");
    }
    const char *reason = "unknown element";
    kd_nearest  nearest = kd_nearest_start(e->name);
    if (is(e, "transmission")) {
        reason = "drives are not modelled";
    } else if (is(e, "gazebo") || is(e, "sensor") || is(e, "contact") || is(e, "mujoco")) {
        reason = "settings of a simulator";
    } else if (is(e, "material")) {
        reason = "colours are not kept";
    } else if (strncmp(e->name, "xacro:", 6) == 0) {
        reason = "a macro; run the file through xacro first";
    } else {
        static const char *const known[] = {"link", "joint", "closure", "transmission", "material", "gazebo"};
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) kd_nearest_offer(&nearest, known[i]);
    }
    const char *reference = kd_xml_attribute_of(e, "reference");
    say_piece(u, "line %d: %.60s '%.100s': refused: %s%s%s%s%s\n", e->line, e->name, reference ? reference : name_of(e),
              reason, nearest.best ? ", did you mean '" : "", nearest.best ? nearest.best : "",
              nearest.best ? "'?" : "", inside);
}

static void build_model(importer *u, const kd_xml_element *robot)
{
    // names first: elements refer to each other
    for (int i = 0; i < u->nlinks; i++) u->link[i].body = make_name(u, KD_SECTION_BODY, u->link[i].name, "");
    for (int i = 0; i < u->njoints; i++) {
        u->joint[i].model_name = make_name(u, KD_SECTION_JOINT, u->joint[i].name, "");
    }
    // bodies, joints, the base, then what was not understood
    for (int i = 0; i < u->nlinks; i++) add_body(u, &u->link[i]);
    for (int i = 0; i < u->njoints; i++) {
        if (u->joint[i].closure) {
            add_closure(u, &u->joint[i]);
        } else {
            add_joint(u, &u->joint[i]);
        }
    }
    add_base(u);
    for (const kd_xml_element *e = robot->child; e; e = e->next) {
        if (!is(e, "link") && !is_joint(e)) report_other(u, e);
    }
}

static void import(importer *u, const char *text, size_t length)
{
    kd_xml_element *robot = NULL;
    int             line = 0;
    char            why[300] = "";
    const kd_status status = kd_xml_read(text, length, &u->arena, &robot, &line, why, sizeof why);
    if (status < 0) {
        const kd_source source = {u->file, line, 0, 0};
        kd_model_error_at(u->m, &source, "%s", why);
        keep_failure(u, status);
        return;
    }
    if (!is(robot, "robot")) {
        complain(u, robot, NULL, "a URDF file has the root element <robot>");
        return;
    }
    keep_failure(u, kd_model_set_title(u->m, name_of(robot)));
    keep_failure(u, kd_model_set_gravity(u->m, u->opt->gravity));
    collect(u, robot);
    if (u->status < 0 || kd_model_error_count(u->m) > 0) return;
    say_piece(u, "robot '%.100s': %d links, %d joints and closures\n", name_of(robot), u->nlinks, u->njoints);
    report_attributes(u, robot, robot, " name version ");
    for (int i = 0; i < u->nlinks; i++) read_inertial(u, &u->link[i]);
    connect(u);
    if (u->status < 0 || kd_model_error_count(u->m) > 0) return;
    sort_links(u);
    if (kd_model_error_count(u->m) > 0) return;
    place_links(u);
    build_model(u, robot);
}

kd_urdf_options kd_urdf_options_default(void)
{
    return (kd_urdf_options){
        .free_base = false, .gravity = {0.0, 0.0, -9.81}, .limit_stiffness = 0.0, .cookie = KD_OPTIONS_COOKIE};
}

static kd_status read_text(const char *name, const char *folder, const char *text, size_t length,
                           const kd_urdf_options *opt, kd_model **model, char *report_text, size_t report_size,
                           char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    kd_text(report_text, report_size, "%s", "");
    if (!model) return KD_ERR_ARGUMENT;
    *model = NULL;
    if (!name || !text) return KD_ERR_ARGUMENT;
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_urdf_options", message, size)) return KD_ERR_ARGUMENT;
    if (opt && opt->npackages > 0 && !opt->package) return KD_ERR_ARGUMENT;
    const kd_urdf_options defaults = kd_urdf_options_default();
    importer              u = {.file = name,
                               .folder = folder,
                               .opt = opt ? opt : &defaults,
                               .report = report_text,
                               .report_size = report_text ? report_size : 0};
    kd_status             status = kd_model_create(&u.m);
    if (status < 0) return status;
    import(&u, text, length);
    status = u.status;
    if (status >= 0) status = kd_model_error_count(u.m) > 0 ? KD_ERR_MODEL : kd_model_finish(u.m);
    if (status < 0) {
        kd_text(message, size, "%s", kd_model_message(u.m));
        if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", name);
        kd_model_destroy(u.m);
    } else {
        *model = u.m;
    }
    kd_names_release(&u.names);
    kd_names_release(&u.entered);
    kd_arena_release(&u.arena);
    return status;
}

kd_status kd_model_read_urdf_text(const char *name, const char *text, size_t length, const kd_urdf_options *opt,
                                  kd_model **model, char *report_text, size_t report_size, char *message, size_t size)
{
    return read_text(name, NULL, text, length, opt, model, report_text, report_size, message, size);
}

kd_status kd_model_read_urdf(const char *path, const kd_urdf_options *opt, kd_model **model, char *report_text,
                             size_t report_size, char *message, size_t size)
{
    kd_text(message, size, "%s", "");
    kd_text(report_text, report_size, "%s", "");
    if (!model) return KD_ERR_ARGUMENT;
    *model = NULL;
    if (!path) return KD_ERR_ARGUMENT;
    char     *text = NULL, folder[KD_PATH_LENGTH];
    size_t    length = 0;
    kd_status status = kd_load_file(path, KD_XML_MAX_BYTES, &text, &length, message, size);
    if (status >= 0) {
        const bool has_folder = kd_folder_of(path, folder) == KD_OK;
        status = read_text(path, has_folder ? folder : NULL, text, length, opt, model, report_text, report_size,
                           message, size);
    }
    kd_free(text);
    return status;
}
