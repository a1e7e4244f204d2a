// part_stress.c: `stress` of a part file: of beams everywhere, of finite elements by the results of their program.
//
//     stress: true                                                        # beams
//     stress: {places: {root: [0, 0, 20 mm]}}                             # beams, with names
//     stress: {results: rod-shapes.frd, nodes: SKIN, places: {fillet: 1234}}
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "flexible/stress.h"
#include "modelfile/part_reader.h"

enum { MOST_PLACES = 1000 };

static const double FAR = 0.005; // of the part: a place must be nearer to the point that names it

kd_status kd_part_read_stress(kd_part_reader *p, const kd_node *root, char *message, size_t size)
{
    static const char *const keys[] = {"results", "nodes", "places"};
    const kd_node           *map = kd_node_find(root, "stress");
    kd_fe_structure         *s = &p->structure;
    if (!map || p->plain) return KD_OK;
    // beams know their stress themselves, others from results of shapes
    const bool beams = s->nrows > 0, word = map->type == KD_NODE_SCALAR;
    s->stress = word ? kd_part_flag(p, root, "stress", false) : KD_PART_KEYS(p, map, keys);
    const kd_node *results = word ? NULL : kd_node_find(map, "results"),
                  *nodes = word ? NULL : kd_node_find(map, "nodes");
    if (s->stress && beams && (results || nodes))
        kd_part_complain(p, results ? results : nodes, "beams have their stress from kardan: leave this out", NULL);
    if (s->stress && !beams && !results)
        kd_part_complain(
            p, map, "'results' is needed: a file of CalculiX (.frd) or a table with displacements and stress", NULL);
    if (kd_part_is_wrong(p) || !s->stress || beams) return kd_part_is_wrong(p) ? KD_ERR_MODEL : KD_OK;
    // which results, and of which nodes they are kept
    const char *path = kd_part_path(p, map, "results"), *set_name = nodes ? kd_part_text(p, map, "nodes") : NULL;
    if (!path || kd_part_is_wrong(p)) return p->arena.failed ? KD_ERR_MEMORY : KD_ERR_MODEL;
    const kd_node_set *set = set_name ? kd_fe_structure_set(s, set_name) : NULL;
    if (set_name && !set) {
        kd_part_complain(p, nodes, "there is no set of nodes", set_name);
        return KD_ERR_MODEL;
    }
    // read all, then forget those that are not in the set
    const kd_status status = kd_stress_cases_read(s, path, message, size);
    if (status < 0 || !set) return status;
    kd_stress_cases_keep(s->cases, set->node, set->n);
    if (s->cases->nplaces > 0) return KD_OK;
    kd_part_complain(p, nodes, "the results have no stress at nodes of the set", set_name);
    return KD_ERR_MODEL;
}

// A point, or the number of a node
static bool read_place(kd_part_reader *p, const kd_node *node, const char *name, kd_vec3 *at)
{
    double x[3];
    if (node->type == KD_NODE_LIST || p->structure.nrows > 0) {
        const bool good = kd_part_vector(p, node, name, "m", 3, x);
        if (good) *at = kd_vec_of(x);
        return good;
    }
    char      *end = NULL;
    const long id = node->type == KD_NODE_SCALAR ? strtol(node->text, &end, 10) : 0;
    const int  place =
        end && *end == '\0' && id > 0 && id < 2147483647 ? kd_fe_structure_find(&p->structure, (int)id) : -1;
    if (place >= 0) *at = p->structure.at[place];
    if (place < 0) kd_part_complain(p, node, "a place is a point [x, y, z] or the number of a node, not that of", name);
    return place >= 0;
}

// Paths name places between points: body.rod.stress.root.mises
static bool is_good_name(const char *name)
{
    return name[0] != '\0' && strlen(name) < 60 && !strpbrk(name, ". ()+-*/^,");
}

kd_status kd_part_name_stress(kd_part_reader *p, const kd_node *root, kd_flexible_body *body)
{
    const kd_node *map = kd_node_find(root, "stress"),
                  *places = map && map->type == KD_NODE_MAP ? kd_node_find(map, "places") : NULL;
    if (!p->structure.stress || !places) return KD_OK;
    // a place by its name and point
    if (places->type != KD_NODE_MAP || places->n > MOST_PLACES) {
        kd_part_complain(p, places, "places are like {root: [x, y, z]}", NULL);
        return KD_ERR_MODEL;
    }
    for (int i = 0; i < places->n; i++) {
        const kd_node *key = &places->item[2 * i];
        kd_vec3        at, nearest;
        double         far;
        // wrong ones are told, and the next one is looked at
        if (!is_good_name(key->text))
            kd_part_complain(p, key, "a place needs a name without points and signs, not", key->text);
        if (!read_place(p, key + 1, key->text, &at)) continue;
        const int before = body->nspots;
        if (!kd_stress_name(body, key->text, at, &far, &nearest)) return KD_ERR_MEMORY;
        if (far <= FAR) continue;
        body->nspots = before; // of pieces: in another one
        // a place that no node is near to is a mistake, unless it lies in another piece
        if (p->pieces == 1)
            kd_file_findings_add(&p->findings, key->line, key->column,
                                 "'%s' is not where stress is known: the nearest place is at (%.6g, %.6g, %.6g) m",
                                 key->text, nearest.x, nearest.y, nearest.z);
    }
    return kd_part_is_wrong(p) ? KD_ERR_MODEL : KD_OK;
}
