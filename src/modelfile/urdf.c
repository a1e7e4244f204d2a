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
#include "modelfile/urdf.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/load.h"
#include "core/option.h"
#include "core/text.h"
#include "modelfile/paths.h"

// ---- names ----------------------------------------------------------------------------------------------------------

// A name that the model accepts and that is new in its section: wrong letters become '_'.
const char *kd_urdf_make_name(kd_urdf *u, kd_section section, const char *wanted, const char *suffix)
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
        kd_urdf_keep_failure(u, KD_ERR_MEMORY);
        return "_";
    }
    return text;
}

// The name of a link or joint that was probably meant by an unknown one, as "", or ", did you mean 'arm'?" in text.
const char *kd_urdf_suggest(const kd_urdf *u, kd_section section, const char *wanted, char *text, size_t size)
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
static int read_link(kd_urdf *u, const kd_xml_element *owner, const char *which)
{
    const kd_xml_element *e = kd_xml_child(owner, which);
    const char           *name = e ? kd_xml_attribute_of(e, "link") : NULL;
    if (!name) {
        kd_urdf_complain(u, owner, NULL, "<%s link=\"..\"/> is missing", which);
        return -1;
    }
    kd_urdf_report_attributes(u, owner, e, " link ");
    const int i = kd_names_find(&u->names, KD_SECTION_BODY, name);
    if (i >= 0) return i;
    char hint[150];
    kd_urdf_complain(u, owner, e, "unknown link '%.100s'%s", name,
                     kd_urdf_suggest(u, KD_SECTION_BODY, name, hint, sizeof hint));
    return -1;
}

// ---- collecting links and joints ------------------------------------------------------------------------------------

bool kd_urdf_is(const kd_xml_element *e, const char *name)
{
    return strcmp(e->name, name) == 0;
}

static bool is_joint(const kd_xml_element *e)
{
    return kd_urdf_is(e, "joint") || kd_urdf_is(e, "closure");
}

// Every name once in its section
static bool enter_name(kd_urdf *u, kd_section section, const kd_xml_element *e, int element)
{
    const char *name = kd_xml_attribute_of(e, "name");
    if (!name || !name[0]) {
        kd_urdf_complain(u, e, NULL, "it has no name");
        return false;
    }
    if (kd_names_find(&u->names, section, name) >= 0) {
        kd_urdf_complain(u, e, NULL, "the name is used twice");
        return false;
    }
    const kd_status status = kd_names_add(&u->names, section, name, element);
    kd_urdf_keep_failure(u, status);
    return status >= 0;
}

// All links and joints by name
static void collect(kd_urdf *u, const kd_xml_element *robot)
{
    int nlinks = 0, njoints = 0;
    // count, then enter
    for (const kd_xml_element *e = robot->child; e; e = e->next) {
        nlinks += kd_urdf_is(e, "link");
        njoints += is_joint(e);
    }
    u->link = kd_arena_cut(&u->arena, (size_t)nlinks, sizeof *u->link);
    u->joint = kd_arena_cut(&u->arena, (size_t)njoints, sizeof *u->joint);
    u->order = kd_cut_int(&u->arena, nlinks);
    if (u->arena.failed) {
        kd_urdf_keep_failure(u, KD_ERR_MEMORY);
        return;
    }
    // entries are made when their names are free
    for (const kd_xml_element *e = robot->child; e; e = e->next) {
        if (kd_urdf_is(e, "link") && enter_name(u, KD_SECTION_BODY, e, u->nlinks)) {
            u->link[u->nlinks++] =
                (kd_urdf_link){.xml = e, .name = kd_urdf_name_of(e), .joint = -1, .R = kd_mat_identity()};
        } else if (is_joint(e) && enter_name(u, KD_SECTION_JOINT, e, u->njoints)) {
            u->joint[u->njoints++] =
                (kd_urdf_joint){.xml = e, .name = kd_urdf_name_of(e), .closure = kd_urdf_is(e, "closure")};
        }
    }
    if (u->nlinks == 0) kd_urdf_complain(u, robot, NULL, "it has no links");
}

