// kardan/results.h: what a run leaves behind: channels over time with names and units, certificate, table, page.
// Guide: docs/guide/results.md
//
//     kd_recorder *recorder;      kd_recorder_create(system, NULL, &recorder, message, sizeof message);
//     kd_recorder_simulate(recorder, &options, x, t_end);    // or attach it to a simulation of your own, see below
//     kd_recorder_save_csv(recorder, "run.csv", message, sizeof message);
//     kd_recorder_save_report(recorder, "run.html", message, sizeof message);
//
// Rows and page are those of `kardan simulate`, which records with it. Every file is complete or not there.
#ifndef KARDAN_RESULTS_H
#define KARDAN_RESULTS_H

#include <kardan/certificate.h>
#include <kardan/simulation.h>
#include <kardan/system.h>

KD_EXTERN_C_BEGIN

typedef struct kd_recorder kd_recorder;

typedef struct kd_recorder_options {
    int                intervals;  // equally long ones between wanted times; 0: the model's, or 500
    bool               steps;      // a row after every accepted step, too                      default false
    int                rows;       // that are kept at most; 0: one for each wanted time, with steps 10000 more
    const char *const *channels;   // (nchannels) that files and page have, by name; NULL: all that there are
    int                nchannels;  //
    const char *const *plots;      // (nplots) that the page shows; NULL: the model's, or all sensors, of these channels
    int                nplots;     //
    const char        *title;      // NULL: the model's
    const char        *about;      // a sentence below it; may be NULL
    const char        *model_file; // path, whose text the page shows; may be NULL
    kd_limits          limits;     // of the certificate; NaN: the model's, or none
    bool               no_drawing; // of the mechanism in the page                              default false
    bool               plain;      // page with plots that stand still and a small drawing      default false
    const kd_inputs   *inputs;     // in place of the model's, copied; NULL: the model's
    unsigned           cookie;     // set by kd_recorder_options_default
} kd_recorder_options;
KD_API kd_recorder_options kd_recorder_options_default(void);

// The system must outlive it; *opt (NULL: defaults) is copied, its texts and lists too. Plots of the model that are paths
// which the system does not record (kd_system_options_of) are told among the warnings of the results. On failure *recorder is NULL and
// message (size bytes, may be NULL) says why: KD_ERR_ARGUMENT names a channel that there is not.
KD_API kd_status kd_recorder_create(const kd_system *system, const kd_recorder_options *opt, kd_recorder **recorder,
                                    char *message, size_t size) KD_NODISCARD;
// The same of equations written in C; *inputs (may be NULL: all 0) is copied.
KD_API kd_status kd_recorder_create_for(const kd_eom *eom, const kd_inputs *inputs, const kd_recorder_options *opt,
                                        kd_recorder **recorder, char *message, size_t size) KD_NODISCARD;
KD_API void      kd_recorder_destroy(kd_recorder *recorder); // NULL is fine

// ---- recording ------------------------------------------------------------------------------------------------------
// Formulation, integrator, tolerances, largest step and all options as the model says under `run`, the rest as `kardan
// simulate` chooses it; words that options point to are the model's. KD_ERR_ARGUMENT: a word is unknown, message (may be
// NULL) says which.
KD_API kd_status kd_system_run_options(const kd_system *system, kd_simulation_options *options, char *message,
                                       size_t size) KD_NODISCARD;
// Largest step [s] over a run of that length of a mechanism without freedom, whose steps no error limits; 0: it has freedom.
KD_API double kd_system_driven_step(const kd_system *system, double duration);
// The options of `run` alone, run: {radau: {max_newton: 7}}, into options that exist.
KD_API kd_status kd_run_set_options(const kd_run_def *run, kd_simulation_options *options, char *message,
                                    size_t size) KD_NODISCARD;

// Simulate from x to t_end and record. options NULL: those of the model (kd_system_run_options), of equations the
// defaults. Without times in options they are equally spaced. An output function of the options is called after each
// row. Answers as kd_simulate; KD_STOPPED only where that function asked for it, an event of the model that ends the
// run is KD_OK. What was recorded before stays until then.
KD_API kd_status kd_recorder_simulate(kd_recorder *recorder, const kd_simulation_options *options, kd_state *x,
                                      double t_end) KD_NODISCARD;

