// support.h: what the examples of the gallery share: creation, names, matrix entries, stamps of workspaces.
#ifndef KARDAN_GALLERY_SUPPORT_H
#define KARDAN_GALLERY_SUPPORT_H

#include "core/memory.h"
#include "gallery.h"
#include <limits.h>
#include <string.h>

#define KD_NO_STAMP ULONG_MAX // a workspace that holds nothing yet

// An initial state; NULL: zero.
typedef struct kd_start {
    const double *p, *v, *r, *w, *s, *lambda, *mu, *a;
} kd_start;

// Equations and state together; on failure both are NULL.
kd_status kd_gallery_create(const kd_eom_def *def, const kd_start *start, kd_eom **eom, kd_state **x) KD_NODISCARD;

// The examples, one or two per file.
extern const kd_example kd_example_pendulum, kd_example_pendulum_release, kd_example_caraxis, kd_example_andrews,
    kd_example_truck5, kd_example_truck5_free, kd_example_truck7, kd_example_truck7_bump, kd_example_fekete,
    kd_example_wheelset, kd_example_circulartrack, kd_example_pendulum_chain12, kd_example_pendulum_chain14,
    kd_example_pendulum_chain16;

// Entry (i, j) of a column-major matrix.
static inline double *kd_entry(double *A, int rows, int i, int j)
{
    return &A[j * rows + i];
}

// Names of one kind: names[i] for 0 <= i < count, otherwise NULL.
static inline const char *kd_name_of(const char *const *names, size_t count, int i)
{
    return i >= 0 && (size_t)i < count ? names[i] : NULL;
}
#define KD_NAME_OF(names, i) kd_name_of(names, sizeof(names) / sizeof(*(names)), i)

#endif
