// cli/pull.h: a body drawn by a spring and a damper from a point of it to a place in the world, as a force element
// written in C:
//
//     F = -k (r + R s - a) - c (r' + R' s)    s: the point in the body, a: the place
#ifndef KD_CLI_PULL_H
#define KD_CLI_PULL_H

#include <kardan/model.h>

enum { KD_PULL_MEASURES = 12 }; // three of the position, nine of the axes

typedef struct kd_pull {
    bool              on;
    int               body;
    double            s[3], a[3];
    double            k, c;     // [N/m], [N s/m]
    double            strength; // of k, 1: as chosen
    char              measure[KD_PULL_MEASURES][300];
    const char       *word[KD_PULL_MEASURES];
    kd_user_force_def def; // reads this object: it must stay in its place
} kd_pull;

// The force element for a body of that name.
void kd_pull_take(kd_pull *pull, const char *body);

#endif
