// user_force.c: force elements written in C: they read measures, their rates and own states, and answer a force along
// each measure. Variables are values, rates, states.
#include <math.h>

#include "core/text.h"
#include "element/force.h"
#include "element/user_force.h"

static void user_arguments(const kd_load *load, const double *x, double *value, double *rate, double *state)
{
    int n = load->nchannels;
    // values and rates of its measures, then its states
    for (int i = 0; i < n; i++) value[i] = x[load->variable[i]], rate[i] = x[load->variable[n + i]];
    for (int i = 0; i < load->nstates; i++) state[i] = x[load->variable[2 * n + i]];
}

static kd_eval user_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    double *value = w->user, *speed = value + load->nchannels, *state = speed + load->nchannels;
    user_arguments(load, x, value, speed, state);
    return load->user->eval(w->t, value, speed, state, load->user->context, force, rate);
}

// central differences, increment eps^(1/3)
static kd_eval user_differences(const kd_load *load, kd_work *w, double *argument, double *J)
{
    int     n = load->nchannels, rows = n + load->nstates, columns = load->nvariables;
    double *up = argument + columns, *down = up + rows;
    kd_eval answer = KD_EVAL_OK;
    // forces and rates by one value or rate after the other
    for (int j = 0; j < columns && answer == KD_EVAL_OK; j++) {
        double kept = argument[j], h = 6e-6 * fmax(1.0, fabs(kept));
        argument[j] = kept + h;
        answer = load->user->eval(w->t, argument, argument + n, argument + 2 * n, load->user->context, up, up + n);
        argument[j] = kept - h;
        if (answer == KD_EVAL_OK)
            answer =
                load->user->eval(w->t, argument, argument + n, argument + 2 * n, load->user->context, down, down + n);
        argument[j] = kept;
        for (int i = 0; i < rows; i++) J[i + j * rows] = (up[i] - down[i]) / (2.0 * h);
    }
    return answer;
}

static kd_eval user_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    int     n = load->nchannels;
    double *argument = w->user;
    user_arguments(load, x, argument, argument + n, argument + 2 * n);
    if (!load->user->derivative) return user_differences(load, w, argument, J);
    return load->user->derivative(w->t, argument, argument + n, argument + 2 * n, load->user->context, J);
}

static void start(const kd_load *load, const double *x, kd_work *w, double *r)
{
    (void)x, (void)w;
    for (int k = 0; k < load->nstates; k++) r[k] = load->user->start ? load->user->start[k] : 0.0;
}

static const kd_load_class law = {.eval = user_eval, .jacobian = user_jacobian, .start = start};

void kd_load_make_user(kd_load_builder *b, int user)
{
    const kd_user_force *e = &b->s->model->user_force[user];
    int                  n = e->def.nmeasures;
    if (!kd_load_start(b, &law, e->name, n)) return;
    b->load->user = &e->def;
    b->load->stiff = kd_load_is_stiff(e->def.stiff, false);
    // each measure is one position that the element reads and acts along
    for (int i = 0; i < n && b->status == KD_OK; i++) {
        kd_expr *expr = NULL;
        b->status =
            kd_system_compile(b->s, e->def.measure[i], e->name, &e->source, false, NULL, 0, &expr, b->message, b->size);
        if (b->status != KD_OK) return;
        kd_slot slot =
            kd_expr_slot_count(expr) == 1 ? b->s->slot[kd_expr_slot(expr, 0)] : (kd_slot){KD_SLOT_TIME, 0, 0};
        if (slot.kind != KD_SLOT_MEASURE || slot.level != 0) {
            kd_text(b->message, b->size, "force '%s': '%s' is not a position that a force can act along", e->name,
                    e->def.measure[i]);
            b->status = KD_ERR_MODEL;
            return;
        }
        kd_load_add_channel(b, slot.index);
        kd_load_add_measured(b, slot.index, 0);
    }
    // rates behind all values; a measure that was named twice is not added again
    for (int i = 0; i < b->load->nchannels; i++) kd_load_add_measured(b, b->load->channel[i], 1);
    kd_load_add_states(b, e->def.nstates);
    if (b->status == KD_OK && b->load->nvariables != 2 * n + e->def.nstates) {
        kd_text(b->message, b->size, "force '%s' names a measure twice", e->name);
        b->status = KD_ERR_MODEL;
    }
}
