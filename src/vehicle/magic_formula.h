// vehicle/magic_formula.h: forces and moments of a rolling tyre by the Magic Formula, with exact derivatives.
#ifndef KD_VEHICLE_MAGIC_FORMULA_H
#define KD_VEHICLE_MAGIC_FORMULA_H

#include "vehicle/tir.h"

// Load [N] > 0, longitudinal slip, slip angle and camber [rad] in the axes of the file (TYDEX W): x forward, y to the
// left, z up; the wheel rolls forward. The friction of the road is a factor of LMUX and LMUY.
enum { KD_MAGIC_FZ, KD_MAGIC_KAPPA, KD_MAGIC_ALPHA, KD_MAGIC_GAMMA, KD_MAGIC_ROAD, KD_MAGIC_INPUTS };
// Forces; overturning moment; the part of the aligning moment that turns round when the wheel rolls backwards (trail,
// residual) and the one of the longitudinal force
enum { KD_MAGIC_FX, KD_MAGIC_FY, KD_MAGIC_MX, KD_MAGIC_MZ_TRAIL, KD_MAGIC_MZ_ARM, KD_MAGIC_OUTPUTS };

typedef enum kd_magic_mode { KD_MAGIC_PURE, KD_MAGIC_COMBINED } kd_magic_mode;

typedef struct kd_magic_force {
    double value[KD_MAGIC_OUTPUTS];
    double by[KD_MAGIC_OUTPUTS][KD_MAGIC_INPUTS]; // derivatives
} kd_magic_force;

void kd_magic_formula(const kd_tir *tir, kd_magic_mode mode, const double in[KD_MAGIC_INPUTS], kd_magic_force *out);

// Relaxation lengths along and across [m] (0: the file has none), and their derivatives by load and camber
bool kd_magic_has_relaxation(const kd_tir *tir, int direction); // 0: along, 1: across
void kd_magic_relaxation(const kd_tir *tir, double Fz, double gamma, double sigma[2], double by[2][2]);

// Where the formula has a kink: each number is 0 there and changes its sign (|gamma|, sgn kappa_x and sgn alpha_y of the
// curvature, E <= 1 along and across)
enum { KD_MAGIC_KINKS = 5 };
void kd_magic_kinks(const kd_tir *tir, const double in[KD_MAGIC_INPUTS], double kink[KD_MAGIC_KINKS]);

#endif
