// options.c: all options of a simulation in one table: steps, all integrators, forms, start, events, checks. Rows come
// from those who own them; here are their places in kd_simulation_options, and values by name.
#include "simulation/options.h"

#include <float.h>
#include <string.h>

#include "core/nearest.h"
#include "core/option.h"
#include "core/text.h"

// clang-format off
static const kd_option start_rows[] = {
    {KD_SWITCH("start.assume", kd_initial_options, assume, 0, "positions and velocities are taken as they are, not corrected"), .paper = "IVCNSST"},
    {KD_REAL("start.tolerance", kd_initial_options, tolerance, 1e-9, 0, INFINITY, "residual that counts as consistent, relative to scale"), .above = true},
    {KD_WHOLE("start.max_iterations", kd_initial_options, max_iterations, 50, 1, INFINITY, "Gauss-Newton iterations of the position level")},
    {KD_SWITCH("start.euclidean", kd_initial_options, euclidean, 0, "closest point in the Euclidean norm instead of that of the mass matrix")},
};
static const kd_option event_rows[] = {
    {KD_REAL("events.accuracy", kd_event_options, accuracy, 1e-12, 0, 1, "of the time of an event, relative to the step"), .above = true},
    {.name = "events.max_chatter", .type = KD_OPTION_LONG, .standard = 1000, .least = 1, .most = INFINITY,
     .sentence = "events without an accepted step of more than chatter_time between them; more end the run", .offset = offsetof(kd_event_options, max_chatter)},
    {KD_REAL("events.chatter_time", kd_event_options, chatter_time, 1e-9, 0, INFINITY, "of the time so far: a step that is longer is progress")},
    {KD_REAL("events.rest", kd_event_options, rest, 1e-6, 0, INFINITY, "an impact rests when its flight would be shorter than this [s]"), .unit = "s"},
};
static const char *const certificate_words[] = {"full", "light", "none", NULL};
static const kd_option check_rows[] = {
    {KD_SWITCH("check.steps", kd_simulation_options, verify, 1, "accepted steps are checked against the equations inside them; those that do not stand are made again")},
    {KD_WORD("check.certificate", kd_simulation_options, certificate, KD_CERTIFICATE_FULL, certificate_words, "what is looked at beside the run: all, all but the energy balance, nothing; only a full certificate can be clean")},
};
// clang-format on

// ---- the table ------------------------------------------------------------------------------------------------------

// Rows of one owner
typedef struct part {
    const kd_option *rows;
    int              count;
    size_t           place; // of the structure that offsets count from
} part;

#define PLACE(field) offsetof(kd_simulation_options, field)
#define PART(rows, place)                                                                                              \
    (part)                                                                                                             \
    {                                                                                                                  \
        rows, (int)(sizeof rows / sizeof *rows), place                                                                 \
    }

// Parts in the order of the reference page; rows that several integrators share come once. count 0: no more
static part part_at(int i)
{
    // integrators count from their own structure
    part own = {.place = PLACE(integrator_options)};
    if (i == 0) {
        own.count = kd_integrator_common_options(&own.rows);
        return own;
    }
    if (i <= KD_INTEGRATOR_COUNT) {
        own.count = kd_integrator_own_options((kd_integrator_kind)(i - 1), &own.rows);
        return own;
    }
    switch (i - KD_INTEGRATOR_COUNT) {
    case 1:
        own.place = PLACE(formulation_options);
        own.count = kd_formulation_option_rows(&own.rows);
        return own;
    case 2:
        return PART(start_rows, PLACE(initial));
    case 3:
        return PART(event_rows, PLACE(events));
    case 4:
        return PART(check_rows, 0);
    default:
        return (part){0};
    }
}

enum { PARTS = KD_INTEGRATOR_COUNT + 5 };

// All parts, those that several integrators share once; their number
static int list_parts(part list[PARTS])
{
    int count = 0;
    for (int i = 0; i < PARTS; i++) {
        const part p = part_at(i);
        int        k = 0;
        while (k < count && list[k].rows != p.rows) k++;
        if (k == count) list[count++] = p;
    }
    return count;
}

static const kd_option *row_at(int index)
{
    part      list[PARTS];
    const int count = list_parts(list);
    for (int i = 0; i < count && index >= 0; i++) {
        if (index < list[i].count) return &list[i].rows[index];
        index -= list[i].count;
    }
    return NULL;
}

// Row and, in *place (may be NULL), the structure that it counts from; NULL: none of this name
static const kd_option *find_option(const char *name, size_t *place)
{
    part      list[PARTS];
    const int count = name ? list_parts(list) : 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < list[i].count; k++) {
            if (strcmp(list[i].rows[k].name, name) != 0) continue;
            if (place) *place = list[i].place;
            return &list[i].rows[k];
        }
    return NULL;
}

