// certificate_verdict.c: clean or not: the list of all checks of a run. Each is good, bad, or could not be made.
#include <kardan/certificate.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define MOST_RTOL 0.01 // relative tolerance in which a verdict can be counted

const char *kd_check_word(kd_check_verdict verdict)
{
    return verdict == KD_CHECK_GOOD ? "good" : verdict == KD_CHECK_BAD ? "bad" : "not searched";
}

// ---- checks that others add -----------------------------------------------------------------------------------------

// Where a check of this name goes; NULL: there is no room for it
static kd_check *place_for(kd_certificate *c, const char *name, kd_check_verdict verdict)
{
    // a check of the same name is replaced; bad news push out good ones where there is no room
    for (int i = 0; i < c->nadded; i++)
        if (strcmp(c->added[i].name, name) == 0) return &c->added[i];
    if (c->nadded < KD_MOST_ADDED) return &c->added[c->nadded++];
    for (int i = 0; i < c->nadded && verdict != KD_CHECK_GOOD; i++)
        if (c->added[i].verdict == KD_CHECK_GOOD) return &c->added[i];
    return NULL;
}

void kd_certificate_add(kd_certificate *c, const char *name, kd_check_verdict verdict, double figure,
                        const char *format, ...)
{
    if (!c || !name || !format) return;
    kd_check *check = place_for(c, name, verdict);
    if (!check) return;
    *check = (kd_check){.verdict = verdict, .figure = figure};
    kd_text(check->name, sizeof check->name, "%s", name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->sentence, sizeof check->sentence, format, arguments);
    va_end(arguments);
}

// What happens inside of steps: which laws nobody can look into
static void take_search(kd_certificate *c, const kd_simulation *simulation)
{
    char        names[200] = "";
    int         count = 0;
    const char *name;
    while ((name = kd_simulation_not_searched(simulation, count)) != NULL) {
        kd_text_append(names, sizeof names, "%s%s", count > 0 ? ", " : "", name);
        count++;
    }
    if (count == 0)
        kd_certificate_add(c, "inside of steps", KD_CHECK_GOOD, 0, "all laws were searched for what steps do not see");
    else
        kd_certificate_add(c, "inside of steps", KD_CHECK_NOT_SEARCHED, count,
                           "nobody knows where these switch or have their peaks: %s", names);
}

static const double MOST_LOST = 300; // tolerances

// Kinks and jumps of laws that steps have passed
static void take_lost(kd_certificate *c, const kd_verification *v)
{
    if (!(v->lost > 0)) return;
    const bool good = v->lost <= MOST_LOST;
    kd_certificate_add(c, "kinks and jumps of laws", good ? KD_CHECK_GOOD : KD_CHECK_BAD, v->lost,
                       "steps that pass them may have lost %.2g tolerances together%s%s%s", v->lost,
                       good ? "" : ", most lately in '", good || !v->lost_by ? "" : v->lost_by,
                       good ? "" : "': take a smaller tolerance, or make the law smooth");
}

// Drives so fast that units in the last place of t are many tolerances of velocities
static void take_rounding(kd_certificate *c, const kd_verification *v)
{
    if (!(v->rounded > MOST_LOST)) return;
    kd_certificate_add(
        c, "rounding of time", KD_CHECK_BAD, v->rounded,
        "'%s' is so fast that the last digit of t is worth %.2g tolerances of velocities: take Cartesian "
        "coordinates, a slower drive, or a jump of its velocity",
        v->rounded_by, v->rounded);
}

// Accepted steps against the equations of motion inside them
static void take_verification(kd_certificate *c, const kd_simulation *simulation)
{
    const kd_verification v = kd_simulation_verification(simulation);
    take_lost(c, &v);
    take_rounding(c, &v);
    if (!v.searched)
        kd_certificate_add(c, "defects of steps", KD_CHECK_NOT_SEARCHED, NAN, "steps were not checked: %s",
                           v.why_not ? v.why_not : "not wanted");
    else if (v.unverified > 0)
        kd_certificate_add(
            c, "defects of steps", KD_CHECK_BAD, (double)v.unverified,
            "%ld step%s not fulfil the equations inside and could not be made shorter%s at t = %.9g s (defect of %.3g "
            "tolerances)",
            v.unverified, v.unverified == 1 ? " does" : "s do", v.unverified == 1 ? "," : ", the first", v.t_unverified,
            v.worst);
    else
        kd_certificate_add(c, "defects of steps", KD_CHECK_GOOD, v.worst,
                           "%ld of %ld steps were checked inside, %ld made again; largest defect %.2g tolerances",
                           v.checked, v.steps, v.redone, v.worst);
}

