// certificate_words.c: from the figures of a certificate to words and JSON. Violations are judged relative to the
// largest position or velocity, those of accelerations by what they do to velocities in a step, the energy by the error
// that the tolerances explain.
#include <kardan/certificate.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

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

static void put_place(kd_writer *t, const kd_largest *largest)
{
    if (largest->value == 0) return;
    kd_write(t, " at t = %.6g s", largest->t);
    bool quoted = strchr(largest->name, '\'') != NULL; // joint 'hinge' shift along x
    if (largest->name[0]) kd_write(t, quoted ? " in %s" : " in '%s'", largest->name);
}

// ---- limits ---------------------------------------------------------------------------------------------------------

static void put_broken(kd_writer *t, const char *what, double value, double limit, const kd_largest *where)
{
    kd_write(t, "%sthe limit of %.3g on %s is broken: %.3g", t->length > 0 ? "; " : "", limit, what, value);
    put_place(t, where);
}

int kd_certificate_broken(const kd_certificate *c, char *sentence, size_t size)
{
    if (!c) return 0;
    static const char *const WHAT[KD_LEVEL_COUNT] = {"constraint violation on position level",
                                                     "constraint violation on velocity level",
                                                     "constraint violation on acceleration level"};
    const double             limit[KD_LEVEL_COUNT] = {c->limits.position, c->limits.velocity, c->limits.acceleration};
    kd_writer                t = kd_writer_of(sentence, size);
    int                      broken = 0;
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

static void describe_energy(kd_writer *t, const kd_certificate *c)
{
    double explained = kd_certificate_energy_explained(c);
    kd_write(t, "energy balance: largest error %.1e J, relative %.1e", c->energy.value, kd_certificate_energy_error(c));
    put_place(t, &c->energy);
    kd_write(t, " (%s)\n", kd_certificate_energy(c).words);
    if (explained > 0 && c->energy.value > c->energy_rounding)
        kd_write(t, "  %.2g times what errors of one tolerance explain\n", c->energy.value / explained);
    kd_write(t, "  at the end: kinetic %.6g J, potential %.6g J; from the start: dissipated %.6g J, supplied %.6g J\n",
             c->kinetic, c->potential, c->dissipated, c->supplied);
}

// The verdict, then what is behind each check that is not good and has no line of its own
static void describe_verdict(kd_writer *t, const kd_certificate *c)
{
    kd_clean v;
    kd_certificate_verdict(c, &v);
    kd_write(t, "verdict: %s\n", v.sentence);
    for (int i = 0; i < v.nchecks; i++)
        if (v.check[i].verdict != KD_CHECK_GOOD)
            kd_write(t, "  %s, %s: %s\n", kd_check_word(v.check[i].verdict), v.check[i].name, v.check[i].sentence);
}

size_t kd_certificate_describe(const kd_certificate *c, char *buffer, size_t size)
{
    if (!c) return 0;
    kd_writer t = kd_writer_of(buffer, size);
    if (c->kind == KD_CERTIFICATE_NONE) {
        kd_write(&t, "no certificate was wanted: nothing was checked\n");
        describe_verdict(&t, c);
        return t.length;
    }
    kd_write(&t, "checked at %ld states from t = %.9g s to t = %.9g s%s\n", c->states, c->t_start, c->t_end,
             c->kind == KD_CERTIFICATE_LIGHT ? ", without the energy balance (light certificate)" : "");
    if (!c->has_constraints) kd_write(&t, "constraints: none\n");
    for (int level = 0; c->has_constraints && level < KD_LEVEL_COUNT; level++) {
        kd_write(&t, "constraints on %s level: largest violation %.1e", LEVEL[level], c->level[level].value);
        put_place(&t, &c->level[level]);
        kd_write(&t, " (%s)\n", kd_certificate_level(c, (kd_level)level).words);
    }
    if (c->has_norms) {
        kd_write(&t, "quaternion norms: largest error %.1e", c->norm.value);
        put_place(&t, &c->norm);
        kd_write(&t, " (%s)\n", kd_certificate_norm(c).words);
    }
    if (c->has_invariants) {
        kd_write(&t, "invariants: largest error %.1e", c->invariant.value);
        put_place(&t, &c->invariant);
        kd_write(&t, " (%s)\n", kd_certificate_invariant(c).words);
    }
    if (c->has_energy) describe_energy(&t, c);
    if (c->cautions > 0)
        kd_write(
            &t,
            "WARNING: %s at t = %.9g s, at %ld of the states: results from there on are not those of the real thing\n",
            c->caution, c->caution_time, c->cautions);
    if (c->noticed) kd_write(&t, "note: %s, first at t = %.9g s\n", c->notice, c->notice_time);
    char sentence[800];
    if (kd_certificate_broken(c, sentence, sizeof sentence) > 0) kd_write(&t, "%s\n", sentence);
    describe_verdict(&t, c);
    return t.length;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

// NAME_residual, NAME_time, NAME_equation
static void put_json_largest(kd_json *json, const char *name, bool exists, const kd_largest *largest)
{
    char key[60];
    snprintf(key, sizeof key, "%s_residual", name);
    kd_json_number(json, key, exists ? largest->value : NAN);
    snprintf(key, sizeof key, "%s_time", name);
    kd_json_number(json, key, exists ? largest->t : NAN);
    snprintf(key, sizeof key, "%s_equation", name);
    kd_json_text(json, key, exists ? largest->name : "");
}

static void put_json_energy(kd_json *json, const kd_certificate *c, bool energy)
{
    kd_json_number(json, "energy_error", energy ? kd_certificate_energy_error(c) : NAN);
    kd_json_number(json, "energy_error_joule", energy ? c->energy.value : NAN);
    kd_json_number(json, "energy_time", energy ? c->energy.t : NAN);
    kd_json_number(json, "energy_scale", energy ? c->energy_scale : NAN);
    kd_json_number(json, "kinetic", energy ? c->kinetic : NAN);
    kd_json_number(json, "potential", energy ? c->potential : NAN);
    kd_json_number(json, "dissipated", energy ? c->dissipated : NAN);
    kd_json_number(json, "supplied", energy ? c->supplied : NAN);
    kd_json_number(json, "energy_explained", energy ? kd_certificate_energy_explained(c) : NAN);
    kd_json_number(json, "energy_rounding", energy ? c->energy_rounding : NAN);
}

// clean, verdict, checks, not_searched
static void put_json_verdict(kd_json *json, const kd_certificate *c)
{
    kd_clean v;
    kd_certificate_verdict(c, &v);
    kd_json_bool(json, "clean", v.clean);
    kd_json_text(json, "verdict", v.sentence);
    kd_json_list(json, "checks");
    for (int i = 0; i < v.nchecks; i++) {
        kd_json_open(json, NULL);
        kd_json_text(json, "name", v.check[i].name);
        kd_json_text(json, "verdict", kd_check_word(v.check[i].verdict));
        kd_json_number(json, "figure", v.check[i].figure);
        kd_json_text(json, "sentence", v.check[i].sentence);
        kd_json_close(json);
    }
    kd_json_list_close(json);
    kd_json_list(json, "not_searched");
    for (int i = 0; i < v.nchecks; i++)
        if (v.check[i].verdict == KD_CHECK_NOT_SEARCHED) kd_json_text(json, NULL, v.check[i].name);
    kd_json_list_close(json);
}

size_t kd_certificate_json(const kd_certificate *c, char *buffer, size_t size)
{
    if (!c) return 0;
    kd_writer w = kd_writer_of(buffer, size);
    kd_json   json = {.text = &w, .layout = KD_JSON_LINE};
    bool      seen = c->states > 0 && c->kind != KD_CERTIFICATE_NONE;
    char      sentence[800];
    kd_json_open(&json, NULL);
    kd_json_text(&json, "kind", kd_certificate_kind_word(c->kind));
    kd_json_count(&json, "states", c->states);
    // figures that were not seen are null
    for (int level = 0; level < KD_LEVEL_COUNT; level++)
        put_json_largest(&json, LEVEL[level], seen && c->has_constraints, &c->level[level]);
    put_json_largest(&json, "norm", seen && c->has_norms, &c->norm);
    put_json_largest(&json, "invariant", seen && c->has_invariants, &c->invariant);
    put_json_energy(&json, c, seen && c->has_energy);
    kd_json_count(&json, "cautions", c->cautions);
    kd_json_number(&json, "caution_time", c->cautions > 0 ? c->caution_time : NAN);
    kd_json_text(&json, "caution", c->cautions > 0 ? c->caution : "");
    kd_json_number(&json, "notice_time", c->noticed ? c->notice_time : NAN);
    kd_json_text(&json, "notice", c->noticed ? c->notice : "");
    kd_json_bool(&json, "exploded", c->exploded);
    put_json_verdict(&json, c);
    kd_json_count(&json, "limits_broken", seen ? kd_certificate_broken(c, sentence, sizeof sentence) : 0);
    kd_json_text(&json, "limits_sentence", seen ? sentence : "");
    kd_json_close(&json);
    return w.length;
}
