// kardan/study.h: many runs of one model: designs of parameters, outputs of runs, what they say.
//
//     kd_study *study;                 kd_study_read("truck-study.yaml", &study, message, sizeof message);
//     kd_study_run_options options = kd_study_run_options_default();
//     kd_study_run(study, &options, message, sizeof message);       // threads; goes on where it was ended
//     kd_study_row row = kd_study_row_of(study, 17);
//
// Rows depend on the study file and their number alone: the same bits for any number of threads and processes, in any order.
// Guide: docs/guide/studies.md
#ifndef KARDAN_STUDY_H
#define KARDAN_STUDY_H

#include <kardan/base.h>
#include <kardan/results.h>

KD_EXTERN_C_BEGIN

typedef struct kd_study kd_study;

// Read a study file and the model that it names. message (size bytes, may be NULL) lists what is wrong, "file:line:column:
// cause". On failure *study is NULL.
KD_API kd_status kd_study_read(const char *path, kd_study **study, char *message, size_t size) KD_NODISCARD;
// The same from a text that stands for the file of that name; models are looked for beside it.
KD_API kd_status kd_study_read_text(const char *path, const char *text, size_t length, kd_study **study, char *message,
                                    size_t size) KD_NODISCARD;
KD_API void      kd_study_destroy(kd_study *study); // NULL is fine

KD_API const char *kd_study_title(const kd_study *study);
KD_API int         kd_study_rows(const kd_study *study);
KD_API int         kd_study_parameters(const kd_study *study);
KD_API const char *kd_study_parameter(const kd_study *study, int i); // "" for a number that is none
KD_API int         kd_study_outputs(const kd_study *study);
KD_API const char *kd_study_output(const kd_study *study, int i);
// Values of the parameters in a row (kd_study_parameters). KD_ERR_ARGUMENT: there is no such row.
KD_API kd_status kd_study_point(const kd_study *study, int row, double *value) KD_NODISCARD;

// ---- running --------------------------------------------------------------------------------------------------------
typedef struct kd_study_progress {
    int done, failed,
        rows; // rows that are there, those of them that failed, all (of searches: the most there can be); of all processes
    double seconds; // of this call so far
    double rate;    // rows per second
} kd_study_progress;

typedef struct kd_study_run_options {
    const char *folder;  // of the rows, for this study alone; NULL: nothing is kept                        default NULL
    int         threads; // 0: one for each processor                                                       default 0
    double      limit;   // [s] of one run, which fails then; 0: none                                       default 0
    bool
        mpi; // among the processes of mpirun, by MPI (one thread each then, unless threads says otherwise)    default false
    bool retry; // rows that failed are made again                                                 default false
    bool fresh; // what the folder holds of another study is removed, not refused                  default false
    // Called a few times a second from the calling thread; false ends the call, rows that are done stay. May be NULL
    bool (*go_on)(const kd_study_progress *progress, void *context);
    void    *context;
    unsigned cookie; // set by kd_study_run_options_default
} kd_study_run_options;
KD_API kd_study_run_options kd_study_run_options_default(void);
// Can MPI be loaded? message (may be NULL) says why not.
KD_API bool kd_study_has_mpi(char *message, size_t size);

// All rows that are not there yet. Each is appended to FOLDER/rows.log as soon as it is done: a call after one that was
// killed makes what is missing. KD_OK; KD_STOPPED: go_on ended it; KD_ERR_FILE: the folder holds another study, or cannot be
// written; KD_ERR_UNAVAILABLE: built without MPI or NLopt; a row that fails is a row with its reason, and no failure. Of several
// processes the first has all rows at the end.
KD_API kd_status kd_study_run(kd_study *study, const kd_study_run_options *opt, char *message,
                              size_t size) KD_NODISCARD;

// Rows that a folder holds of this study, without making any. KD_ERR_FILE: it holds none.
KD_API kd_status kd_study_load(kd_study *study, const char *folder, char *message, size_t size) KD_NODISCARD;

typedef struct kd_study_row {
    bool          done;
    kd_status     status; // of the run, or of its outputs
    bool          clean;  // its certificate
    const double *output; // (kd_study_outputs) NaN: there is none; NULL: the row is not done
    const char   *reason; // why it failed; ""
} kd_study_row;
KD_API kd_study_row kd_study_row_of(const kd_study *study, int row); // valid until the study runs again
// One row alone, with its report (NULL: none): *result has its numbers, which are not kept.
KD_API kd_status kd_study_repeat(kd_study *study, int row, const char *report, kd_study_row *result, char *message,
                                 size_t size) KD_NODISCARD;

// Channels that the study keeps of its runs (`keep: {channels: [..]}`), in FOLDER/channels/row-N.csv: how many, and their names.
KD_API int         kd_study_channels(const kd_study *study);
KD_API const char *kd_study_channel(const kd_study *study, int i); // "" for a number that is none
// Times and values of one of them in a row, the first `room`; *n: all that there are. KD_ERR_ARGUMENT: the row is not done, failed, or the
// study has no folder; KD_ERR_FILE: its file cannot be read.
KD_API kd_status kd_study_channel_of(const kd_study *study, int row, int channel, double *t, double *y, int room,
                                     int *n, char *message, size_t size) KD_NODISCARD;
