// results/linear_file.h: linear equations as JSON, as text and as MAT file.
#ifndef KD_RESULTS_LINEAR_FILE_H
#define KD_RESULTS_LINEAR_FILE_H

#include <kardan/linearize.h>
#include <stdio.h>

// One JSON object: names, matrices by rows, eigenvalues. rest: how the equilibrium was found that they belong to, or
// NULL.
void kd_linear_write_json(FILE *file, const kd_linear *linear, const kd_modes *modes, const char *rest);
// Names and matrices for readers.
void kd_linear_write_text(FILE *file, const kd_linear *linear);
// MAT file of level 5, read by Octave and MATLAB: A, B, C, D, M, R_v, R_p, F, J, T, t; descriptor form E, Ad, Bd, Cd,
// Dd; names as columns of cells state_name, input_name, output_name, increment_name, unknown_name (of the descriptor
// form); eigenvalues, frequency and damping of the modes (may be NULL). KD_ERR_UNAVAILABLE: built without matio.
kd_status kd_linear_save_mat(const char *path, const kd_linear *linear, const kd_modes *modes, char *message,
                             size_t size) KD_NODISCARD;
bool      kd_linear_has_mat(void);

#endif
