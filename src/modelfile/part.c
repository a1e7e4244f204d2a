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
#include "core/pi.h"
#include "core/text.h"
#include "flexible/sid.h"
#include "modelfile/part_reader.h"
#include "modelfile/paths.h"

enum { MOST_BYTES = 1 << 22, MOST_INTERFACES = 100, MOST_RESPONSES = 50 };

// ---- interfaces -----------------------------------------------------------------------------------------------------

// Nodes of an interface: a set by name, one node by its number, or a list of numbers
static void find_nodes(kd_part_reader *p, const kd_node *node, kd_interface *face)
{
    const kd_fe_structure *s = &p->structure;
    // sets come first: a set may be named like a number
    if (node->type == KD_NODE_SCALAR) {
        const kd_node_set *set = kd_fe_structure_set(s, node->text);
        if (set) {
            face->n = set->n;
            face->node = set->node;
            return;
        }
    }
    // nodes by their numbers
    const bool     list = node->type == KD_NODE_LIST;
    const int      n = list ? node->n : 1;
    const kd_node *item = list ? node->item : node;
    int           *place = kd_cut_int(&p->arena, n);
    for (int i = 0; place && i < n; i++) {
        char      *end = NULL;
        const long id = item[i].type == KD_NODE_SCALAR ? strtol(item[i].text, &end, 10) : 0;
        place[i] = end && *end == '\0' && id > 0 && id < 2147483647 ? kd_fe_structure_find(s, (int)id) : -1;
        if (place[i] < 0) {
            kd_part_complain(p, &item[i],
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
static const kd_node_set *point_of(const kd_part_reader *p, const kd_node *value)
{
    const kd_node *nodes = value->type == KD_NODE_MAP ? kd_node_find(value, "nodes") : NULL;
    return nodes && nodes->type == KD_NODE_SCALAR ? kd_fe_structure_set(&p->structure, nodes->text) : NULL;
}

static kd_interface face_at(const kd_part_reader *p, int point, const char *name)
{
    const kd_node_set *set = &p->structure.set[point];
    return (kd_interface){.name = name, .n = 1, .node = set->node, .point = p->structure.at[set->node[0]]};
}

// Of a piece: the cut that it begins with, the interfaces of the file that lie in it, the cut that it ends with. An interface at
// a cut stands for it, and belongs to the piece before it.
static kd_status piece_interfaces(kd_part_reader *p, const kd_node *root, kd_interface **faces, int *n)
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
    // interfaces in between; one at a cut takes the cut's place
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

static kd_status read_interfaces(kd_part_reader *p, const kd_node *root, kd_interface **faces, int *n)
{
    static const char *const keys[] = {"nodes", "point", "kind"};
    const kd_node           *map = kd_node_find(root, "interfaces");
    if (!map || map->type != KD_NODE_MAP || map->n < 1 || map->n > MOST_INTERFACES) {
        kd_part_complain(
            p, map ? map : root,
            "'interfaces: {NAME: {nodes: SET, point: [x, y, z]}, ..}' is needed: where others are connected", NULL);
        return KD_ERR_MODEL;
    }
    *n = map->n;
    *faces = kd_arena_cut(&p->arena, (size_t)map->n, sizeof **faces);
    if (!*faces) return KD_ERR_MEMORY;
    // each interface with the nodes that it takes
    for (int i = 0; i < map->n; i++) {
        kd_interface  *face = &(*faces)[i];
        const kd_node *value = &map->item[2 * i + 1], *point;
        double         x[3];
        face->name = map->item[2 * i].text;
        if (!KD_PART_KEYS(p, value, keys)) continue;
        // how it follows them: as a rigid frame, or as their mean
        const kd_node *nodes = kd_node_find(value, "nodes");
        const char    *kind = kd_part_text(p, value, "kind");
        face->averages = kind && strcmp(kind, "average") == 0;
        if (kind && !face->averages && strcmp(kind, "rigid") != 0)
            kd_part_complain(
                p, kd_node_find(value, "kind"),
                "interfaces are 'rigid' (nodes follow a frame) or 'average' (a frame follows the nodes), not", kind);
        if (nodes)
            find_nodes(p, nodes, face);
        else
            kd_part_complain(p, value, "'nodes' is missing in the interface", face->name);
        // without a point the middle of its nodes
        face->point = middle_of(&p->structure, face);
        point = kd_node_find(value, "point");
        if (point && kd_part_vector(p, point, "point", "m", 3, x)) face->point = kd_vec_of(x);
    }
    return p->arena.failed ? KD_ERR_MEMORY : kd_part_is_wrong(p) ? KD_ERR_MODEL : KD_OK;
}

// ---- reduction and reference ----------------------------------------------------------------------------------------

// Normal modes of the other kind, which are mixed in
static void read_others(kd_part_reader *p, const kd_node *map, kd_reduction_options *o)
{
    const bool     is_free = o->kind == KD_REDUCE_FREE;
    const char    *own = is_free ? "free_modes" : "fixed_modes", *other = is_free ? "fixed_modes" : "free_modes";
    const kd_node *wrong = kd_node_find(map, own);
    o->others = kd_part_count(p, map, other, 0, 400, 0);
    if (wrong) kd_part_complain(p, wrong, "normal modes of the kind itself are 'modes', not", own);
    if (o->relief && is_free)
        kd_part_complain(p, kd_node_find(map, "relief"),
                         "loads at the interfaces of a free part are in balance with its inertia already", NULL);
}

static void read_reduction(kd_part_reader *p, const kd_node *root, kd_reduction_options *o)
{
    static const char *const keys[] = {"kind",   "band",       "tolerance",   "modes",    "dynamic",
                                       "relief", "free_modes", "fixed_modes", "responses"};
    const kd_node           *map = kd_node_find(root, "reduction");
    // a piece is short: what its ends do is enough
    *o = (kd_reduction_options){.modes = p->pieces > 1 ? 0 : 6, .dynamic = p->pieces == 1};
    if (!map || !KD_PART_KEYS(p, map, keys)) return;
    // which modes stand beside those of the interfaces
    const char *kind = kd_part_text(p, map, "kind");
    if (kind && strcmp(kind, "free") == 0)
        o->kind = KD_REDUCE_FREE;
    else if (kind && strcmp(kind, "fixed") != 0)
        kd_part_complain(p, kd_node_find(map, "kind"),
                         "kind is 'fixed' (Craig and Bampton) or 'free' (with attachment modes), not", kind);
    // how many: by a band, by an error, by a number
    o->band = 2 * KD_PI * kd_part_number(p, map, "band", "Hz", 0);
    o->tolerance = kd_part_number(p, map, "tolerance", "", 1e-4);
    o->modes = kd_part_count(p, map, "modes", 0, 400, o->band > 0 ? 0 : o->modes);
    o->dynamic = kd_part_flag(p, map, "dynamic", o->dynamic && o->kind == KD_REDUCE_FIXED);
    o->relief = kd_part_flag(p, map, "relief", false);
    read_others(p, map, o);
    if (o->band < 0 || !(o->tolerance > 0)) kd_part_complain(p, map, "band and tolerance must be positive", NULL);
    // frequencies at which the part is to be right are extra columns of the basis
    const kd_node *responses = kd_node_find(map, "responses");
    if (!responses) return;
    if (responses->type != KD_NODE_LIST || responses->n > MOST_RESPONSES) {
        kd_part_complain(p, responses, "a list of frequencies is expected", NULL);
        return;
    }
    double *W = kd_cut_double(&p->arena, responses->n);
    for (int i = 0; W && i < responses->n; i++)
        if (kd_part_number_of(p, &responses->item[i], "responses", "Hz", &W[i])) W[i] *= 2 * KD_PI;
    o->nresponses = W ? responses->n : 0;
    o->response = W;
}

static int find_interface(kd_part_reader *p, const kd_node *node, const kd_interface *faces, int n)
{
    for (int i = 0; node->type == KD_NODE_SCALAR && i < n; i++)
        if (strcmp(faces[i].name, node->text) == 0) return i;
    kd_part_complain(p, node, "there is no such interface:", node->type == KD_NODE_SCALAR ? node->text : "?");
    return 0;
}

static kd_reference read_reference(kd_part_reader *p, const kd_node *root, const kd_interface *faces, int n)
{
    static const char *const keys[] = {"tangent", "chord"};
    const kd_node           *node = kd_node_find(root, "reference");
    kd_reference             r = {KD_REFERENCE_TANGENT, 0, 0};
    if (!node) return r;
    if (node->type == KD_NODE_SCALAR) {
        r.kind = KD_REFERENCE_MEAN;
        if (strcmp(node->text, "mean") != 0)
            kd_part_complain(p, node, "reference is {tangent: NAME}, {chord: [A, B]} or mean, not", node->text);
        return r;
    }
    if (!KD_PART_KEYS(p, node, keys)) return r;
    const kd_node *tangent = kd_node_find(node, "tangent"), *chord = kd_node_find(node, "chord");
    if (tangent) {
        r.from = find_interface(p, tangent, faces, n);
    } else if (chord && chord->type == KD_NODE_LIST && chord->n == 2) {
        r.kind = KD_REFERENCE_CHORD;
        r.from = find_interface(p, &chord->item[0], faces, n);
        r.to = find_interface(p, &chord->item[1], faces, n);
    } else {
        kd_part_complain(p, node, "a chord needs two interfaces", NULL);
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

// Materials have 500 to 20000 kg/m^3, and sound goes through them with 1000 to 12000 m/s, a stiffness off by 1000 with 30 times more or
// less
static void warn_of_units(const kd_part_reader *p, kd_part_report *report)
{
    const double speed = report->facts.speed, density = report->facts.density;
    const bool   fast = speed < 400 || speed > 3e4, heavy = density < 20 || density > 1e5;
    if (p->structure.nstations > 0 || !(fast || heavy)) return;
    kd_text(report->warning, sizeof report->warning,
            fast
                ? "%s: the speed of sound would be about %.2g m/s: are lengths, stiffness and mass in units of the SI? "
                  "('units' of the structure)"
                : "%s: the density would be about %.2g kg/m^3: are lengths, stiffness and mass in units of the SI? "
                  "('units' of the structure)",
            p->structure.name, fast ? speed : density);
}

// A sentence behind others
static void add_sentence(char *text, size_t size, const char *sentence)
{
    if (text && size > 0 && sentence[0]) kd_text_append(text, size, "%s%s", text[0] ? "; " : "", sentence);
}

static kd_status reduce_structure(kd_part_reader *p, const kd_node *root, kd_flexible_body *body, char *message,
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
    o.damping = kd_part_number(p, root, "damping", "", 0);
    // the frame of a piece goes with the cut before it
    const kd_reference reference =
        p->pieces > 1 ? (kd_reference){KD_REFERENCE_TANGENT, 0, 0} : read_reference(p, root, faces, n);
    const int    modes = kd_part_count(p, root, "modes", 1, 1000, 0);
    const double damping = kd_part_number(p, root, "damping", "", 0);
    if (damping < 0) kd_part_complain(p, kd_node_find(root, "damping"), "damping must not be negative", NULL);
    if (!report->facts.isotropic && p->structure.nstations == 0)
        kd_part_complain(
            p, kd_node_find(root, "structure"),
            "the mass matrix couples directions or has rotations: moments of modes cannot be taken from it", NULL);
    if (kd_part_is_wrong(p)) return KD_ERR_MODEL;
    if (p->arena.failed) return KD_ERR_MEMORY;
    report->rows = p->structure.n;
    report->nodes = p->structure.nnodes - p->structure.ninner;
    warn_of_units(p, report);
    status = kd_reduce(&p->structure, faces, n, &o, &r, message, size);
    // what looks like too many modes may be units
    if (status == KD_ERR_MODEL) add_sentence(message, size, report->warning);
    if (status < 0) return status;
    report->shapes = r.n;
    report->normal_modes = r.nmodes;
    report->expected = r.expected;
    report->band = r.band;
    report->judged = r.judged;
    status = kd_flexible_body_make(&r, &reference, modes, damping, body, message, size);
    kd_reduction_release(&r);
    if (status == KD_OK && message && message[0]) {
        add_sentence(report->warning, sizeof report->warning, message);
        message[0] = '\0';
    }
    // what it is between pieces comes from the angles of their frames; in a piece it would be of higher order
    if (p->pieces > 1) body->K0t = body->K0r = body->K0w = body->K0F = NULL;
    return status;
}

// `materials` of the part file, or of a file of materials beside it: numbers, as everything in part files
static bool find_materials(kd_part_reader *p, const kd_node *root)
{
    const kd_node *own = kd_node_find(root, "materials"), *include = kd_node_find(root, "include");
    if (own && own->type != KD_NODE_MAP)
        kd_part_complain(p, own, "'materials' must be like {steel: {E: 210 GPa}}", NULL);
    if (own && include) kd_part_complain(p, include, "'include' brings materials, which are given here already", NULL);
    p->materials = own;
    const char *path = include && !kd_part_is_wrong(p) ? kd_part_path(p, root, "include") : NULL;
    if (!path) return !kd_part_is_wrong(p);
    char  *text = NULL, why[400];
    size_t length;
    if (kd_load_file(path, MOST_BYTES, &text, &length, why, sizeof why) < 0) {
        kd_part_complain(p, include, why, NULL);
        return false;
    }
    // what is wrong in there is told with its own file
    p->findings.at = path;
    if (kd_document_read(text, length, &p->included, &p->findings) == KD_OK) {
        p->materials = p->included.root->type == KD_NODE_MAP ? kd_node_find(p->included.root, "materials") : NULL;
        if (!p->materials || p->materials->type != KD_NODE_MAP)
            kd_file_findings_add(&p->findings, 1, 1, "it has no 'materials', for which a part includes it");
    }
    p->findings.at = NULL;
    kd_free(text);
    return !kd_part_is_wrong(p);
}

static kd_status make_body(kd_part_reader *p, kd_flexible_body *body, char *message, size_t size)
{
    static const char *const keys[] = {"part", "include",    "materials", "structure", "points", "beams",   "masses",
                                       "sid",  "interfaces", "reduction", "reference", "modes",  "damping", "stress"};
    const kd_node           *root = p->document.root;
    if (!KD_PART_KEYS(p, root, keys) || kd_part_is_wrong(p) || !find_materials(p, root)) return KD_ERR_MODEL;
    const char    *title = kd_part_text(p, root, "part");
    const kd_node *structure = kd_node_find(root, "structure"), *beams = kd_node_find(root, "beams"),
                  *sid = kd_node_find(root, "sid");
    kd_text(p->report->title, sizeof p->report->title, "%s", title ? title : "");
    // where the part comes from: finite elements, beams, or modes of another program
    if ((structure != NULL) + (beams != NULL) + (sid != NULL) != 1) {
        kd_part_complain(p, root, "one of 'structure', 'beams' and 'sid' is needed", NULL);
        return KD_ERR_MODEL;
    }
    if (p->pieces > 1 && !beams) {
        kd_part_complain(p, structure ? structure : sid, "only beams can be cut into pieces", NULL);
        return KD_ERR_MODEL;
    }
    if (sid && kd_node_find(root, "stress")) {
        kd_part_complain(p, kd_node_find(root, "stress"), "a SID file has no stress that kardan reads", NULL);
        return KD_ERR_MODEL;
    }
    if (sid) {
        const char *path = kd_part_path(p, root, "sid");
        p->report->from_sid = true;
        return path ? kd_sid_read(path, body, message, size) : KD_ERR_MODEL;
    }
    kd_status status =
        structure ? kd_part_read_files(p, structure, message, size) : kd_part_read_beams(p, root, message, size);
    if (status == KD_OK) status = kd_part_read_stress(p, root, message, size);
    if (status == KD_OK) status = reduce_structure(p, root, body, message, size);
    if (status == KD_OK && !p->plain) status = kd_part_name_stress(p, root, body);
    if (status < 0) kd_flexible_body_release(body);
    return status;
}

static kd_status read_text(const char *path, const char *text, size_t length, const char *folder, int piece, int pieces,
                           bool plain, kd_flexible_body *body, kd_part_report *report, char *message, size_t size)
{
    kd_part_reader *p = kd_alloc(sizeof *p);
    *body = (kd_flexible_body){0};
    *report = (kd_part_report){0};
    kd_text(message, size, "%s", "");
    if (!p) return KD_ERR_MEMORY;
    p->folder = folder;
    p->report = report;
    p->plain = plain;
    p->piece = piece;
    p->pieces = pieces;
    p->findings.file = path;
    kd_status status = kd_document_read(text, length, &p->document, &p->findings);
    if (status == KD_OK) status = make_body(p, body, message, size);
    if (status == KD_OK) tell_body(report, body);
    if (kd_part_is_wrong(p))
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

kd_status kd_part_read_text(const char *path, const char *text, size_t length, const char *folder, int piece,
                            int pieces, kd_flexible_body *body, kd_part_report *report, char *message, size_t size)
{
    return read_text(path, text, length, folder, piece, pieces, false, body, report, message, size);
}

static kd_status read_file(const char *path, int piece, int pieces, bool plain, kd_flexible_body *body,
                           kd_part_report *report, char *message, size_t size)
{
    char  *text = NULL, folder[KD_PATH_LENGTH];
    size_t length;
    *body = (kd_flexible_body){0};
    *report = (kd_part_report){0};
    kd_status status = load_part(path, &text, &length, folder, message, size);
    if (status == KD_OK)
        status = read_text(path, text, length, folder, piece, pieces, plain, body, report, message, size);
    kd_free(text);
    return status;
}

kd_status kd_part_read(const char *path, int piece, int pieces, kd_flexible_body *body, kd_part_report *report,
                       char *message, size_t size)
{
    return read_file(path, piece, pieces, false, body, report, message, size);
}

kd_status kd_part_read_plain(const char *path, kd_flexible_body *body, kd_part_report *report, char *message,
                             size_t size)
{
    return read_file(path, 1, 1, true, body, report, message, size);
}

// ---- finite elements alone ------------------------------------------------------------------------------------------

// Names of interfaces outlive the document
static bool keep_faces(kd_part_reader *p, int n, kd_interface *faces)
{
    for (int i = 0; i < n; i++) {
        char *name = kd_arena_cut(&p->arena, strlen(faces[i].name) + 1, 1);
        if (!name) return false;
        strcpy(name, faces[i].name);
        faces[i].name = name;
    }
    return true;
}

static kd_status read_structure(kd_part_reader *p, kd_part_structure *part, char *message, size_t size)
{
    const kd_node *root = p->document.root, *structure = root ? kd_node_find(root, "structure") : NULL;
    if (!structure) {
        kd_part_complain(p, root, "only a part with 'structure' has finite elements", NULL);
        return KD_ERR_MODEL;
    }
    kd_status status = kd_part_read_files(p, structure, message, size);
    if (status == KD_OK) status = read_interfaces(p, root, &part->face, &part->nfaces);
    if (status == KD_OK && !keep_faces(p, part->nfaces, part->face)) status = KD_ERR_MEMORY;
    return status;
}

kd_status kd_part_read_structure(const char *path, kd_part_structure *part, char *message, size_t size)
{
    char           *text = NULL, folder[KD_PATH_LENGTH];
    size_t          length;
    kd_part_reader *p = kd_alloc(sizeof *p);
    *part = (kd_part_structure){0};
    kd_text(message, size, "%s", "");
    if (!p) return KD_ERR_MEMORY;
    p->folder = folder;
    p->piece = p->pieces = 1;
    p->findings.file = path;
    kd_status status = load_part(path, &text, &length, folder, message, size);
    if (status == KD_OK) status = kd_document_read(text, length, &p->document, &p->findings);
    if (status == KD_OK) status = read_structure(p, part, message, size);
    if (kd_part_is_wrong(p)) kd_file_findings_write(&p->findings, message, size);
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
