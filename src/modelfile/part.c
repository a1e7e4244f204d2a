// part.c: part files.
//
//     part: connecting rod
//     structure: {stiffness: rod.sti, mass: rod.mas, dofs: rod.dof, nodes: rod.inp}     # or points: and beams:, or sid: FILE
//     interfaces:
//       big_end: {nodes: LEFT, point: [0, 0, 0]}
//     reduction: {kind: fixed, band: 1500 Hz, tolerance: 1e-4}
//     reference: {tangent: big_end}                                                     # {chord: [a, b]}, mean
//     damping: 0.01
// Files are looked for beside the part file. Everything that is wrong is told with its line, then nothing is made.
#include "modelfile/part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/load.h"
#include "core/nearest.h"
#include "core/pi.h"
#include "core/read_number.h"
#include "core/text.h"
#include "expr/quantity.h"
#include "flexible/beams.h"
#include "flexible/sid.h"
#include "modelfile/document.h"
#include "modelfile/paths.h"

enum {
    MOST_BYTES = 1 << 22,
    MOST_INTERFACES = 100,
    MOST_POINTS = 10000,
    MOST_BEAMS = 10000,
    MOST_RESPONSES = 50,
    MOST_ELEMENTS = 2000
};

typedef struct part_reader {
    kd_file_findings findings;
    kd_document      document;
    const char      *folder;
    kd_part_report  *report;
    kd_arena         arena;
    kd_fe_structure  structure;
    int              piece, pieces; // which of the pieces of a row of beams; pieces 1: all of it
    int              first, last;   // points at both ends of the piece
    const kd_node   *materials;     // of the file, or of the one that it includes; NULL: none
    kd_document      included;
} part_reader;

// ---- nodes of the file ----------------------------------------------------------------------------------------------

static void complain(part_reader *p, const kd_node *node, const char *what, const char *word)
{
    p->findings.at = node ? node->file : NULL; // the file that it includes has a name of its own
    kd_file_findings_add(&p->findings, node ? node->line : 0, node ? node->column : 0, "%s%s%s%s", what,
                         word ? " '" : "", word ? word : "", word ? "'" : "");
    p->findings.at = NULL;
}

static bool is_wrong(const part_reader *p)
{
    return p->findings.count > 0;
}

