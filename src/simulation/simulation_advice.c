// simulation_advice.c: would another method have been cheaper? By counts of the run, as the choice itself decides.
#include "simulation/simulation_impl.h"

#include <math.h>

#include "core/text.h"
#include "simulation/fits.h"

static const double WORTH = 0.6; // of the cost of the run: what is not cheaper than this is not worth a word

// Steps of the run so far, and the time that they took together
typedef struct pace {
    double steps, time;
} pace;

static pace pace_of(const kd_simulation *s)
{
    return (pace){(double)kd_simulation_stats(s).steps, s->x->t - s->begun};
}

// An implicit run whose steps explicit ones could have made: as many as stability wants, at 1 / R of the cost each
static void tell_explicit(const kd_choice *choice, pace p, char *text, size_t size)
{
    const double rho = kd_choice_radius(choice), h = kd_choice_stable_step(choice), cost = kd_choice_cost(choice);
    const double wanted = fmax(p.time / h, 1);
    const kd_method_pair other = kd_choice_method(choice, false);
    if (!(wanted < WORTH * p.steps * cost)) return;
    kd_text(text, size,
            "%s with %s would probably have been cheaper: the fastest motion at the end, %.2g 1/s, lets it take steps "
            "of %.2g s, at least %.0f in place of %.0f, each at %.2g of the cost",
            kd_formulation_word(other.formulation), kd_integrator_word(other.integrator), rho, h, wanted, p.steps,
            1 / cost);
}

// An explicit run whose steps stability has limited
static void tell_implicit(const kd_choice *choice, pace p, char *text, size_t size)
{
    const double         h = p.time / p.steps, cost = kd_choice_cost(choice);
    const kd_method_pair other = kd_choice_method(choice, true);
    if (!(h > kd_choice_stable_step(choice))) return;
    kd_text(text, size,
            "stability limited the steps to %.2g s on the average (fastest motion at the end %.2g 1/s): %s with %s is "
            "cheaper where accuracy allows steps of more than %.2g s",
            h, kd_choice_radius(choice), kd_formulation_word(other.formulation), kd_integrator_word(other.integrator),
            cost * h);
}

kd_status kd_simulation_advice(kd_simulation *s, char *text, size_t size)
{
    kd_text(text, size, "%s", "");
    if (!s) return KD_ERR_ARGUMENT;
    if (s->busy) return KD_ERR_BUSY;
    // what would be chosen here, with rho of the present state
    kd_choice            *choice;
    kd_simulation_options open = s->given;
    kd_method_free(&open);
    kd_status status = kd_choice_create(s->data, &s->inputs, s->x, &open, &choice);
    if (status < 0) return status;
    const pace p = pace_of(s);
    const bool is_explicit = s->method->is_explicit;
    if (kd_choice_may_change(choice) && p.steps > 0 && p.time > 0) {
        if (is_explicit)
            tell_implicit(choice, p, text, size);
        else
            tell_explicit(choice, p, text, size);
    }
    kd_choice_destroy(choice);
    return KD_OK;
}
