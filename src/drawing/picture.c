// picture.c: a scene as SVG: several instants of a motion, or its start as the viewer shows it when it opens. Faces that look at the camera are drawn one over the other, each before those that cover it
// (order.h), in a colour that follows its slope against the light and pales with its distance. Earlier and later instants are outlines:
// every mesh is convex or a tube, so that its outline is the convex hull of its corners.
#include "drawing/picture.h"

#include <stdlib.h>
#include <string.h>

#include "core/rounded.h"
#include "drawing/camera.h"
#include "drawing/hull.h"
#include "drawing/light.h"
#include "drawing/mesh.h"
#include "drawing/order.h"
#include "drawing/overlap.h"
#include "results/file.h"

enum {
    WIDTH = 840,
    HEIGHT = 520,
    MARGIN = 26,
    GHOSTS = 5,        // instants from the start on
    MOST_FACES = 4000, // with more, all is drawn as outlines
    MOST_VERTICES = KD_MESH_MOST_VERTICES,
    SHEET_NODES = 250, // of a surface that deforms
    FIRST_SIDE = 600,  // of the picture that the viewer begins with
    WINDINGS = 9,      // of a spring
    WINDING_POINTS = 12,
    TRACE_POINTS = 512
};
static const double BALL_DEPTH = 0.6; // of its radius: where a ball stands before or behind others
// As the viewer has them (viewer/src/stage.ts, solids.ts): half of its angle of view, room around the mechanism, the ground beyond it, a sector
// that is darker, the wire of a spring
static const double HALF_VIEW = 16 * KD_PI / 180, ROOM = 1.05, GROUND_REACH = 2.5, SECTOR = 0.55, WIRE = 0.13;
static const double SPECK = 9; // [px] of the radius of what is too small for faces in the page

typedef kd_hull_spot spot; // a point of the picture [px], and how near it is

typedef struct item { // something to draw, by depth
    double z;
    int    solid, face; // face -1: all of the solid; solid -1 - i: coil i, face is its piece
    int    sheet;       // 1 + number of a surface that deforms, face: its triangle, then its line; 0: none
} item;

typedef struct picture {
    FILE           *file;
    const kd_scene *s;
    kd_vec3         u, v, w, centre; // of the camera at this frame
    double          distance;        // of the eye from the centre
    double          scale, ox, oy;   // [px/m], place of the centre
    bool            first;           // as the viewer shows it when it opens
    kd_vec3         light;
    int             frame;
    kd_placed      *placed; // (nsolids) at this frame
    kd_deformed    *sheet;  // (ndeformed) with few nodes
    kd_arena        arena;  // of those
} picture;

// ---- projection -----------------------------------------------------------------------------------------------------
// Central projection: d/(d - z) times the coordinates along u and v
static spot project(const picture *p, kd_vec3 point)
{
    kd_vec3 q = kd_vec_sub(point, p->centre);
    double  z = kd_vec_dot(q, p->w), d = p->distance, k = p->scale * d / fmax(d - z, 0.05 * d);
    return (spot){p->ox + k * kd_vec_dot(q, p->u), p->oy - k * kd_vec_dot(q, p->v), z};
}

// Axes of the camera, scale, light
static void open_view(picture *p)
{
    const kd_camera *c = &p->s->camera;
    double           width = c->high[0] - c->low[0], height = c->high[1] - c->low[1];
    kd_camera_axes(c, &p->u, &p->v, &p->w);
    p->distance = c->distance;
    // the rectangle of the camera in the middle of the picture
    p->scale = fmin((WIDTH - 2 * MARGIN) / fmax(width, 1e-9), (HEIGHT - 2 * MARGIN) / fmax(height, 1e-9));
    p->ox = 0.5 * WIDTH - p->scale * 0.5 * (c->low[0] + c->high[0]);
    p->oy = 0.5 * HEIGHT + p->scale * 0.5 * (c->low[1] + c->high[1]);
    // from above, in front and the left
    kd_vec3 light = kd_vec_axpy(kd_vec_axpy(kd_vec_scale(0.9, c->up), 0.5, c->front), -0.3, c->right);
    p->light = kd_vec_scale(1.0 / kd_vec_norm(light), light);
}

// The same where the ball around the motion fills a square, as in the viewer
static void open_first_view(picture *p)
{
    kd_camera_axes(&p->s->camera, &p->u, &p->v, &p->w);
    p->distance = ROOM * p->s->radius / sin(HALF_VIEW);
    p->scale = 0.5 * FIRST_SIDE / (p->distance * tan(HALF_VIEW));
    p->ox = p->oy = 0.5 * FIRST_SIDE;
}

static void go_to_frame(picture *p, int frame)
{
    p->frame = frame;
    p->centre = kd_vec_add(p->s->camera.centre, kd_camera_travel(p->s, frame));
    kd_placed_at(p->s, frame, p->placed);
}

