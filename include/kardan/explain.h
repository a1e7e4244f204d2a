// kardan/explain.h: who limits the step size: rejected steps, small steps and Newton trouble by coordinates and
// elements.
//
// An explainer listens to the integrator (kd_dae.observe). Every attempt of a step that an error test or Newton's
// method limited is shared out among the components by their part in the square of the norm, with the weight 1 +
// ln(largest step so far / h): short steps count more.
// Components of one joint or body are taken together. Guide: docs/guide/who-limits-my-step.md
#ifndef KARDAN_EXPLAIN_H
#define KARDAN_EXPLAIN_H

#include <kardan/simulation.h>

KD_EXTERN_C_BEGIN

typedef struct kd_explainer kd_explainer;

// dae (as of kd_simulation_dae) and eom must outlive it. Does not listen yet.
KD_API kd_status kd_explainer_create(const kd_dae *dae, const kd_eom *eom, kd_explainer **explainer) KD_NODISCARD;
KD_API void      kd_explainer_destroy(kd_explainer *explainer); // NULL is fine

// One attempt; context is the explainer. To listen: dae->observe = kd_explainer_see, dae->observer = explainer. Does
// not allocate.
KD_API void kd_explainer_see(const kd_attempt_report *report, void *context);

// A force element that acts on a velocity, with how fast it alone would make it answer.
typedef struct kd_suspect {
    const char *name;      // "suspension"
    const char *kind;      // "tsda", "joint_stop"
    double      frequency; // [rad/s] sqrt(stiffness / mass)
    double      rate;      // [1/s] damping / mass
} kd_suspect;

// The elements that act on velocity i, fastest first, at most size of them; returns their number.
typedef int (*kd_suspects)(int velocity, kd_suspect *list, int size, void *context);

// What limited the steps in total, and one who did.
typedef struct kd_limiter {
    char       name[96];       // "joint.hinge", "body.cab", or the component itself
    char       component[160]; // the worst of its components
    double     share;          // of all limited attempts, by weight; the shares of all limiters have the sum 1
    double     small;          // its part in the accepted steps that the error limited
    double     error;          // in the steps that the error test rejected
    double     newton;         // in the steps that Newton's method gave up
    double     from, to;       // [s] shortest time in which it did most of this
    bool       local;          // that is a small part of the run
    bool       abrupt;         // most of it happened in a small part of the run, perhaps at several times
    int        nsuspects;      // force elements that act on it, fastest first
    kd_suspect suspect[4];
    char       advice[500]; // likely cause and what to do
} kd_limiter;

typedef struct kd_small_step {
    double t, h;     // [s]
    char   name[96]; // who limited it most
} kd_small_step;

enum { KD_EXPLAIN_LIMITERS = 10, KD_EXPLAIN_STEPS = 5 };

typedef struct kd_explanation {
    long          attempts, accepted, rejected_error, rejected_newton, refused; // refused: by a function
    long          retracted;       // accepted at first, taken back after a check
    char          why[120];        // the last of these
    long          unlimited;       // accepted steps that no error limited: start, largest step allowed, end of the run
    double        t_first, t_last; // [s]
    double        h_typical, h_least; // [s] geometric mean and smallest of the accepted steps
    int           nlimiters;
    kd_limiter    limiter[KD_EXPLAIN_LIMITERS]; // largest share first
    int           nsteps;
    kd_small_step step[KD_EXPLAIN_STEPS]; // the smallest limited steps, each of another time, smallest first
} kd_explanation;

// What was seen so far. suspects may be NULL: no force elements are known.
KD_API void kd_explainer_result(const kd_explainer *explainer, kd_suspects suspects, void *context,
                                kd_explanation *result);
// In words, lines of at most 120 characters; as JSON object. Return the number of characters that the whole text has.
KD_API size_t kd_explanation_describe(const kd_explanation *explanation, char *text, size_t size);
KD_API size_t kd_explanation_json(const kd_explanation *explanation, char *text, size_t size);

KD_EXTERN_C_END
#endif
