// flexible/stress.h: stress of a flexible body at places of its structure, sigma = sum_k S_k q_k, in the axes of the body; where it
// comes from, what is read of it, and where it is largest along a motion. Method: docs/methods/flexible.md
#ifndef KD_FLEXIBLE_STRESS_H
#define KD_FLEXIBLE_STRESS_H

#include <stdio.h>

#include "core/lines.h"
#include "flexible/body.h"

// ---- what is read ---------------------------------------------------------------------------------------------------

typedef enum kd_stress_kind {
    KD_STRESS_XX, // the six components as they are stored
    KD_STRESS_YY,
    KD_STRESS_ZZ,
    KD_STRESS_XY,
    KD_STRESS_YZ,
    KD_STRESS_ZX,
    KD_STRESS_MISES,
    KD_STRESS_SIGNED, // von Mises with the sign of the principal stress of the largest size
    KD_STRESS_P1,     // principal stresses, the largest first
    KD_STRESS_P2,
    KD_STRESS_P3,
    KD_STRESS_KINDS
} kd_stress_kind;

const char *kd_stress_word(kd_stress_kind kind); // "xx", "mises", "p1"
double      kd_stress_value(const double sigma[6], kd_stress_kind kind);
// At a place, by the first m amplitudes
void kd_stress_at(const kd_flexible_body *body, int place, int m, const double *q, double sigma[6]);
// The number of a named place (kd_flexible_body.spot); -1: there is none
int kd_stress_find(const kd_flexible_body *body, const char *name, size_t length);

// ---- hot spots ------------------------------------------------------------------------------------------------------

// The largest von Mises stress of every place along a motion
typedef struct kd_hot_spots {
    const kd_flexible_body *body;
    int                     m;
    double                 *mises, *signed_mises, *t; // (nplaces)
    double                 *sigma;                    // (6 nplaces)
} kd_hot_spots;

bool kd_hot_spots_cut(const kd_flexible_body *body, int m, kd_arena *arena, kd_hot_spots *spots);
void kd_hot_spots_see(kd_hot_spots *spots, double t, const double *q);
// The hottest places, at most count, that are not nearer than a twentieth of the body to a hotter one; how many there are
int kd_hot_spots_rank(const kd_hot_spots *spots, int count, int *place);
// "'root' at (0, 0, 0.01) m"
void kd_stress_place_words(const kd_flexible_body *body, int place, char *text, size_t size);

// ---- where it comes from --------------------------------------------------------------------------------------------

// Displacements and stress of a structure in some cases, from another program: modes are combinations of them
typedef struct kd_stress_cases {
    char    name[200]; // of the file, for messages
    int     n;
    int     nplaces;
    int    *node; // (nplaces) places in the list of nodes that have stress
    double *D;    // (rows of the structure x n)
    double *S;    // (6 nplaces x n)
} kd_stress_cases;

// A file of results of CalculiX (.frd, text) or a table of any program (stress_file.c), in units of the structure's files, into
// s->cases. KD_ERR_FILE: message says file, line and reason
kd_status kd_stress_cases_read(kd_fe_structure *s, const char *path, char *message, size_t size) KD_NODISCARD;
kd_status kd_stress_parse_frd(kd_lines *text, kd_fe_structure *s) KD_NODISCARD;
kd_status kd_stress_parse_table(kd_lines *text, kd_fe_structure *s) KD_NODISCARD;
// Stress at these nodes alone
void kd_stress_cases_keep(kd_stress_cases *cases, const int *node, int n);

// Stress of the modes U (n x nq) of a structure that asks for it. KD_ERR_MODEL: message says why; KD_OK with a message: a warning
kd_status kd_flexible_body_stress(const kd_fe_structure *s, const double *U, kd_flexible_body *body, char *message,
                                  size_t size) KD_NODISCARD;
// beam_stress.c: of own beams at all ends of elements
kd_status kd_beam_stress(const kd_fe_structure *s, const double *U, kd_flexible_body *body, char *message,
                         size_t size) KD_NODISCARD;
// Give the place nearest to a point a name (copied). far: how far away it is over the size of the body
bool kd_stress_name(kd_flexible_body *body, const char *name, kd_vec3 at, double *far, kd_vec3 *nearest);
// Arrays for so many places, all zero; false: memory is short
bool kd_stress_cut(kd_flexible_body *body, int nplaces);

// A deck for CalculiX, behind mesh, material and section: a step for each mode that moves all nodes by its shape and asks for stress
kd_status kd_stress_write_shapes(const kd_fe_structure *s, const kd_flexible_body *body, const char *title,
                                 FILE *file) KD_NODISCARD;

#endif
