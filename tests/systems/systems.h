// systems.h: small systems for the tests, each with a second description from which its motion is known.
#ifndef KD_TEST_SYSTEMS_H
#define KD_TEST_SYSTEMS_H

#include <kardan/eom.h>

// A system starts at t = 0 from its solution there. solution fills p, v, r, w, s of x, sets x->t, and lambda, mu where
// the system says that they are known; accuracy about 1e-11 relative (closed form: rounding).
typedef struct kd_test_system {
    const char *name;
    kd_status (*create)(kd_eom **eom, kd_state **x); // on failure both are NULL
    void (*solution)(double t, kd_state *x);
    double t_end;
    int    dof;         // degrees of freedom of velocity: nv minus the rank of (GZ, HZ)
    bool   redundant;   // the constraints are: multipliers are not unique, only the SVD decomposition works
    bool   multipliers; // solution gives lambda and mu
} kd_test_system;

// All systems below.
enum { KD_TEST_SYSTEM_COUNT = 9 };
extern const kd_test_system kd_test_systems[KD_TEST_SYSTEM_COUNT];

// ---- nonholonomic.c: closed forms -----------------------------------------------------------------------------------

// Skate (knife edge) on an inclined plane: x, y, angle; one nonholonomic constraint.
kd_status kd_test_skate_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_skate_solution(double t, kd_state *x);
// Vertical rolling disc, steered at a constant rate, driven by a constant torque: x, y, heading, roll; two constraints.
kd_status kd_test_disc_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_disc_solution(double t, kd_state *x);

// ---- redundant.c ----------------------------------------------------------------------------------------------------

// Triangular plate (three mass points in space) on three parallel links, held in a plane: nine constraints of rank
// eight. The plate moves like a pendulum.
kd_status kd_test_parallelogram_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_parallelogram_solution(double t, kd_state *x);
// Bricard mechanism: five rods with unit quaternions, six revolute joints, thirty constraints of rank 29.
kd_status kd_test_bricard_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_bricard_solution(double t, kd_state *x);

// ---- forces.c -------------------------------------------------------------------------------------------------------

// Bead on a curve, found through its contact coordinate s, with a Maxwell element (r) and implicit drag (w).
kd_status kd_test_bead_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_bead_solution(double t, kd_state *x);
// Pendulum with Coulomb friction in its hinge: w depends on lambda.
kd_status kd_test_friction_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_friction_solution(double t, kd_state *x);

// ---- tops.c: position and unit quaternion, np = 7, nv = 6, nq = 1 ---------------------------------------------------

// Free body that turns without torque while it falls; with invariant: its energy as 0 = e.
kd_status kd_test_free_body_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
kd_status kd_test_free_body_invariant_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_free_body_solution(double t, kd_state *x);
// Constant along the free motion: angular momentum about the centre of mass (world), energy, momentum without gravity's
// part.
void kd_test_free_body_constants(const kd_state *x, double out[7]);
// Heavy top: body and constraint x = R X; models/reference/heavytop.csv.
kd_status kd_test_heavy_top_create(kd_eom **eom, kd_state **x) KD_NODISCARD;
void      kd_test_heavy_top_solution(double t, kd_state *x);

// ---- integrate.c ----------------------------------------------------------------------------------------------------

// y' = rhs(t, y) from t = 0 by extrapolation of order 16 with steps of at most h; n <= KD_TEST_ODE_MAX.
enum { KD_TEST_ODE_MAX = 16 };
typedef void (*kd_test_rhs)(double t, const double *y, double *dy);
void kd_test_integrate(kd_test_rhs rhs, int n, double t_end, double h, double *y);

// Equations and state, started from the solution at t = 0; on failure both are NULL.
kd_status kd_test_create(const kd_eom_def *def, void (*solution)(double t, kd_state *x), kd_eom **eom,
                         kd_state **x) KD_NODISCARD;

#endif
