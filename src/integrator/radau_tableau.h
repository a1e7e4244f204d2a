// integrator/radau_tableau.h: coefficients of Radau IIa with 3 stages (HW II, IV.5 and IV.8; S3 Eq. 17).
//
// A and c define the method; the rest follows from A and is checked against it by tests/integrator/test_radau.c:
// inv(A) = T Lambda inv(T), Lambda = diag(g1, [al -be; be al]).
#ifndef KD_INTEGRATOR_RADAU_TABLEAU_H
#define KD_INTEGRATOR_RADAU_TABLEAU_H

#define SQRT6 2.449489742783178098197284074705891391965947480656670128432692567

// clang-format off
static const double radau_c[3] = {(4 - SQRT6) / 10, (4 + SQRT6) / 10, 1};

static const double radau_A[3][3] = {
    {(88 - 7 * SQRT6) / 360,     (296 - 169 * SQRT6) / 1800, (-2 + 3 * SQRT6) / 225},
    {(296 + 169 * SQRT6) / 1800, (88 + 7 * SQRT6) / 360,     (-2 - 3 * SQRT6) / 225},
    {(16 - SQRT6) / 36,          (16 + SQRT6) / 36,          1.0 / 9},
};

static const double radau_inv_A[3][3] = {
    { 3.2247448713915890491,  1.1678400846904054949, -0.25319726474218082619},
    {-3.5678400846904054949,  0.77525512860841095090, 1.0531972647421808262},
    { 5.5319726474218082619, -7.5319726474218082619,  5.0},
};

static const double radau_T[3][3] = {
    {9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02},
    {0.24171793270710701896,     0.20412935229379993199,  0.38294211275726193779},
    {0.96604818261509293619,     1.0,                     0.0},
};

static const double radau_inv_T[3][3] = {
    { 4.3255798900631553510,   0.33919925181580986954, 0.54177053993587487119},
    {-4.1787185915519047273,  -0.32768282076106238708, 0.47662355450055045196},
    {-0.50287263494578687595,  2.5719269498556054292, -0.59603920482822492497},
};

static const double radau_g1 = 3.6378342527444957322;
static const double radau_al = 2.6810828736277521338;
static const double radau_be = 3.0504301992474105695;

// error estimate (HW IV.8 Eq. 8.19): err = Newton matrix (g1/h) \ (k(x0) + (1/h) E sum e_i Z_i)
static const double radau_e[3] = {-(13 + 7 * SQRT6) / 3, (-13 + 7 * SQRT6) / 3, -1.0 / 3};
// clang-format on

#endif