const kd_option *kd_option_at(int i)
{
    return row_at(i);
}

const kd_option *kd_option_find(const char *name)
{
    return find_option(name, NULL);
}

// ---- values by name -------------------------------------------------------------------------------------------------

static kd_status unknown(const char *name, char *message, size_t size)
{
    // the nearest name of all, for the message
    const kd_option *row;
    kd_nearest       near = kd_nearest_start(name);
    for (int i = 0; (row = kd_option_at(i)); i++) kd_nearest_offer(&near, row->name);
    kd_text(message, size, "there is no option '%s'", name);
    if (near.best) kd_text_append(message, size, "; did you mean '%s'?", near.best);
    return KD_ERR_ARGUMENT;
}

kd_status kd_option_set(kd_simulation_options *opt, const char *name, const char *text, char *message, size_t size)
{
    size_t place = 0;
    kd_text(message, size, "%s", "");
    if (!opt || !name || !text) return KD_ERR_ARGUMENT;
    const kd_option *row = find_option(name, &place);
    return row ? kd_option_read(row, (char *)opt + place, text, message, size) : unknown(name, message, size);
}

kd_status kd_option_get(const kd_simulation_options *opt, const char *name, char *buffer, size_t size)
{
    size_t place = 0;
    kd_text(buffer, size, "%s", "");
    if (!opt || !name) return KD_ERR_ARGUMENT;
    const kd_option *row = find_option(name, &place);
    if (!row) return unknown(name, buffer, size);
    kd_option_print(row, (const char *)opt + place, buffer, size);
    return KD_OK;
}

static bool begins_with_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(name, *words, strlen(*words)) == 0) return true;
    return false;
}

const kd_option *kd_options_difference(const kd_simulation_options *a, const kd_simulation_options *b,
                                       const char *const *without)
{
    for (int i = 0; i < PARTS; i++) {
        const part p = part_at(i);
        for (int k = 0; k < p.count; k++)
            if (!kd_option_same(&p.rows[k], (const char *)a + p.place, (const char *)b + p.place) &&
                !begins_with_one(p.rows[k].name, without))
                return &p.rows[k];
    }
    return NULL;
}

const char *kd_option_values(const kd_option *option, char *buffer, size_t size)
{
    kd_text(buffer, size, "%s", "");
    if (!option) return buffer ? buffer : "";
    return kd_option_range(option, buffer, size);
}

// ---- structures -----------------------------------------------------------------------------------------------------

kd_event_options kd_event_options_default(void)
{
    kd_event_options o = {.cookie = KD_OPTIONS_COOKIE};
    kd_options_reset(event_rows, sizeof event_rows / sizeof *event_rows, &o);
    return o;
}

kd_simulation_options kd_simulation_options_default(void)
{
    kd_simulation_options o = {
        .formulation = KD_FORMULATION_CHOSEN,
        .integrator = KD_INTEGRATOR_CHOSEN,
        .formulation_options = kd_formulation_options_default(),
        .integrator_options = kd_integrator_options_default(),
        .initial = kd_initial_options_default(),
        .events = kd_event_options_default(),
        .accelerations = true,
        .cookie = KD_OPTIONS_COOKIE,
    };
    kd_options_reset(check_rows, sizeof check_rows / sizeof *check_rows, &o);
    return o;
}

// The structures that were not made by their default functions are refused by name.
kd_status kd_simulation_check_options(const kd_simulation_options *o, char *message, size_t size)
{
    const struct {
        unsigned    cookie;
        const char *name;
    } part_of[] = {{o->cookie, "kd_simulation_options"},
                   {o->formulation_options.cookie, "kd_formulation_options"},
                   {o->integrator_options.cookie, "kd_integrator_options"},
                   {o->initial.cookie, "kd_initial_options"},
                   {o->events.cookie, "kd_event_options"}};
    for (size_t i = 0; i < sizeof part_of / sizeof *part_of; i++) {
        if (part_of[i].cookie == KD_OPTIONS_COOKIE) continue;
        kd_text(message, size, "%s do not start from %s_default", part_of[i].name, part_of[i].name);
        return KD_ERR_ARGUMENT;
    }
    kd_status status = kd_options_check(event_rows, sizeof event_rows / sizeof *event_rows, &o->events, message, size);
    if (status >= 0)
        status = kd_options_check(start_rows, sizeof start_rows / sizeof *start_rows, &o->initial, message, size);
    if (status >= 0) status = kd_options_check(check_rows, sizeof check_rows / sizeof *check_rows, o, message, size);
    return status;
}

const char *kd_certificate_kind_word(kd_certificate_kind kind)
{
    const int i = (int)kind;
    return i >= 0 && i < KD_CERTIFICATE_KIND_COUNT ? certificate_words[i] : "?";
}
