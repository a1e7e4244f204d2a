// flexible/sid.h: flexible bodies as SID files (standard input data, Schwertassek and Wallrapp 1999), read and written.
//
// With the moments of body.h, for modes k, l (docs/methods/flexible.md):
//     mdCM = first + C_l q_l,  J1_l = 2 tr(A_l) - A_l - A_l',  Ct_k = C_k',  Cr_k = int x x phi_k + q_l int phi_l x phi_k
//     Gr_l = 2 (tr(A_l) - A_l'),  Ge_kl = 2 int phi_l x phi_k
//     Oe_k = sums of omega_i omega_j:  -(J1_11/2, J1_22/2, J1_33/2, J1_12, J1_23, J1_13),  first order the same with B_kl
#ifndef KD_FLEXIBLE_SID_H
#define KD_FLEXIBLE_SID_H

#include <stdio.h>

#include "core/lines.h"
#include "flexible/body.h"

// KD_OK; KD_ERR_FILE: message says file, line and reason; KD_ERR_MEMORY. Geometric stiffness in the file is refused: it would be lost.
kd_status kd_sid_parse(kd_lines *text, kd_flexible_body *body) KD_NODISCARD;
kd_status kd_sid_read(const char *path, kd_flexible_body *body, char *message, size_t size) KD_NODISCARD;
// false: the file could not be written
bool kd_sid_write(const kd_flexible_body *body, FILE *file);

#endif
