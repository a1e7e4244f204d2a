// kalker.c: ellipse of contact and coefficients of rolling contact.
//
// Hertz (Johnson: Contact Mechanics, 4.2): with the ratio r = b/a <= 1 of the half axes, e^2 = 1 - r^2, complete
// elliptic integrals K(e), E(e) and E* = shear/(1 - poisson),
//
//     across/along = (E/r^2 - K)/(K - E),    a^3 = 3 N E/(2 pi r^2 (along + across) E*)
//
// Coefficients: J. J. Kalker's table of the linear theory, linear in the ratio of the axes, quadratic in Poisson's
// ratio.
#include "element/kalker.h"
#include "core/pi.h"

#include <math.h>

static const double pi = KD_PI;

// K and E by the arithmetic-geometric mean
void kd_elliptic(double e2, double *K, double *E)
{
    // a, b -> their means; E = K (1 - sum 2^(n-1) c_n^2)
    double a = 1.0, b = sqrt(1.0 - e2), sum = 0.5 * e2, power = 0.5;
    for (int i = 0; i < 12; i++) {
        double c = 0.5 * (a - b), next = 0.5 * (a + b);
        b = sqrt(a * b);
        a = next;
        power *= 2.0;
        sum += power * c * c;
    }
    *K = pi / (2.0 * a);
    *E = *K * (1.0 - sum);
}

// ratio of the curvatures at the ratio r of the axes; falls from infinity at r = 0 to 1 at r = 1
static double curvature_ratio(double r)
{
    double K, E;
    kd_elliptic(1.0 - r * r, &K, &E);
    return (E / (r * r) - K) / (K - E);
}

void kd_hertz_ellipse(double along, double across, double N, double shear, double poisson, double *a, double *b)
{
    // bisection for the ratio of the axes: it falls with r
    double ratio = along <= across ? across / along : along / across, low = 1e-3, high = 1.0 - 1e-7, K, E;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (curvature_ratio(middle) > ratio)
            low = middle;
        else
            high = middle;
    }
    double r = 0.5 * (low + high);
    kd_elliptic(1.0 - r * r, &K, &E);
    // major half axis, along or across the rail
    double major = cbrt(3.0 * N * E * (1.0 - poisson) / (2.0 * pi * r * r * (along + across) * shear));
    *a = along <= across ? major : r * major;
    *b = along <= across ? r * major : major;
}

// clang-format off
static const double table[19][4][3] = { // a/b = 0.1 .. 1, then b/a = 0.9 .. 0.1; Poisson's ratio 0, 1/4, 1/2
    {{2.51, 3.31, 4.85}, {2.51, 2.52, 2.53}, {0.334, 0.473, 0.731}, {6.42, 8.28, 11.7}},
    {{2.59, 3.37, 4.81}, {2.59, 2.63, 2.66}, {0.483, 0.603, 0.809}, {3.46, 4.27, 5.66}},
    {{2.68, 3.44, 4.80}, {2.68, 2.75, 2.81}, {0.607, 0.715, 0.889}, {2.49, 2.96, 3.72}},
    {{2.78, 3.53, 4.82}, {2.78, 2.88, 2.98}, {0.720, 0.823, 0.977}, {2.02, 2.32, 2.77}},
    {{2.88, 3.62, 4.83}, {2.88, 3.01, 3.14}, {0.827, 0.929, 1.07}, {1.74, 1.93, 2.22}},
    {{2.98, 3.72, 4.91}, {2.98, 3.14, 3.31}, {0.930, 1.03, 1.18}, {1.56, 1.68, 1.86}},
    {{3.09, 3.81, 4.97}, {3.09, 3.28, 3.48}, {1.03, 1.14, 1.29}, {1.43, 1.50, 1.60}},
    {{3.19, 3.91, 5.05}, {3.19, 3.41, 3.65}, {1.13, 1.25, 1.40}, {1.34, 1.37, 1.42}},
    {{3.29, 4.01, 5.12}, {3.29, 3.54, 3.82}, {1.23, 1.36, 1.51}, {1.27, 1.27, 1.27}},
    {{3.40, 4.12, 5.20}, {3.40, 3.67, 3.98}, {1.33, 1.47, 1.63}, {1.21, 1.19, 1.16}},
    {{3.51, 4.22, 5.30}, {3.51, 3.81, 4.16}, {1.44, 1.59, 1.77}, {1.16, 1.11, 1.06}},
    {{3.65, 4.36, 5.42}, {3.65, 3.99, 4.39}, {1.58, 1.75, 1.94}, {1.10, 1.04, 0.954}},
    {{3.82, 4.54, 5.58}, {3.82, 4.21, 4.67}, {1.76, 1.95, 2.18}, {1.05, 0.965, 0.852}},
    {{4.06, 4.78, 5.80}, {4.06, 4.50, 5.04}, {2.01, 2.23, 2.50}, {1.01, 0.892, 0.751}},
    {{4.37, 5.10, 6.11}, {4.37, 4.90, 5.56}, {2.35, 2.62, 2.96}, {0.958, 0.819, 0.650}},
    {{4.84, 5.57, 6.57}, {4.84, 5.48, 6.31}, {2.88, 3.24, 3.70}, {0.912, 0.747, 0.549}},
    {{5.57, 6.34, 7.34}, {5.57, 6.40, 7.51}, {3.79, 4.32, 5.01}, {0.868, 0.674, 0.446}},
    {{6.96, 7.78, 8.82}, {6.96, 8.14, 9.79}, {5.72, 6.63, 7.89}, {0.828, 0.601, 0.341}},
    {{10.7, 11.7, 12.9}, {10.7, 12.8, 16.0}, {12.2, 14.6, 18.0}, {0.795, 0.526, 0.228}},
};
// clang-format on

void kd_kalker_coefficients(double ratio, double poisson, double out[4])
{
    // place in the table, 0 .. 18: a/b up to 1, then b/a
    double at = ratio <= 1.0 ? 10.0 * ratio - 1.0 : 19.0 - 10.0 / ratio;
    at = fmax(0.0, fmin(18.0, at));
    int    row = at < 17.0 ? (int)at : 17;
    double part = at - row, x = 4.0 * poisson; // Lagrange through x = 0, 1, 2
    // linear between two rows, quadratic in Poisson's ratio
    for (int k = 0; k < 4; k++) {
        double c[3];
        for (int j = 0; j < 3; j++) c[j] = (1.0 - part) * table[row][k][j] + part * table[row + 1][k][j];
        out[k] = 0.5 * (x - 1.0) * (x - 2.0) * c[0] - x * (x - 2.0) * c[1] + 0.5 * x * (x - 1.0) * c[2];
    }
}