// ---- inertia --------------------------------------------------------------------------------------------------------

// Mass, centre and inertia in the axes of the link
static void read_inertial(kd_urdf *u, kd_urdf_link *link)
{
    const kd_xml_element *owner = link->xml, *e = kd_xml_child(owner, "inertial");
    if (!e) return;
    const kd_xml_element *mass = kd_xml_child(e, "mass"), *inertia = kd_xml_child(e, "inertia");
    static const char    *name[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
    double                value[6] = {0};
    kd_mat3               R;
    // what is missing or not understood is reported
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (!kd_urdf_is(c, "origin") && !kd_urdf_is(c, "mass") && !kd_urdf_is(c, "inertia")) {
            kd_urdf_report(u, owner, c, "refused: it is no part of an inertia in URDF");
        }
    }
    if (!mass) kd_urdf_report(u, owner, e, "converted: without a mass it is 0");
    if (!inertia) kd_urdf_report(u, owner, e, "converted: without an inertia it is a point mass");
    // centre and axes are those of <origin>
    if (!kd_urdf_read_origin(u, owner, kd_xml_child(e, "origin"), &link->mass.centre, &R)) return;
    // numbers, and attributes that have no meaning here
    if (mass) {
        kd_urdf_report_attributes(u, owner, mass, " value ");
        if (!kd_urdf_read_numbers(u, owner, mass, "value", 1, &link->mass.mass)) return;
    }
    if (inertia) {
        kd_urdf_report_attributes(u, owner, inertia, " ixx iyy izz ixy ixz iyz ");
        for (int i = 0; i < 6; i++) {
            if (!kd_urdf_read_numbers(u, owner, inertia, name[i], 1, &value[i])) return;
        }
    }
    // I_link = R I R'
    const kd_sym3 I = {value[0], value[1], value[2], value[3], value[4], value[5]};
    link->mass.inertia = kd_sym_rotate(&R, &I); // the inertia is given in the axes of <origin>
}

bool kd_urdf_is_massless(const kd_urdf_link *link)
{
    const kd_sym3 *I = &link->mass.inertia;
    return link->mass.mass == 0.0 && I->xx == 0.0 && I->yy == 0.0 && I->zz == 0.0;
}

// ---- joints ---------------------------------------------------------------------------------------------------------

// Joints and closures have some types in common
static bool read_kind(kd_urdf *u, kd_urdf_joint *j)
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
        kd_urdf_complain(u, j->xml, NULL, "its type is missing");
        return false;
    }
    // words that this element may use, and the nearest of them
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
    kd_urdf_complain(u, j->xml, NULL, "unknown type '%.60s'%s%s%s", type, nearest.best ? ", did you mean '" : "",
                     nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
    return false;
}

static bool read_joint(kd_urdf *u, kd_urdf_joint *j)
{
    const kd_xml_element *e = j->xml;
    kd_urdf_report_attributes(u, e, e, " name type ");
    const bool kind = read_kind(u, j);
    j->parent = read_link(u, e, "parent");
    j->child = read_link(u, e, "child");
    const bool origin = kd_urdf_read_origin(u, e, kd_xml_child(e, "origin"), &j->r, &j->R);
    const bool needs_axis = !kd_joint_form_of(j->kind).ball && kd_joint_form_of(j->kind).ndof > 0;
    j->axes = kd_mat_identity();
    const bool axis = !needs_axis || kd_urdf_read_axis(u, e, kd_xml_child(e, "axis"), &j->axes);
    if (j->parent >= 0 && j->parent == j->child) {
        kd_urdf_complain(u, e, NULL, "parent and child are both link '%.100s'", u->link[j->parent].name);
        return false;
    }
    return kind && origin && axis && j->parent >= 0 && j->child >= 0;
}

