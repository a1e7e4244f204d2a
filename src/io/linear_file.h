// io/linear_file.h: linear equations as JSON, as text and as MAT file.
#ifndef KD_IO_LINEAR_FILE_H
#define KD_IO_LINEAR_FILE_H

#include <kardan/linearize.h>
#include <stdio.h>

// One JSON object: names, matrices by rows, eigenvalues.
void kd_linear_write_json(FILE *file, const kd_linear *linear, const kd_modes *modes);
// Names and matrices for readers.
void kd_linear_write_text(FILE *file, const kd_linear *linear);
// MAT file of level 4, read by Octave and MATLAB: A, B, C, D, M, R_v, R_p, F, J, T, t; descriptor form E, Ad, Bd, Cd,
// Dd; names as character arrays state_name, input_name, output_name.
void kd_linear_write_mat(FILE *file, const kd_linear *linear);

#endif
