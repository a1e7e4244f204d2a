// study/study.h: a study as its file gives it, and its rows.
#ifndef KD_STUDY_STUDY_H
#define KD_STUDY_STUDY_H

#include <kardan/kardan.h>
#include <kardan/study.h>

#include "core/memory.h"
#include "expr/expr.h"
#include "study/design.h"
#include "study/output.h"

enum { KD_STUDY_REASON = 240, KD_STUDY_MOST = 200, KD_STUDY_PATH = 4096 };

typedef struct kd_study_number { // an output
    const char        *name;
    const char        *channel; // NULL: by expression
    kd_study_reduction reduction;
    const char        *text; // expression of parameters and earlier outputs
    kd_expr           *expr;
    int                line; // of the file
} kd_study_number;

typedef struct kd_study_fixed { // a parameter of the model that is the same in all rows, or an option
    const char *name, *value;
} kd_study_fixed;

typedef enum kd_report_kind {
    KD_REPORT_ROW,
    KD_REPORT_BEST,
    KD_REPORT_WORST,
    KD_REPORT_FRONT,
    KD_REPORT_FAILED
} kd_report_kind;
typedef struct kd_study_report { // runs that get a page: one row, or those that the word means
    kd_report_kind kind;
    int            row;
} kd_study_report;

// One row as it is kept
typedef struct kd_study_cell {
    bool      done, clean;
    kd_status status;
    double    seconds;
    char     *reason; // NULL: ""
} kd_study_cell;

// ---- the best parameters (search.c) ---------------------------------------------------------------------------------
enum { KD_SEARCH_OBJECTIVES = 6, KD_SEARCH_CONSTRAINTS = 50 };

typedef struct kd_search_end { // of one search
    bool   done;
    int    used;           // rows
    int    code;           // why it ended, of NLopt
    double gradient_error; // relative, estimated; NaN: none was needed
} kd_search_end;

// Searches 0 .. nobjectives starts - 1 look for the best of each objective, the others for points of the front between them. Search k
// has the rows k runs .. (k + 1) runs - 1.
typedef struct kd_search {
    int nobjectives; // 0: a design
    struct {
        int    output;
        double sign; // -1: as large as possible
    } objective[KD_SEARCH_OBJECTIVES];
    int nconstraints;
    struct {
        int         output; // at most 0, or 0
        bool        equal;
        double      size; // of the limit; 0: it is none, or no number
        const char *text;
    } constraint[KD_SEARCH_CONSTRAINTS];
    int            method, polish; // of the list in search_methods.c; polish -1: none
    int            starts, front, runs, nsearches;
    double         tolerance;            // of the parameters, as a share of their ranges
    double         start[KD_STUDY_MOST]; // the first; NaN: the model's own values
    uint64_t       seed;
    kd_design      others; // further starts
    double        *point;  // (nrows nparameters)
    kd_search_end *end;    // (nsearches)
} kd_search;

struct kd_study {
    kd_arena        arena;
    const char     *title;
    const char     *model_path; // NULL: outputs are expressions of the parameters
    kd_model       *model;
    double          t_end, rtol, atol, max_step; // NaN: the model's
    int             intervals;                   // 0: the model's
    const char     *integrator, *formulation;    // NULL: the model's
    kd_study_fixed  set[KD_STUDY_MOST], option[KD_STUDY_MOST];
    int             nset, noptions;
    int             nparameters;
    const char     *parameter[KD_STUDY_MOST];
    kd_distribution distribution[KD_STUDY_MOST];
    kd_design       design;
    int             noutputs;
    kd_study_number output[KD_STUDY_MOST];
    kd_search       search;
    struct { // a sample that ends as soon as means are known well enough; output -1: all rows are made
        int    output;
        double width; // of the 95 % interval, from the mean to an end
    } until[KD_STUDY_MOST];
    int nuntil;
    // parameters from measurements; nfits 0: a design
    int         nfits;
    const char *data_path;
    int         time_column;
    bool        no_sigma; // of one channel the deviation is not known
    struct {
        const char *channel;
        int         column;
        double      sigma;
    } fit[KD_IDENTIFY_CHANNELS];
    // what is kept of runs: channels of all rows, pages of chosen ones
    int             nkept, nreports;
    const char     *kept[KD_STUDY_MOST];
    kd_study_report report[KD_STUDY_MOST];
    int             keep_line;             // of the file
    char            folder[KD_STUDY_PATH]; // of the rows; "": there is none
    unsigned long   hash;                  // of all that rows depend on
    kd_study_cell  *cell;                  // (nrows)
    double         *values;                // (nrows noutputs)
};

