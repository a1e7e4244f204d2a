// results/result.h: a finished run with everything that belongs to it; written as table (CSV), HDF5 file, page and
// picture.
#ifndef KD_RESULTS_RESULT_H
#define KD_RESULTS_RESULT_H

#include <kardan/explain.h>

#include "results/event_log.h"
#include "results/recording.h"

struct kd_plot;    // report/svg.h
struct kd_drawing; // drawing/drawing.h
struct kd_beside;  // report/beside.h

typedef struct kd_result_setting {
    const char *name, *value;
} kd_result_setting;

// Where a flexible body has a large stress, in its axes, and when
typedef struct kd_result_spot {
    const char *body;
    double      at[3];
    double      mises, signed_mises, t; // [Pa], [s]
    char        where[160];
} kd_result_spot;

// What is to be told about a run instead of certificate and statistics of an integrator.
typedef struct kd_result_facts {
    const char              *title; // of the list
    const kd_result_setting *fact;
    int                      nfacts;
    const struct kd_plot    *plot; // in front of the others
    int                      nplots;
    const char              *reading; // how to read it, a paragraph; may be NULL
} kd_result_facts;

typedef struct kd_result {
    const char              *title;
    const char              *about;      // what was simulated; may be NULL
    const char              *model_file; // path and text of the model file; NULL: equations written in C
    const char              *model_text;
    const kd_recording      *recording;
    const int               *column; // (ncolumns) of the recording, which table and HDF5 file have; ncolumns 0: all
    int                      ncolumns;
    const kd_result_setting *settings;
    int                      nsettings;
    kd_certificate           certificate; // with status, statistics, tolerance and limits of the run
    const char *const       *warnings;    // of the model, one line each; nwarnings 0: none
    int                      nwarnings;
    const char              *message;         // how the run ended, in words; may be empty
    double                   reference_error; // against the reference solution at the end; NaN: there is none
    const char *const       *plots;           // channels to plot in the report; nplots 0: all groups
    int                      nplots;
    const struct kd_drawing *drawing;     // of the mechanism; may be NULL
    const kd_explanation    *explanation; // who limited the steps; may be NULL
    const kd_event_log      *events;      // NULL: the equations have none
    const kd_result_facts   *facts;       // NULL: certificate and statistics
    const kd_result_facts   *stress;      // of flexible bodies; may be NULL
    const kd_result_spot    *spots;       // the same as numbers
    int                      nspots;
    bool                     plain;   // the page has the small drawing and plots that stand still, not the viewer
    const struct kd_beside  *beside;  // another run that the viewer shows, too; may be NULL
    struct kd_running       *running; // the rows of the table, written while the run went on; may be NULL
} kd_result;

// Is a column of the recording among those?
bool kd_result_has_column(const kd_result *result, int column);

// Statistics as a list, the same in all forms of results.
typedef struct kd_statistic {
    const char *key, *label; // "rejected_error", "steps rejected by the error test"
    bool        is_count;
    bool        special; // of some methods only: 0 says nothing
    double      value;
} kd_statistic;
enum { KD_STATISTICS = 26 };
kd_statistic kd_result_statistic(const kd_certificate *certificate, int i);

// Comment lines (version, title, settings, statistics, certificate, units), header line, one row per output time.
kd_status kd_result_save_csv(const kd_result *result, const char *path, char *message, size_t size) KD_NODISCARD;

// Head of the table of a run that goes on, header line included, which begins at *header_at; for kd_free. NULL: no
// memory.
char *kd_result_head(const kd_result *result, size_t *length, size_t *header_at);

// The same in HDF5: /time and one dataset per channel in /channels, with attributes; docs/guide/results.md.
// KD_ERR_UNAVAILABLE: built without HDF5.
kd_status kd_result_save_hdf5(const kd_result *result, const char *path, char *message, size_t size) KD_NODISCARD;
bool      kd_result_has_hdf5(void);
// As MAT file of level 5: t, values (a column for each channel), name, unit, title, setting_name, setting_value, event_t,
// event_kind, event_element, event_text, event_direction, status, message, model_file, verdict, certificate,
// statistic_name, statistic_value. KD_ERR_UNAVAILABLE: built without matio (kd_linear_has_mat).
kd_status kd_result_save_mat(const kd_result *result, const char *path, char *message, size_t size) KD_NODISCARD;

#endif