// Corners of a solid in the world; the number of them
static int corners_of(const picture *p, int number, kd_vec3 *out)
{
    const kd_solid  *solid = &p->s->solid[number];
    const kd_mesh   *mesh = &p->s->mesh[solid->mesh];
    const kd_placed *at = &p->placed[number];
    for (int i = 0; i < mesh->nvertices; i++) {
        kd_vec3 e = mesh->vertex[i], a = kd_vec(e.x * solid->size.x, e.y * solid->size.y, e.z * solid->size.z);
        out[i] = kd_vec_add(at->centre, kd_mat_vec(&at->A, a));
    }
    return mesh->nvertices;
}

// ---- writing --------------------------------------------------------------------------------------------------------
static void put_number(FILE *file, const char *before, double value)
{
    char number[40];
    fputs(before, file);
    fputs(kd_rounded_text(fmin(fmax(value, -1e5), 1e5), "%.1f", number, sizeof number), file);
}

static double tenths(double value)
{
    return round(10.0 * fmin(fmax(value, -1e4), 1e4));
}

// Steps of a path in tenths of a pixel from point to point, so that rounding does not add up; with as few characters as
// there can be: the first point whole, the others as differences.
static void put_points(FILE *file, const spot *spots, int n)
{
    double x = 0, y = 0;
    for (int i = 0; i < n; i++) {
        double dx = tenths(spots[i].x) - x, dy = tenths(spots[i].y) - y;
        char   number[40];
        fputs(i == 0 ? "M" : i == 1 ? "l" : " ", file);
        fputs(kd_rounded_text(0.1 * dx, "%.5g", number, sizeof number), file);
        kd_rounded_text(0.1 * dy, "%.5g", number, sizeof number);
        fprintf(file, number[0] == '-' ? "%s" : " %s", number);
        x += dx;
        y += dy;
    }
}

static void put_loop(FILE *file, const spot *spots, int n)
{
    put_points(file, spots, n);
    fputs("z", file);
}

static long mix(double a, double b, double part)
{
    return lround(fmin(fmax(a + part * (b - a), 0.0), 255.0));
}

// Colour of a surface with normal n at depth z: darker away from the light, paler away from the eye.
static void put_colour(const picture *p, int paint, kd_vec3 n, double z, bool marked)
{
    if (p->first) {
        int lit[3];
        kd_light_colour(&p->s->camera, kd_paint_colour(paint), n, marked ? SECTOR : 1.0, lit);
        fprintf(p->file, "<path color=\"#%02x%02x%02x\" d=\"", lit[0], lit[1], lit[2]);
        return;
    }
    long rgb[3], colour = strtol(kd_paint_colour(paint) + 1, NULL, 16);
    for (int i = 0; i < 3; i++) rgb[i] = colour >> (16 - 8 * i) & 255;
    // diffuse light from above and a little from the eye; marked sectors are darker
    double bright =
        0.66 + 0.36 * fmax(kd_vec_dot(n, p->light), 0.0) + 0.1 * kd_vec_dot(n, p->w) - (marked ? 0.16 : 0.0);
    double pale = 0.1 + 0.22 * fmin(fmax(0.5 - 0.5 * z / p->s->radius, 0.0), 1.0);
    for (int i = 0; i < 3; i++) rgb[i] = mix((double)mix(0.0, (double)rgb[i], bright), 250.0, pale);
    fprintf(p->file, "<path color=\"#%02lx%02lx%02lx\" d=\"", rgb[0], rgb[1], rgb[2]);
}

// ---- outlines -------------------------------------------------------------------------------------------------------
// Where the light from above lets a point fall on the floor
static kd_vec3 on_floor(const picture *p, kd_vec3 point)
{
    kd_vec3 up = p->s->camera.up;
    double  height = kd_vec_dot(kd_vec_sub(point, p->s->camera.centre), up) - p->s->floor;
    return kd_vec_axpy(point, -height, up);
}

// Points around a ball that make its outline, seen along an axis
static int rim_of(kd_vec3 centre, double radius, kd_vec3 a, kd_vec3 b, kd_vec3 *out)
{
    for (int i = 0; i < 16; i++) {
        double angle = 2.0 * KD_PI * i / 16;
        out[i] = kd_vec_axpy(kd_vec_axpy(centre, radius * cos(angle), a), radius * sin(angle), b);
    }
    return 16;
}

// The faces of a tube that are seen, all with the same sense of rotation: together they are its outline
static void put_front(FILE *file, const kd_mesh *mesh, const spot *spots)
{
    for (int i = 0; i < mesh->nfaces; i++) {
        spot loop[MOST_VERTICES];
        int  n = mesh->first[i + 1] - mesh->first[i];
        for (int k = 0; k < n; k++) loop[k] = spots[mesh->corner[mesh->first[i] + k]];
        if (kd_turn(&loop[0], &loop[1], &loop[2]) < 0) put_loop(file, loop, n);
    }
}