// Rows that get a page (`keep: {reports: [17, best, worst, front, failed]}`; left out: best and worst of the first output, the best of
// searches), rising, each once: the first `size` into row (may be NULL); how many.
KD_API int kd_study_reports(const kd_study *study, int *row, int size);

// ---- what it says ---------------------------------------------------------------------------------------------------
typedef struct kd_estimate {
    double value, low, high; // with its 95 % interval; NaN: not known
} kd_estimate;
// Over the rows that are done and did not fail. q: 0 .. 1. Intervals of quantiles by order statistics, of the mean by its
// standard error; rows of a grid or list are no sample, and have none.
KD_API kd_estimate kd_study_mean(const kd_study *study, int output);
KD_API kd_estimate kd_study_deviation(const kd_study *study, int output);
KD_API kd_estimate kd_study_quantile(const kd_study *study, int output, double q);
// Share of rows in which the output is true (not 0), by Wilson's interval: `fails: peak > 3`.
KD_API kd_estimate kd_study_probability(const kd_study *study, int output);
// Sobol's indices of a design for sensitivity: first order (what the parameter does alone) and total (with all others), intervals
// by the central limit theorem of pick-freeze pairs (Janon, Klein, Lagnoux, Nodet, Prieur 2014). NaN for other designs.
KD_API kd_estimate kd_study_index(const kd_study *study, int output, int parameter, bool total);

// Elementary effects of Morris' paths: mean of their sizes (how much the parameter does), and their deviation (how much that depends on
// where, or on others). Effects are changes of the output over the whole range of levels. NaN for other designs.
KD_API kd_estimate kd_study_effect(const kd_study *study, int output, int parameter);
KD_API kd_estimate kd_study_effect_deviation(const kd_study *study, int output, int parameter);

// ---- the best parameters --------------------------------------------------------------------------------------------
// Of a study with `optimise:` in place of a design. Its rows are the runs of its searches: kd_study_rows is the most there can be.
KD_API int  kd_study_objectives(const kd_study *study); // 0: it does not search
KD_API int  kd_study_objective(const kd_study *study, int i,
                               bool *largest); // its output; *largest (may be NULL): the largest is best
KD_API bool kd_study_feasible(const kd_study *study, int row);   // it did not fail, and keeps all constraints
KD_API int  kd_study_best(const kd_study *study, int objective); // the feasible row that is best; -1: there is none
// Feasible rows that no other is better than in all objectives, by the first objective: the first `size` into row (may be NULL); how many.
KD_API int kd_study_front(const kd_study *study, int *row, int size);

typedef struct kd_study_search { // one search
    bool        done;
    int         objective;      // that it is for; -1: for a point of the front
    int         first, runs;    // its rows: first .. first + runs - 1
    int         best;           // of them; -1: all failed, or kept a constraint not
    const char *end;            // why it ended, in words
    double      gradient_error; // of its differences, relative to the objective, estimated; NaN: it used none
} kd_study_search;
KD_API int             kd_study_searches(const kd_study *study);
KD_API kd_study_search kd_study_search_of(const kd_study *study, int i);

// ---- parameters from measurements -----------------------------------------------------------------------------------
// Of a study with `identify:` in place of a design: least squares of channels against measured signals.
enum { KD_IDENTIFY_MOST = 50, KD_IDENTIFY_CHANNELS = 50 };
typedef struct kd_identification {
    int    nparameters, ndata;
    double value[KD_IDENTIFY_MOST], deviation[KD_IDENTIFY_MOST]; // deviation infinity: the data do not tell
    double low[KD_IDENTIFY_MOST], high[KD_IDENTIFY_MOST];        // 95 %
    bool   determined[KD_IDENTIFY_MOST], at_bound[KD_IDENTIFY_MOST];
    double correlation[KD_IDENTIFY_MOST * KD_IDENTIFY_MOST]; // (nparameters^2) row by row
    int    undetermined;                                     // directions of the parameters that the data cannot tell
    char   unknown[1000];             // parameters in them, "a, b": of these only combinations are known
    double rms[KD_IDENTIFY_CHANNELS]; // what is left, of each channel
    double misfit; // mean square of the weighted residuals: 1 where sigma is right; more: the model does not fit
    double gradient_error; // largest relative error of the differences, estimated
    int    iterations, runs;
} kd_identification;
// KD_OK; KD_ERR_NO_EQUILIBRIUM: runs fail around the start, message says why; KD_ERR_ARGUMENT: there are no data, or too few.
KD_API bool      kd_study_identifies(const kd_study *study); // does it have `identify:`?
KD_API kd_status kd_study_identify(kd_study *study, kd_identification *out, char *message, size_t size) KD_NODISCARD;

// Table of all rows with their parameters, as CSV and HDF5 (KD_ERR_UNAVAILABLE: built without); page with plots. KD_ERR_FILE: message says why.
KD_API kd_status kd_study_save_csv(const kd_study *study, const char *path, char *message, size_t size) KD_NODISCARD;
KD_API kd_status kd_study_save_hdf5(const kd_study *study, const char *path, char *message, size_t size) KD_NODISCARD;
KD_API kd_status kd_study_save_page(const kd_study *study, const char *path, char *message, size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
