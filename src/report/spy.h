// report/spy.h: pictures of sparse matrices as SVG: where entries are (S0 figure 3), groups of columns by colour
// (figure 4), groups pushed together, one column each (figure 5); and the instants at which a matrix was renewed
// (figure 7).
#ifndef KD_REPORT_SPY_H
#define KD_REPORT_SPY_H

#include <kardan/dae.h>
#include <kardan/eom.h>

// Rows or columns that belong together.
typedef struct kd_spy_block {
    const char *name;
    int         n;
} kd_spy_block;

typedef enum kd_spy_kind {
    KD_SPY_PATTERN,   // entries, blocks
    KD_SPY_GROUPS,    // the same, columns in the colour of their group
    KD_SPY_COMPRESSED // one column per group; entries in the colour of their block of columns
} kd_spy_kind;

typedef struct kd_spy {
    const char         *title;
    kd_pattern          pattern;
    const kd_spy_block *row_blocks, *column_blocks; // blocks without rows or columns are passed over
    int                 nrow_blocks, ncolumn_blocks;
    const int          *group;       // (columns) -1: in none; NULL: KD_SPY_PATTERN only
    int                 fullest_row; // least possible number of groups; 0: not told
} kd_spy;

kd_status kd_spy_save(const kd_spy *spy, kd_spy_kind kind, const char *path, char *message, size_t size) KD_NODISCARD;

// Instants of evaluations and updates, noted by an observer.
typedef struct kd_instants kd_instants;
// Room for capacity instants of each kind; later ones are counted only.
kd_status kd_instants_create(int capacity, kd_instants **instants) KD_NODISCARD;
void      kd_instants_destroy(kd_instants *instants); // NULL is fine
// One attempt of a step. Does not allocate.
void kd_instants_see(kd_instants *instants, const kd_attempt_report *report);
long kd_instants_evaluations(const kd_instants *instants);
long kd_instants_updates(const kd_instants *instants);
// Evaluations dotted, updates dashed, over a curve (n points; 0: none) with its name.
kd_status kd_instants_save(const kd_instants *instants, const char *title, const char *name, const double *t,
                           const double *y, int n, int ystride, const char *path, char *message,
                           size_t size) KD_NODISCARD;

#endif
