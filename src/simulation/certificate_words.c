// certificate_words.c: from the figures of a certificate to words and JSON. Violations are judged relative to the
// largest position or velocity, those of accelerations by what they do to velocities in a step, the energy by the error
// that the tolerances explain.
#include <kardan/certificate.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/shortest.h"

static const double ROUNDING = 1e-11; // a relative violation of this size is rounding
static const double WITHIN = 10;      // a violation below so many tolerances is within tolerance
static const double DRIFT = 100;      // and beyond so many constraints have been left
static const double LOOSE = 1000;     // tolerances: accelerations beyond have done something to the motion
static const double EXPLAINED = 500;  // times the energy that errors of one tolerance explain: positions and velocities
                                      // may carry so many, as they add up along a run
static const double BALANCED = 1e-3;  // relative error of the energy balance where that is not known
static const double AGREES_TO = 1e-2; // relative error of the positions; beyond, curves differ to the eye

static const char *const LEVEL[KD_LEVEL_COUNT] = {"position", "velocity", "acceleration"};

// ---- verdicts -------------------------------------------------------------------------------------------------------

// Good words only for a run that deserves them
static kd_verdict judge(const kd_certificate *c, bool good, const char *words)
{
    if (c->exploded) return (kd_verdict){"exploded", false};
    if (good && c->status < 0) return (kd_verdict){"run failed", false};
    return (kd_verdict){words, good};
}

// One tolerance of positions or velocities: absolute, and relative to the largest of them
static double tolerance_of(const kd_certificate *c, kd_level level)
{
    const double rtol = c->rtol > 0 ? c->rtol : c->atol;
    const double size = level == KD_LEVEL_POSITION ? c->position_size : c->velocity_size;
    return c->atol + rtol * (size > 0 ? size : c->scale[level] - 1);
}

// relative: to the size of what is constrained, for rounding
static kd_verdict judge_violation(const kd_certificate *c, double relative, double tolerances)
{
    if (relative <= ROUNDING) return judge(c, true, "to rounding");
    if (tolerances <= WITHIN) return judge(c, true, "within tolerance");
    if (tolerances <= DRIFT) return judge(c, true, "loose");
    return judge(c, false, "drift");
}

static bool is_exact(const kd_certificate *c, kd_level level)
{
    return c->level[level].value <= ROUNDING * c->scale[level];
}

// Index 2 and 3 leave errors of tolerance/h in accelerations and multipliers, which is as it should be; the motion has
// the tolerance. Where positions and velocities keep their constraints to rounding, accelerations that do not are less
// accurate than the motion and do no harm to it.
static kd_verdict judge_acceleration(const kd_certificate *c)
{
    // what violations do to velocities within a step is their measure, not their size
    double relative = c->level[KD_LEVEL_ACCELERATION].value / c->scale[KD_LEVEL_ACCELERATION];
    double tolerances = c->acceleration_step / tolerance_of(c, KD_LEVEL_VELOCITY);
    if (!(tolerances > 0)) // steps are not known
        return judge_violation(c, relative, relative / (c->rtol > 0 ? fmax(c->rtol, c->atol) : c->atol));
    bool harmless = tolerances <= LOOSE || (is_exact(c, KD_LEVEL_POSITION) && is_exact(c, KD_LEVEL_VELOCITY));
    if (relative > ROUNDING && tolerances > DRIFT && harmless) return judge(c, true, "loose");
    return judge_violation(c, relative, tolerances);
}

kd_verdict kd_certificate_level(const kd_certificate *c, kd_level level)
{
    if (!c) return (kd_verdict){0};
    if (level == KD_LEVEL_ACCELERATION) return judge_acceleration(c);
    return judge_violation(c, c->level[level].value / c->scale[level], c->level[level].value / tolerance_of(c, level));
}

kd_verdict kd_certificate_norm(const kd_certificate *c)
{
    if (!c) return (kd_verdict){0};
    return judge_violation(c, c->norm.value, c->norm.value / (c->rtol > 0 ? fmax(c->rtol, c->atol) : c->atol));
}

