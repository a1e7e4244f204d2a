// rank_watch_words.c: why a motion ends at a singular position.
#include <math.h>

#include "core/text.h"
#include "math/dense.h"
#include "simulation/rank_matrix.h"

#define NAMED 0.3 // entries beside the largest one that are worth a name

// The constraints with the largest parts of the vector that vanishes
static void name_rows(const kd_rank_watch *w, char *text, size_t size)
{
    double      largest = kd_norm_max(w->rank, w->vector);
    const char *comma = "";
    // three names at most, in the order of the equations
    for (int k = 0, count = 0; k < w->rank && count < 3; k++) {
        char name[128];
        int  i = w->active[w->kept[k]], nlambda = w->dims.nlambda;
        if (!(fabs(w->vector[k]) >= NAMED * largest)) continue;
        kd_eom_name(w->eom, i < nlambda ? KD_NAME_LAMBDA : KD_NAME_MU, i < nlambda ? i : i - nlambda, name,
                    sizeof name);
        kd_text_append(text, size, "%s%s", comma, name);
        comma = ", ";
        count++;
    }
}

// reason: why it cannot be told what follows
static kd_status tell_rank(const kd_rank_watch *w, double t, const char *reason, char *message, size_t size)
{
    kd_text(message, size, "at t = %.9g the motion comes to a singular position of ", t);
    name_rows(w, message, size);
    kd_text_append(message, size, ": these constraints nearly depend on each other (least singular value %.2g), and %s",
                   w->sigma, reason);
    return KD_ERR_RANK_CHANGE;
}

// The same, where branches cannot be told apart, as of a violation or a turn
kd_status kd_rank_watch_tell_branch(const kd_rank_watch *w, double t, const char *with, char *message, size_t size)
{
    char reason[300];
    kd_text(reason, sizeof reason,
            "with %s it cannot be told on which branch it goes on; try a form that holds the positions (psf, "
            "statespace, or projection: always) or a smaller tolerance",
            with);
    return tell_rank(w, t, reason, message, size);
}

// The same, where rounding hides the direction of the motion
kd_status kd_rank_watch_tell_noise(const kd_rank_watch *w, double t, double turned, char *message, size_t size)
{
    char reason[300];
    kd_text(reason, sizeof reason,
            "rounding of the positions turns the velocities by %.2g rad there, so that no step, however short, fulfils "
            "the equations within the tolerance; try the decomposition svd, psf or statespace with radau, or a larger "
            "tolerance",
            turned);
    return tell_rank(w, t, reason, message, size);
}
