// expression_system.c: a system without state: outputs are formulas of its inputs and the time, with exact derivatives.
#include "cosim/expression_system.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/nearest.h"
#include "core/text.h"
#include "expr/expr.h"

typedef struct expression_system {
    kd_cosim_system        base;
    kd_arena               arena;
    kd_expr              **formula;   // (noutputs)
    const kd_named_number *parameter; // while formulas are compiled
    int                    nparameters;
    double                *x, *dx, *work; // (1 + ninputs) time and inputs
} expression_system;

static expression_system *of(kd_cosim_system *s)
{
    return (expression_system *)s;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static bool find_symbol(const char *name, void *context, kd_symbol *out)
{
    const expression_system *e = context;
    *out = (kd_symbol){.kind = KD_SYMBOL_VARIABLE, .slot = 0};
    if (strcmp(name, "t") == 0) return true;
    for (int i = 0; i < e->base.ninputs; i++)
        if (strcmp(e->base.input[i].name, name) == 0) {
            out->slot = 1 + i;
            return true;
        }
    for (int i = 0; i < e->nparameters; i++)
        if (strcmp(e->parameter[i].name, name) == 0) {
            *out = (kd_symbol){.kind = KD_SYMBOL_NUMBER, .number = e->parameter[i].value};
            return true;
        }
    return false;
}

static const char *suggest(const char *name, void *context)
{
    const expression_system *e = context;
    kd_nearest               nearest = kd_nearest_start(name);
    for (int i = 0; i < e->base.ninputs; i++) kd_nearest_offer(&nearest, e->base.input[i].name);
    for (int i = 0; i < e->nparameters; i++) kd_nearest_offer(&nearest, e->parameter[i].name);
    return nearest.best;
}

// ---- values ---------------------------------------------------------------------------------------------------------

static kd_status start(kd_cosim_system *s, double t, const double *u)
{
    (void)u;
    s->t = t;
    return KD_OK;
}

static void set_inputs(kd_cosim_system *s, const kd_signal *u)
{
    (void)s, (void)u;
}

static kd_status step(kd_cosim_system *s, double t_end, double *event)
{
    s->t = t_end, *event = INFINITY;
    return KD_OK;
}

static void place(expression_system *e, const double *u)
{
    e->x[0] = e->base.t;
    if (e->base.ninputs > 0) memcpy(e->x + 1, u, (size_t)e->base.ninputs * sizeof *u);
}

static kd_status outputs(kd_cosim_system *s, const double *u, double *y)
{
    expression_system *e = of(s);
    place(e, u);
    for (int i = 0; i < s->noutputs; i++) {
        y[i] = kd_expr_value(e->formula[i], e->x, e->work);
        if (isfinite(y[i])) continue;
        kd_text(s->message, sizeof s->message, "output '%s' is not a number", s->output[i].name);
        return KD_ERR_NOT_FINITE;
    }
    return KD_OK;
}

static kd_status directional(kd_cosim_system *s, const double *u, const double *du, double *dy)
{
    expression_system *e = of(s);
    place(e, u);
    for (int i = 0; i < s->noutputs; i++) {
        (void)kd_expr_gradient(e->formula[i], e->x, e->dx, e->work);
        dy[i] = 0;
        for (int k = 0; k < kd_expr_slot_count(e->formula[i]); k++) {
            const int slot = kd_expr_slot(e->formula[i], k);
            if (slot > 0) dy[i] += e->dx[k] * du[slot - 1];
        }
    }
    return KD_OK;
}

// All it has is the time, which the master sets again
static kd_status save(kd_cosim_system *s, int slot)
{
    (void)s, (void)slot;
    return KD_OK;
}

static void destroy(kd_cosim_system *s)
{
    expression_system *e = of(s);
    if (!e) return;
    for (int i = 0; i < s->noutputs && e->formula; i++) kd_expr_destroy(e->formula[i]);
    kd_arena_release(&e->arena);
    kd_free(e);
}

static const kd_cosim_class CLASS = {.word = "expression",
                                     .start = start,
                                     .set_inputs = set_inputs,
                                     .step = step,
                                     .outputs = outputs,
                                     .save = save,
                                     .restore = save,
                                     .directional = directional,
                                     .destroy = destroy};

// ---- creation -------------------------------------------------------------------------------------------------------

static kd_status compile(expression_system *e, const char *const *formula, kd_formula_fault *fault)
{
    const kd_symbols symbols = {find_symbol, suggest, e};
    kd_expr_error    error;
    int              most = 1;
    for (int i = 0; i < e->base.noutputs; i++) {
        const kd_status status = kd_expr_compile(formula[i], &symbols, &e->formula[i], &error);
        if (status < 0) {
            fault->output = i;
            kd_text(fault->text, sizeof fault->text, "%s", error.text);
            return status;
        }
        if (kd_expr_work_size(e->formula[i]) > most) most = kd_expr_work_size(e->formula[i]);
    }
    e->work = kd_cut_double(&e->arena, most);
    return e->work ? KD_OK : KD_ERR_MEMORY;
}

kd_status kd_expression_system_create(const char *name, const kd_port *input, int ninputs, const kd_port *output,
                                      const char *const *formula, int noutputs, const kd_named_number *parameter,
                                      int nparameters, kd_cosim_system **out, kd_formula_fault *fault)
{
    expression_system *e = kd_alloc(sizeof *e);
    *out = NULL;
    *fault = (kd_formula_fault){0};
    if (!e) return KD_ERR_MEMORY;
    e->base =
        (kd_cosim_system){.class = &CLASS, .name = name, .ninputs = ninputs, .noutputs = noutputs, .algebraic = true};
    e->base.input = kd_arena_cut(&e->arena, (size_t)ninputs + 1, sizeof *input);
    e->base.output = kd_arena_cut(&e->arena, (size_t)noutputs + 1, sizeof *output);
    e->formula = kd_arena_cut(&e->arena, (size_t)noutputs + 1, sizeof *e->formula);
    e->x = kd_cut_double(&e->arena, ninputs + 1);
    e->dx = kd_cut_double(&e->arena, ninputs + 1);
    e->parameter = parameter, e->nparameters = nparameters;
    kd_status status = e->arena.failed ? KD_ERR_MEMORY : KD_OK;
    // ports are copied, formulas compiled: neither belongs to the caller any more
    if (status >= 0) {
        if (ninputs > 0) memcpy(e->base.input, input, (size_t)ninputs * sizeof *input);
        if (noutputs > 0) memcpy(e->base.output, output, (size_t)noutputs * sizeof *output);
        status = compile(e, formula, fault);
    }
    // parameters have become numbers of the formulas
    e->parameter = NULL, e->nparameters = 0;
    if (status < 0)
        destroy(&e->base);
    else
        *out = &e->base;
    return status;
}