kd_verdict kd_certificate_invariant(const kd_certificate *c)
{
    if (!c) return (kd_verdict){0};
    double rtol = c->rtol > 0 ? c->rtol : c->atol;
    double explained = rtol * c->invariant_by_rtol + c->atol * c->invariant_by_atol;
    bool   good = c->invariant.value <= ROUNDING * fmax(1, c->invariant_by_rtol) + EXPLAINED * explained;
    return judge(c, good, good ? "kept" : "drift");
}

double kd_certificate_energy_error(const kd_certificate *c)
{
    if (!c) return 0;
    if (!c->has_energy) return NAN;
    return c->energy_scale > 0 ? c->energy.value / c->energy_scale : c->energy.value;
}

// Energy changes by what velocities err, and by what positions err, but not by more than the part of all energies that
// errors are of positions: in the direction of a stiff spring they are much smaller than the tolerance. Work is done by
// powers that err all along
double kd_certificate_energy_explained(const kd_certificate *c)
{
    if (!c) return NAN;
    const double *by_rtol = c->energy_by_rtol, *by_atol = c->energy_by_atol;
    double        rtol = c->rtol > 0 ? c->rtol : c->atol, part = 1;
    bool          known = by_rtol[0] + by_rtol[1] + by_atol[0] + by_atol[1] > 0;
    if (!c->has_energy || !known || !(rtol > 0)) return NAN;
    // part of the energies that errors of positions can be, at most
    if (c->position_size > 0) part = fmin(1, rtol + c->atol / c->position_size);
    double velocities = rtol * by_rtol[0] + c->atol * by_atol[0];
    double positions = rtol * by_rtol[1] + c->atol * by_atol[1];
    double work = rtol * c->work_by_rtol + c->atol * c->work_by_atol;
    return velocities + fmin(positions, part * c->energy_scale) + work;
}

kd_verdict kd_certificate_energy(const kd_certificate *c)
{
    if (!c) return (kd_verdict){0};
    double explained = kd_certificate_energy_explained(c);
    bool   good = isnan(explained) ? c->energy.value <= c->energy_rounding || kd_certificate_energy_error(c) <= BALANCED
                                   : c->energy.value <= c->energy_rounding + EXPLAINED * explained;
    return judge(c, good, good ? "balanced" : "not balanced");
}

kd_verdict kd_certificate_reference(const kd_certificate *c, double error)
{
    if (!c) return (kd_verdict){0};
    bool good = error <= AGREES_TO;
    return judge(c, good, good ? "agrees" : "differs");
}

// ---- text -----------------------------------------------------------------------------------------------------------

typedef struct text {
    char  *buffer;
    size_t size, length; // length: of all that was written, as if there were room
} text;

static void put(text *t, const char *format, ...) KD_PRINTF(2, 3);
static void put(text *t, const char *format, ...)
{
    bool    fits = t->buffer && t->length < t->size;
    va_list arguments;
    va_start(arguments, format);
    // counted also where there is no room
    int written = vsnprintf(fits ? t->buffer + t->length : NULL, fits ? t->size - t->length : 0, format, arguments);
    va_end(arguments);
    if (written > 0) t->length += (size_t)written;
}

static void put_place(text *t, const kd_largest *largest)
{
    if (largest->value == 0) return;
    put(t, " at t = %.6g s", largest->t);
    bool quoted = strchr(largest->name, '\'') != NULL; // joint 'hinge' shift along x
    if (largest->name[0]) put(t, quoted ? " in %s" : " in '%s'", largest->name);
}

// ---- limits ---------------------------------------------------------------------------------------------------------

static void put_broken(text *t, const char *what, double value, double limit, const kd_largest *where)
{
    put(t, "%sthe limit of %.3g on %s is broken: %.3g", t->length > 0 ? "; " : "", limit, what, value);
    put_place(t, where);
}

int kd_certificate_broken(const kd_certificate *c, char *sentence, size_t size)
{
    if (!c) return 0;
    static const char *const WHAT[KD_LEVEL_COUNT] = {"constraint violation on position level",
                                                     "constraint violation on velocity level",
                                                     "constraint violation on acceleration level"};
    const double             limit[KD_LEVEL_COUNT] = {c->limits.position, c->limits.velocity, c->limits.acceleration};
    text                     t = {sentence, size, 0};
    int                      broken = 0;
    if (sentence && size > 0) sentence[0] = '\0';
    // NaN limits are none
    for (int level = 0; level < KD_LEVEL_COUNT; level++) {
        if (isnan(limit[level]) || c->level[level].value <= limit[level]) continue; // NaN is broken
        put_broken(&t, WHAT[level], c->level[level].value, limit[level], &c->level[level]);
        broken++;
    }
    double error = kd_certificate_energy_error(c);
    if (c->has_energy && !isnan(c->limits.energy) && !(error <= c->limits.energy)) {
        put_broken(&t, "the relative error of the energy balance", error, c->limits.energy, &c->energy);
        broken++;
    }
    return broken;
}