// Everything that rows depend on, as one number: study file, model with all its files, version.
kd_status kd_study_set_hash(kd_study *study, const char *text, size_t length, char *message, size_t size) KD_NODISCARD;
unsigned long kd_study_hash_bytes(unsigned long hash, const void *bytes, size_t length); // FNV-1a, 64 bits

// ---- one row --------------------------------------------------------------------------------------------------------
// What a thread needs to make rows: a system of its own. limit [s]: of a run, 0: none; stop may be set by others, and ends the
// run that is going on.
typedef struct kd_row_maker kd_row_maker;
kd_status kd_row_maker_create(const kd_study *study, double limit, const volatile bool *stop, kd_row_maker **maker,
                              char *message, size_t size) KD_NODISCARD;
void      kd_row_maker_destroy(kd_row_maker *maker);
// Outputs into value (noutputs), the rest into cell, whose reason (KD_STUDY_REASON bytes) is the caller's. false: it was stopped.
bool kd_row_make(kd_row_maker *maker, int row, kd_study_cell *cell, double *value);
// A run with any values of the parameters, its rows at these times.
kd_status kd_row_run(kd_row_maker *maker, const double *value, const double *times, int ntimes, char *message,
                     size_t size) KD_NODISCARD;
// The recorder of the last row, for its page; NULL: no model.
kd_recorder *kd_row_recorder(kd_row_maker *maker);

// ---- searches -------------------------------------------------------------------------------------------------------
// Room for the rows of the searches, and their number.
void kd_search_prepare(kd_study *study);
// Objective i of a row that did not fail, as it is to be small.
double kd_search_objective(const kd_study *study, int row, int i);
// Does a row that did not fail keep the constraints?
bool kd_search_is_feasible(const kd_study *study, int row);
// What search k minimises: an objective, or the place between all of them that its point of the front has.
bool kd_search_is_first(const kd_study *study, int k); // of the first stage: one objective alone
// Run search k. make(context, row) makes a row whose point is set; false: the study stops. KD_STOPPED then; KD_ERR_UNAVAILABLE: built
// without NLopt.
kd_status     kd_search_run(kd_study *study, int k, bool (*make)(void *context, int row), void *context,
                            kd_search_end *end) KD_NODISCARD;
const char   *kd_search_words(int code);          // why a search ended
unsigned long kd_search_hash(unsigned long hash); // with the version of NLopt, which rows depend on, too

// ---- rows on disk ---------------------------------------------------------------------------------------------------
// FOLDER/rows.log, of other processes than the first rows-RANK.log: a line for each row, appended by one write, with a check sum; lines that are not whole are passed over.
typedef struct kd_row_store kd_row_store;
kd_status kd_row_store_open(kd_study *study, const char *folder, bool fresh, int rank, kd_row_store **store,
                            char *message, size_t size) KD_NODISCARD;
// Rows that others have appended since the last call.
kd_status kd_row_store_refresh(kd_row_store *store) KD_NODISCARD;
kd_status kd_row_store_append(kd_row_store *store, int row, const kd_study_cell *cell, const double *value,
                              char *message, size_t size) KD_NODISCARD;
// A search that has ended.
kd_status kd_row_store_append_end(kd_row_store *store, int search, const kd_search_end *end, char *message,
                                  size_t size) KD_NODISCARD;
void      kd_row_store_finish(kd_row_store *store); // nothing more is appended: others see all
void      kd_row_store_close(kd_row_store *store);  // NULL is fine

// ---- channels on disk (channels.c) ----------------------------------------------------------------------------------
kd_status kd_channels_open_folder(const kd_study *study, const char *folder, char *message, size_t size) KD_NODISCARD;
void      kd_channels_remove(const char *folder); // those of another study
// Of the row that the maker has made; does nothing where the study keeps none.
kd_status kd_channels_save(kd_row_maker *maker, const kd_study *study, const char *folder, int row, char *message,
                           size_t size) KD_NODISCARD;
bool      kd_channels_are_there(const kd_study *study, const char *folder, int row); // or none are kept

// Are the means of `until` known well enough by the first rows?
bool kd_study_knows_enough(const kd_study *study, int rows);
// Puts a row into the study.
kd_status kd_study_keep(kd_study *study, int row, const kd_study_cell *cell, const double *value) KD_NODISCARD;

#endif
