// order.c: for each pair of patches whose boxes meet, the polygon that both cover (Sutherland and Hodgman's clipping); at its
// middle the nearer one is painted later. A topological sort of these relations (Kahn), far patches first.
#include "drawing/order.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

enum { MOST = 96 };                  // corners of what two patches share
static const double LEAST = 0.02;    // [px^2] smaller overlaps are touching edges
static const double SAME = 1e-6;     // relative difference of nearness: in one plane
static const double NOTHING = 1e-12; // area of a patch seen from its edge

typedef struct facts { // of a patch
    double low[2], high[2];
    double a, b, c; // near = a + b x + c y
    double middle;  // its nearness there
    bool   flat;    // has an area
} facts;

typedef struct sorter {
    const kd_corner *corner;
    const kd_patch  *patch;
    facts           *of;
    int              n;
    unsigned char   *behind; // (n x n bits) row i: those that i is behind
    size_t           row;    // bytes
    int             *waits;  // how many are to be painted before
} sorter;

static double cross(kd_corner a, kd_corner b, kd_corner c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Box, middle and plane, by the three corners with the largest triangle that begins at the first one
static facts facts_of(const kd_corner *p, int n)
{
    facts  f = {{INFINITY, INFINITY}, {-INFINITY, -INFINITY}, 0, 0, 0, 0, false};
    double largest = 0;
    int    u = 0, v = 0;
    // box, mean depth, and the corners that span the largest triangle with the first
    for (int i = 0; i < n; i++) {
        f.low[0] = fmin(f.low[0], p[i].x), f.high[0] = fmax(f.high[0], p[i].x);
        f.low[1] = fmin(f.low[1], p[i].y), f.high[1] = fmax(f.high[1], p[i].y);
        f.middle += p[i].near / n;
        for (int k = 1; k < i; k++)
            if (fabs(cross(p[0], p[k], p[i])) > largest) largest = fabs(cross(p[0], p[k], p[i])), u = k, v = i;
    }
    if (!(largest > NOTHING)) return f;
    // depth = a + b x + c y through these three (Cramer's rule)
    const double area = cross(p[0], p[u], p[v]), du = p[u].near - p[0].near, dv = p[v].near - p[0].near;
    f.b = (du * (p[v].y - p[0].y) - dv * (p[u].y - p[0].y)) / area;
    f.c = (dv * (p[u].x - p[0].x) - du * (p[v].x - p[0].x)) / area;
    f.a = p[0].near - f.b * p[0].x - f.c * p[0].y;
    f.flat = true;
    return f;
}

// What of a polygon lies on the inner side of the line a-b; sign: of the inner side
static int clip(const kd_corner *in, int n, kd_corner a, kd_corner b, double sign, kd_corner *out)
{
    int count = 0;
    for (int i = 0; i < n && count < MOST - 2; i++) {
        const kd_corner p = in[i], q = in[(i + 1) % n];
        const double    dp = sign * cross(a, b, p), dq = sign * cross(a, b, q);
        if (dp >= 0) out[count++] = p;
        if ((dp >= 0) == (dq >= 0)) continue;
        const double s = dp / (dp - dq);
        out[count++] = (kd_corner){p.x + s * (q.x - p.x), p.y + s * (q.y - p.y), 0};
    }
    return count;
}

static double signed_area(const kd_corner *p, int n)
{
    double area = 0;
    for (int i = 2; i < n; i++) area += 0.5 * cross(p[0], p[i - 1], p[i]);
    return area;
}

// The middle of what two patches share; false: they share nothing
static bool shared(const sorter *s, int i, int j, double *x, double *y)
{
    const kd_patch  *a = &s->patch[i], *b = &s->patch[j];
    const kd_corner *edge = s->corner + b->first;
    kd_corner        room[2][MOST];
    int              n = a->count, now = 0;
    if (n > MOST || b->count > MOST) return false;
    memcpy(room[0], s->corner + a->first, (size_t)n * sizeof *room[0]);
    const double sign = signed_area(edge, b->count) >= 0 ? 1 : -1;
    // cut by one edge of the other after the other
    for (int k = 0; k < b->count && n > 2; k++, now = 1 - now)
        n = clip(room[now], n, edge[k], edge[(k + 1) % b->count], sign, room[1 - now]);
    if (n < 3 || fabs(signed_area(room[now], n)) < LEAST) return false;
    *x = *y = 0;
    for (int k = 0; k < n; k++) *x += room[now][k].x / n, *y += room[now][k].y / n;
    return true;
}

static void compare(sorter *s, int i, int j)
{
    const facts *a = &s->of[i], *b = &s->of[j];
    double       x, y;
    if (!a->flat || !b->flat || a->low[0] >= b->high[0] || b->low[0] >= a->high[0] || a->low[1] >= b->high[1] ||
        b->low[1] >= a->high[1] || !shared(s, i, j, &x, &y))
        return;
    const double near_a = a->a + a->b * x + a->c * y, near_b = b->a + b->b * x + b->c * y;
    if (fabs(near_a - near_b) <= SAME * fabs(near_a)) return;
    const int far = near_a < near_b ? i : j, near = near_a < near_b ? j : i;
    s->behind[(size_t)far * s->row + (size_t)near / 8] |= (unsigned char)(1u << (near % 8));
    s->waits[near]++;
}

// One after the other: of those that wait for nobody the farthest; where all wait, they cover each other in a circle
static void sort(sorter *s, int *order)
{
    for (int k = 0; k < s->n; k++) {
        int best = -1;
        for (int i = 0; i < s->n; i++) {
            if (s->waits[i] < 0) continue; // painted
            if (best < 0 || (s->waits[i] == 0) > (s->waits[best] == 0) ||
                ((s->waits[i] == 0) == (s->waits[best] == 0) && s->of[i].middle < s->of[best].middle))
                best = i;
        }
        order[k] = best;
        s->waits[best] = -1;
        for (int i = 0; i < s->n; i++)
            if (s->behind[(size_t)best * s->row + (size_t)i / 8] >> (i % 8) & 1 && s->waits[i] > 0) s->waits[i]--;
    }
}

kd_status kd_order_patches(const kd_corner *corner, const kd_patch *patch, int n, int *order)
{
    sorter s = {.corner = corner, .patch = patch, .n = n, .row = ((size_t)n + 7) / 8};
    s.of = kd_alloc((size_t)n * sizeof *s.of + 1);
    s.waits = kd_alloc((size_t)n * sizeof *s.waits + 1);
    s.behind = kd_alloc((size_t)n * s.row + 1);
    const bool good = s.of && s.waits && s.behind;
    for (int i = 0; good && i < n; i++) s.of[i] = facts_of(corner + patch[i].first, patch[i].count);
    for (int i = 0; good && i < n; i++)
        for (int j = 0; j < i; j++) compare(&s, i, j);
    if (good) sort(&s, order);
    kd_free(s.of);
    kd_free(s.waits);
    kd_free(s.behind);
    return good ? KD_OK : KD_ERR_MEMORY;
}