// ---- description ----------------------------------------------------------------------------------------------------

static void describe_energy(text *t, const kd_certificate *c)
{
    double explained = kd_certificate_energy_explained(c);
    put(t, "energy balance: largest error %.1e J, relative %.1e", c->energy.value, kd_certificate_energy_error(c));
    put_place(t, &c->energy);
    put(t, " (%s)\n", kd_certificate_energy(c).words);
    if (explained > 0 && c->energy.value > c->energy_rounding)
        put(t, "  %.2g times what errors of one tolerance explain\n", c->energy.value / explained);
    put(t, "  at the end: kinetic %.6g J, potential %.6g J; from the start: dissipated %.6g J, supplied %.6g J\n",
        c->kinetic, c->potential, c->dissipated, c->supplied);
}

// The verdict, then what is behind each check that is not good and has no line of its own
static void describe_verdict(text *t, const kd_certificate *c)
{
    kd_clean v;
    kd_certificate_verdict(c, &v);
    put(t, "verdict: %s\n", v.sentence);
    for (int i = 0; i < v.nchecks; i++)
        if (v.check[i].verdict != KD_CHECK_GOOD)
            put(t, "  %s, %s: %s\n", kd_check_word(v.check[i].verdict), v.check[i].name, v.check[i].sentence);
}

