// part_files.c: parts that are made of the matrices of a finite-element program.
#include <string.h>

#include "core/text.h"
#include "expr/quantity.h"
#include "modelfile/part_reader.h"

static int read_axis(kd_part_reader *p, const kd_node *map)
{
    static const char *const axes[] = {"x", "y", "z"};
    const char              *word = kd_part_text(p, map, "axis");
    int                      axis = 0;
    while (axis < 3 && !(word && strcmp(word, axes[axis]) == 0)) axis++;
    if (axis == 3) kd_part_complain(p, map, "axis must be x, y or z", NULL);
    return axis;
}

// rotating: {axis: z, speed: 500, stiffness: FILE, dofs: FILE, softened: true}: the same structure under rotation
static kd_status read_rotating(kd_part_reader *p, const kd_node *map, char *message, size_t size)
{
    static const char *const keys[] = {"axis", "speed", "stiffness", "dofs", "softened"};
    if (!KD_PART_KEYS(p, map, keys)) return KD_ERR_MODEL;
    const char  *stiffness = kd_part_path(p, map, "stiffness"), *dofs = kd_part_path(p, map, "dofs");
    const double speed = kd_part_number(p, map, "speed", "rad/s", 0);
    const bool   softened = kd_part_flag(p, map, "softened", true);
    const int    axis = read_axis(p, map);
    if (!(speed > 0)) kd_part_complain(p, map, "a positive speed in rad/s is needed", NULL);
    if (!stiffness || !dofs) kd_part_complain(p, map, "stiffness and dofs under rotation are needed", NULL);
    if (kd_part_is_wrong(p)) return KD_ERR_MODEL;
    return kd_fe_structure_spin(&p->structure, stiffness, dofs, axis, speed, softened, message, size);
}

// loaded: [{interface: NAME, axis: x, force: 1000, stiffness: FILE, dofs: FILE}]: the same structure under a force
static kd_status read_loaded(kd_part_reader *p, const kd_node *list, char *message, size_t size)
{
    static const char *const keys[] = {"interface", "axis", "force", "stiffness", "dofs"};
    kd_status                status = KD_OK;
    if (list->type != KD_NODE_LIST) kd_part_complain(p, list, "'loaded' is a list: one load each", NULL);
    // each load: where, along which axis, how much, and the stiffness that the structure has under it
    for (int i = 0; i < list->n && status == KD_OK && !kd_part_is_wrong(p); i++) {
        const kd_node *map = &list->item[i];
        if (!KD_PART_KEYS(p, map, keys)) break;
        const char *stiffness = kd_part_path(p, map, "stiffness"), *dofs = kd_part_path(p, map, "dofs"),
                   *interface = kd_part_text(p, map, "interface");
        const double force = kd_part_number(p, map, "force", "N", 0);
        const int    axis = read_axis(p, map);
        // all that is missing of one load is told together
        if (!interface) kd_part_complain(p, map, "the interface where the force acts is needed", NULL);
        if (force == 0) kd_part_complain(p, map, "a force in N is needed", NULL);
        if (!stiffness || !dofs) kd_part_complain(p, map, "stiffness and dofs under the load are needed", NULL);
        // the difference to the stiffness at rest is what one newton of it does
        if (!kd_part_is_wrong(p))
            status = kd_fe_structure_pull(&p->structure, stiffness, dofs, interface, axis, force, message, size);
    }
    return kd_part_is_wrong(p) ? KD_ERR_MODEL : status;
}

// units: {length: mm, mass: t}: those of nodes and matrices; time is in seconds
static void read_units(kd_part_reader *p, const kd_node *structure, kd_fe_structure_files *files)
{
    static const char *const keys[] = {"length", "mass"}, *const units[] = {"m", "kg"};
    const kd_node *map = kd_node_find(structure, "units");
    double        *size[] = {&files->length, &files->mass_unit};
    files->length = files->mass_unit = 1;
    if (!map || !KD_PART_KEYS(p, map, keys)) return;
    if (kd_node_find(structure, "scale"))
        kd_part_complain(p, map, "'scale' is of the nodes alone: with 'units' leave it out", NULL);
    // length and mass, each as a factor to m and kg
    for (int i = 0; i < 2; i++) {
        const char *word = kd_part_text(p, map, keys[i]);
        char        one[40];
        if (!word) continue;
        kd_text(one, sizeof one, "1 %s", word);
        const kd_quantity q = kd_quantity_read(one, units[i], NULL);
        if (q.kind == KD_QUANTITY_GOOD && q.value > 0)
            *size[i] = q.value;
        else
            kd_part_complain(p, kd_node_find(map, keys[i]),
                             i == 0 ? "not a unit of length:" : "not a unit of mass:", word);
    }
}

kd_status kd_part_read_files(kd_part_reader *p, const kd_node *map, char *message, size_t size)
{
    static const char *const keys[] = {"stiffness", "mass",  "nodes",    "dofs",  "mapping",
                                       "scale",     "units", "rotating", "loaded"};
    if (!KD_PART_KEYS(p, map, keys)) return KD_ERR_MODEL;
    // files by their paths, beside this one
    kd_fe_structure_files files = {.stiffness = kd_part_path(p, map, "stiffness"),
                                   .mass = kd_part_path(p, map, "mass"),
                                   .nodes = kd_part_path(p, map, "nodes"),
                                   .dofs = kd_part_path(p, map, "dofs"),
                                   .mapping = kd_part_path(p, map, "mapping"),
                                   .scale = kd_part_number(p, map, "scale", "", 1)};
    if (!kd_part_is_wrong(p) && (!files.stiffness || !files.mass || !files.nodes))
        kd_part_complain(p, map, "stiffness, mass and nodes are needed", NULL);
    read_units(p, map, &files);
    if (!(files.scale > 0)) kd_part_complain(p, kd_node_find(map, "scale"), "scale must be positive", NULL);
    if (kd_part_is_wrong(p)) return KD_ERR_MODEL;
    // first the structure, then what turning and loading make of it
    const kd_node *rotating = kd_node_find(map, "rotating"), *loaded = kd_node_find(map, "loaded");
    kd_status      status = kd_fe_structure_read(&files, &p->structure, message, size);
    if (status == KD_OK && rotating) status = read_rotating(p, rotating, message, size);
    if (status == KD_OK && loaded) status = read_loaded(p, loaded, message, size);
    return status;
}
