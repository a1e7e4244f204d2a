// hertz.c: stiffness of two elastic bodies that touch in an ellipse (Johnson: Contact Mechanics, 4.2).
//
// Curvatures of the gap 2 A <= 2 B, ratio r = b/a of the half axes, e^2 = 1 - r^2, complete elliptic integrals K(e),
// E(e):
//
//     q = (B - A)/(B + A) = ((2 - e^2) E - 2 (1 - e^2) K)/(e^2 E)                           which gives e
//     N = k depth^1.5,   k = 2 pi/3 E* F/sqrt(A + B),   F = sqrt(E/(K^3 r^2))
//
// With trace T and determinant D of the curvatures A + B = T/2 and q^2 = 1 - 4 D/T^2: F depends on q^2 alone, so that k
// is smooth where both curvatures are equal. For small q^2 = m
//
//     F = 2/pi (1 + m/3 + 25/108 m^2 + 5/27 m^3 + ..)
#include "element/hertz.h"

#include <math.h>

#include "core/pi.h"
#include "element/kalker.h"

static const double NEARLY_ROUND = 0.01; // q^2 up to which the series is used
static const double LINE = 1.0 - 1e-10;  // q^2 from which the ellipse counts as a line
enum { MOST_ITERATIONS = 60 };

typedef struct ellipse {   // at e^2
    double q, q_e, F, F_e; // and their derivatives by e^2
} ellipse;

static ellipse ellipse_at(double e2)
{
    double K, E;
    kd_elliptic(e2, &K, &E);
    // derivatives of K and E by e^2
    const double r2 = 1.0 - e2, K_e = (E - r2 * K) / (2.0 * e2 * r2), E_e = (E - K) / (2.0 * e2);
    const double above = (2.0 - e2) * E - 2.0 * r2 * K, below = e2 * E;
    const double above_e = -E + (2.0 - e2) * E_e + 2.0 * K - 2.0 * r2 * K_e, below_e = E + e2 * E_e;
    const double F = sqrt(E / (K * K * K * r2));
    return (ellipse){.q = above / below,
                     .q_e = (above_e - above / below * below_e) / below,
                     .F = F,
                     .F_e = 0.5 * F * (E_e / E - 3.0 * K_e / K + 1.0 / r2)};
}

// e^2 at which the ratio of curvatures is q: Newton's method inside of an interval that shrinks
static ellipse solve(double q)
{
    const double r = pow((1.0 - q) / (1.0 + q), 2.0 / 3.0); // nearly
    double       low = 0.0, high = 1.0, e2 = 1.0 - r * r;
    ellipse      at = ellipse_at(e2);
    // the ratio rises with e^2: each look shrinks the interval, and a step that leaves it is halved
    for (int i = 0; i < MOST_ITERATIONS && fabs(at.q - q) > 1e-15; i++) {
        if (at.q < q)
            low = e2;
        else
            high = e2;
        const double next = e2 - (at.q - q) / at.q_e;
        const double moved = next > low && next < high ? next : 0.5 * (low + high);
        if (moved == e2) break;
        e2 = moved;
        at = ellipse_at(e2);
    }
    return at;
}

// F(m) and its derivative
static void factor(double m, double F[2])
{
    static const double c[] = {1.0,          1.0 / 3.0,         25.0 / 108.0,      5.0 / 27.0, 0.15764317558299056,
                               0.1389833549, 0.125323245122671, 0.114792813885195, 0.106881383};
    const int           n = (int)(sizeof c / sizeof *c);
    if (m < NEARLY_ROUND) {
        F[0] = F[1] = 0.0;
        for (int i = n - 1; i >= 0; i--) F[1] = F[1] * m + F[0], F[0] = F[0] * m + c[i];
        F[0] *= 2.0 / KD_PI, F[1] *= 2.0 / KD_PI;
        return;
    }
    const double  q = sqrt(m);
    const ellipse at = solve(q);
    F[0] = at.F;
    F[1] = at.F_e / (at.q_e * 2.0 * q);
}

bool kd_hertz_stiffness(double modulus, double trace, double determinant, double k[3])
{
    double       F[2];
    const double m = fmax(1.0 - 4.0 * determinant / (trace * trace), 0.0);
    if (!(trace > 0.0) || !(m < LINE)) return false;
    factor(m, F);
    const double scale = 2.0 * KD_PI / 3.0 * modulus * sqrt(2.0 / trace);
    k[0] = scale * F[0];
    k[1] = scale * (F[1] * 8.0 * determinant / (trace * trace * trace) - 0.5 * F[0] / trace);
    k[2] = -scale * F[1] * 4.0 / (trace * trace);
    return true;
}
