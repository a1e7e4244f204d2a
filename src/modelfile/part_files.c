// part_files.c: parts that are made of the matrices of a finite-element program.
#include <string.h>

#include "core/text.h"
#include "expr/quantity.h"
#include "modelfile/part_reader.h"

// rotating: {axis: z, speed: 500, stiffness: FILE, dofs: FILE, softened: true}: the same structure under rotation
static kd_status read_rotating(kd_part_reader *p, const kd_node *map, char *message, size_t size)
{
    static const char *const keys[] = {"axis", "speed", "stiffness", "dofs", "softened"};
    static const char *const axes[] = {"x", "y", "z"};
    if (!KD_PART_KEYS(p, map, keys)) return KD_ERR_MODEL;
    const char *word = kd_part_text(p, map, "axis"), *stiffness = kd_part_path(p, map, "stiffness"),
               *dofs = kd_part_path(p, map, "dofs");
    const double speed = kd_part_number(p, map, "speed", "rad/s", 0);
    const bool   softened = kd_part_flag(p, map, "softened", true);
    int          axis = 0;
    while (axis < 3 && !(word && strcmp(word, axes[axis]) == 0)) axis++;
    if (axis == 3) kd_part_complain(p, map, "axis must be x, y or z", NULL);
    if (!(speed > 0)) kd_part_complain(p, map, "a positive speed in rad/s is needed", NULL);
    if (!stiffness || !dofs) kd_part_complain(p, map, "stiffness and dofs under rotation are needed", NULL);
    if (kd_part_is_wrong(p)) return KD_ERR_MODEL;
    return kd_fe_structure_spin(&p->structure, stiffness, dofs, axis, speed, softened, message, size);
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
    static const char *const keys[] = {"stiffness", "mass", "nodes", "dofs", "mapping", "scale", "units", "rotating"};
    if (!KD_PART_KEYS(p, map, keys)) return KD_ERR_MODEL;
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
    const kd_status status = kd_fe_structure_read(&files, &p->structure, message, size);
    return status == KD_OK && kd_node_find(map, "rotating")
               ? read_rotating(p, kd_node_find(map, "rotating"), message, size)
               : status;
}