// Outline of a solid, or of its shadow on the floor
static void put_outline(const picture *p, int number, bool shadow)
{
    const kd_solid *solid = &p->s->solid[number];
    kd_vec3         corner[MOST_VERTICES];
    spot            spots[MOST_VERTICES], hull[MOST_VERTICES + 1];
    int             n;
    // points whose hull is the outline: a rim of the ball, or all corners
    if (solid->mesh == KD_MESH_BALL) {
        const kd_camera *c = &p->s->camera;
        n = rim_of(p->placed[number].centre, solid->size.x, shadow ? c->right : p->u, shadow ? c->front : p->v, corner);
    } else {
        n = corners_of(p, number, corner);
    }
    for (int i = 0; i < n; i++) spots[i] = project(p, shadow ? on_floor(p, corner[i]) : corner[i]);
    if (solid->mesh != KD_MESH_BALL && p->s->mesh[solid->mesh].hollow)
        put_front(p->file, &p->s->mesh[solid->mesh], spots);
    else
        put_loop(p->file, hull, kd_hull(spots, n, hull));
}

// ---- floor ----------------------------------------------------------------------------------------------------------
static void put_grid(const picture *p)
{
    const kd_camera *c = &p->s->camera;
    double           step = p->s->grid, reach = 1.5 * p->s->radius;
    kd_vec3          middle = on_floor(p, p->centre);
    for (int direction = 0; direction < 2; direction++) {
        kd_vec3 across = direction == 0 ? c->right : c->front, along = direction == 0 ? c->front : c->right;
        double  first = step * ceil((kd_vec_dot(middle, across) - reach) / step);
        for (double at = first; at < kd_vec_dot(middle, across) + reach; at += step) {
            // a line of the grid ends on a circle about the middle, and fades towards it
            double  off = at - kd_vec_dot(middle, across), half = sqrt(fmax(reach * reach - off * off, 0.0));
            kd_vec3 on = kd_vec_axpy(middle, off, across);
            spot    a = project(p, kd_vec_axpy(on, -half, along)), b = project(p, kd_vec_axpy(on, half, along));
            put_number(p->file, "<path d=\"M", a.x);
            put_number(p->file, " ", a.y);
            put_number(p->file, "L", b.x);
            put_number(p->file, " ", b.y);
            fprintf(p->file, "\" opacity=\"%.2f\"/>\n", 1.0 - 0.8 * off * off / (reach * reach));
        }
    }
}

// Grid, then the shadows of all solids as one path
static void put_floor(const picture *p)
{
    fputs("<g stroke=\"#d9dfe6\" fill=\"none\">\n", p->file);
    put_grid(p);
    fputs("</g>\n<path fill=\"#1f2933\" opacity=\".1\" d=\"", p->file);
    for (int i = 0; i < p->s->nsolids; i++) {
        put_outline(p, i, true);
        fputc('\n', p->file);
    }
    fputs("\"/>\n", p->file);
}

// ---- instants -------------------------------------------------------------------------------------------------------
static int by_depth(const void *a, const void *b)
{
    double za = ((const item *)a)->z, zb = ((const item *)b)->z;
    return za < zb ? -1 : za > zb;
}

// Outlines of all solids at a frame, far ones first
static void put_ghost(const picture *p, item *items)
{
    for (int i = 0; i < p->s->nsolids; i++) items[i] = (item){.z = project(p, p->placed[i].centre).z, .solid = i};
    qsort(items, (size_t)p->s->nsolids, sizeof *items, by_depth);
    fputs("<g opacity=\".13\">\n", p->file);
    for (int i = 0; i < p->s->nsolids; i++) {
        const kd_solid *solid = &p->s->solid[items[i].solid];
        if (solid->body < 0 || solid->paint >= KD_PAINT_BODIES) continue;
        fprintf(p->file, "<path fill=\"%s\" d=\"", kd_paint_colour(solid->paint));
        put_outline(p, items[i].solid, false);
        fputs("\"/>\n", p->file);
    }
    fputs("</g>\n", p->file);
}

static kd_vec3 normal_of(const kd_vec3 *corner)
{
    kd_vec3 n = kd_vec_cross(kd_vec_sub(corner[1], corner[0]), kd_vec_sub(corner[2], corner[0]));
    return kd_vec_scale(1.0 / fmax(kd_vec_norm(n), 1e-300), n);
}

// What is left of a face outside of other solids
static void put_face(const picture *p, const item *at)
{
    const kd_solid *solid = &p->s->solid[at->solid];
    kd_vec3         corner[KD_MESH_MOST_CORNERS];
    spot            spots[KD_MESH_MOST_CORNERS];
    int             n = kd_visible_face(p->s, p->placed, at->solid, at->face, corner);
    for (int i = 0; i < n; i++) spots[i] = project(p, corner[i]);
    put_colour(p, solid->paint, normal_of(corner), at->z, at->face < p->s->mesh[solid->mesh].nmarked);
    put_loop(p->file, spots, n);
    fputs("\"/>\n", p->file);
}

// A ball as a circle, others as their outline
static void put_whole(const picture *p, const item *at)
{
    const kd_solid *solid = &p->s->solid[at->solid];
    if (solid->mesh == KD_MESH_BALL) {
        spot   s = project(p, p->placed[at->solid].centre);
        double d = p->distance;
        put_number(p->file, "<circle cx=\"", s.x);
        put_number(p->file, "\" cy=\"", s.y);
        put_number(p->file, "\" r=\"", p->scale * solid->size.x * d / (d - s.z));
        fprintf(p->file, "\" fill=\"url(#kd-ball-%d)\" stroke=\"none\"/>\n", solid->paint);
        return;
    }
    put_colour(p, solid->paint, p->w, at->z, false);
    put_outline(p, at->solid, false);
    fputs("\"/>\n", p->file);
}

