// analysis/compare_internal.h: channels of a motion, one run by one method, distances between runs.
#ifndef KD_ANALYSIS_COMPARE_INTERNAL_H
#define KD_ANALYSIS_COMPARE_INTERNAL_H

#include <kardan/certificate.h>
#include <kardan/compare.h>

#include "core/memory.h"

// ---- channels -------------------------------------------------------------------------------------------------------

// A channel is a vector of values: a point, a quaternion (which is compared up to its sign), a number.
typedef struct kd_channel {
    char name[100];
    int  first, width;
    bool is_quaternion;
    bool is_output;
    bool of_forces; // an output that depends on accelerations or multipliers
} kd_channel;

typedef struct kd_channels {
    kd_arena    arena;
    kd_channel *list;
    int         count, nvalues;
} kd_channels;

// Evaluates the channels of one side along one run: times must not fall.
typedef struct kd_observer kd_observer;
kd_status                  kd_observer_create(const kd_compare_side *side, kd_observer **observer) KD_NODISCARD;
void                       kd_observer_destroy(kd_observer *observer); // NULL is fine
int                        kd_observer_values(const kd_observer *observer);
// Values at a state, and violations on position and velocity level, which must not be NULL. Does not allocate.
kd_status kd_observer_take(kd_observer *observer, const kd_state *x, double *values, double violation[2]) KD_NODISCARD;

kd_status kd_channels_create(const kd_compare_side *side, kd_channels *channels) KD_NODISCARD;
void      kd_channels_release(kd_channels *channels);

// ---- runs -----------------------------------------------------------------------------------------------------------

// The channels of a run at the common times.
typedef struct kd_track_of_run {
    const double *times; // (ntimes)
    int           ntimes, nvalues;
    int           rows;  // known so far
    double       *value; // (ntimes x nvalues)
} kd_track_of_run;

typedef struct kd_run_request {
    const kd_compare_side *side;
    kd_simulation_options  options; // of the method
    double                 rtol, atol, h_max, t_end;
    double                 limit; // [s] of computing; infinity: none
    int                    repetitions;
    bool (*go_on)(double t, void *context); // may be NULL
    void *context;
} kd_run_request;

// One run; out gets outcome, status, statistics, seconds, t, violations and message, track its motion. The answer is a
// failure of memory only.
kd_status kd_run_once(const kd_run_request *request, kd_track_of_run *track, kd_compare_run *out) KD_NODISCARD;
double    kd_thread_seconds(void);

// ---- distances ------------------------------------------------------------------------------------------------------

// scale (count): floor + largest length of each channel of a track, up to row `rows`
void kd_channel_scales(const kd_channels *channels, const kd_track_of_run *track, int rows, double floor,
                       double *scale);
// Length of the difference of a channel at one row of two tracks.
double kd_channel_distance(const kd_channel *channel, const kd_track_of_run *a, const kd_track_of_run *b, int row);
// Largest relative distance at a row; outputs: of the outputs, otherwise of the motion.
double kd_row_distance(const kd_channels *channels, const double *scale, const kd_track_of_run *a,
                       const kd_track_of_run *b, int row, bool outputs);
// Largest one over rows 0 .. rows - 1; infinity if one of the tracks ends before.
double kd_track_distance(const kd_channels *channels, const double *scale, const kd_track_of_run *a,
                         const kd_track_of_run *b, int rows, bool outputs);

// ---- judgement ------------------------------------------------------------------------------------------------------

typedef struct kd_judgement {
    kd_comparison         *result;
    const kd_channels     *channels;
    const kd_track_of_run *track; // (nruns)
    double                 floor; // of scales
} kd_judgement;

// Reference, errors, parting, groups, choices. KD_OK or KD_ERR_MEMORY.
kd_status kd_compare_judge(const kd_judgement *j) KD_NODISCARD;
// Do two methods share neither integrator nor, where there are several, coordinates, nor formulation?
bool kd_are_independent(const kd_comparison *c, const kd_compare_run *a, const kd_compare_run *b);
// A usual method's words with side: "cartesian ode + dop853"
const char *kd_compare_run_words(const kd_comparison *c, const kd_compare_run *run, char *buffer, size_t size);

#endif