void kd_certificate_take(kd_certificate *c, const kd_simulation *simulation)
{
    if (!c || !simulation) return;
    kd_tolerances tolerances = kd_simulation_tolerances(simulation);
    c->rtol = tolerances.rtol;
    c->atol = tolerances.atol;
    c->stats = kd_simulation_stats(simulation);
    if (tolerances.h_fixed > 0)
        kd_certificate_add(c, "errors of steps", KD_CHECK_NOT_SEARCHED, tolerances.h_fixed,
                           "steps have the constant size %.3g s: nobody estimates their errors", tolerances.h_fixed);
    take_search(c, simulation);
    if (kd_simulation_rank_unwatched(simulation))
        kd_certificate_add(c, "singular positions", KD_CHECK_NOT_SEARCHED, NAN,
                           "too many constraints for their rank to be watched along the motion");
    if (!(tolerances.h_fixed > 0)) take_verification(c, simulation);
    // errors of some percent in every step: what is explained by them may be anything
    if (tolerances.rtol > MOST_RTOL && !(tolerances.h_fixed > 0))
        kd_certificate_add(c, "tolerance", KD_CHECK_BAD, tolerances.rtol,
                           "rtol = %.3g lets every step be wrong by that part of its motion: too much for a verdict, "
                           "which counts in tolerances; take %g or less",
                           tolerances.rtol, MOST_RTOL);
    // velocities of index 3 in tolerances: a thousand are many, even for it
    if (kd_simulation_formulation(simulation) == KD_INDEX3 && c->has_constraints) {
        const double times = c->level[KD_LEVEL_VELOCITY].value / (c->scale[KD_LEVEL_VELOCITY] * c->atol);
        kd_certificate_add(c, "tolerance against index", times > 1000 ? KD_CHECK_BAD : KD_CHECK_GOOD, times,
                           "index 3 controls errors of positions only: velocities leave their constraints by %.3g "
                           "tolerances%s",
                           times, times > 1000 ? ", take psf, ggl or odassl" : "");
    }
}

// ---- the list -------------------------------------------------------------------------------------------------------

static void list_check(kd_clean *v, const char *name, kd_check_verdict verdict, double figure, const char *format, ...)
    KD_PRINTF(5, 6);
static void list_check(kd_clean *v, const char *name, kd_check_verdict verdict, double figure, const char *format, ...)
{
    // what finds no room is left out: KD_MOST_CHECKS is more than there are
    if (v->nchecks == KD_MOST_CHECKS) return;
    kd_check *check = &v->check[v->nchecks++];
    *check = (kd_check){.verdict = verdict, .figure = figure};
    kd_text(check->name, sizeof check->name, "%s", name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->sentence, sizeof check->sentence, format, arguments);
    va_end(arguments);
}

static kd_check_verdict of(bool good)
{
    return good ? KD_CHECK_GOOD : KD_CHECK_BAD;
}

static void list_run(const kd_certificate *c, kd_clean *v)
{
    if (c->states == 0)
        list_check(v, "run", KD_CHECK_BAD, NAN, "no state was seen");
    else
        list_check(v, "run", of(c->status >= 0), c->t_end,
                   c->status < 0 ? "it ended at t = %.9g s: %s" : "seen until t = %.9g s%s", c->t_end,
                   c->status < 0 ? kd_status_sentence(c->status) : "");
    if (c->exploded)
        list_check(v, "size of the motion", KD_CHECK_BAD, c->scale[KD_LEVEL_VELOCITY],
                   "positions or velocities grew by a factor of more than 1e8");
}

static void list_levels(const kd_certificate *c, kd_clean *v)
{
    static const char *const NAME[KD_LEVEL_COUNT] = {"constraints on position level", "constraints on velocity level",
                                                     "constraints on acceleration level"};
    for (int level = 0; level < KD_LEVEL_COUNT && c->has_constraints; level++) {
        const kd_verdict verdict = kd_certificate_level(c, (kd_level)level);
        list_check(v, NAME[level], of(verdict.good), c->level[level].value, "largest violation %.1e: %s",
                   c->level[level].value, verdict.words);
    }
    if (c->has_norms)
        list_check(v, "quaternion norms", of(kd_certificate_norm(c).good), c->norm.value, "largest error %.1e: %s",
                   c->norm.value, kd_certificate_norm(c).words);
    if (c->has_invariants)
        list_check(v, "invariants", of(kd_certificate_invariant(c).good), c->invariant.value, "largest error %.1e: %s",
                   c->invariant.value, kd_certificate_invariant(c).words);
}

