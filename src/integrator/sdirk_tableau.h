// integrator/sdirk_tableau.h: coefficients of SDIRK 4/15 (HW II, IV.6; S2 section 4), of ESDIRK 4(3)7L[2]SA (the
// implicit part of ARK4(3)7L[2]SA1 of C. A. Kennedy, M. H. Carpenter, Appl. Numer. Math. 136, 2019) and of RODAS (HW
// II, VI.4).
//
// Order conditions, embedded formulas and stability functions are checked by tests/integrator/test_sdirk.c.
#ifndef KD_INTEGRATOR_SDIRK_TABLEAU_H
#define KD_INTEGRATOR_SDIRK_TABLEAU_H

#define SDIRK_STAGES 5
#define ESDIRK_STAGES 7
#define RODAS_STAGES 6

// clang-format off

// SDIRK 4/15, order 4, L-stable, x_1 = X_5:  X_i = x_0 + h sum_j A_ij X_j'
static const double sdirk_gamma = 4.0 / 15;
static const double sdirk_c[5] = {4.0 / 15, 23.0 / 30, 17.0 / 30, 707.0 / 1931, 1};
static const double sdirk_A[5][5] = {
    {4.0 / 15},
    {1.0 / 2, 4.0 / 15},
    {51069.0 / 144200, -7809.0 / 144200, 4.0 / 15},
    {12047244770625658.0 / 141474406359725325.0, -3057890203562191.0 / 47158135453241775.0,
     2239631894905804.0 / 28294881271945065.0, 4.0 / 15},
    {181513.0 / 86430, -89074.0 / 116015, 83636.0 / 34851, -69863904375173.0 / 23297141763930.0, 4.0 / 15},
};

// embedded formula of order 3
static const double sdirk_b3[5] = {33665407.0 / 11668050, -2284766.0 / 15662025, 11244716.0 / 4704885,
                                   -96203066666797.0 / 23297141763930.0, 0};

// ESDIRK 4(3)7L[2]SA, order 4, stage order 2, L-stable, X_1 = x_0, x_1 = X_7
static const double esdirk_gamma = 1235.0 / 10000;
static const double esdirk_c[7] = {0, 0.247, 0.42165537495307726, 0.335, 0.075, 0.7, 1};
static const double esdirk_A[7][7] = {
    {0},
    {0.1235, 0.1235},
    {0.14907768747653863, 0.14907768747653863, 0.1235},
    {0.12483442871739439, 0.12483442871739439, -0.038168857434788782, 0.1235},
    {-0.073031940302180909, -0.073031940302180909, -0.24343568716014671, 0.34099956776450852, 0.1235},
    {-0.15296500088128806, -0.15296500088128806, 0.072205620474335874, 0.40430630248551713, 0.40591807880272318, 0.1235},
    {0, 0, 0.51611072831742366, -0.14606356393857081, 0.23473048589019332, 0.27172234973095377, 0.1235},
};

// embedded formula of order 3
static const double esdirk_b3[7] = {0, 0, 0.51752174615934821, -0.15173820706113939, 0.23672007870234135,
                                    0.27544638219944978, 0.12205};

// RODAS, order 4, L-stable, in the variables U_i = sum_j gamma_ij k_j (HW II, IV.7), J = f_x:
//     (1/(h gamma) - J) U_i = f(t_0 + c_i h, x_0 + sum_j a_ij U_j) + sum_j (C_ij / h) U_j + d_i h f_t
//     x_1 = x_0 + sum_j a_6j U_j + U_6, of which U_6 is the difference to the embedded formula of order 3
static const double rodas_gamma = 0.25;
static const double rodas_c[6] = {0, 0.386, 0.21, 0.63, 1, 1};
static const double rodas_d[6] = {0.25, -0.1043, 0.1035, -0.0362, 0, 0};
static const double rodas_a[6][5] = {
    {0},
    {1.544},
    {0.9466785280815826, 0.2557011698983284},
    {3.314825187068521, 2.896124015972201, 0.9986419139977817},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
    {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1},
};
static const double rodas_C[6][5] = {
    {0},
    {-5.6688},
    {-2.430093356833875, -0.2063599157091915},
    {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
    {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
    {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054},
};
// clang-format on

#endif