// The faces of a solid that look at the camera
static int collect_faces(const picture *p, int number, item *items)
{
    const kd_mesh *mesh = &p->s->mesh[p->s->solid[number].mesh];
    kd_vec3        corner[KD_MESH_MOST_CORNERS], eye = kd_vec_axpy(p->centre, p->distance, p->w);
    int            count = 0;
    for (int i = 0; i < mesh->nfaces; i++) {
        int    n = kd_visible_face(p->s, p->placed, number, i, corner);
        double z = 0;
        if (n < 3 || kd_vec_dot(normal_of(corner), kd_vec_sub(eye, corner[0])) <= 0) continue;
        for (int k = 0; k < n; k++) z += project(p, corner[k]).z / n;
        items[count++] = (item){.z = z, .solid = number, .face = i};
    }
    return count;
}

// ---- springs and traces ---------------------------------------------------------------------------------------------
// Point i of a spring: straight ends of an eighth of the length each, windings between them
static kd_vec3 coil_point(const kd_coil *coil, kd_vec3 a, kd_vec3 b, const kd_mat3 *R, int i)
{
    int n = WINDINGS * WINDING_POINTS;
    if (i <= 0) return a;
    if (i >= n + 2) return b;
    // on the helix: s along the axis, angle about it
    double  s = 0.125 + 0.75 * (i - 1) / n, angle = 2.0 * KD_PI * (i - 1) / WINDING_POINTS;
    double  radius = i == 1 || i == n + 1 ? 0.0 : coil->radius;
    kd_vec3 on = kd_vec_axpy(a, s, kd_vec_sub(b, a));
    return kd_vec_axpy(kd_vec_axpy(on, radius * cos(angle), R->x), radius * sin(angle), R->y);
}

// z from a to b, x and y across it, of length 1
static kd_mat3 coil_axes(kd_vec3 a, kd_vec3 b)
{
    kd_vec3 z = kd_vec_sub(b, a), x = fabs(z.x) < 0.7 * kd_vec_norm(z) ? kd_vec(1, 0, 0) : kd_vec(0, 1, 0);
    kd_vec3 y = kd_vec_cross(z, x);
    y = kd_vec_scale(1.0 / fmax(kd_vec_norm(y), 1e-300), y);
    x = kd_vec_cross(y, z);
    return (kd_mat3){kd_vec_scale(1.0 / fmax(kd_vec_norm(x), 1e-300), x), y, z};
}

// What is straight, as thick as the viewer makes it: a damper is a rod in a cylinder, a coupling a row of dashes
static void put_straight(const picture *p, const kd_coil *coil, kd_vec3 a, kd_vec3 b)
{
    const double  part[2][3] = {{0, 1, coil->look == KD_LINK_DAMPER ? 0.4 : 1}, {0.04, 0.55, 1}};
    const kd_vec3 along = kd_vec_sub(b, a), side = kd_vec_scale(1.0 / fmax(kd_vec_norm(along), 1e-300), along);
    // the normal that looks at the eye
    kd_vec3 n = kd_vec_axpy(p->w, -kd_vec_dot(p->w, side), side);
    n = kd_vec_scale(1.0 / fmax(kd_vec_norm(n), 1e-300), n);
    for (int i = 0; i < (coil->look == KD_LINK_DAMPER ? 2 : 1); i++) {
        const spot   ends[] = {project(p, kd_vec_axpy(a, part[i][0], along)),
                               project(p, kd_vec_axpy(a, part[i][1], along))};
        const double length = hypot(ends[1].x - ends[0].x, ends[1].y - ends[0].y);
        put_colour(p, KD_PAINT_JOINT, n, 0, false);
        put_points(p->file, ends, 2);
        put_number(p->file, "\" stroke-width=\"", fmax(2.0 * p->scale * part[i][2] * coil->thick, 0.8));
        if (coil->look == KD_LINK_COUPLING) {
            put_number(p->file, "\" stroke-dasharray=\"", length * 0.6 / 9);
            put_number(p->file, " ", length * 0.4 / 9);
        }
        fputs("\"/>\n", p->file);
    }
}

static void put_coil(const picture *p, const item *at)
{
    const kd_coil *coil = &p->s->coil[-1 - at->solid];
    kd_vec3        a = kd_film_point(&p->s->film, p->frame, &coil->from);
    kd_vec3        b = kd_film_point(&p->s->film, p->frame, &coil->to);
    kd_mat3        R = coil_axes(a, b);
    int            last = coil->radius > 0 ? WINDING_POINTS : 1;
    const char    *colour = kd_paint_colour(coil->radius > 0 ? KD_PAINT_SPRING : KD_PAINT_JOINT);
    if (p->first && coil->look != KD_LINK_COIL) {
        put_straight(p, coil, a, b);
        return;
    }
    // lines of some pixels, or of the wire's thickness
    const double width = p->first ? fmax(2.0 * WIRE * p->scale * coil->thick, 0.5) : coil->radius > 0 ? 1.8 : 3.0;
    fprintf(p->file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%.3g\" stroke-linecap=\"round\" d=\"", colour,
            width);
    // one winding, of few points where it is small
    const int step = coil->radius > 0 && p->first && p->scale * coil->radius < SPECK ? 3 : 1;
    spot      spots[WINDING_POINTS + 1];
    int       count = 0;
    for (int i = 0; i <= last; i += step) {
        int point = at->face * WINDING_POINTS + i;
        spots[count++] = project(p, coil->radius > 0 ? coil_point(coil, a, b, &R, point) : i == 0 ? a : b);
    }
    put_points(p->file, spots, count);
    fputs("\"/>\n", p->file);
}