// The same in steps, for a simulation of the caller: attach before it is created (sets output, times and the listener
// of events in options, those that are there are called, too), begin before it runs from t_start to t_end, end with what
// the run answered. Only these allocate. recorder and options->times must outlive the simulation.
KD_API kd_status kd_recorder_attach(kd_recorder *recorder, kd_simulation_options *options, double t_start,
                                    double t_end) KD_NODISCARD;
KD_API kd_status kd_recorder_begin(kd_recorder *recorder, kd_simulation *simulation) KD_NODISCARD;
KD_API kd_status kd_recorder_end(kd_recorder *recorder, kd_status answer) KD_NODISCARD;
// The certificate so far, added to a saved simulation; and a run that goes on from there, between begin and run: its
// certificate is that of both parts, its rows begin where it goes on.
KD_API kd_status kd_recorder_save(kd_recorder *recorder, kd_saved *saved) KD_NODISCARD;
KD_API kd_status kd_recorder_restore(kd_recorder *recorder, const kd_saved *saved, char *message,
                                     size_t size) KD_NODISCARD;
// The output function (kd_output) itself, with the recorder as context. Does not allocate.
KD_API kd_eval kd_recorder_see(const kd_state *x, bool at_time, void *recorder);

// ---- what was recorded ----------------------------------------------------------------------------------------------
// Channels are known from creation on: states, accelerations, inputs, sensors, energies, violations of the constraints.
KD_API int           kd_recorder_columns(const kd_recorder *recorder);
KD_API const char   *kd_recorder_name(const kd_recorder *recorder, int column);       // "" for a number that is none
KD_API const char   *kd_recorder_unit(const kd_recorder *recorder, int column);       // "" if it is not known
KD_API int           kd_recorder_find(const kd_recorder *recorder, const char *name); // -1: there is none of that name
KD_API int           kd_recorder_rows(const kd_recorder *recorder);
KD_API long          kd_recorder_dropped(const kd_recorder *recorder); // rows for which there was no room
KD_API const double *kd_recorder_times(const kd_recorder *recorder);   // (rows)
KD_API double        kd_recorder_value(const kd_recorder *recorder, int row, int column); // NaN: there is none
// All channels of the first row, those of the next row stand *stride doubles behind; valid until the next run or the end of
// the recorder. column: where a channel stands in a row, by its number here. NULL: there are none.
KD_API const double *kd_recorder_table(const kd_recorder *recorder, size_t *stride);
KD_API int           kd_recorder_place(const kd_recorder *recorder, int column); // in a row of the table; -1: none
// A channel over all rows into values (rows). KD_ERR_ARGUMENT: there is no such column.
KD_API kd_status kd_recorder_column(const kd_recorder *recorder, int column, double *values) KD_NODISCARD;
// Events in their order, without samples; texts are valid as the table is.
typedef struct kd_recorded_event {
    double        t;
    kd_event_kind kind;
    int           direction; // of a switching function: 1 rose, -1 fell; of sliding: 1, -1
    const char   *element;   // switching function, constraint or friction; "": none
    const char   *text;      // in words
} kd_recorded_event;
KD_API int               kd_recorder_events_count(const kd_recorder *recorder); // that were kept
KD_API kd_recorded_event kd_recorder_event(const kd_recorder *recorder, int i); // t NaN: there is none
// Of the last run; all 0 before its end.
KD_API const kd_certificate *kd_recorder_certificate(const kd_recorder *recorder);
// How it ended, in words; "".
KD_API const char *kd_recorder_message(const kd_recorder *recorder);

// ---- files ----------------------------------------------------------------------------------------------------------
// After the end of a run; message (size bytes, may be NULL) says why it failed. Table with settings, statistics and
// certificate in its comments; the same in HDF5 (KD_ERR_UNAVAILABLE: built without); the page with certificate, plots
// and the motion; its plots alone.
KD_API kd_status kd_recorder_save_csv(const kd_recorder *recorder, const char *path, char *message,
                                      size_t size) KD_NODISCARD;
KD_API kd_status kd_recorder_save_hdf5(const kd_recorder *recorder, const char *path, char *message,
                                       size_t size) KD_NODISCARD;
KD_API kd_status kd_recorder_save_report(const kd_recorder *recorder, const char *path, char *message,
                                         size_t size) KD_NODISCARD;
KD_API kd_status kd_recorder_save_svg(const kd_recorder *recorder, const char *path, char *message,
                                      size_t size) KD_NODISCARD;

KD_EXTERN_C_END
#endif
