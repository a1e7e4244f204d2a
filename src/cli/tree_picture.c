// tree_picture.c: bodies and joints of a model as a picture of text:
//
//     ground
//     |- crank            revolute 'motor', driven
//     |  `- rod           revolute 'pin'
//     `- slider           prismatic 'way'
//     closing loops: revolute 'wrist' (rod, slider)
#include "cli/tree_picture.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { MOST_LEVELS = 40, MOST_CHILDREN = 12, NAMES = 28 };

typedef struct picture {
    const kd_system *system;
    const kd_model  *model;
    int              nbodies;
    bool             last[MOST_LEVELS]; // is the branch of a level its last one?
} picture;

static bool is_driven(const kd_model *m, int joint)
{
    for (int i = 0; i < kd_model_coordinates(m, joint); i++)
        if (kd_model_coordinate(m, joint, i).motion) return true;
    return false;
}

static const char *body_name(const kd_model *m, int body)
{
    return body < 0 ? "ground" : kd_model_name(m, KD_SECTION_BODY, body);
}

static int next_child(const picture *p, int parent, int from)
{
    for (int i = from; i < p->nbodies; i++)
        if (kd_system_carrier(p->system, i).parent == parent) return i;
    return -1;
}

static void put_branches(const picture *p, int level)
{
    fputs("  ", stdout);
    for (int k = 0; k < level - 1; k++) fputs(p->last[k] ? "   " : "|  ", stdout);
    if (level > 0) fputs(p->last[level - 1] ? "`- " : "|- ", stdout);
}

static void put_body(const picture *p, int body, int level)
{
    const kd_carrier carrier = kd_system_carrier(p->system, body);
    const int        width = NAMES - 3 * level;
    put_branches(p, level);
    printf("%-*s", width > 1 ? width : 1, body_name(p->model, body));
    if (carrier.joint < 0) {
        printf("  moves freely\n");
        return;
    }
    printf("  %s '%s'%s\n", kd_model_about(p->model, KD_SECTION_JOINT, carrier.joint).kind,
           kd_model_name(p->model, KD_SECTION_JOINT, carrier.joint),
           is_driven(p->model, carrier.joint) ? ", driven" : "");
}

// What hangs on a body, level by level; deep chains and broad branches are counted from some place on
static void put_children(picture *p, int parent, int level)
{
    int shown = 0, body = next_child(p, parent, 0);
    while (body >= 0) {
        const int after = next_child(p, parent, body + 1);
        p->last[level] = after < 0;
        if (++shown > MOST_CHILDREN) {
            int more = 1;
            for (int k = after; k >= 0; k = next_child(p, parent, k + 1)) more++;
            p->last[level] = true;
            put_branches(p, level + 1);
            printf("and %d more\n", more);
            return;
        }
        put_body(p, body, level + 1);
        if (level + 2 < MOST_LEVELS) {
            put_children(p, body, level + 1);
        } else if (next_child(p, body, 0) >= 0) {
            p->last[level + 1] = true;
            put_branches(p, level + 2);
            printf("and so on\n");
        }
        body = after;
    }
}

// Joints that carry nothing
static void put_loops(const picture *p)
{
    const kd_model *m = p->model;
    const int       njoints = kd_model_count(m, KD_SECTION_JOINT);
    bool           *carries = calloc((size_t)njoints + 1, sizeof *carries);
    int             shown = 0, count = 0;
    if (!carries) return;
    for (int i = 0; i < p->nbodies; i++) {
        const int joint = kd_system_carrier(p->system, i).joint;
        if (joint >= 0) carries[joint] = true;
    }
    for (int j = 0; j < njoints; j++) {
        const kd_element_info about = kd_model_about(m, KD_SECTION_JOINT, j);
        if (carries[j]) continue;
        if (count++ == 0) fputs("  closing loops:", stdout);
        if (shown == MOST_CHILDREN) continue;
        printf("%s %s '%s' (%s, %s)", shown++ > 0 ? "," : "", about.kind, about.name, body_name(m, about.from),
               body_name(m, about.to));
    }
    if (count > shown) printf(", and %d more", count - shown);
    if (count > 0) fputc('\n', stdout);
    free(carries);
}

void kd_cli_tree_picture(const kd_system *system)
{
    static picture p; // of this one command
    p = (picture){.system = system, .model = kd_system_model(system)};
    p.nbodies = kd_model_count(p.model, KD_SECTION_BODY);
    if (p.nbodies == 0) return;
    printf("Tree.\n  ground\n");
    put_children(&p, KD_GROUND, 0);
    put_loops(&p);
}