size_t kd_certificate_describe(const kd_certificate *c, char *buffer, size_t size)
{
    if (!c) return 0;
    text t = {buffer, size, 0};
    if (buffer && size > 0) buffer[0] = '\0';
    put(&t, "checked at %ld states from t = %.9g s to t = %.9g s\n", c->states, c->t_start, c->t_end);
    if (!c->has_constraints) put(&t, "constraints: none\n");
    for (int level = 0; c->has_constraints && level < KD_LEVEL_COUNT; level++) {
        put(&t, "constraints on %s level: largest violation %.1e", LEVEL[level], c->level[level].value);
        put_place(&t, &c->level[level]);
        put(&t, " (%s)\n", kd_certificate_level(c, (kd_level)level).words);
    }
    if (c->has_norms) {
        put(&t, "quaternion norms: largest error %.1e", c->norm.value);
        put_place(&t, &c->norm);
        put(&t, " (%s)\n", kd_certificate_norm(c).words);
    }
    if (c->has_invariants) {
        put(&t, "invariants: largest error %.1e", c->invariant.value);
        put_place(&t, &c->invariant);
        put(&t, " (%s)\n", kd_certificate_invariant(c).words);
    }
    if (c->has_energy) describe_energy(&t, c);
    if (c->cautions > 0)
        put(&t,
            "WARNING: %s at t = %.9g s, at %ld of the states: results from there on are not those of the real thing\n",
            c->caution, c->caution_time, c->cautions);
    if (c->noticed) put(&t, "note: %s, first at t = %.9g s\n", c->notice, c->notice_time);
    char sentence[800];
    if (kd_certificate_broken(c, sentence, sizeof sentence) > 0) put(&t, "%s\n", sentence);
    describe_verdict(&t, c);
    return t.length;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

static void put_key(text *t, const char *key)
{
    put(t, "%s\"%s\": ", t->length > 1 ? ", " : "", key);
}

// All digits with a decimal point in every locale; null for NaN and infinity
static void put_number(text *t, const char *key, double value)
{
    char number[KD_SHORTEST_SIZE];
    put_key(t, key);
    put(t, "%s", isfinite(value) ? kd_shortest_text(value, number) : "null");
}

static void put_string(text *t, const char *value)
{
    put(t, "\"");
    for (const char *c = value; *c; c++) {
        if (*c == '"' || *c == '\\')
            put(t, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            put(t, "\\u%04x", (unsigned)*c);
        else
            put(t, "%c", *c);
    }
    put(t, "\"");
}

static void put_text(text *t, const char *key, const char *value)
{
    put_key(t, key);
    put_string(t, value);
}

// NAME_residual, NAME_time, NAME_equation
static void put_largest(text *t, const char *name, bool exists, const kd_largest *largest)
{
    char key[60];
    snprintf(key, sizeof key, "%s_residual", name);
    put_number(t, key, exists ? largest->value : NAN);
    snprintf(key, sizeof key, "%s_time", name);
    put_number(t, key, exists ? largest->t : NAN);
    snprintf(key, sizeof key, "%s_equation", name);
    put_text(t, key, exists ? largest->name : "");
}

static void put_named_text(text *t, const char *before, const char *value)
{
    put(t, "%s", before);
    put_string(t, value);
}

// clean, verdict, checks, not_searched
static void put_verdict(text *t, const kd_certificate *c)
{
    kd_clean v;
    int      listed = 0;
    kd_certificate_verdict(c, &v);
    put_key(t, "clean");
    put(t, v.clean ? "true" : "false");
    put_text(t, "verdict", v.sentence);
    put_key(t, "checks");
    for (int i = 0; i < v.nchecks; i++) {
        const kd_check *k = &v.check[i];
        put_named_text(t, i > 0 ? ", {\"name\": " : "[{\"name\": ", k->name);
        put_named_text(t, ", \"verdict\": ", kd_check_word(k->verdict));
        put_number(t, "figure", k->figure);
        put_named_text(t, ", \"sentence\": ", k->sentence);
        put(t, "}");
    }
    put(t, v.nchecks > 0 ? "]" : "[]");
    put_key(t, "not_searched");
    put(t, "[");
    for (int i = 0; i < v.nchecks; i++)
        if (v.check[i].verdict == KD_CHECK_NOT_SEARCHED) put_named_text(t, listed++ > 0 ? ", " : "", v.check[i].name);
    put(t, "]");
}

size_t kd_certificate_json(const kd_certificate *c, char *buffer, size_t size)
{
    if (!c) return 0;
    text t = {buffer, size, 0};
    bool seen = c->states > 0, energy = seen && c->has_energy;
    char sentence[800];
    if (buffer && size > 0) buffer[0] = '\0';
    put(&t, "{");
    put_number(&t, "states", (double)c->states);
    // figures that were not seen are null
    for (int level = 0; level < KD_LEVEL_COUNT; level++)
        put_largest(&t, LEVEL[level], seen && c->has_constraints, &c->level[level]);
    put_largest(&t, "norm", seen && c->has_norms, &c->norm);
    put_largest(&t, "invariant", seen && c->has_invariants, &c->invariant);
    put_number(&t, "energy_error", energy ? kd_certificate_energy_error(c) : NAN);
    put_number(&t, "energy_error_joule", energy ? c->energy.value : NAN);
    put_number(&t, "energy_time", energy ? c->energy.t : NAN);
    put_number(&t, "energy_scale", energy ? c->energy_scale : NAN);
    put_number(&t, "kinetic", energy ? c->kinetic : NAN);
    put_number(&t, "potential", energy ? c->potential : NAN);
    put_number(&t, "dissipated", energy ? c->dissipated : NAN);
    put_number(&t, "supplied", energy ? c->supplied : NAN);
    put_number(&t, "cautions", (double)c->cautions);
    put_number(&t, "caution_time", c->cautions > 0 ? c->caution_time : NAN);
    put_text(&t, "caution", c->cautions > 0 ? c->caution : "");
    put_number(&t, "notice_time", c->noticed ? c->notice_time : NAN);
    put_text(&t, "notice", c->noticed ? c->notice : "");
    put_key(&t, "exploded");
    put(&t, c->exploded ? "true" : "false");
    put_number(&t, "energy_explained", energy ? kd_certificate_energy_explained(c) : NAN);
    put_number(&t, "energy_rounding", energy ? c->energy_rounding : NAN);
    put_verdict(&t, c);
    put_number(&t, "limits_broken", seen ? kd_certificate_broken(c, sentence, sizeof sentence) : 0);
    put_text(&t, "limits_sentence", seen ? sentence : "");
    put(&t, "}");
    return t.length;
}
