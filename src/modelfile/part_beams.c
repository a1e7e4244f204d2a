// part_beams.c: parts that are made of beams: points, sections, materials, masses.
#include <math.h>
#include <string.h>

#include "core/pi.h"
#include "flexible/beams.h"
#include "modelfile/part_reader.h"

enum { MOST_POINTS = 10000, MOST_BEAMS = 10000, MOST_ELEMENTS = 2000 };

// outer: [y, z], twist_modulus: W of a section of numbers: what stress needs
static void read_outer(kd_part_reader *p, const kd_node *map, kd_beam_section *s)
{
    const kd_node *outer = kd_node_find(map, "outer"), *twist = kd_node_find(map, "twist_modulus");
    if (!outer && !twist) return;
    s->twist = kd_part_number(p, map, "twist_modulus", "m^3", 0);
    if (!outer || !twist) {
        kd_part_complain(p, outer ? outer : twist, "'outer' and 'twist_modulus' belong together: stress needs both",
                         NULL);
    } else if (kd_part_vector(p, outer, "outer", "m", 2, s->rim)) {
        s->kind = KD_RIM_OUTER;
        if (!(s->rim[0] > 0 && s->rim[1] > 0 && s->twist > 0))
            kd_part_complain(p, outer, "outer and twist_modulus must be positive", NULL);
    }
}

// round: r, tube: [r, wall], box: [in y, in z], or all numbers
static kd_beam_section read_section(kd_part_reader *p, const kd_node *map)
{
    static const char *const keys[] = {"round",   "tube", "box", "area",  "Iy",    "Iz",
                                       "torsion", "ky",   "kz",  "shear", "outer", "twist_modulus"};
    kd_beam_section          s = {0};
    if (!KD_PART_KEYS(p, map, keys)) return s;
    const bool     shear = kd_part_flag(p, map, "shear", false);
    const kd_node *tube = kd_node_find(map, "tube"), *box = kd_node_find(map, "box");
    double         side[2] = {0, 0};
    // A, Iy, Iz, It and factors of shear of known shapes
    if (kd_node_find(map, "round")) {
        const double r = kd_part_number(p, map, "round", "m", 0);
        s = (kd_beam_section){KD_PI * r * r,
                              KD_PI * pow(r, 4) / 4,
                              KD_PI * pow(r, 4) / 4,
                              KD_PI * pow(r, 4) / 2,
                              0.9,
                              0.9,
                              KD_RIM_ROUND,
                              {r, 0},
                              0};
    } else if (tube && kd_part_vector(p, tube, "tube", "m", 2, side)) {
        const double r = side[0], inner = r - side[1], I = KD_PI * (pow(r, 4) - pow(inner, 4)) / 4;
        if (!(inner >= 0)) kd_part_complain(p, tube, "the wall of a tube is thicker than its radius", NULL);
        s = (kd_beam_section){KD_PI * (r * r - inner * inner), I, I, 2 * I, 0.5, 0.5, KD_RIM_ROUND, {r, inner}, 0};
    } else if (box && kd_part_vector(p, box, "box", "m", 2, side)) {
        const double y = side[0], z = side[1], a = fmax(y, z), b = fmin(y, z);
        s = (kd_beam_section){y * z,
                              y * z * z * z / 12,
                              z * y * y * y / 12,
                              a * b * b * b * (1.0 / 3 - 0.21 * b / a * (1 - pow(b / a, 4) / 12)),
                              5.0 / 6,
                              5.0 / 6,
                              KD_RIM_BOX,
                              {y, z},
                              0};
        // or numbers as they are
    } else if (!kd_part_is_wrong(p)) {
        s = (kd_beam_section){kd_part_number(p, map, "area", "m^2", 0),
                              kd_part_number(p, map, "Iy", "m^4", 0),
                              kd_part_number(p, map, "Iz", "m^4", 0),
                              kd_part_number(p, map, "torsion", "m^4", 0),
                              kd_part_number(p, map, "ky", "", 0),
                              kd_part_number(p, map, "kz", "", 0),
                              KD_RIM_UNKNOWN,
                              {0, 0},
                              0};
        read_outer(p, map, &s);
        return s;
    }
    if (!shear) s.ky = s.kz = 0;
    return s;
}

static int find_point(kd_part_reader *p, const kd_node *map, const char *key, const char *const *names, int n)
{
    const char *word = kd_part_text(p, map, key);
    for (int i = 0; word && i < n; i++)
        if (strcmp(names[i], word) == 0) return i;
    if (word)
        kd_part_complain(p, kd_node_find(map, key), "there is no such point:", word);
    else
        kd_part_complain(p, map, "points 'from' and 'to' are needed", NULL);
    return 0;
}

