// words.c: equilibria and what is missing from them, in words with the names of the model.
#include "analysis/words.h"

#include "core/text.h"

enum { NAME = 200 };

void kd_describe_equilibrium(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size)
{
    static const char *const WORD[] = {"", "stable ", "indifferent ", "unstable "};
    char                     name[NAME];
    kd_text(message, size, "%sequilibrium; ", WORD[r->stability]);
    if (r->moved > 0)
        kd_text_append(message, size, "largest move %.6g of %s", r->moved,
                       kd_eom_name(eom, KD_NAME_P, r->moved_row, name, sizeof name));
    else
        kd_text_append(message, size, kd_eom_dims(eom).np > 0 ? "nothing moved" : "there is nothing that can move");
    kd_text_append(message, size, "; forces balance to %.2g of %.4g (%s)", r->residual, r->force_scale,
                   r->by_dynamics ? "damped dynamics and Newton's method" : "Newton's method");
    if (r->kept > 0) kd_text_append(message, size, "; kept from the start: the amounts behind %s", r->kept_states);
}

void kd_describe_motion(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size)
{
    char        speed[NAME], dropped[NAME];
    const char *goes_on = kd_eom_name(eom, KD_NAME_V, r->speed_row, speed, sizeof speed);
    if (r->motion == KD_MOTION_NONE) return;
    kd_eom_name(eom, KD_NAME_V, r->dropped_row, dropped, sizeof dropped);
    if (r->motion == KD_MOTION_WHOLE)
        kd_text_append(
            message, size,
            "no rest, but a steady motion at the velocities of the start ('%s' with %.6g): forces balance in it",
            goes_on, r->speed);
    else if (r->motion == KD_MOTION_STEADY)
        kd_text_append(message, size,
                       "; the motion of the start that no force opposes goes on ('%s' with %.6g), forces "
                       "balance in it",
                       goes_on, r->speed);
    else if (r->motion == KD_MOTION_UNSTEADY)
        kd_text_append(message, size,
                       "; the motion of the start that no force opposed at rest goes on ('%s' with %.6g), "
                       "but forces do not balance in it: it will change (kardan trim --moving finds a steady one)",
                       goes_on, r->speed);
    if (r->motion != KD_MOTION_WHOLE && r->dropped > 1e-9 * (r->speed + r->dropped))
        kd_text_append(message, size, "; velocities of the start were dropped (largest change: '%s' by %.6g)", dropped,
                       r->dropped);
}

// "r1 + r2, r3": states of each combination that is kept
void kd_describe_kept(const kd_balance *b, kd_equilibrium_result *r)
{
    const kd_kept *k = &b->kept;
    char           name[NAME];
    r->kept = k->count;
    r->kept_states[0] = '\0';
    for (int m = 0; m < k->count; m++) {
        bool first = true;
        for (int i = 0; i < k->nr; i++) {
            if (k->N[(size_t)m * (size_t)k->nr + (size_t)i] == 0) continue;
            kd_text_append(r->kept_states, sizeof r->kept_states, "%s%s",
                           !first  ? " + "
                           : m > 0 ? ", "
                                   : "",
                           kd_eom_name(b->eom, KD_NAME_R, i, name, sizeof name));
            first = false;
        }
    }
}

// The equation that holds worst, and the largest force that is left
void kd_describe_failure(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size)
{
    char name[NAME];
    kd_text(message, size, "no equilibrium found in %d attempt%s: ", r->attempts, r->attempts == 1 ? "" : "s");
    const int i = r->worst_row;
    switch (r->worst) {
    case KD_B:
        kd_text_append(message, size, "the inner state '%s' keeps changing, by %.6g in a second",
                       kd_eom_name(eom, KD_NAME_R, i, name, sizeof name), r->worst_value);
        break;
    case KD_D:
        kd_text_append(message, size, "the equation of '%s' is missed by %.6g",
                       kd_eom_name(eom, KD_NAME_W, i, name, sizeof name), r->worst_value);
        break;
    case KD_C:
        kd_text_append(message, size, "the equation of '%s' is missed by %.6g",
                       kd_eom_name(eom, KD_NAME_S, i, name, sizeof name), r->worst_value);
        break;
    case KD_G:
    case KD_GI:
        kd_text_append(message, size, "%s is not met%s, by %.6g",
                       kd_eom_name(eom, KD_NAME_LAMBDA, i, name, sizeof name),
                       r->worst == KD_G ? "" : " by the velocities", r->worst_value);
        break;
    case KD_H:
        kd_text_append(message, size, "%s is not met by the velocities, by %.6g",
                       kd_eom_name(eom, KD_NAME_MU, i, name, sizeof name), r->worst_value);
        break;
    default:
        break;
    }
    const bool forces = r->residual > 1e-9 * r->force_scale;
    if (r->worst != KD_RESIDUAL && forces) kd_text_append(message, size, ", and ");
    if (forces)
        kd_text_append(message, size, "a force of %.6g remains on '%s' that nothing balances", r->residual,
                       kd_eom_name(eom, KD_NAME_V, r->residual_row, name, sizeof name));
}

void kd_describe_refusal(const kd_balance *b, kd_status status, char *message, size_t size)
{
    if (status == KD_ERR_UNSUPPORTED)
        kd_text(message, size, "%d equations are too many for full matrices", b->rows);
    else if (b->family && !b->data)
        kd_text(message, size, "there are no equations for other values of the parameters, or they have other sizes");
    else if (b->data && status == KD_ERR_CALLBACK_STOP)
        kd_text(message, size, "the start cannot be evaluated: %s", kd_eom_data_message(b->data));
    else
        kd_text(message, size, "%s", kd_status_sentence(status));
}
