// kardan/certificate.h: what a run is worth: how well it keeps the constraints on all levels, the quaternion norms and
// the energy balance, measured independently of the integrator.  Guide: docs/guide/certificate.md
//
// A certifier looks at every accepted step and at every wanted time. Hand it to the simulation through the output
// function:
//
//     static kd_eval output(const kd_state *x, bool at_time, void *context)
//     {
//         struct run *run = context; // your struct with certifier and simulation
//         return kd_certifier_see(run->certifier, run->simulation, x) < 0 ? KD_EVAL_STOP : KD_EVAL_OK;
//     }
#ifndef KARDAN_CERTIFICATE_H
#define KARDAN_CERTIFICATE_H

#include <kardan/eom.h>
#include <kardan/probe.h>
#include <kardan/simulation.h>

KD_EXTERN_C_BEGIN

typedef enum kd_level { KD_LEVEL_POSITION, KD_LEVEL_VELOCITY, KD_LEVEL_ACCELERATION, KD_LEVEL_COUNT } kd_level;

// The largest value of its kind, with time and equation.
typedef struct kd_largest {
    double value, t;
    char   name[80]; // of the equation; "" if the value is 0
} kd_largest;

// Limits of the user; NaN: none.
typedef struct kd_limits {
    double position, velocity, acceleration; // violation of a constraint, in its own unit
    double energy;                           // error of the energy balance relative to the energies involved
} kd_limits;
KD_API kd_limits kd_limits_none(void);

// ---- checks ---------------------------------------------------------------------------------------------------------
// A run is clean when all its checks are good. What could not be looked at is named as not searched, and is part of the
// verdict. Guide: docs/guide/certificate.md
typedef enum kd_check_verdict { KD_CHECK_GOOD, KD_CHECK_BAD, KD_CHECK_NOT_SEARCHED } kd_check_verdict;
KD_API const char *kd_check_word(kd_check_verdict verdict); // "good", "bad", "not searched"

typedef struct kd_check {
    char             name[64]; // "energy balance"
    kd_check_verdict verdict;
    double           figure;        // what was found, in the unit that the sentence tells; NaN: there is none
    char             sentence[320]; // in words, without full stop
} kd_check;

enum { KD_MOST_ADDED = 16, KD_MOST_CHECKS = 32 };

typedef struct kd_certificate {
    kd_certificate_kind kind;                  // what was looked at; all but a full one are never clean
    double              t_start, t_end;        // what was seen
    long                states;                // steps and wanted times that were looked at
    bool                has_constraints;       // g, h or c
    kd_largest          level[KD_LEVEL_COUNT]; // |g|, |c|;  |gI|, |h|;  |gII|, |hI| of active rows
    double scale[KD_LEVEL_COUNT]; // largest component of p, v, a, at least 1: what the violation is judged by
    double acceleration_step;     // largest |gII| h, h the step: what its violation does to velocities; 0: steps
                                  // are not known
    bool       exploded;          // a position or velocity grew beyond 1e8 times the largest at the start
    bool       has_norms;         // quaternions
    kd_largest norm;              // |q|
    bool       has_invariants;    // known invariants e
    kd_largest invariant;         // |e|
    bool       has_energy;        // the equations tell their energies, and the balance was looked at
    kd_largest energy;            // [J] |balance|: kinetic + potential + dissipated - supplied against the start
    double     energy_scale;      // [J] largest of kinetic energy, range of the potential energy, work done
    double     energy_rounding;   // [J] what rounding explains: of the largest terms, growing like a random walk
    // what errors of the tolerance would make of the energy, largest so far: [J] per relative and per absolute
    // tolerance, of velocities and of positions; all 0: not known
    double energy_by_rtol[2], energy_by_atol[2];
    double work_by_rtol, work_by_atol;           // [J] the same of the work done, along the whole run
    double invariant_by_rtol, invariant_by_atol; // the same of invariants, positions and velocities together
    double position_size, velocity_size;         // largest component of p and v
    double kinetic, potential;                   // [J] at the end
    double dissipated, supplied;                 // [J] from the start to the end
    long   cautions;     // states at which a law was used where it no longer holds (kd_eom_caution)
    double caution_time; // the first of them
    char   caution[200]; // and which law
    bool   noticed;      // something worth a word, which is no fault: a table read outside of its rows (kd_eom_notice)
    double notice_time;  // when it was first
    char   notice[300];  // and what
    // set by the caller or, all but status and limits, by kd_certificate_take
    kd_status status; // how the run ended
    double    rtol;   // of the run; 0: as atol
    double    atol;
    int       nadded; // further checks: kd_certificate_add
    kd_check  added[KD_MOST_ADDED];
    kd_limits limits;
    kd_stats  stats;
    double    wall_seconds;
} kd_certificate;

// What was found at the last state that a certifier looked at.
typedef struct kd_findings {
    double        violation[KD_LEVEL_COUNT];
    double        norm;
    double        kinetic, potential, dissipated, supplied, balance; // [J]; 0 if the equations do not tell energies
    const double *a; // (nv) acceleration that was judged: that of the state or, if that contradicts the state's forces
                     // and multipliers, the one that those give
    const kd_probe *probe; // that is set to the state, with this acceleration
} kd_findings;