// The map with E, nu and density of a beam: its own, or of the material that it names
static const kd_node *stuff_of(kd_part_reader *p, const kd_node *map)
{
    static const char *const numbers[] = {"E", "nu", "density"};
    const char              *name = kd_part_text(p, map, "material");
    const kd_node           *node = kd_node_find(map, "material");
    const kd_node           *found = name && p->materials ? kd_node_find(p->materials, name) : NULL;
    // own numbers, unless a material is named: then none of what the material has
    if (!node) return map;
    for (int i = 0; i < 3; i++)
        if (kd_node_find(map, numbers[i]))
            kd_part_complain(p, kd_node_find(map, numbers[i]),
                             "the material has it already; give one of both:", numbers[i]);
    // the nearest name, if there is none of this one
    if (name && !found) {
        const char *near = p->materials ? kd_part_nearest_key(p->materials, name) : NULL;
        kd_file_findings_add(&p->findings, node->line, node->column, "there is no material '%s'%s%s%s", name,
                             near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    // what a beam needs of its material
    for (int i = 0; found && i < 3; i += 2)
        if (found->type != KD_NODE_MAP || !kd_node_find(found, numbers[i]))
            kd_file_findings_add(&p->findings, node->line, node->column, "material '%s' has no '%s'", name, numbers[i]);
    return found && found->type == KD_NODE_MAP ? found : map;
}

static kd_beam read_beam(kd_part_reader *p, const kd_node *map, const char *const *names, int npoints)
{
    static const char *const keys[] = {"from", "to",      "elements", "material", "E", "G",
                                       "nu",   "density", "section",  "end",      "up"};
    kd_beam                  b = {.up = {0, 0, 1}};
    double                   up[3];
    // ends, and elements between them
    if (!KD_PART_KEYS(p, map, keys)) return b;
    const kd_node *section = kd_node_find(map, "section"), *end = kd_node_find(map, "end"),
                  *upwards = kd_node_find(map, "up");
    b.from = find_point(p, map, "from", names, npoints);
    b.to = find_point(p, map, "to", names, npoints);
    b.elements = kd_part_count(p, map, "elements", 1, MOST_ELEMENTS, 10);
    // elasticity: G from E and nu, unless it is given
    const kd_node *stuff = stuff_of(p, map);
    b.E = kd_part_number(p, stuff, "E", "Pa", 0);
    b.G = kd_part_number(p, map, "G", "Pa", b.E / (2 * (1 + kd_part_number(p, stuff, "nu", "", 0.3))));
    b.density = kd_part_number(p, stuff, "density", "kg/m^3", 0);
    // section at the begin, and at the end where it tapers
    if (section)
        b.begin = b.end = read_section(p, section);
    else
        kd_part_complain(p, map, "a beam needs a section", NULL);
    if (end) b.end = read_section(p, end);
    if (upwards && kd_part_vector(p, upwards, "up", "", 3, up)) b.up = kd_vec_of(up);
    return b;
}

kd_status kd_part_read_beams(kd_part_reader *p, const kd_node *root, char *message, size_t size)
{
    static const char *const mass_keys[] = {"mass", "inertia"};
    const kd_node           *points = kd_node_find(root, "points"), *beams = kd_node_find(root, "beams"),
                  *masses = kd_node_find(root, "masses");
    // both are needed; the sentence stands where one of them is
    if (!points || points->type != KD_NODE_MAP || !beams || beams->type != KD_NODE_LIST) {
        kd_part_complain(p,
                         beams    ? beams
                         : points ? points
                                  : root,
                         "beams need 'points: {NAME: [x, y, z], ..}' and 'beams: [{from: .., to: ..}, ..]'", NULL);
        return KD_ERR_MODEL;
    }
    // how many there are, bounded
    const int npoints = points->n, nbeams = beams->n, nmasses = masses && masses->type == KD_NODE_MAP ? masses->n : 0;
    if (npoints > MOST_POINTS || nbeams > MOST_BEAMS || nmasses > MOST_POINTS) {
        kd_part_complain(p, root, "too many points, beams or masses", NULL);
        return KD_ERR_MODEL;
    }
    // room for all of them
    kd_beam_list list = {.npoints = npoints, .nbeams = nbeams, .nmasses = nmasses};
    list.name = kd_arena_cut(&p->arena, (size_t)npoints, sizeof *list.name);
    list.at = kd_arena_cut(&p->arena, (size_t)npoints, sizeof *list.at);
    list.beam = kd_arena_cut(&p->arena, (size_t)nbeams, sizeof *list.beam);
    list.mass = kd_arena_cut(&p->arena, (size_t)nmasses, sizeof *list.mass);
    if (p->arena.failed) return KD_ERR_MEMORY;
    const char  **names = list.name;
    kd_beam_mass *mass = list.mass;
    // points, beams, masses
    for (int i = 0; i < npoints; i++) {
        double x[3] = {0};
        names[i] = points->item[2 * i].text;
        if (kd_part_vector(p, &points->item[2 * i + 1], names[i], "m", 3, x)) list.at[i] = kd_vec_of(x);
    }
    for (int i = 0; i < nbeams; i++) list.beam[i] = read_beam(p, &beams->item[i], names, npoints);
    for (int i = 0; i < nmasses; i++) {
        const kd_node *key = &masses->item[2 * i], *map = key + 1, *inertia;
        double         J[6] = {0};
        if (!KD_PART_KEYS(p, map, mass_keys)) continue;
        mass[i].point = -1;
        for (int k = 0; k < npoints; k++)
            if (strcmp(names[k], key->text) == 0) mass[i].point = k;
        if (mass[i].point < 0) kd_part_complain(p, key, "there is no such point:", key->text);
        mass[i].mass = kd_part_number(p, map, "mass", "kg", 0);
        inertia = kd_node_find(map, "inertia");
        if (inertia && kd_part_vector(p, inertia, "inertia", "kg m^2", 6, J))
            mass[i].inertia = (kd_sym3){J[0], J[1], J[2], J[3], J[4], J[5]};
    }
    if (kd_part_is_wrong(p)) return KD_ERR_MODEL;
    // one of several pieces: cut out of the row
    if (p->pieces > 1) {
        const kd_beam_list row = list;
        const kd_status    status =
            kd_beams_cut(&row, p->piece, p->pieces, &p->arena, &list, &p->first, &p->last, message, size);
        if (status < 0) return status;
    }
    return kd_beams_make(list.name, list.at, list.npoints, list.beam, list.nbeams, list.mass, list.nmasses,
                         &p->structure, message, size);
}