// A map whose keys are all known
static bool check_keys(part_reader *p, const kd_node *map, const char *const *keys, int nkeys)
{
    if (map->type != KD_NODE_MAP) {
        complain(p, map, "keys and values are expected here", NULL);
        return false;
    }
    for (int i = 0; i < map->n; i++) {
        const kd_node *key = &map->item[2 * i];
        bool           known = false;
        for (int k = 0; k < nkeys; k++) known = known || strcmp(key->text, keys[k]) == 0;
        if (known) continue;
        const char *meant = kd_nearest_word(key->text, keys, nkeys);
        kd_file_findings_add(&p->findings, key->line, key->column, "'%s' is not known here%s%s%s", key->text,
                             meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
    }
    return true;
}
#define CHECK_KEYS(p, map, keys) check_keys(p, map, keys, (int)(sizeof(keys) / sizeof(keys)[0]))

static const char *nearest_key(const kd_node *map, const char *word)
{
    kd_nearest nearest = kd_nearest_start(word);
    for (int i = 0; i < map->n; i++) kd_nearest_offer(&nearest, map->item[2 * i].text);
    return nearest.best;
}

static const char *text_of(part_reader *p, const kd_node *map, const char *key)
{
    const kd_node *node = kd_node_find(map, key);
    if (!node) return NULL;
    if (node->type == KD_NODE_SCALAR && node->text[0]) return node->text;
    complain(p, node, "a word is expected for", key);
    return NULL;
}

// A number, with a unit or without
static bool number_of_node(part_reader *p, const kd_node *node, const char *key, const char *unit, double *value)
{
    char *end;
    if (node->type == KD_NODE_SCALAR) {
        *value = kd_read_number(node->text, &end);
        if (end != node->text && *end == '\0' && isfinite(*value)) return true;
        const kd_quantity q = kd_quantity_read(node->text, unit, NULL);
        if (q.kind == KD_QUANTITY_GOOD && isfinite(q.value)) {
            *value = q.value;
            return true;
        }
        if (q.kind == KD_QUANTITY_WRONG) {
            complain(p, node, q.text, NULL);
            return false;
        }
    }
    complain(p, node, "a number is expected for", key);
    return false;
}

// The number of a key; `otherwise` where it is not there
static double number_of(part_reader *p, const kd_node *map, const char *key, const char *unit, double otherwise)
{
    const kd_node *node = kd_node_find(map, key);
    double         value;
    return node && number_of_node(p, node, key, unit, &value) ? value : otherwise;
}

static int count_of(part_reader *p, const kd_node *map, const char *key, int least, int most, int otherwise)
{
    const kd_node *node = kd_node_find(map, key);
    const double   value = number_of(p, map, key, "", otherwise);
    if (!node) return otherwise;
    if (value == floor(value) && value >= least && value <= most) return (int)value;
    kd_file_findings_add(&p->findings, node->line, node->column, "%s must be a whole number from %d to %d", key, least,
                         most);
    return otherwise;
}

static bool flag_of(part_reader *p, const kd_node *map, const char *key, bool otherwise)
{
    const kd_node *node = kd_node_find(map, key);
    if (!node) return otherwise;
    if (node->type == KD_NODE_SCALAR && strcmp(node->text, "true") == 0) return true;
    if (node->type == KD_NODE_SCALAR && strcmp(node->text, "false") == 0) return false;
    complain(p, node, "true or false is expected for", key);
    return otherwise;
}

static bool vector_of(part_reader *p, const kd_node *node, const char *key, const char *unit, int n, double *value)
{
    if (node->type != KD_NODE_LIST || node->n != n) {
        kd_file_findings_add(&p->findings, node->line, node->column, "%s needs %d numbers", key, n);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!number_of_node(p, &node->item[i], key, unit, &value[i])) return false;
    return true;
}

// The path of a file beside the part, in memory of the reader; NULL: not given, or complained of
static const char *path_of(part_reader *p, const kd_node *map, const char *key)
{
    const kd_node *node = kd_node_find(map, key);
    const char    *written = text_of(p, map, key);
    char           why[300], *path = kd_arena_cut(&p->arena, KD_PATH_LENGTH, 1);
    if (!written || !path) return NULL;
    if (kd_model_file_path(p->folder, written, path, why, sizeof why) == KD_OK) return path;
    complain(p, node, why, NULL);
    return NULL;
}

// ---- structures -----------------------------------------------------------------------------------------------------

// rotating: {axis: z, speed: 500, stiffness: FILE, dofs: FILE, softened: true}: the same structure under rotation
static kd_status read_rotating(part_reader *p, const kd_node *map, char *message, size_t size)
{
    static const char *const keys[] = {"axis", "speed", "stiffness", "dofs", "softened"};
    static const char *const axes[] = {"x", "y", "z"};
    if (!CHECK_KEYS(p, map, keys)) return KD_ERR_MODEL;
    const char *word = text_of(p, map, "axis"), *stiffness = path_of(p, map, "stiffness"),
               *dofs = path_of(p, map, "dofs");
    const double speed = number_of(p, map, "speed", "rad/s", 0);
    const bool   softened = flag_of(p, map, "softened", true);
    int          axis = 0;
    while (axis < 3 && !(word && strcmp(word, axes[axis]) == 0)) axis++;
    if (axis == 3) complain(p, map, "axis must be x, y or z", NULL);
    if (!(speed > 0)) complain(p, map, "a positive speed in rad/s is needed", NULL);
    if (!stiffness || !dofs) complain(p, map, "stiffness and dofs under rotation are needed", NULL);
    if (is_wrong(p)) return KD_ERR_MODEL;
    return kd_fe_structure_spin(&p->structure, stiffness, dofs, axis, speed, softened, message, size);
}

static kd_status read_files(part_reader *p, const kd_node *map, char *message, size_t size)
{
    static const char *const keys[] = {"stiffness", "mass", "nodes", "dofs", "mapping", "scale", "rotating"};
    if (!CHECK_KEYS(p, map, keys)) return KD_ERR_MODEL;
    const kd_fe_structure_files files = {.stiffness = path_of(p, map, "stiffness"),
                                         .mass = path_of(p, map, "mass"),
                                         .nodes = path_of(p, map, "nodes"),
                                         .dofs = path_of(p, map, "dofs"),
                                         .mapping = path_of(p, map, "mapping"),
                                         .scale = number_of(p, map, "scale", "", 1)};
    if (!is_wrong(p) && (!files.stiffness || !files.mass || !files.nodes))
        complain(p, map, "stiffness, mass and nodes are needed", NULL);
    if (!(files.scale > 0)) complain(p, kd_node_find(map, "scale"), "scale must be positive", NULL);
    if (is_wrong(p)) return KD_ERR_MODEL;
    const kd_status status = kd_fe_structure_read(&files, &p->structure, message, size);
    return status == KD_OK && kd_node_find(map, "rotating")
               ? read_rotating(p, kd_node_find(map, "rotating"), message, size)
               : status;
}

// round: r, tube: [r, wall], box: [in y, in z], or all numbers
static kd_beam_section read_section(part_reader *p, const kd_node *map)
{
    static const char *const keys[] = {"round", "tube", "box", "area", "Iy", "Iz", "torsion", "ky", "kz", "shear"};
    kd_beam_section          s = {0};
    if (!CHECK_KEYS(p, map, keys)) return s;
    const bool     shear = flag_of(p, map, "shear", false);
    const kd_node *tube = kd_node_find(map, "tube"), *box = kd_node_find(map, "box");
    double         side[2] = {0, 0};
    if (kd_node_find(map, "round")) {
        const double r = number_of(p, map, "round", "m", 0);
        s = (kd_beam_section){
            KD_PI * r * r, KD_PI * pow(r, 4) / 4, KD_PI * pow(r, 4) / 4, KD_PI * pow(r, 4) / 2, 0.9, 0.9};
    } else if (tube && vector_of(p, tube, "tube", "m", 2, side)) {
        const double r = side[0], inner = r - side[1], I = KD_PI * (pow(r, 4) - pow(inner, 4)) / 4;
        if (!(inner >= 0)) complain(p, tube, "the wall of a tube is thicker than its radius", NULL);
        s = (kd_beam_section){KD_PI * (r * r - inner * inner), I, I, 2 * I, 0.5, 0.5};
    } else if (box && vector_of(p, box, "box", "m", 2, side)) {
        const double y = side[0], z = side[1], a = fmax(y, z), b = fmin(y, z);
        s = (kd_beam_section){y * z,
                              y * z * z * z / 12,
                              z * y * y * y / 12,
                              a * b * b * b * (1.0 / 3 - 0.21 * b / a * (1 - pow(b / a, 4) / 12)),
                              5.0 / 6,
                              5.0 / 6};
    } else if (!is_wrong(p)) {
        s = (kd_beam_section){number_of(p, map, "area", "m^2", 0), number_of(p, map, "Iy", "m^4", 0),
                              number_of(p, map, "Iz", "m^4", 0),   number_of(p, map, "torsion", "m^4", 0),
                              number_of(p, map, "ky", "", 0),      number_of(p, map, "kz", "", 0)};
        return s;
    }
    if (!shear) s.ky = s.kz = 0;
    return s;
}

static int find_point(part_reader *p, const kd_node *map, const char *key, const char *const *names, int n)
{
    const char *word = text_of(p, map, key);
    for (int i = 0; word && i < n; i++)
        if (strcmp(names[i], word) == 0) return i;
    if (word)
        complain(p, kd_node_find(map, key), "there is no such point:", word);
    else
        complain(p, map, "points 'from' and 'to' are needed", NULL);
    return 0;
}

// The map with E, nu and density of a beam: its own, or of the material that it names
static const kd_node *stuff_of(part_reader *p, const kd_node *map)
{
    static const char *const numbers[] = {"E", "nu", "density"};
    const char              *name = text_of(p, map, "material");
    const kd_node           *node = kd_node_find(map, "material");
    const kd_node           *found = name && p->materials ? kd_node_find(p->materials, name) : NULL;
    if (!node) return map;
    for (int i = 0; i < 3; i++)
        if (kd_node_find(map, numbers[i]))
            complain(p, kd_node_find(map, numbers[i]), "the material has it already; give one of both:", numbers[i]);
    if (name && !found) {
        const char *near = p->materials ? nearest_key(p->materials, name) : NULL;
        kd_file_findings_add(&p->findings, node->line, node->column, "there is no material '%s'%s%s%s", name,
                             near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    for (int i = 0; found && i < 3; i += 2)
        if (found->type != KD_NODE_MAP || !kd_node_find(found, numbers[i]))
            kd_file_findings_add(&p->findings, node->line, node->column, "material '%s' has no '%s'", name, numbers[i]);
    return found && found->type == KD_NODE_MAP ? found : map;
}

static kd_beam read_beam(part_reader *p, const kd_node *map, const char *const *names, int npoints)
{
    static const char *const keys[] = {"from", "to",      "elements", "material", "E", "G",
                                       "nu",   "density", "section",  "end",      "up"};
    kd_beam                  b = {.up = {0, 0, 1}};
    double                   up[3];
    if (!CHECK_KEYS(p, map, keys)) return b;
    const kd_node *section = kd_node_find(map, "section"), *end = kd_node_find(map, "end"),
                  *upwards = kd_node_find(map, "up");
    b.from = find_point(p, map, "from", names, npoints);
    b.to = find_point(p, map, "to", names, npoints);
    b.elements = count_of(p, map, "elements", 1, MOST_ELEMENTS, 10);
    const kd_node *stuff = stuff_of(p, map);
    b.E = number_of(p, stuff, "E", "Pa", 0);
    b.G = number_of(p, map, "G", "Pa", b.E / (2 * (1 + number_of(p, stuff, "nu", "", 0.3))));
    b.density = number_of(p, stuff, "density", "kg/m^3", 0);
    if (section)
        b.begin = b.end = read_section(p, section);
    else
        complain(p, map, "a beam needs a section", NULL);
    if (end) b.end = read_section(p, end);
    if (upwards && vector_of(p, upwards, "up", "", 3, up)) b.up = kd_vec_of(up);
    return b;
}

static kd_status read_beams(part_reader *p, const kd_node *root, char *message, size_t size)
{
    static const char *const mass_keys[] = {"mass", "inertia"};
    const kd_node           *points = kd_node_find(root, "points"), *beams = kd_node_find(root, "beams"),
                  *masses = kd_node_find(root, "masses");
    if (!points || points->type != KD_NODE_MAP || !beams || beams->type != KD_NODE_LIST) {
        complain(p,
                 beams    ? beams
                 : points ? points
                          : root,
                 "beams need 'points: {NAME: [x, y, z], ..}' and 'beams: [{from: .., to: ..}, ..]'", NULL);
        return KD_ERR_MODEL;
    }
    const int npoints = points->n, nbeams = beams->n, nmasses = masses && masses->type == KD_NODE_MAP ? masses->n : 0;
    if (npoints > MOST_POINTS || nbeams > MOST_BEAMS || nmasses > MOST_POINTS) {
        complain(p, root, "too many points, beams or masses", NULL);
        return KD_ERR_MODEL;
    }
    kd_beam_list list = {.npoints = npoints, .nbeams = nbeams, .nmasses = nmasses};
    list.name = kd_arena_cut(&p->arena, (size_t)npoints, sizeof *list.name);
    list.at = kd_arena_cut(&p->arena, (size_t)npoints, sizeof *list.at);
    list.beam = kd_arena_cut(&p->arena, (size_t)nbeams, sizeof *list.beam);
    list.mass = kd_arena_cut(&p->arena, (size_t)nmasses, sizeof *list.mass);
    if (p->arena.failed) return KD_ERR_MEMORY;
    const char  **names = list.name;
    kd_beam_mass *mass = list.mass;
    for (int i = 0; i < npoints; i++) {
        double x[3] = {0};
        names[i] = points->item[2 * i].text;
        if (vector_of(p, &points->item[2 * i + 1], names[i], "m", 3, x)) list.at[i] = kd_vec_of(x);
    }
    for (int i = 0; i < nbeams; i++) list.beam[i] = read_beam(p, &beams->item[i], names, npoints);
    for (int i = 0; i < nmasses; i++) {
        const kd_node *key = &masses->item[2 * i], *map = key + 1, *inertia;
        double         J[6] = {0};
        if (!CHECK_KEYS(p, map, mass_keys)) continue;
        mass[i].point = -1;
        for (int k = 0; k < npoints; k++)
            if (strcmp(names[k], key->text) == 0) mass[i].point = k;
        if (mass[i].point < 0) complain(p, key, "there is no such point:", key->text);
        mass[i].mass = number_of(p, map, "mass", "kg", 0);
        inertia = kd_node_find(map, "inertia");
        if (inertia && vector_of(p, inertia, "inertia", "kg m^2", 6, J))
            mass[i].inertia = (kd_sym3){J[0], J[1], J[2], J[3], J[4], J[5]};
    }
    if (is_wrong(p)) return KD_ERR_MODEL;
    if (p->pieces > 1) {
        const kd_beam_list row = list;
        const kd_status    status =
            kd_beams_cut(&row, p->piece, p->pieces, &p->arena, &list, &p->first, &p->last, message, size);
        if (status < 0) return status;
    }
    return kd_beams_make(list.name, list.at, list.npoints, list.beam, list.nbeams, list.mass, list.nmasses,
                         &p->structure, message, size);
}

// ---- interfaces -----------------------------------------------------------------------------------------------------

// Nodes of an interface: a set by name, one node by its number, or a list of numbers
static void find_nodes(part_reader *p, const kd_node *node, kd_interface *face)
{
    const kd_fe_structure *s = &p->structure;
    if (node->type == KD_NODE_SCALAR) {
        const kd_node_set *set = kd_fe_structure_set(s, node->text);
        if (set) {
            face->n = set->n;
            face->node = set->node;
            return;
        }
    }
    const bool     list = node->type == KD_NODE_LIST;
    const int      n = list ? node->n : 1;
    const kd_node *item = list ? node->item : node;
    int           *place = kd_cut_int(&p->arena, n);
    for (int i = 0; place && i < n; i++) {
        char      *end = NULL;
        const long id = item[i].type == KD_NODE_SCALAR ? strtol(item[i].text, &end, 10) : 0;
        place[i] = end && *end == '\0' && id > 0 && id < 2147483647 ? kd_fe_structure_find(s, (int)id) : -1;
        if (place[i] < 0) {
            complain(p, &item[i],
                     "neither a set of nodes nor a node:", item[i].type == KD_NODE_SCALAR ? item[i].text : "?");
            return;
        }
    }
    face->n = place ? n : 0;
    face->node = place;
}

static kd_vec3 middle_of(const kd_fe_structure *s, const kd_interface *face)
{
    kd_vec3 sum = {0, 0, 0};
    for (int i = 0; i < face->n; i++) sum = kd_vec_add(sum, s->at[face->node[i]]);
    return face->n > 0 ? kd_vec_scale(1.0 / face->n, sum) : sum;
}

// An interface of the file that is a point of beams: the set of it in the structure; NULL: it is in another piece
static const kd_node_set *point_of(const part_reader *p, const kd_node *value)
{
    const kd_node *nodes = value->type == KD_NODE_MAP ? kd_node_find(value, "nodes") : NULL;
    return nodes && nodes->type == KD_NODE_SCALAR ? kd_fe_structure_set(&p->structure, nodes->text) : NULL;
}

static kd_interface face_at(const part_reader *p, int point, const char *name)
{
    const kd_node_set *set = &p->structure.set[point];
    return (kd_interface){.name = name, .n = 1, .node = set->node, .point = p->structure.at[set->node[0]]};
}

// Of a piece: the cut that it begins with, the interfaces of the file that lie in it, the cut that it ends with. An interface at
// a cut stands for it, and belongs to the piece before it.
static kd_status piece_interfaces(part_reader *p, const kd_node *root, kd_interface **faces, int *n)
{
    const kd_node *map = kd_node_find(root, "interfaces");
    const int      most = map && map->type == KD_NODE_MAP ? map->n : 0;
    char          *cut[2] = {kd_arena_cut(&p->arena, 32, 1), kd_arena_cut(&p->arena, 32, 1)};
    *faces = kd_arena_cut(&p->arena, (size_t)most + 2, sizeof **faces);
    if (p->arena.failed) return KD_ERR_MEMORY;
    kd_text(cut[0], 32, "cut%d", p->piece - 1);
    kd_text(cut[1], 32, "cut%d", p->piece);
    const char *begin = cut[0], *end = cut[1];
    *n = 1;
    for (int i = 0; i < most; i++) {
        const char        *name = map->item[2 * i].text;
        const kd_node_set *set = point_of(p, &map->item[2 * i + 1]);
        if (!set) continue;
        const int point = (int)(set - p->structure.set);
        if (point == p->last)
            end = name;
        else if (point != p->first)
            (*faces)[(*n)++] = face_at(p, point, name);
        else if (p->piece == 1)
            begin = name;
    }
    (*faces)[0] = face_at(p, p->first, begin);
    (*faces)[(*n)++] = face_at(p, p->last, end);
    return KD_OK;
}

static kd_status read_interfaces(part_reader *p, const kd_node *root, kd_interface **faces, int *n)
{
    static const char *const keys[] = {"nodes", "point", "kind"};
    const kd_node           *map = kd_node_find(root, "interfaces");
    if (!map || map->type != KD_NODE_MAP || map->n < 1 || map->n > MOST_INTERFACES) {
        complain(p, map ? map : root,
                 "'interfaces: {NAME: {nodes: SET, point: [x, y, z]}, ..}' is needed: where others are connected",
                 NULL);
        return KD_ERR_MODEL;
    }
    *n = map->n;
    *faces = kd_arena_cut(&p->arena, (size_t)map->n, sizeof **faces);
    if (!*faces) return KD_ERR_MEMORY;
    for (int i = 0; i < map->n; i++) {
        kd_interface  *face = &(*faces)[i];
        const kd_node *value = &map->item[2 * i + 1], *point;
        double         x[3];
        face->name = map->item[2 * i].text;
        if (!CHECK_KEYS(p, value, keys)) continue;
        const kd_node *nodes = kd_node_find(value, "nodes");
        const char    *kind = text_of(p, value, "kind");
        face->averages = kind && strcmp(kind, "average") == 0;
        if (kind && !face->averages && strcmp(kind, "rigid") != 0)
            complain(p, kd_node_find(value, "kind"),
                     "interfaces are 'rigid' (nodes follow a frame) or 'average' (a frame follows the nodes), not",
                     kind);
        if (nodes)
            find_nodes(p, nodes, face);
        else
            complain(p, value, "'nodes' is missing in the interface", face->name);
        face->point = middle_of(&p->structure, face);
        point = kd_node_find(value, "point");
        if (point && vector_of(p, point, "point", "m", 3, x)) face->point = kd_vec_of(x);
    }
    return p->arena.failed ? KD_ERR_MEMORY : is_wrong(p) ? KD_ERR_MODEL : KD_OK;
}

// ---- reduction and reference ----------------------------------------------------------------------------------------

static void read_reduction(part_reader *p, const kd_node *root, kd_reduction_options *o)
{
    static const char *const keys[] = {"kind", "band", "tolerance", "modes", "dynamic", "responses"};
    const kd_node           *map = kd_node_find(root, "reduction");
    // a piece is short: what its ends do is enough
    *o = (kd_reduction_options){.modes = p->pieces > 1 ? 0 : 6, .dynamic = p->pieces == 1};
    if (!map || !CHECK_KEYS(p, map, keys)) return;
    const char *kind = text_of(p, map, "kind");
    if (kind && strcmp(kind, "free") == 0)
        o->kind = KD_REDUCE_FREE;
    else if (kind && strcmp(kind, "fixed") != 0)
        complain(p, kd_node_find(map, "kind"),
                 "kind is 'fixed' (Craig and Bampton) or 'free' (with attachment modes), not", kind);
    o->band = 2 * KD_PI * number_of(p, map, "band", "Hz", 0);
    o->tolerance = number_of(p, map, "tolerance", "", 1e-4);
    o->modes = count_of(p, map, "modes", 0, 400, o->band > 0 ? 0 : o->modes);
    o->dynamic = flag_of(p, map, "dynamic", o->dynamic);
    if (o->band < 0 || !(o->tolerance > 0)) complain(p, map, "band and tolerance must be positive", NULL);
    const kd_node *responses = kd_node_find(map, "responses");
    if (!responses) return;
    if (responses->type != KD_NODE_LIST || responses->n > MOST_RESPONSES) {
        complain(p, responses, "a list of frequencies is expected", NULL);
        return;
    }
    double *W = kd_cut_double(&p->arena, responses->n);
    for (int i = 0; W && i < responses->n; i++)
        if (number_of_node(p, &responses->item[i], "responses", "Hz", &W[i])) W[i] *= 2 * KD_PI;
    o->nresponses = W ? responses->n : 0;
    o->response = W;
}

static int find_interface(part_reader *p, const kd_node *node, const kd_interface *faces, int n)
{
    for (int i = 0; node->type == KD_NODE_SCALAR && i < n; i++)
        if (strcmp(faces[i].name, node->text) == 0) return i;
    complain(p, node, "there is no such interface:", node->type == KD_NODE_SCALAR ? node->text : "?");
    return 0;
}

static kd_reference read_reference(part_reader *p, const kd_node *root, const kd_interface *faces, int n)
{
    static const char *const keys[] = {"tangent", "chord"};
    const kd_node           *node = kd_node_find(root, "reference");
    kd_reference             r = {KD_REFERENCE_TANGENT, 0, 0};
    if (!node) return r;
    if (node->type == KD_NODE_SCALAR) {
        r.kind = KD_REFERENCE_MEAN;
        if (strcmp(node->text, "mean") != 0)
            complain(p, node, "reference is {tangent: NAME}, {chord: [A, B]} or mean, not", node->text);
        return r;
    }
    if (!CHECK_KEYS(p, node, keys)) return r;
    const kd_node *tangent = kd_node_find(node, "tangent"), *chord = kd_node_find(node, "chord");
    if (tangent) {
        r.from = find_interface(p, tangent, faces, n);
    } else if (chord && chord->type == KD_NODE_LIST && chord->n == 2) {
        r.kind = KD_REFERENCE_CHORD;
        r.from = find_interface(p, &chord->item[0], faces, n);
        r.to = find_interface(p, &chord->item[1], faces, n);
    } else {
        complain(p, node, "a chord needs two interfaces", NULL);
    }
    return r;
}

// ---- all of it ------------------------------------------------------------------------------------------------------

static void tell_body(kd_part_report *report, const kd_flexible_body *b)
{
    double *omega = kd_alloc((size_t)b->nq * sizeof *omega);
    report->modes = b->nq;
    if (omega && kd_flexible_body_frequencies(b, omega) == KD_OK)
        for (; report->nfrequencies < b->nq && report->nfrequencies < KD_PART_FREQUENCIES; report->nfrequencies++)
            report->frequency[report->nfrequencies] = omega[report->nfrequencies];
    kd_free(omega);
}

static kd_status reduce_structure(part_reader *p, const kd_node *root, kd_flexible_body *body, char *message,
                                  size_t size)
{
    kd_part_report      *report = p->report;
    kd_interface        *faces = NULL;
    kd_reduction         r;
    kd_reduction_options o;
    int                  n = 0;
    kd_status            status = kd_fe_structure_check(&p->structure, &report->facts, message, size);
    if (status == KD_OK)
        status = p->pieces > 1 ? piece_interfaces(p, root, &faces, &n) : read_interfaces(p, root, &faces, &n);
    if (status < 0) return status;
    read_reduction(p, root, &o);
    o.damping = number_of(p, root, "damping", "", 0);
    // the frame of a piece goes with the cut before it
    const kd_reference reference =
        p->pieces > 1 ? (kd_reference){KD_REFERENCE_TANGENT, 0, 0} : read_reference(p, root, faces, n);
    const int    modes = count_of(p, root, "modes", 1, 1000, 0);
    const double damping = number_of(p, root, "damping", "", 0);
    if (damping < 0) complain(p, kd_node_find(root, "damping"), "damping must not be negative", NULL);
    if (!report->facts.isotropic && p->structure.nstations == 0)
        complain(p, kd_node_find(root, "structure"),
                 "the mass matrix couples directions or has rotations: moments of modes cannot be taken from it", NULL);
    if (is_wrong(p)) return KD_ERR_MODEL;
    if (p->arena.failed) return KD_ERR_MEMORY;
    report->rows = p->structure.n;
    report->nodes = p->structure.nnodes;
    if (p->structure.nstations == 0 && (report->facts.speed < 100 || report->facts.speed > 3e4))
        kd_text(report->warning, sizeof report->warning,
                "the speed of sound would be about %.2g m/s: are lengths, stiffness and mass in units of the SI? "
                "('scale' of the nodes)",
                report->facts.speed);
    status = kd_reduce(&p->structure, faces, n, &o, &r, message, size);
    if (status < 0) return status;
    report->shapes = r.n;
    report->normal_modes = r.nmodes;
    report->expected = r.expected;
    report->band = r.band;
    report->judged = r.judged;
    status = kd_flexible_body_make(&r, &reference, modes, damping, body, message, size);
    kd_reduction_release(&r);
    if (status == KD_OK && message && message[0]) {
        kd_text(report->warning, sizeof report->warning, "%s", message);
        message[0] = '\0';
    }
    // what it is between pieces comes from the angles of their frames; in a piece it would be of higher order
    if (p->pieces > 1) body->K0t = body->K0r = body->K0w = body->K0F = NULL;
    return status;
}

// `materials` of the part file, or of a file of materials beside it: numbers, as everything in part files
static bool find_materials(part_reader *p, const kd_node *root)
{
    const kd_node *own = kd_node_find(root, "materials"), *include = kd_node_find(root, "include");
    if (own && own->type != KD_NODE_MAP) complain(p, own, "'materials' must be like {steel: {E: 210 GPa}}", NULL);
    if (own && include) complain(p, include, "'include' brings materials, which are given here already", NULL);
    p->materials = own;
    const char *path = include && !is_wrong(p) ? path_of(p, root, "include") : NULL;
    if (!path) return !is_wrong(p);
    char  *text = NULL, why[400];
    size_t length;
    if (kd_load_file(path, MOST_BYTES, &text, &length, why, sizeof why) < 0) {
        complain(p, include, why, NULL);
        return false;
    }
    p->findings.at = path;
    if (kd_document_read(text, length, &p->included, &p->findings) == KD_OK) {
        p->materials = p->included.root->type == KD_NODE_MAP ? kd_node_find(p->included.root, "materials") : NULL;
        if (!p->materials || p->materials->type != KD_NODE_MAP)
            kd_file_findings_add(&p->findings, 1, 1, "it has no 'materials', for which a part includes it");
    }
    p->findings.at = NULL;
    kd_free(text);
    return !is_wrong(p);
}

static kd_status make_body(part_reader *p, kd_flexible_body *body, char *message, size_t size)
{
    static const char *const keys[] = {"part", "include",    "materials", "structure", "points", "beams",  "masses",
                                       "sid",  "interfaces", "reduction", "reference", "modes",  "damping"};
    const kd_node           *root = p->document.root;
    if (!CHECK_KEYS(p, root, keys) || is_wrong(p) || !find_materials(p, root)) return KD_ERR_MODEL;
    const char    *title = text_of(p, root, "part");
    const kd_node *structure = kd_node_find(root, "structure"), *beams = kd_node_find(root, "beams"),
                  *sid = kd_node_find(root, "sid");
    kd_text(p->report->title, sizeof p->report->title, "%s", title ? title : "");
    if ((structure != NULL) + (beams != NULL) + (sid != NULL) != 1) {
        complain(p, root, "one of 'structure', 'beams' and 'sid' is needed", NULL);
        return KD_ERR_MODEL;
    }
    if (p->pieces > 1 && !beams) {
        complain(p, structure ? structure : sid, "only beams can be cut into pieces", NULL);
        return KD_ERR_MODEL;
    }
    if (sid) {
        const char *path = path_of(p, root, "sid");
        p->report->from_sid = true;
        return path ? kd_sid_read(path, body, message, size) : KD_ERR_MODEL;
    }
    kd_status status = structure ? read_files(p, structure, message, size) : read_beams(p, root, message, size);
    if (status == KD_OK) status = reduce_structure(p, root, body, message, size);
    return status;
}

kd_status kd_part_read_text(const char *path, const char *text, size_t length, const char *folder, int piece,
                            int pieces, kd_flexible_body *body, kd_part_report *report, char *message, size_t size)
{
    part_reader *p = kd_alloc(sizeof *p);
    *body = (kd_flexible_body){0};
    *report = (kd_part_report){0};
    kd_text(message, size, "%s", "");
    if (!p) return KD_ERR_MEMORY;
    p->folder = folder;
    p->report = report;
    p->piece = piece;
    p->pieces = pieces;
    p->findings.file = path;
    kd_status status = kd_document_read(text, length, &p->document, &p->findings);
    if (status == KD_OK) status = make_body(p, body, message, size);
    if (status == KD_OK) tell_body(report, body);
    if (is_wrong(p))
        kd_file_findings_write(&p->findings, message, size);
    else if (status == KD_ERR_MODEL && message && strncmp(message, path, strlen(path)) != 0) {
        // a sentence about the part as a whole
        char *sentence = kd_arena_cut(&p->arena, size, 1);
        if (sentence) {
            kd_text(sentence, size, "%s", message);
            kd_text(message, size, "%s: %s", path, sentence);
        }
    }
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    if (status < 0 && message && size > 0 && !message[0])
        kd_text(message, size, "%s: %s", path, kd_status_sentence(status));
    kd_fe_structure_release(&p->structure);
    kd_document_release(&p->document);
    kd_document_release(&p->included);
    kd_arena_release(&p->arena);
    kd_free(p);
    return status;
}

// The text of a part file and its folder
static kd_status load_part(const char *path, char **text, size_t *length, char *folder, char *message, size_t size)
{
    kd_status status = kd_load_file(path, MOST_BYTES, text, length, message, size);
    if (status == KD_OK && *length > MOST_BYTES) {
        kd_text(message, size, "%s: the file is larger than %d MB", path, MOST_BYTES >> 20);
        status = KD_ERR_FILE;
    }
    if (status == KD_OK && kd_folder_of(path, folder) < 0) {
        kd_text(message, size, "%s: the name is too long", path);
        status = KD_ERR_FILE;
    }
    return status;
}

kd_status kd_part_read(const char *path, int piece, int pieces, kd_flexible_body *body, kd_part_report *report,
                       char *message, size_t size)
{
    char  *text = NULL, folder[KD_PATH_LENGTH];
    size_t length;
    *body = (kd_flexible_body){0};
    *report = (kd_part_report){0};
    kd_status status = load_part(path, &text, &length, folder, message, size);
    if (status == KD_OK)
        status = kd_part_read_text(path, text, length, folder, piece, pieces, body, report, message, size);
    kd_free(text);
    return status;
}

// ---- finite elements alone ------------------------------------------------------------------------------------------

// Names of interfaces outlive the document
static bool keep_faces(part_reader *p, int n, kd_interface *faces)
{
    for (int i = 0; i < n; i++) {
        char *name = kd_arena_cut(&p->arena, strlen(faces[i].name) + 1, 1);
        if (!name) return false;
        strcpy(name, faces[i].name);
        faces[i].name = name;
    }
    return true;
}

static kd_status read_structure(part_reader *p, kd_part_structure *part, char *message, size_t size)
{
    const kd_node *root = p->document.root, *structure = root ? kd_node_find(root, "structure") : NULL;
    if (!structure) {
        complain(p, root, "only a part with 'structure' has finite elements", NULL);
        return KD_ERR_MODEL;
    }
    kd_status status = read_files(p, structure, message, size);
    if (status == KD_OK) status = read_interfaces(p, root, &part->face, &part->nfaces);
    if (status == KD_OK && !keep_faces(p, part->nfaces, part->face)) status = KD_ERR_MEMORY;
    return status;
}

kd_status kd_part_read_structure(const char *path, kd_part_structure *part, char *message, size_t size)
{
    char        *text = NULL, folder[KD_PATH_LENGTH];
    size_t       length;
    part_reader *p = kd_alloc(sizeof *p);
    *part = (kd_part_structure){0};
    kd_text(message, size, "%s", "");
    if (!p) return KD_ERR_MEMORY;
    p->folder = folder;
    p->piece = p->pieces = 1;
    p->findings.file = path;
    kd_status status = load_part(path, &text, &length, folder, message, size);
    if (status == KD_OK) status = kd_document_read(text, length, &p->document, &p->findings);
    if (status == KD_OK) status = read_structure(p, part, message, size);
    if (is_wrong(p)) kd_file_findings_write(&p->findings, message, size);
    if (status == KD_ERR_MEMORY) kd_text(message, size, "%s: out of memory", path);
    part->structure = p->structure;
    part->arena = p->arena;
    if (status < 0) kd_part_structure_release(part);
    kd_document_release(&p->document);
    kd_free(p);
    kd_free(text);
    return status;
}

void kd_part_structure_release(kd_part_structure *part)
{
    kd_fe_structure_release(&part->structure);
    kd_arena_release(&part->arena);
    *part = (kd_part_structure){0};
}
