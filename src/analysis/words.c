// words.c: equilibria and what is missing from them, in words with the names of the model.
#include "analysis/words.h"

#include "core/text.h"

enum { NAME = 200 };

void kd_describe_equilibrium(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size)
{
    static const char *const WORD[] = {"", "stable ", "indifferent ", "unstable "};
    char                     name[NAME];
    kd_text(message, size, "%sequilibrium; largest move %.6g of %s; forces balance to %.2g of %.4g (%s)",
            WORD[r->stability], r->moved, kd_eom_name(eom, KD_NAME_P, r->moved_row, name, sizeof name), r->residual,
            r->force_scale, r->by_dynamics ? "damped dynamics and Newton's method" : "Newton's method");
}

void kd_describe_failure(const kd_eom *eom, const kd_equilibrium_result *r, char *message, size_t size)
{
    const kd_dims n = kd_eom_dims(eom);
    char          force[NAME], row[NAME];
    kd_eom_name(eom, KD_NAME_V, r->residual_row, force, sizeof force);
    const bool open = n.nlambda > 0 && r->constraint > 1e-9;
    kd_text(message, size,
            "no equilibrium found in %d attempts: a force of %.6g remains on '%s' that nothing balances%s%s%s",
            r->attempts, r->residual, force, open ? ", and constraint '" : "",
            open ? kd_eom_name(eom, KD_NAME_LAMBDA, r->constraint_row, row, sizeof row) : "",
            open ? "' is not met" : "");
}

void kd_describe_refusal(const kd_balance *b, kd_status status, char *message, size_t size)
{
    if (status == KD_ERR_UNSUPPORTED)
        kd_text(message, size, "%d equations are too many for full matrices", b->rows);
    else if (b->data && status == KD_ERR_CALLBACK_STOP)
        kd_text(message, size, "the start cannot be evaluated: %s", kd_eom_data_message(b->data));
    else
        kd_text(message, size, "%s", kd_status_sentence(status));
}
