// overlap.c: faces of solids inside other solids. All forms but tubes and pyramids are filled and convex, so that a
// face is inside one of them exactly when all its corners are.
#include "drawing/overlap.h"

#include "drawing/mesh.h"

static const double SKIN = 1e-4; // of its size: how deep a point must lie to be inside; faces in one plane are not

kd_form kd_form_of(int mesh)
{
    switch (mesh) {
    case KD_MESH_BALL:
        return KD_FORM_BALL;
    case KD_MESH_BOX:
    case KD_MESH_BAR:
        return KD_FORM_BOX;
    case KD_MESH_CYLINDER:
    case KD_MESH_LONG:
    case KD_MESH_DISC:
        return KD_FORM_ROUND;
    default:
        return KD_FORM_OPEN;
    }
}

void kd_placed_at(const kd_scene *s, int frame, kd_placed *placed)
{
    for (int i = 0; i < s->nsolids; i++) {
        const kd_solid *solid = &s->solid[i];
        kd_mat3         own = kd_quat_matrix(solid->q), R;
        kd_vec3         r;
        kd_film_pose(&s->film, frame, solid->body, &r, &R);
        placed[i] = (kd_placed){.centre = kd_vec_add(r, kd_mat_vec(&R, solid->r)),
                                .A = kd_mat_mul(&R, &own),
                                .reach = kd_vec_norm(solid->size)};
    }
}

// Deeper than the skin
static bool is_inside(const kd_solid *solid, const kd_placed *at, kd_vec3 point)
{
    // in the axes of the solid, by its size
    kd_vec3 q = kd_mat_tvec(&at->A, kd_vec_sub(point, at->centre));
    q = kd_vec(q.x / solid->size.x, q.y / solid->size.y, q.z / solid->size.z);
    switch (kd_form_of(solid->mesh)) {
    case KD_FORM_BALL:
        return kd_vec_dot(q, q) < 1 - 2 * SKIN;
    case KD_FORM_BOX:
        return fmax(fabs(q.x), fmax(fabs(q.y), fabs(q.z))) < 0.5 - SKIN;
    case KD_FORM_ROUND:
        return q.x * q.x + q.y * q.y < 1 - 2 * SKIN && fabs(q.z) < 0.5 - SKIN;
    case KD_FORM_OPEN:
        break;
    }
    return false;
}

// Where the way from a point inside a solid to one outside leaves it, by bisection
static kd_vec3 way_out(const kd_solid *solid, const kd_placed *at, kd_vec3 inside, kd_vec3 outside)
{
    for (int i = 0; i < 12; i++) {
        kd_vec3 middle = kd_vec_scale(0.5, kd_vec_add(inside, outside));
        if (is_inside(solid, at, middle))
            inside = middle;
        else
            outside = middle;
    }
    return outside;
}

// Take away what is inside one solid: the whole face, or one end of a wall. Returns the number of corners that are
// left.
static int take_away(const kd_solid *solid, const kd_placed *at, kd_vec3 *corner, int n)
{
    bool inside[KD_MESH_MOST_CORNERS];
    int  count = 0;
    for (int i = 0; i < n; i++) count += inside[i] = is_inside(solid, at, corner[i]);
    if (count == n) return 0;
    // a wall that is inside at one end is cut there; other faces stay
    if (n != 4 || count != 2) return n;
    for (int k = 0; k < 4; k++) {
        kd_vec3 *a = &corner[k], *b = &corner[(k + 1) % 4], *c = &corner[(k + 2) % 4], *d = &corner[(k + 3) % 4];
        if (!inside[k] || !inside[(k + 1) % 4]) continue;
        *a = way_out(solid, at, *a, *d);
        *b = way_out(solid, at, *b, *c);
        break;
    }
    return n;
}

int kd_visible_face(const kd_scene *s, const kd_placed *placed, int solid, int face, kd_vec3 *corner)
{
    const kd_solid *own = &s->solid[solid];
    const kd_mesh  *mesh = &s->mesh[own->mesh];
    int             n = mesh->first[face + 1] - mesh->first[face];
    // corners in the world
    for (int i = 0; i < n; i++) {
        kd_vec3 e = mesh->vertex[mesh->corner[mesh->first[face] + i]];
        kd_vec3 a = kd_vec(e.x * own->size.x, e.y * own->size.y, e.z * own->size.z);
        corner[i] = kd_vec_add(placed[solid].centre, kd_mat_vec(&placed[solid].A, a));
    }
    // what is inside of others, of those that are near enough
    for (int j = 0; j < s->nsolids && n > 0; j++) {
        kd_vec3 apart = kd_vec_sub(placed[j].centre, placed[solid].centre);
        double  reach = placed[j].reach + placed[solid].reach;
        if (j != solid && kd_vec_dot(apart, apart) < reach * reach) n = take_away(&s->solid[j], &placed[j], corner, n);
    }
    return n;
}
