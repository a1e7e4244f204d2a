// analysis/locus.h: root locus: eigenvalues over a parameter, and the values of it at which stability changes.
//
// The caller finds the modes at each value; the locus collects them, tells free coordinates from modes, and closes in
// on the values between which the largest real part changes its sign.
#ifndef KD_ANALYSIS_LOCUS_H
#define KD_ANALYSIS_LOCUS_H

#include <kardan/linearize.h>

enum { KD_LOCUS_CRITICAL = 32, KD_LOCUS_MODE = 600 };

typedef struct kd_locus kd_locus;

// Where the largest real part passes zero.
typedef struct kd_critical {
    double value, frequency;    // of the parameter, of the mode [Hz]
    bool   grows_above;         // the mode grows for larger values
    char   mode[KD_LOCUS_MODE]; // in the words of the source
} kd_critical;

// Where modes come from.
typedef struct kd_locus_source {
    const kd_modes *(*modes_at)(double value, void *context); // valid until the next call; NULL: there are none
    void (*describe)(int mode, void *context, char *text, size_t size); // a mode of the last answer
    void *context;
} kd_locus_source;

// For at most `values` values. On failure *locus is NULL.
kd_status kd_locus_create(int values, kd_locus **locus) KD_NODISCARD;
void      kd_locus_destroy(kd_locus *locus); // NULL is fine

// The modes at the next value; values rise or fall. KD_OK, KD_ERR_MEMORY.
kd_status kd_locus_add(kd_locus *locus, double value, const kd_modes *modes) KD_NODISCARD;
// Eigenvalues of all values as points of a plot: behind each a gap (NaN), so that there are no lines.
int kd_locus_points(const kd_locus *locus, const double **real, const double **imaginary);
// The mode that grows fastest or decays slowest, but for those that are zero up to rounding; -1: there is none.
int kd_locus_slowest(const kd_modes *modes);

// The values between those that were added at which stability changes, at most KD_LOCUS_CRITICAL; answers how many.
int kd_locus_find_critical(kd_locus *locus, const kd_locus_source *source, kd_critical *list);

#endif
