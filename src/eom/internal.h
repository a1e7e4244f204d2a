// eom/internal.h: the insides of kd_eom and kd_eom_data, shared by the files of this folder.
#ifndef KD_EOM_INTERNAL_H
#define KD_EOM_INTERNAL_H

#include <kardan/eom.h>

#include "core/memory.h"
#include "math/least_distance.h"

// What stands in for a function that the definition does not give.
typedef kd_eval (*kd_fallback)(kd_eom_data *d, double *out);

// One row of the dispatch table: the user's function, or what stands in for it.
typedef struct kd_eom_entry {
    kd_function user;
    kd_fallback fallback;
    int         rows;
    kd_stage    stage;
    bool        noisy; // the value itself comes from differences: difference it with a large step
} kd_eom_entry;

typedef enum kd_kinematics_source { KD_Z_IDENTITY, KD_Z_GIVEN, KD_Z_FROM_KINEMATICS } kd_kinematics_source;

// Where GZ comes from, best first.
typedef enum kd_GZ_source {
    KD_GZ_NONE,        // no holonomic constraints
    KD_GZ_FROM_G_P,    // (g_p - g_s inv(c_s) c_p) Z with supplied g_p
    KD_GZ_FROM_GI_V,   // supplied gI_v
    KD_GZ_FROM_GI,     // gI is linear in v: unit velocities
    KD_GZ_DIFFERENCES, // g differenced along increments
} kd_GZ_source;

// constant after kd_eom_create but for the numbers of kd_eom_change_values
struct kd_eom {
    kd_eom_def           def; // theta and title point to own copies
    kd_eom_entry         entry[KD_FN_COUNT];
    unsigned             depends[KD_FN_COUNT]; // bits of kd_var
    int                  columns[KD_VAR_COUNT];
    kd_kinematics_source kinematics;
    kd_GZ_source         GZ;
    bool                 exact_GZ;      // no differences in it
    bool                 moves_in_time; // some function may change with t or u(t)
    double              *theta, *unit, *position_unit, *restitution;
    unsigned long        generation; // of these numbers
    int                 *friction, *friction_across, *friction_normal;
    int                 *e_at_start;
    double              *friction_scale;
    signed char         *crossing;
    unsigned char       *timed;
    char                *title;
};

// A moved point: the point that it came from, and arrays for what was moved. Frames nest.
enum { KD_FRAMES = 6 };
typedef struct kd_eom_frame {
    kd_point      saved;
    kd_stage      stage;
    unsigned long theta_stamp;
    double       *u, *du, *ddu, *theta, *p, *s, *v, *r, *a, *w, *lambda, *mu;
} kd_eom_frame;

// One thread's point: where it stands, what is kept for it, workspace of each file, the last fault in words
struct kd_eom_data {
    kd_point        x;
    kd_stage        stage;
    kd_eom_entry    entry[KD_FN_COUNT];
    void           *context; // of the user's functions
    const kd_eom   *eom;
    unsigned        complete;   // bits of functions that have set all of out once; bit KD_FN_COUNT: acceleration
    unsigned long   stamp;      // the last one given out
    unsigned long   generation; // of the numbers of eom that were used
    unsigned long   theta_stamp;
    bool            foreign; // parameters are held, and others were asked for: the point has no stage
    kd_eom_counters counters;
    kd_eom_frame    frame[KD_FRAMES];
    int             depth; // frames in use

    // kept values, valid while their stamp is that of the point
    unsigned long Z_stamp, M_stamp, GZ_stamp, HZ_stamp;
    double       *Z;  // (np x nv)
    double       *M;  // (nv x nv)
    double       *GZ; // (nlambda x nv)
    double       *HZ; // (nmu x nv)
    // these and the other full matrices below: NULL until kd_room

    double *u;                           // (3 nu) inputs with two derivatives: kd_eom_at_state
    double *zero;                        // stands for arrays that were not given
    double *f;                           // (nv) dynamics
    double *linear;                      // (rows) value at 0 of a linear function
    double *block;                       // (rows x np) supplied derivative by p
    double *g_s, *c_s, *c_p;             // contact elimination
    double *stencil;                     // (rows) function beside the point, matrices
    int    *pivot;                       // (ns)
    double *curve[8];                    // (rows) function along the motion
    double *curve_e, *curve_s, *curve_c; // (nv), (ns), (ns)
    double *curve_c_s, *curve_best;      // (ns x ns), (rows)
    double *curve_value, *curve_p;       // (rows), (np)
    int    *curve_pivot;                 // (ns)
    double *move_p, *move_z;             // (np), (np) midpoint rule
    double *norm_p, *norm_q, *norm_J;    // (np), (nq), (nq x np)
    double *norm_A, *norm_left;          // (nq x nq), (nq)
    int    *norm_pivot;                  // (nq)
    double *base[KD_FN_COUNT];           // (rows) values at the point, for differences
    double *right;                       // (rows) values at the moved point
    double *left;                        // (rows) the same on the other side
    double *mass_right, *mass_left;      // (nv x nv) the same for M
    double *Z_base;                      // (np x nv)
    double *time_part;                   // (nlambda) g_t

    // impacts; most: nlambda + nmu
    double           *impact_L, *impact_W;    // (nv x nv) Cholesky factor of M, (nv x most) L \ rows'
    double           *impact_y, *impact_step; // (nv)
    double           *impact_rate;            // (most) gI, h
    double           *impact_c, *impact_u;    // (most) what the rows in use ask for, impulses
    int              *impact_row;             // (most) rows in use; those of h behind those of g
    bool             *impact_one_sided;       // (most)
    kd_least_distance impact;

