// check_impl.h: what check.c and check_point.c share.
#ifndef KD_EOM_CHECK_IMPL_H
#define KD_EOM_CHECK_IMPL_H

#include <stdint.h>

#include "eom/internal.h"

#define STEPS 3          // increments of central differences of order 4; an entry disagrees if it does so with all
#define SMALL_ENTRY 1e-3 // disagreement counts relative to the entry or to this part of the largest one in the block

// All quantities of a point in one block.
typedef struct kd_check_spot {
    double  t;
    double *u, *du, *ddu, *theta, *p, *s, *v, *r, *a, *w, *lambda, *mu;
    double *all;
    int     n;
} kd_check_spot;

// what a check works with: the definition, its bare twin, the point of the sample and room for both opinions
typedef struct kd_check_run {
    const kd_eom    *eom;
    kd_eom          *bare;
    kd_eom_data     *full_data, *bare_data;
    const kd_inputs *inputs;
    const kd_state  *x;
    kd_check_options opt;
    kd_check_spot    base, moved;
    double          *F, *G, *values[4];                // (rows) function values
    double          *supplied, *by_differences[STEPS]; // (rows x columns)
    double          *M, *M_first;                      // (nv x nv)
    double          *Z, *GZ, *HZ, *e;
    int             *pivot;
    uint64_t         random;
    bool             has_M_first;
    char            *report;
    size_t           size;
    int              found;
    kd_arena         arena;
} kd_check_run;

typedef struct kd_check_text {
    char text[160];
} kd_check_text;

void          kd_check_report(kd_check_run *c, const char *format, ...) KD_PRINTF(2, 3); // one more line
kd_status     kd_check_create(kd_check_run *c);
void          kd_check_release(kd_check_run *c);
kd_check_text kd_check_row(const kd_check_run *c, kd_fn fn, int row);
kd_check_text kd_check_variable(const kd_check_run *c, kd_var var, int j);
kd_check_text kd_check_column(const kd_check_run *c, kd_var var, int j, bool raw);
bool          kd_check_differ(const kd_check_run *c, double a, double b, double largest);
void kd_check_compare_columns(kd_check_run *c, kd_fn fn, kd_var var, int j, const double *supplied, const double *other,
                              double largest, const char *who);
void kd_check_compare_values(kd_check_run *c, kd_fn fn, const double *supplied, const double *other, double largest,
                             const char *who);
void kd_check_set_point(const kd_check_run *c, kd_eom_data *d, const kd_check_spot *x);
void kd_check_copy_spot(const kd_check_spot *from, kd_check_spot *to);
kd_eval      kd_check_make_point(kd_check_run *c, int sample) KD_NODISCARD;
kd_eom_data *kd_check_answering(kd_check_run *c, kd_fn fn);
kd_eval      kd_check_value_moved(kd_check_run *c, kd_fn fn, kd_var var, int j, double h, bool raw,
                                  double *out) KD_NODISCARD;
kd_eval      kd_check_difference_column(kd_check_run *c, kd_fn fn, kd_var var, int j, double relative, bool raw,
                                        double *out) KD_NODISCARD;

#endif