// Pieces of a spring, a winding each, so that solids can stand between them
static int collect_coil(const picture *p, int number, item *items)
{
    const kd_coil *coil = &p->s->coil[number];
    double         za = project(p, kd_film_point(&p->s->film, p->frame, &coil->from)).z;
    double         zb = project(p, kd_film_point(&p->s->film, p->frame, &coil->to)).z;
    int            pieces = coil->radius > 0 ? WINDINGS + 1 : 1;
    for (int i = 0; i < pieces; i++)
        items[i] = (item){.z = za + (zb - za) * (i + 0.5) / pieces, .solid = -1 - number, .face = i};
    return pieces;
}

// ---- surfaces that deform -------------------------------------------------------------------------------------------
// Corners of a triangle, or of a strip along a line, in the world; how many
static int sheet_corners(const picture *p, const item *at, kd_vec3 corner[4])
{
    const kd_deformed *d = &p->sheet[at->sheet - 1];
    int                first = 0, n = at->face < d->ntriangles ? 3 : 2;
    const int         *node = n == 3 ? d->triangle + 3 * at->face : d->line + 2 * (at->face - d->ntriangles);
    for (int i = 0; i < at->sheet - 1; i++) first += p->sheet[i].nshapes;
    for (int i = 0; i < n; i++) corner[i] = kd_film_node(&p->s->film, p->frame, d, first, node[i]);
    if (n == 3) return 3;
    kd_vec3 across = kd_vec_cross(kd_vec_sub(corner[1], corner[0]), p->w);
    across = kd_vec_scale(0.006 * p->s->size / fmax(kd_vec_norm(across), 1e-300), across);
    corner[3] = kd_vec_add(corner[0], across);
    corner[2] = kd_vec_add(corner[1], across);
    corner[0] = kd_vec_sub(corner[0], across);
    corner[1] = kd_vec_sub(corner[1], across);
    return 4;
}

static int collect_sheet(const picture *p, int number, item *items)
{
    const kd_deformed *d = &p->sheet[number];
    const int          count = d->ntriangles + d->nlines;
    for (int i = 0; i < count; i++) {
        kd_vec3 corner[4];
        items[i] = (item){.face = i, .sheet = number + 1};
        const int n = sheet_corners(p, &items[i], corner);
        for (int k = 0; k < n; k++) items[i].z += project(p, corner[k]).z / n;
    }
    return count;
}

// both sides of it are seen
static void put_sheet(const picture *p, const item *at)
{
    kd_vec3   corner[4];
    spot      spots[4];
    const int n = sheet_corners(p, at, corner);
    kd_vec3   normal = normal_of(corner);
    if (kd_vec_dot(normal, p->w) < 0) normal = kd_vec_scale(-1.0, normal);
    for (int i = 0; i < n; i++) spots[i] = project(p, corner[i]);
    put_colour(p, p->s->paint[p->sheet[at->sheet - 1].body], normal, at->z, false);
    put_loop(p->file, spots, n);
    fputs("\"/>\n", p->file);
}

static void put_trace(const picture *p, const kd_trace *trace)
{
    spot spots[TRACE_POINTS];
    int  n = p->s->film.nframes, step = 1 + (n - 1) / TRACE_POINTS, count = 0;
    for (int i = 0; i < n; i += step) spots[count++] = project(p, kd_film_point(&p->s->film, i, &trace->at));
    fprintf(p->file, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.3\" opacity=\".75\" d=\"",
            kd_paint_colour(trace->paint));
    put_points(p->file, spots, count);
    fputs("\"/>\n", p->file);
}

