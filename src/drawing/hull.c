// hull.c: Andrew's monotone chain.
#include "drawing/hull.h"

#include <stdlib.h>

static int by_place(const void *a, const void *b)
{
    const kd_hull_spot *sa = a, *sb = b;
    if (sa->x != sb->x) return sa->x < sb->x ? -1 : 1;
    return sa->y < sb->y ? -1 : sa->y > sb->y;
}

double kd_turn(const kd_hull_spot *a, const kd_hull_spot *b, const kd_hull_spot *c)
{
    return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

int kd_hull(kd_hull_spot *spots, int n, kd_hull_spot *hull)
{
    int count = 0;
    qsort(spots, (size_t)n, sizeof *spots, by_place);
    // lower hull from left to right, upper one back: corners that turn the wrong way are dropped
    for (int pass = 0, kept = 1; pass < 2; pass++, kept = count) {
        for (int k = 0; k < n; k++) {
            const kd_hull_spot *s = &spots[pass == 0 ? k : n - 1 - k];
            while (count > kept && kd_turn(&hull[count - 2], &hull[count - 1], s) <= 0) count--;
            if (count == 0 || by_place(&hull[count - 1], s) != 0) hull[count++] = *s;
        }
    }
    return count > 1 && by_place(&hull[0], &hull[count - 1]) == 0 ? count - 1 : count;
}