// ---- the tree -------------------------------------------------------------------------------------------------------

// Every link but one has exactly one joint that carries it.
static void connect(kd_urdf *u)
{
    // the joint that carries each link
    for (int k = 0; k < u->njoints; k++) {
        kd_urdf_joint *j = &u->joint[k];
        if (!read_joint(u, j) || j->closure) continue;
        kd_urdf_link *child = &u->link[j->child];
        if (child->joint >= 0) {
            kd_urdf_complain(u, child->xml, NULL,
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
            kd_urdf_complain(u, u->link[i].xml, NULL,
                             "no joint carries it, as no joint carries link '%.100s': a robot has one "
                             "root",
                             u->link[u->root].name);
        } else {
            u->root = i;
        }
    }
    if (u->root < 0) kd_urdf_complain(u, u->link[0].xml, NULL, "the joints form a circle without a root");
}

// Parents before children: each link is put behind its chain of parents that are not placed yet.
static void sort_links(kd_urdf *u)
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
            kd_urdf_complain(u, u->link[i].xml, NULL, "its joints form a circle that no root carries");
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
static void place_links(kd_urdf *u)
{
    // root to tips: r = r_parent + R_parent r_joint, R = R_parent R_joint
    for (int k = 0; k < u->nlinks; k++) {
        kd_urdf_link *l = &u->link[u->order[k]];
        l->inert = kd_urdf_is_massless(l);
        if (l->joint < 0) continue;
        const kd_urdf_joint *j = &u->joint[l->joint];
        const kd_urdf_link  *p = &u->link[j->parent];
        l->r = kd_vec_add(p->r, kd_mat_vec(&p->R, j->r));
        l->R = kd_mat_mul(&p->R, &j->R);
    }
    // tips to root: what carries a mass is not inert
    for (int k = u->nlinks - 1; k > 0; k--) {
        const kd_urdf_link *l = &u->link[u->order[k]];
        if (l->joint >= 0 && !l->inert) u->link[u->joint[l->joint].parent].inert = false;
    }
    for (int k = 0; k < u->njoints; k++) { // nothing to move: rigid
        kd_urdf_joint *j = &u->joint[k];
        if (!j->closure && j->kind != KD_FIXED && u->link[j->child].inert) {
            kd_urdf_report(u, j->xml, NULL, "converted: fixed, because nothing behind it has mass");
            j->kind = KD_FIXED;
        }
    }
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static void report_other(kd_urdf *u, const kd_xml_element *e)
{
    char inside[60] = "";
    // what is inside is refused with it: told as a count
    if (e->ninside > 0) {
        kd_text(inside, sizeof inside, ", with %d element%s inside", e->ninside, e->ninside == 1 ? "" : "s");
    }
    const char *reason = "unknown element";
    kd_nearest  nearest = kd_nearest_start(e->name);
    // a reason for elements that are known, the nearest name for others
    if (kd_urdf_is(e, "transmission")) {
        reason = "drives are not modelled";
    } else if (kd_urdf_is(e, "gazebo") || kd_urdf_is(e, "sensor") || kd_urdf_is(e, "contact") ||
               kd_urdf_is(e, "mujoco")) {
        reason = "settings of a simulator";
    } else if (kd_urdf_is(e, "material")) {
        reason = "colours are not kept";
    } else if (strncmp(e->name, "xacro:", 6) == 0) {
        reason = "a macro; run the file through xacro first";
    } else {
        static const char *const known[] = {"link", "joint", "closure", "transmission", "material", "gazebo"};
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) kd_nearest_offer(&nearest, known[i]);
    }
    const char *reference = kd_xml_attribute_of(e, "reference");
    kd_urdf_say_piece(u, "line %d: %.60s '%.100s': refused: %s%s%s%s%s\n", e->line, e->name,
                      reference ? reference : kd_urdf_name_of(e), reason, nearest.best ? ", did you mean '" : "",
                      nearest.best ? nearest.best : "", nearest.best ? "'?" : "", inside);
}

static void build_model(kd_urdf *u, const kd_xml_element *robot)
{
    // names first: elements refer to each other
    for (int i = 0; i < u->nlinks; i++) u->link[i].body = kd_urdf_make_name(u, KD_SECTION_BODY, u->link[i].name, "");
    for (int i = 0; i < u->njoints; i++) {
        u->joint[i].model_name = kd_urdf_make_name(u, KD_SECTION_JOINT, u->joint[i].name, "");
    }
    // bodies, joints, the base, then what was not understood
    for (int i = 0; i < u->nlinks; i++) kd_urdf_add_body(u, &u->link[i]);
    for (int i = 0; i < u->njoints; i++) {
        if (u->joint[i].closure) {
            kd_urdf_add_closure(u, &u->joint[i]);
        } else {
            kd_urdf_add_joint(u, &u->joint[i]);
        }
    }
    kd_urdf_add_base(u);
    for (const kd_xml_element *e = robot->child; e; e = e->next) {
        if (!kd_urdf_is(e, "link") && !is_joint(e)) report_other(u, e);
    }
}

static void import(kd_urdf *u, const char *text, size_t length)
{
    kd_xml_element *robot = NULL;
    int             line = 0;
    char            why[300] = "";
    // a tree of elements, or the line where the text is none
    const kd_status status = kd_xml_read(text, length, &u->arena, &robot, &line, why, sizeof why);
    if (status < 0) {
        const kd_source source = {u->file, line, 0, 0};
        kd_model_error_at(u->m, &source, "%s", why);
        kd_urdf_keep_failure(u, status);
        return;
    }
    if (!kd_urdf_is(robot, "robot")) {
        kd_urdf_complain(u, robot, NULL, "a URDF file has the root element <robot>");
        return;
    }
    // the robot gives title, gravity and the table of its parts
    kd_urdf_keep_failure(u, kd_model_set_title(u->m, kd_urdf_name_of(robot)));
    kd_urdf_keep_failure(u, kd_model_set_gravity(u->m, u->opt->gravity));
    collect(u, robot);
    if (u->status < 0 || kd_model_error_count(u->m) > 0) return;
    kd_urdf_say_piece(u, "robot '%.100s': %d links, %d joints and closures\n", kd_urdf_name_of(robot), u->nlinks,
                      u->njoints);
    kd_urdf_report_attributes(u, robot, robot, " name version ");
    // masses, then the tree of links
    for (int i = 0; i < u->nlinks; i++) read_inertial(u, &u->link[i]);
    connect(u);
    if (u->status < 0 || kd_model_error_count(u->m) > 0) return;
    // from the root outwards: each place follows from that of its parent
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
    // answers are empty until there are some
    kd_text(message, size, "%s", "");
    kd_text(report_text, report_size, "%s", "");
    if (!model) return KD_ERR_ARGUMENT;
    *model = NULL;
    if (!name || !text) return KD_ERR_ARGUMENT;
    if (!kd_options_made(opt, opt ? opt->cookie : 0, "kd_urdf_options", message, size)) return KD_ERR_ARGUMENT;
    if (opt && opt->npackages > 0 && !opt->package) return KD_ERR_ARGUMENT;
    // options as given, or all defaults
    const kd_urdf_options defaults = kd_urdf_options_default();
    kd_urdf               u = {.file = name,
                               .folder = folder,
                               .opt = opt ? opt : &defaults,
                               .report = report_text,
                               .report_size = report_text ? report_size : 0};
    kd_status             status = kd_model_create(&u.m);
    if (status < 0) return status;
    // what is wrong is collected; the model is finished only without it
    import(&u, text, length);
    status = u.status;
    if (status >= 0) status = kd_model_error_count(u.m) > 0 ? KD_ERR_MODEL : kd_model_finish(u.m);
    // messages of the model are those of the file
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