// ---- axes of the world ----------------------------------------------------------------------------------------------
static void put_triad(const picture *p)
{
    static const char *const COLOUR[] = {"#b3392f", "#2f7d3b", "#2a5fb0"}, *const NAME[] = {"x", "y", "z"};
    const kd_vec3 axis[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double  x0 = 44, y0 = HEIGHT - 40, length = 26;
    for (int i = 0; i < 3; i++) {
        double x = length * kd_vec_dot(axis[i], p->u), y = -length * kd_vec_dot(axis[i], p->v);
        put_number(p->file, "<path d=\"M", x0);
        put_number(p->file, " ", y0);
        put_number(p->file, "L", x0 + x);
        put_number(p->file, " ", y0 + y);
        fprintf(p->file, "\" stroke=\"%s\" stroke-width=\"1.6\"/>", COLOUR[i]);
        put_number(p->file, "<text x=\"", x0 + 1.35 * x);
        put_number(p->file, "\" y=\"", y0 + 1.35 * y + 4);
        fprintf(p->file, "\" fill=\"%s\" text-anchor=\"middle\">%s</text>\n", COLOUR[i], NAME[i]);
    }
}

// ---- all ------------------------------------------------------------------------------------------------------------
// How far the bodies are from their places in the first frame
static double departure(const kd_film *film, int frame)
{
    double sum = 0;
    for (int i = 0; i < film->model->nbodies; i++) {
        kd_point_of at = {i, film->model->body[i].centre};
        sum += kd_vec_norm(kd_vec_sub(kd_film_point(film, frame, &at), kd_film_point(film, 0, &at)));
    }
    return sum;
}

// The first frame that is nearly as far from the start as any
static int main_frame(const kd_film *film)
{
    int    frame = 0;
    double farthest = 0;
    for (int i = 1; i < film->nframes; i++) farthest = fmax(farthest, departure(film, i));
    while (frame + 1 < film->nframes && departure(film, frame) < 0.98 * farthest) frame++;
    return frame;
}

static void put_head(FILE *file, const char *title)
{
    fprintf(
        file,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"12\">\n<title>",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    kd_file_escaped(file, title, 200);
    fputs("</title>\n<defs>\n", file);
    for (int i = 0; i < KD_PAINT_COUNT; i++)
        fprintf(
            file,
            "<radialGradient id=\"kd-ball-%d\" cx=\".38\" cy=\".32\" r=\".75\"><stop offset=\"0\" "
            "stop-color=\"#ffffff\" stop-opacity=\".85\"/><stop offset=\".35\" stop-color=\"%s\"/><stop offset=\"1\" "
            "stop-color=\"%s\"/></radialGradient>\n",
            i, kd_paint_colour(i), kd_paint_colour(i));
    fprintf(file, "</defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#f8fafb\"/>\n", WIDTH, HEIGHT);
}

// ---- what covers what -----------------------------------------------------------------------------------------------
static kd_corner corner_at(const picture *p, spot s)
{
    return (kd_corner){s.x, s.y, 1.0 / fmax(p->distance - s.z, 1e-9)};
}

// A flat polygon for each item: a face itself, the disc of a ball drawn towards the eye, the box around a piece of a spring
static int outline_item(const picture *p, const item *at, kd_corner *out)
{
    // sheets: their corners
    if (at->sheet > 0) {
        kd_vec3   corner[4];
        const int n = sheet_corners(p, at, corner);
        for (int i = 0; i < n; i++) out[i] = corner_at(p, project(p, corner[i]));
        return n;
    }
    // springs: a band along one piece of the winding, turned towards the eye
    if (at->solid < 0) {
        const kd_coil *coil = &p->s->coil[-1 - at->solid];
        const kd_vec3  a = kd_film_point(&p->s->film, p->frame, &coil->from);
        const kd_vec3  b = kd_film_point(&p->s->film, p->frame, &coil->to), along = kd_vec_sub(b, a);
        const double   pieces = coil->radius > 0 ? WINDINGS + 1 : 1, thick = coil->thick;
        const kd_vec3  from = kd_vec_axpy(a, at->face / pieces, along), to = kd_vec_axpy(from, 1 / pieces, along);
        kd_vec3        across = kd_vec_cross(along, p->w);
        across = kd_vec_scale(thick / fmax(kd_vec_norm(across), 1e-300), across);
        out[0] = corner_at(p, project(p, kd_vec_sub(from, across)));
        out[1] = corner_at(p, project(p, kd_vec_sub(to, across)));
        out[2] = corner_at(p, project(p, kd_vec_add(to, across)));
        out[3] = corner_at(p, project(p, kd_vec_add(from, across)));
        return 4;
    }
    // solids: the rim of a ball, or a face
    const kd_solid *solid = &p->s->solid[at->solid];
    kd_vec3         corner[KD_MESH_MOST_CORNERS];
    int             n;
    if (at->face < 0)
        n = rim_of(kd_vec_axpy(p->placed[at->solid].centre, BALL_DEPTH * solid->size.x, p->w), solid->size.x, p->u,
                   p->v, corner);
    else
        n = kd_visible_face(p->s, p->placed, at->solid, at->face, corner);
    for (int i = 0; i < n; i++) out[i] = corner_at(p, project(p, corner[i]));
    return n;
}

// Far ones first, each before what covers it. Without memory for that: by their middles
static void sort_items(const picture *p, item *items, int count)
{
    const size_t n = (size_t)count;
    kd_corner   *corner = kd_alloc(n * KD_MESH_MOST_CORNERS * sizeof *corner + 1);
    kd_patch    *patch = kd_alloc(n * sizeof *patch + 1);
    int         *order = kd_alloc(n * sizeof *order + 1);
    item        *sorted = kd_alloc(n * sizeof *sorted + 1);
    qsort(items, n, sizeof *items, by_depth);
    if (corner && patch && order && sorted) {
        for (int i = 0, used = 0; i < count; i++) {
            patch[i] = (kd_patch){used, outline_item(p, &items[i], corner + used)};
            used += patch[i].count;
        }
        if (kd_order_patches(corner, patch, count, order) == KD_OK) {
            for (int i = 0; i < count; i++) sorted[i] = items[order[i]];
            memcpy(items, sorted, n * sizeof *items);
        }
    }
    kd_free(corner);
    kd_free(patch);
    kd_free(order);
    kd_free(sorted);
}

// Small things with many faces are outlines in the page, which is to stay small
static bool is_speck(const picture *p, int number)
{
    const kd_solid *solid = &p->s->solid[number];
    const double    size = fmax(solid->size.x, fmax(solid->size.y, 0.5 * solid->size.z));
    return p->first && p->s->mesh[solid->mesh].nfaces > 8 && p->scale * size < SPECK;
}

// Everything at the frame that is shown in full
static void put_instant(const picture *p, item *items, bool outlines)
{
    int count = 0;
    // everything that is seen, with its depth
    for (int i = 0; i < p->s->nsolids; i++) {
        if (outlines || p->s->solid[i].mesh == KD_MESH_BALL || is_speck(p, i))
            items[count++] = (item){.z = project(p, p->placed[i].centre).z, .solid = i, .face = -1};
        else
            count += collect_faces(p, i, items + count);
    }
    for (int i = 0; i < p->s->ncoils; i++)
        if (p->first || p->s->coil[i].look != KD_LINK_COUPLING) count += collect_coil(p, i, items + count);
    for (int i = 0; i < p->s->film.ndeformed; i++) count += collect_sheet(p, i, items + count);
    if (outlines)
        qsort(items, (size_t)count, sizeof *items, by_depth);
    else
        sort_items(p, items, count);
    // edges overlap a little, so that the ground does not shine through
    fprintf(p->file,
            "<g fill=\"currentColor\" stroke=\"currentColor\" stroke-width=\"%s\" stroke-linejoin=\"round\">\n",
            p->first ? "1.2" : ".7");
    for (int i = 0; i < count; i++) {
        if (items[i].sheet > 0)
            put_sheet(p, &items[i]);
        else if (items[i].solid < 0)
            put_coil(p, &items[i]);
        else if (items[i].face < 0)
            put_whole(p, &items[i]);
        else
            put_face(p, &items[i]);
    }
    fputs("</g>\n", p->file);
}

// ---- the viewer's start ----------------------------------------------------------------------------------------------
// Balls: bright where the sun is, and as dark as what it does not reach towards the rim
static void put_first_head(const picture *p, const char *title)
{
    const kd_camera *c = &p->s->camera;
    const kd_vec3    sun = kd_light_sun(c);
    const double     cosine[] = {1.0, 0.6, 0.0}, x = kd_vec_dot(sun, p->u), y = kd_vec_dot(sun, p->v);
    fprintf(p->file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            FIRST_SIDE, FIRST_SIDE);
    kd_file_escaped(p->file, title, 200);
    fputs("</title>\n<defs>\n", p->file);
    for (int i = 0; i < KD_PAINT_COUNT; i++) {
        fprintf(p->file, "<radialGradient id=\"kd-ball-%d\" r=\".75\" ", i);
        fprintf(p->file, "cx=\"%.2f\" cy=\"%.2f\">", 0.5 + 0.4 * x, 0.5 - 0.4 * y);
        for (int k = 0; k < 3; k++) {
            // a normal with that angle to the sun, towards the eye
            kd_vec3 across = kd_vec_axpy(p->w, -kd_vec_dot(p->w, sun), sun);
            double  far = sqrt(1.0 - cosine[k] * cosine[k]) / fmax(kd_vec_norm(across), 1e-9);
            int     rgb[3];
            kd_light_colour(c, kd_paint_colour(i), kd_vec_axpy(kd_vec_scale(cosine[k], sun), far, across), 1.0, rgb);
            fprintf(p->file, "<stop offset=\"%d%%\" stop-color=\"#%02x%02x%02x\"/>", 50 * k, rgb[0], rgb[1], rgb[2]);
        }
        fputs("</radialGradient>\n", p->file);
    }
    fputs("</defs>\n", p->file);
}

// A line of the ground as far as it is before the eye
static void put_ground_line(const picture *p, kd_vec3 a, kd_vec3 b)
{
    const double limit = 0.9 * p->distance;
    const double za = kd_vec_dot(kd_vec_sub(a, p->centre), p->w), zb = kd_vec_dot(kd_vec_sub(b, p->centre), p->w);
    if (za > limit && zb > limit) return;
    if (za > limit) a = kd_vec_axpy(b, (limit - zb) / (za - zb), kd_vec_sub(a, b));
    if (zb > limit) b = kd_vec_axpy(a, (limit - za) / (zb - za), kd_vec_sub(b, a));
    const spot ends[] = {project(p, a), project(p, b)};
    put_points(p->file, ends, 2);
}

// Grids on surfaces in contact; all: tracks, roads and curves as well
static void put_courses(const picture *p, bool all)
{
    for (int i = 0; i < p->s->nlines; i++) {
        const kd_line *line = &p->s->line[i];
        if (!all && !line->grid) continue;
        fputs("<path class=\"course\" fill=\"none\" stroke=\"#8b95a1\" stroke-width=\".7\" d=\"", p->file);
        for (int k = 0; k + 1 < line->count; k++)
            put_ground_line(p, kd_film_point(&p->s->film, p->frame, &(kd_point_of){line->body, line->point[k]}),
                            kd_film_point(&p->s->film, p->frame, &(kd_point_of){line->body, line->point[k + 1]}));
        fputs("\"/>\n", p->file);
    }
}

// The grid, with a heavier line every five; then tracks, roads and curves
static void put_first_floor(const picture *p)
{
    const kd_scene  *s = p->s;
    const kd_camera *c = &s->camera;
    const int        lines = (int)ceil(GROUND_REACH * s->radius / s->grid);
    const double     reach = lines * s->grid, big = 5.0 * s->grid;
    // its middle in whole squares
    kd_vec3 middle = kd_vec_scale(s->floor + kd_vec_dot(c->centre, c->up), c->up);
    middle = kd_vec_axpy(middle, big * round(kd_vec_dot(p->centre, c->right) / big), c->right);
    middle = kd_vec_axpy(middle, big * round(kd_vec_dot(p->centre, c->front) / big), c->front);
    for (int heavy = 0; heavy < 2; heavy++) {
        fprintf(p->file, "<path class=\"ground\" opacity=\"%s\" d=\"", heavy ? ".55" : ".25");
        for (int i = -lines; i <= lines; i++) {
            if ((i % 5 == 0) != heavy) continue;
            kd_vec3 x = kd_vec_axpy(middle, i * s->grid, c->right), y = kd_vec_axpy(middle, i * s->grid, c->front);
            put_ground_line(p, kd_vec_axpy(x, -reach, c->front), kd_vec_axpy(x, reach, c->front));
            put_ground_line(p, kd_vec_axpy(y, -reach, c->right), kd_vec_axpy(y, reach, c->right));
        }
        fputs("\"/>\n", p->file);
    }
    put_courses(p, true);
}

// ---- both -----------------------------------------------------------------------------------------------------------
// Room for what is drawn; release it in any case
static kd_status open_picture(picture *p, item **items, int *nfaces)
{
    const kd_scene *s = p->s;
    *nfaces = 0;
    for (int i = 0; i < s->nsolids; i++)
        *nfaces += s->solid[i].mesh == KD_MESH_BALL ? 1 : s->mesh[s->solid[i].mesh].nfaces;
    int nitems = *nfaces + s->nsolids + s->ncoils * (WINDINGS + 1);
    p->sheet = kd_arena_cut(&p->arena, (size_t)s->film.ndeformed, sizeof *p->sheet);
    for (int i = 0; p->sheet && i < s->film.ndeformed; i++) {
        if (kd_deformed_thin(&s->deformed[i], SHEET_NODES, &p->arena, &p->sheet[i]) < 0) p->arena.failed = true;
        nitems += p->sheet[i].ntriangles + p->sheet[i].nlines;
    }
    *items = kd_alloc((size_t)nitems * sizeof **items);
    p->placed = kd_alloc((size_t)s->nsolids * sizeof *p->placed);
    return *items && p->placed && !p->arena.failed ? KD_OK : KD_ERR_MEMORY;
}

static void release_picture(picture *p, item *items)
{
    kd_free(p->placed);
    kd_free(items);
    kd_arena_release(&p->arena);
}

kd_status kd_picture_write(FILE *file, const kd_scene *scene, const char *title)
{
    picture   p = {.file = file, .s = scene};
    item     *items;
    int       nfaces, shown = main_frame(&scene->film); // the instant that is shown in full
    kd_status status = open_picture(&p, &items, &nfaces);
    if (status != KD_OK) goto done;
    open_view(&p);
    go_to_frame(&p, shown);
    // floor and shadows, then earlier instants as outlines
    put_head(file, title);
    put_floor(&p);
    for (int i = 0; i < GHOSTS && !scene->follows && !scene->falls && nfaces <= MOST_FACES; i++) {
        go_to_frame(&p, shown * i / GHOSTS);
        if (i == 0 || p.frame != shown * (i - 1) / GHOSTS) put_ghost(&p, items);
    }
    // then the instant itself, traces and the axes of the world
    go_to_frame(&p, shown);
    put_courses(&p, false);
    put_instant(&p, items, nfaces > MOST_FACES);
    for (int i = 0; i < scene->ntraces; i++) put_trace(&p, &scene->trace[i]);
    put_triad(&p);
    fputs("</svg>\n", file);
done:
    release_picture(&p, items);
    return status;
}

kd_status kd_picture_write_first(FILE *file, const kd_scene *scene, const char *title)
{
    picture   p = {.file = file, .s = scene, .first = true};
    item     *items;
    int       nfaces;
    kd_status status = open_picture(&p, &items, &nfaces);
    if (status == KD_OK) {
        open_first_view(&p);
        go_to_frame(&p, 0);
        put_first_head(&p, title);
        put_first_floor(&p);
        put_instant(&p, items, nfaces > MOST_FACES);
        fputs("</svg>\n", file);
    }
    release_picture(&p, items);
    return status;
}
