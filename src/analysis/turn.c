// turn.c: which velocities a steady turn gives, and what is free in it.
#include <kardan/equilibrium.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 256 };

// place of a name; -1: there is none
static int find_name(const kd_eom *eom, kd_kind kind, int count, const char *wanted)
{
    char name[NAME_SIZE];
    for (int i = 0; i < count; i++)
        if (strcmp(kd_eom_name(eom, kind, i, name, sizeof name), wanted) == 0) return i;
    return -1;
}

// Is velocity i the first of a free joint (joint.NAME.v1) or of a free body (body.NAME.com_v.x)? Then its coordinates
// begin at *p.
static bool is_free_joint(const kd_eom *eom, int i, int *p)
{
    static const char *const ENDING[2][2] = {{".v1", ".q1"}, {".com_v.x", ".com.x"}};
    const kd_dims            n = kd_eom_dims(eom);
    char                     name[NAME_SIZE], other[NAME_SIZE + 8];
    // ".w1" three places behind: the first of six velocities
    kd_eom_name(eom, KD_NAME_V, i, name, sizeof name);
    for (int k = 0; k < 2; k++) {
        const size_t length = strlen(name), tail = strlen(ENDING[k][0]);
        if (length <= tail || strcmp(name + length - tail, ENDING[k][0]) != 0) continue;
        snprintf(other, sizeof other, "%.*s.w1", (int)(length - tail), name);
        if (find_name(eom, KD_NAME_V, n.nv, other) != i + 3) continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(length - tail), name, ENDING[k][1]);
        *p = find_name(eom, KD_NAME_P, n.np, other);
        return *p >= 0;
    }
    return false;
}

// Is velocity i the first of a planar joint (joint.NAME.v1 to .v3)? Then its coordinates begin at *p.
static bool is_planar_joint(const kd_eom *eom, int i, int *p)
{
    const kd_dims n = kd_eom_dims(eom);
    char          name[NAME_SIZE], other[NAME_SIZE + 8];
    kd_eom_name(eom, KD_NAME_V, i, name, sizeof name);
    // three velocities and no fourth one
    const size_t stem = strlen(name) > 3 ? strlen(name) - 3 : 0;
    if (stem == 0 || strcmp(name + stem, ".v1") != 0) return false;
    snprintf(other, sizeof other, "%.*s.v4", (int)stem, name);
    if (find_name(eom, KD_NAME_V, n.nv, other) >= 0) return false;
    snprintf(other, sizeof other, "%.*s.v3", (int)stem, name);
    if (find_name(eom, KD_NAME_V, n.nv, other) != i + 2) return false;
    snprintf(other, sizeof other, "%.*s.q1", (int)stem, name);
    *p = find_name(eom, KD_NAME_P, n.np, other);
    return *p >= 0;
}

bool kd_turn_find(const kd_eom *eom, double rate, kd_turn *turn)
{
    if (!eom || !turn) return false;
    const kd_dims n = kd_eom_dims(eom);
    *turn = (kd_turn){.rate = rate};
    // free ones first: a car on a road has six velocities
    for (int planar = 0; planar < 2; planar++)
        for (int i = 0; i + (planar ? 2 : 5) < n.nv; i++) {
            turn->v = i, turn->planar = planar;
            if (planar ? is_planar_joint(eom, i, &turn->p) : is_free_joint(eom, i, &turn->p)) return true;
        }
    return false;
}

void kd_turn_release(const kd_eom *eom, const kd_turn *turn, const kd_state *x, bool *free_p, bool *free_v)
{
    const kd_dims n = kd_eom_dims(eom);
    if (!turn || !kd_state_fits(eom, x) || !free_p || !free_v) return;
    for (int i = 0; i < n.nv; i++) {
        // place in the plane stays, its heading and all else may change
        const int own = i - turn->v;
        free_p[i] = own != 0 && own != 1;
        // wheels turn as fast as they must
        free_v[i] = (own < 0 || own > (turn->planar ? 2 : 5)) && x->v[i] != 0;
    }
}