static void list_energy(const kd_certificate *c, kd_clean *v)
{
    if (!c->has_energy) {
        list_check(v, "energy balance", KD_CHECK_NOT_SEARCHED, NAN,
                   c->kind == KD_CERTIFICATE_FULL ? "the equations do not tell their energies"
                                                  : "a light certificate leaves it out");
        return;
    }
    const kd_verdict verdict = kd_certificate_energy(c);
    const double     explained = kd_certificate_energy_explained(c);
    if (explained > 0 && c->energy.value > c->energy_rounding)
        list_check(v, "energy balance", of(verdict.good), c->energy.value,
                   "largest error %.1e J, %.2g times what errors of one tolerance explain: %s", c->energy.value,
                   c->energy.value / explained, verdict.words);
    else
        list_check(v, "energy balance", of(verdict.good), c->energy.value, "largest error %.1e J: %s", c->energy.value,
                   verdict.words);
}

// Laws that were used where they no longer hold
static void list_cautions(const kd_certificate *c, kd_clean *v)
{
    if (c->cautions > 0)
        list_check(v, "range of laws", KD_CHECK_BAD, (double)c->cautions, "%s, first at t = %.9g s", c->caution,
                   c->caution_time);
}

static void list_limits(const kd_certificate *c, kd_clean *v)
{
    char      sentence[240];
    const int broken = kd_certificate_broken(c, sentence, sizeof sentence);
    if (broken > 0) list_check(v, "limits", KD_CHECK_BAD, broken, "%s", sentence);
    if (c->kind != KD_CERTIFICATE_FULL && !isnan(c->limits.energy))
        list_check(v, "limit of the energy balance", KD_CHECK_NOT_SEARCHED, c->limits.energy,
                   "only a full certificate knows whether it is kept");
}

// Nobody has looked: constraints, norms, invariants, energies and limits
static void list_nothing(kd_clean *v)
{
    list_check(v, "motion", KD_CHECK_NOT_SEARCHED, NAN,
               "no certificate was wanted: constraints and energies may do as "
               "they like, and limits may be broken");
}

// "name, name" of the checks with a verdict
static void name_checks(kd_clean *v, kd_check_verdict verdict)
{
    const char *before = "";
    for (int i = 0; i < v->nchecks; i++) {
        if (v->check[i].verdict != verdict) continue;
        kd_text_append(v->sentence, sizeof v->sentence, "%s%s", before, v->check[i].name);
        before = ", ";
    }
}

static void speak(const kd_certificate *c, kd_clean *v)
{
    // what only looks at a part is no praise
    if (v->nbad == 0 && c->kind != KD_CERTIFICATE_FULL)
        kd_text(v->sentence, sizeof v->sentence, "not certified (%s)",
                c->kind == KD_CERTIFICATE_LIGHT ? "light certificate" : "no certificate");
    else
        kd_text(v->sentence, sizeof v->sentence, v->clean ? "clean" : "not clean: ");
    if (v->nbad > 0) name_checks(v, KD_CHECK_BAD);
    if (v->nnot_searched == 0) return;
    kd_text_append(v->sentence, sizeof v->sentence, v->clean ? ", but not searched: " : "; not searched: ");
    name_checks(v, KD_CHECK_NOT_SEARCHED);
}

void kd_certificate_verdict(const kd_certificate *c, kd_clean *v)
{
    if (v) *v = (kd_clean){0};
    if (!c || !v) return;
    list_run(c, v);
    if (c->states > 0 && c->kind != KD_CERTIFICATE_NONE) {
        list_levels(c, v);
        list_energy(c, v);
        list_cautions(c, v);
        list_limits(c, v);
    }
    if (c->kind == KD_CERTIFICATE_NONE) list_nothing(v);
    // checks of others come behind, as they were added
    for (int i = 0; i < c->nadded && v->nchecks < KD_MOST_CHECKS; i++) v->check[v->nchecks++] = c->added[i];
    for (int i = 0; i < v->nchecks; i++) {
        v->nbad += v->check[i].verdict == KD_CHECK_BAD;
        v->nnot_searched += v->check[i].verdict == KD_CHECK_NOT_SEARCHED;
    }
    v->clean = v->nbad == 0 && c->kind == KD_CERTIFICATE_FULL;
    speak(c, v);
}