    kd_fault fault;
    char     message[400];
    kd_arena arena;
    void    *work; // of make_work, to be freed
};

// ---- the point ------------------------------------------------------------------------------------------------------
// Move to another point and come back: the frame keeps the point, and the arrays for what is moved.
kd_eom_frame *kd_eom_frame_push(kd_eom_data *d);
void          kd_eom_frame_pop(kd_eom_data *d);
// New stamps from a stage upwards, after quantities of that stage were moved.
void kd_restamp(kd_eom_data *d, kd_stage from);

// ---- full matrices --------------------------------------------------------------------------------------------------
// Room for a full matrix, made at the first request; false: out of memory.
bool    kd_room(kd_eom_data *d, double **matrix, int rows, int columns);
bool    kd_room_block(kd_eom_data *d);
bool    kd_room_mass(kd_eom_data *d);
bool    kd_room_impact(kd_eom_data *d);
kd_eval kd_fault_memory(kd_eom_data *d, kd_fn fn);

// ---- faults ---------------------------------------------------------------------------------------------------------
// Set fault and message; the answer is handed through. row -1: none.
kd_eval     kd_fault_stage(kd_eom_data *d, kd_fn fn, kd_stage needed);
kd_eval     kd_fault_answer(kd_eom_data *d, kd_fn fn, const char *what, kd_eval answer);
kd_eval     kd_fault_not_finite(kd_eom_data *d, kd_fn fn, const char *what, const double *x, int n);
kd_eval     kd_fault_status(kd_eom_data *d, kd_fn fn, kd_status status, const char *what, kd_eval answer);
const char *kd_fn_word(kd_fn fn);      // "force f"
const char *kd_var_letter(kd_var var); // "lambda"
// "p 'theta'", "constraint 'rod length'", or "p[1]" for a row without name.
void kd_row_name(const kd_eom *eom, kd_fn fn, int row, char *buffer, size_t size);

// A mark for numbers that a function has to set: a NaN of its own, which kd_fault_not_finite knows again. It lives
// through arithmetic, so that out[i] += is found as well.
void kd_mark_unset(double *out, int n);
bool kd_is_unset(double x);

typedef double kd_two_numbers __attribute__((vector_size(16), aligned(8), may_alias));
// All numbers finite? One comparison at the end is enough: a sum is finite only of finite numbers. Where it is not, it may
// have been too large, and x * 0 tells, which is 0 for finite x and NaN otherwise.
static inline bool kd_all_finite(const double *x, int n)
{
    kd_two_numbers a = {0.0, 0.0}, b = a, c = a, d = a;
    double         rest = 0.0;
    int            i = 0;
    for (; i + 8 <= n; i += 8) {
        const kd_two_numbers *of = (const kd_two_numbers *)(x + i);
        a += of[0];
        b += of[1];
        c += of[2];
        d += of[3];
    }
    for (; i < n; i++) rest += x[i];
    a = (a + b) + (c + d);
    if (((a[0] + a[1]) + rest) * 0.0 == 0.0) return true;
    for (i = 0, rest = 0.0; i < n; i++) rest += x[i] * 0.0;
    return rest == 0.0;
}

// ---- values ---------------------------------------------------------------------------------------------------------
kd_eval kd_fallback_identity(kd_eom_data *d, double *out);   // Z = I
kd_eval kd_fallback_kinematics(kd_eom_data *d, double *out); // Z v
kd_eval kd_fallback_residual(kd_eom_data *d, double *out);   // M a - f + (GZ)' lambda + (HZ)' mu
kd_eval kd_fallback_force(kd_eom_data *d, double *out);
kd_eval kd_fallback_mass(kd_eom_data *d, double *out);
kd_eval kd_fallback_gI(kd_eom_data *d, double *out);
kd_eval kd_fallback_gII(kd_eom_data *d, double *out);
kd_eval kd_fallback_hI(kd_eom_data *d, double *out);

// Matrices at the present position, kept in d->Z, d->M, d->GZ, d->HZ.
kd_eval kd_update_Z(kd_eom_data *d);
kd_eval kd_update_M(kd_eom_data *d);
kd_eval kd_update_GZ(kd_eom_data *d);
kd_eval kd_update_HZ(kd_eom_data *d);

// Z(p) e for any p, e.
kd_eval kd_kinematics_product(kd_eom_data *d, const double *p, const double *e, double *out);
// Midpoint rule p + Z(p + Z(p) e / 2) e, without going back to q = 0.
kd_eval kd_move_midpoint(kd_eom_data *d, const double *p, const double *e, double *p_moved);
// Columns of a function that is linear in var (KD_V or KD_A): fn(e_j) - fn(0).
kd_eval kd_linear_columns(kd_eom_data *d, kd_fn fn, kd_var var, double *out);
// Supplied derivative block, for KD_P along increments.
kd_eval kd_supplied_block(kd_eom_data *d, kd_fn fn, kd_var var, kd_part part, double *out);
// Block of g or c by p or s: supplied, zero, or differences of order 6.
kd_eval kd_precise_block(kd_eom_data *d, kd_fn fn, kd_var var, double *out);
// LU of c_s; KD_ERR_SINGULAR_CS.
kd_eval kd_factor_c_s(kd_eom_data *d, double *c_s, int *pivot);

static inline bool kd_is_given(const kd_eom *eom, kd_fn fn, kd_var var)
{
    return eom->def.derivative && (eom->def.given[fn] & KD_BIT(var));
}

#endif