typedef struct kd_certifier kd_certifier;

// eom must outlive it; *inputs (may be NULL) is copied. On failure *certifier is NULL.
KD_API kd_status kd_certifier_create(const kd_eom *eom, const kd_inputs *inputs, kd_certifier **certifier) KD_NODISCARD;
// The same by a probe of the caller, which must outlive it and is left at the state that was looked at last.
KD_API kd_status kd_certifier_create_by(kd_probe *probe, kd_certifier **certifier) KD_NODISCARD;
KD_API void      kd_certifier_destroy(kd_certifier *certifier); // NULL is fine
// What is wanted of it, before the first state: which kind, and which limits (NULL: none) its figures must be accurate
// enough for. As created: a full one without limits.
KD_API void kd_certifier_ask(kd_certifier *certifier, kd_certificate_kind kind, const kd_limits *limits);
// Look at a state, at or behind the last one. Does not allocate. With the simulation that shows x (from inside its
// output function) the powers of dissipation and supply are integrated by a Gauss-Lobatto formula over each step; with
// NULL by the trapezoidal rule between the states seen. < 0: an evaluation failed; KD_ERR_NOT_FINITE: NaN or infinity
// in x.
KD_API kd_status kd_certifier_see(kd_certifier *certifier, kd_simulation *simulation, const kd_state *x) KD_NODISCARD;
// Of all states seen. Accelerations that nothing was judged by yet are solved for now: the last state must still be there.
KD_API kd_findings kd_certifier_findings(const kd_certifier *certifier);
// Add what it has found so far to a saved simulation, and go on from there. KD_ERR_SAVED: it does not fit, message says why.
KD_API kd_status      kd_certifier_save(kd_certifier *certifier, kd_saved *saved) KD_NODISCARD;
KD_API kd_status      kd_certifier_restore(kd_certifier *certifier, const kd_saved *saved, char *message,
                                           size_t size) KD_NODISCARD;
KD_API kd_certificate kd_certifier_certificate(const kd_certifier *certifier); // so far; limits: none

// Tolerances and counters of the simulation that a certificate is of, and checks of its method: constant steps, index.
KD_API void kd_certificate_take(kd_certificate *c, const kd_simulation *simulation);
// One more check, as of another method or of an element; beyond KD_MOST_ADDED bad ones take the place of good ones.
KD_API void kd_certificate_add(kd_certificate *c, const char *name, kd_check_verdict verdict, double figure,
                               const char *format, ...) KD_PRINTF(5, 6);

// ---- the verdict ----------------------------------------------------------------------------------------------------
typedef struct kd_clean {
    bool     clean; // no check of a full certificate is bad
    int      nchecks, nbad, nnot_searched;
    kd_check check[KD_MOST_CHECKS];
    // "clean", "clean, but not searched: .., ..", "not clean: .., ..", "not certified (light certificate)"
    char sentence[800];
} kd_clean;
KD_API void kd_certificate_verdict(const kd_certificate *c, kd_clean *verdict);

// ---- words ----------------------------------------------------------------------------------------------------------
// A failed run (status < 0) is never praised: what would be good is "run failed". Where positions or velocities
// exploded, everything relative to them means nothing: "exploded".
typedef struct kd_verdict {
    const char *words;
    bool        good;
} kd_verdict;

// "to rounding", "within tolerance", "drift"; accelerations by what they do to velocities in a step, also "loose":
// accelerations and multipliers are less accurate than the motion
KD_API kd_verdict kd_certificate_level(const kd_certificate *c, kd_level level);
KD_API kd_verdict kd_certificate_norm(const kd_certificate *c);      // the same words
KD_API kd_verdict kd_certificate_invariant(const kd_certificate *c); // "kept", "drift"
KD_API kd_verdict kd_certificate_energy(const kd_certificate *c);    // "balanced", "not balanced"
// An error of the positions against a reference solution: "agrees", "differs".
KD_API kd_verdict kd_certificate_reference(const kd_certificate *c, double error);
// Error of the energy balance relative to the energies involved; NaN if they are not known.
KD_API double kd_certificate_energy_error(const kd_certificate *c);
// [J] the error of the energy that errors of one tolerance in positions and velocities explain; NaN: not known.
KD_API double kd_certificate_energy_explained(const kd_certificate *c);
// Limits that are broken, 0: none. sentence (may be NULL) says which, by how much, when and in which equation; a limit
// on something that the equations do not have is kept.
KD_API int kd_certificate_broken(const kd_certificate *c, char *sentence, size_t size);

// Lines of text, each with its line end. Returns the number of characters that the whole text has, as snprintf does.
KD_API size_t kd_certificate_describe(const kd_certificate *c, char *text, size_t size);
// One JSON object; null for what the equations do not have.
KD_API size_t kd_certificate_json(const kd_certificate *c, char *text, size_t size);

KD_EXTERN_C_END
#endif
