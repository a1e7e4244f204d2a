// pull.c: the force that a pulled body feels, along the measures of the body.
#include "cli/pull.h"

#include <string.h>

#include "core/text.h"

// Measures: r, then the columns of R. Virtual work F'(dr + dR s): along R_ij acts F_i s_j.
static kd_eval pull_force(double t, const double *value, const double *rate, const double *state, void *context,
                          double *force, double *state_rate)
{
    const kd_pull *p = context;
    (void)t, (void)state, (void)state_rate;
    // point r + R s and its velocity, spring and damper to a
    for (int i = 0; i < 3; i++) {
        double at = value[i], speed = rate[i];
        for (int j = 0; j < 3; j++) {
            at += value[3 + 3 * j + i] * p->s[j];
            speed += rate[3 + 3 * j + i] * p->s[j];
        }
        force[i] = -p->k * (at - p->a[i]) - p->c * speed;
        for (int j = 0; j < 3; j++) force[3 + 3 * j + i] = force[i] * p->s[j];
    }
    return KD_EVAL_OK;
}

// d force / d (value, rate): with S = (1, s) it is -k and -c times the products of S, for each component alone
static kd_eval pull_derivative(double t, const double *value, const double *rate, const double *state, void *context,
                               double *out)
{
    const kd_pull *p = context;
    const double   S[4] = {1.0, p->s[0], p->s[1], p->s[2]};
    (void)t, (void)value, (void)rate, (void)state;
    // each component of the world by itself: rows and columns r_i, R_i1, R_i2, R_i3
    memset(out, 0, 2 * KD_PULL_MEASURES * KD_PULL_MEASURES * sizeof *out);
    for (int i = 0; i < 3; i++)
        for (int row = 0; row < 4; row++)
            for (int column = 0; column < 4; column++) {
                out[3 * row + i + (3 * column + i) * KD_PULL_MEASURES] = -p->k * S[row] * S[column];
                out[3 * row + i + (KD_PULL_MEASURES + 3 * column + i) * KD_PULL_MEASURES] = -p->c * S[row] * S[column];
            }
    return KD_EVAL_OK;
}

// nine entries of R and the origin, by their paths
void kd_pull_take(kd_pull *p, const char *body)
{
    static const char AXIS[] = "xyz";
    for (int i = 0; i < KD_PULL_MEASURES; i++) {
        if (i < 3)
            kd_text(p->measure[i], sizeof p->measure[i], "body.%s.pos.%c", body, AXIS[i]);
        else
            kd_text(p->measure[i], sizeof p->measure[i], "body.%s.R.%c%c", body, AXIS[i % 3], AXIS[i / 3 - 1]);
        p->word[i] = p->measure[i];
    }
    p->def = kd_user_force_def_default();
    p->def.nmeasures = KD_PULL_MEASURES;
    p->def.measure = p->word;
    p->def.eval = pull_force;
    p->def.derivative = pull_derivative;
    p->def.context = p;
    // the spring is fast beside the mechanism
    p->def.stiff = KD_STIFFNESS_YES;
}
