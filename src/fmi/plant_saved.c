// plant_saved.c: a plant as bytes: what was set from outside, and the simulation or the states of an exchange.
#include <string.h>

#include "core/archive.h"
#include "core/saved.h"
#include "fmi/plant_impl.h"

// Fields of the plant itself
static void walk(kd_plant *p, kd_archive *a)
{
    const size_t nu = (size_t)p->dims.nu;
    kd_archive_tag(a, "plant");
    kd_archive_same(a, p->mode, "the kind of the instance");
    kd_archive_same(a, p->dims.nu, "the number of inputs");
    kd_archive_same(a, p->ntheta, "the number of parameters");
    kd_archive_doubles(a, p->u, nu);
    kd_archive_doubles(a, p->du, nu);
    kd_archive_doubles(a, p->t_u, nu);
    kd_archive_doubles(a, p->theta, (size_t)p->ntheta);
    KD_ARCHIVE_BOOLS(a, &p->started, &p->new_inputs, &p->new_theta);
    KD_ARCHIVE_REALS(a, &p->t_start, &p->tolerance);
}

kd_status kd_plant_save(kd_plant *p, kd_saved **saved)
{
    *saved = NULL;
    // parameters that wait for the next step come first: a simulation is saved with its own
    kd_status status = KD_OK;
    if (p->simulation)
        status = kd_simulation_save(p->simulation, saved, p->message, sizeof p->message);
    else
        status = kd_saved_create(p->x->t, saved);
    if (status >= 0 && p->exchange) {
        kd_archive part = kd_archive_writer();
        kd_exchange_archive(p->exchange, &part);
        status = kd_saved_add(*saved, "exchange", &part);
    }
    // what came from outside: inputs, parameters, the references of variables do not change
    if (status >= 0) {
        kd_archive part = kd_archive_writer();
        walk(p, &part);
        status = kd_saved_add(*saved, "plant", &part);
    }
    if (status < 0) {
        kd_saved_destroy(*saved);
        *saved = NULL;
    }
    return status;
}

// The values from outside; parameters of the system follow
static kd_status read_plant(kd_plant *p, const kd_saved *saved, bool *was_started)
{
    kd_archive part;
    const bool started = p->started;
    double    *theta = kd_alloc(((size_t)p->ntheta + 1) * sizeof *theta);
    if (!theta) return KD_ERR_MEMORY;
    // parameters of now, to see whether those that are read are others
    if (p->ntheta > 0) memcpy(theta, p->theta, (size_t)p->ntheta * sizeof *theta);
    kd_status status = kd_saved_part(saved, "plant", &part)
                           ? KD_OK
                           : kd_plant_refuse(p, KD_ERR_SAVED, "this was not saved by an instance of an FMU");
    if (status >= 0) {
        walk(p, &part);
        status = kd_saved_end(&part, "plant", p->message, sizeof p->message);
    }
    *was_started = p->started;
    p->started = started;
    const bool other = p->ntheta > 0 && memcmp(theta, p->theta, (size_t)p->ntheta * sizeof *theta) != 0;
    kd_free(theta);
    if (status >= 0 && other) {
        p->new_theta = true;
        if (p->started) status = kd_system_set_parameters(p->system, p->theta, p->message, sizeof p->message);
        if (status >= 0 && p->started) p->new_theta = false;
    }
    return status;
}

kd_status kd_plant_restore(kd_plant *p, const kd_saved *saved)
{
    bool      was_started;
    kd_status status = read_plant(p, saved, &was_started);
    if (status < 0) return status;
    // what was computed belongs to the state before
    p->probed = false;
    if (!was_started) {
        kd_plant_drop(p);
        return KD_OK;
    }
    // an instance that has not started yet needs something to restore into
    const bool new_inputs = p->new_inputs;
    if (!p->started) {
        double *t_u = kd_alloc(((size_t)p->dims.nu + 1) * sizeof *t_u);
        if (!t_u) return KD_ERR_MEMORY;
        if (p->dims.nu > 0) memcpy(t_u, p->t_u, (size_t)p->dims.nu * sizeof *t_u);
        status = kd_plant_start(p);
        if (p->dims.nu > 0) memcpy(p->t_u, t_u, (size_t)p->dims.nu * sizeof *t_u);
        kd_free(t_u);
        if (status < 0) return status;
    }
    p->new_inputs = new_inputs;
    if (p->simulation) return kd_simulation_restore(p->simulation, saved, p->message, sizeof p->message);
    kd_archive part;
    if (!kd_saved_part(saved, "exchange", &part))
        return kd_plant_refuse(p, KD_ERR_SAVED, "this was saved by an instance of another kind");
    kd_exchange_archive(p->exchange, &part);
    return kd_saved_end(&part, "exchange", p->message, sizeof p->message);
}
