// bushing.c: six-dimensional spring-damper between two frames:
//
//     f = preload - K s - D s' + law,   s: shifts (axes of `from`) and rotation vector (n = 6), or shifts alone (n = 3)
//
// s are functions of the position alone, so that a symmetric K has the potential s'K s/2 at all angles; equal
// stiffnesses act alike about all axes. A bushing that leaves one axis free measures the tilt of that axis, and its own
// turn goes on for ever. Both measures end at half a turn, where the shortest way back changes its side.
#include <math.h>

#include "core/pi.h"
#include "core/text.h"
#include "element/force.h"
#include "model/fields.h"

static const double FARTHEST = 175.0; // [degrees]

// length of the rotation vector
static double bushing_angle(const kd_load *load, const double *x)
{
    const int *at = load->variable + 3;
    return 180.0 / KD_PI * sqrt(x[at[0]] * x[at[0]] + x[at[1]] * x[at[1]] + x[at[2]] * x[at[2]]);
}

// f_i = preload_i - K_ij s_j - D_ij s_j'; s (2 n): shifts and turns, then their rates
static inline void react(int n, const kd_bushing_def *def, const double *s, double *force)
{
    for (int i = 0; i < n; i++) {
        const double *K = def->matrix[0] + 6 * i, *D = def->matrix[1] + 6 * i;
        double        back = 0;
        for (int j = 0; j < n; j++) back += K[j] * s[j] + D[j] * s[n + j];
        force[i] = def->preload[i] - back;
    }
}

static kd_eval bushing_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    int n = load->nchannels;
    (void)rate;
    // near half a turn the law has no sense: a smaller step, then the reason
    if (n == 6 && bushing_angle(load, x) > FARTHEST) return KD_EVAL_RETRY;
    // loops of known length for the usual one
    double s[12];
    for (int j = 0; j < 2 * n; j++) s[j] = x[load->variable[j]];
    if (n == 6)
        react(6, &load->def->bushing, s, force);
    else
        react(n, &load->def->bushing, s, force);
    // the law of the shifts
    for (int i = 0; i < 3; i++)
        if (load->law[i]) force[i] += kd_law_value(load->law[i], x, w);
    return KD_EVAL_OK;
}

static kd_eval bushing_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    int n = load->nchannels;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            kd_law_put(load, i, j, -load->def->bushing.matrix[0][6 * i + j], J);
            kd_law_put(load, i, n + j, -load->def->bushing.matrix[1][6 * i + j], J);
        }
    for (int i = 0; i < 3; i++) kd_law_gradient(load, i, load->law[i], 1.0, x, w, J);
    return KD_EVAL_OK;
}

static void bushing_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    int n = load->nchannels;
    // of K the symmetric part has a potential; the skew part is work that is supplied
    for (int i = 0; i < n; i++) {
        double si = x[load->variable[i]], vi = x[load->variable[n + i]];
        sum->potential -= load->def->bushing.preload[i] * si;
        if (i < 3) sum->supplied += kd_law_value(load->law[i], x, w) * vi;
        for (int j = 0; j < n; j++) {
            double sj = x[load->variable[j]], vj = x[load->variable[n + j]];
            double even = 0.5 * (load->def->bushing.matrix[0][6 * i + j] + load->def->bushing.matrix[0][6 * j + i]);
            double odd = 0.5 * (load->def->bushing.matrix[0][6 * i + j] - load->def->bushing.matrix[0][6 * j + i]);
            sum->potential += 0.5 * even * si * sj;
            sum->dissipated += load->def->bushing.matrix[1][6 * i + j] * vi * vj;
            sum->supplied -= odd * vi * sj; // the skew part has no potential
        }
    }
}

static void bushing_reason(const kd_load *load, const double *x, char *text, size_t size)
{
    if (load->nchannels == 6 && bushing_angle(load, x) > FARTHEST)
        kd_text_append(
            text, size,
            "it is turned by %.4g degrees; a bushing turns by at most %g: beyond half a turn its spring would "
            "pull the other way round (rsda counts full turns about an axis)",
            bushing_angle(load, x), FARTHEST);
    else
        kd_text_append(text, size, "it has no value here");
}

static const kd_load_class law = {.eval = bushing_eval,
                                  .jacobian = bushing_jacobian,
                                  .energy = bushing_energy,
                                  .reason = bushing_reason,
                                  .reading = kd_read_wrench,
                                  .cost = {.per_pair = 4}};

// ---- channels -------------------------------------------------------------------------------------------------------
// Does a bushing act about its axes? If not, its angles are no measures: a wheel may turn in it.
static bool bushing_turns(const kd_bushing_def *def)
{
    bool turns = false;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            turns =
                turns || ((i > 2 || j > 2) && (def->matrix[0][6 * i + j] != 0.0 || def->matrix[1][6 * i + j] != 0.0));
    for (int i = 3; i < 6; i++) turns = turns || def->preload[i] != 0.0;
    return turns;
}

// About which axes do stiffness or preload act?
static int turning_axes(const kd_bushing_def *def, bool acts[3])
{
    for (int i = 0; i < 3; i++) {
        acts[i] = def->preload[3 + i] != 0.0;
        for (int j = 0; j < 6; j++)
            acts[i] = acts[i] || def->matrix[0][6 * (3 + i) + j] != 0.0 || def->matrix[0][6 * j + 3 + i] != 0.0;
    }
    return acts[0] + acts[1] + acts[2];
}

// The measure of the turn about axis i: a component of the rotation vector; where one axis is free, the tilt of this
// axis; where only dampers act, the angular velocity. Those of free axes have a rate, but no value.
static int bushing_turn(kd_system *s, int pair, const kd_bushing_def *def, int i)
{
    bool acts[3];
    // three axes or one: the rotation vector; two: tilt of the free one; none: only rates
    const int count = turning_axes(def, acts), free = !acts[0] ? 0 : !acts[1] ? 1 : 2;
    if (count == 0) return kd_plain_measure(s, pair, KD_MEASURE_TURN, i);
    if (count != 2) return kd_plain_measure(s, pair, KD_MEASURE_ROTATION, i);
    if (free == i) return kd_plain_measure(s, pair, KD_MEASURE_OWN_TURN, i);
    return kd_system_measure(s,
                             &(kd_measure){KD_MEASURE_TILT, .pair = pair, .dof = -1, .i = i, .j = free, .turns = -1});
}

static int structure(const kd_force_def *def)
{
    bool      acts[3];
    const int count = turning_axes(&def->bushing, acts);
    // what decides the measures: parameters must not change it
    return bushing_turns(&def->bushing) + 2 * count + 8 * acts[0] + 16 * acts[1];
}

static void make(kd_load_builder *b, int force)
{
    const kd_bushing_def *def = &b->s->model->force[force].def.bushing;
    // shifts, then turns; values of all, then rates of all
    int pair = kd_force_pair(b->s, force), measure[6], n = bushing_turns(def) ? 6 : 3;
    if (pair < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    for (int i = 0; i < 3; i++) measure[i] = kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, i);
    for (int i = 3; i < n; i++) measure[i] = bushing_turn(b->s, pair, def, i - 3);
    for (int i = 0; i < n; i++) kd_load_add_channel(b, measure[i]);
    for (int level = 0; level < 2; level++)
        for (int i = 0; i < n; i++) kd_load_add_measured(b, measure[i], level);
    if (b->status != KD_OK) return;
    const int *v = b->load->variable;
    const int  slots[] = {v[0], v[1], v[2], v[n], v[n + 1], v[n + 2]};
    for (int i = 0; i < 3; i++) kd_load_add_law(b, i, force, "force", i, slots);
}

// Is the symmetric part of A (6 x 6) positive semidefinite? By elimination; pivots of 0 are passed over
static bool is_positive(const double A[36])
{
    // elimination without pivoting: a pivot of 0 with something beside it is indefinite
    double S[6][6], largest = 0;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            S[i][j] = 0.5 * (A[6 * i + j] + A[6 * j + i]);
            largest = fmax(largest, fabs(S[i][j]));
        }
    const double rounding = 1e-12 * largest;
    for (int k = 0; k < 6; k++) {
        if (S[k][k] < -rounding) return false;
        for (int i = k + 1; i < 6; i++) {
            if (S[k][k] <= rounding && fabs(S[i][k]) > rounding) return false;
            for (int j = k + 1; j < 6 && S[k][k] > rounding; j++) S[i][j] -= S[i][k] * S[k][j] / S[k][k];
        }
    }
    return true;
}

static void doubt(kd_model *m, int i)
{
    const kd_bushing_def *d = &m->force[i].def.bushing;
    if (!is_positive(d->matrix[0]))
        kd_model_warn(m, KD_SECTION_FORCE, i, "stiffness", "its stiffness is negative in a direction: it drives away");
    if (!is_positive(d->matrix[1]))
        kd_model_warn(m, KD_SECTION_FORCE, i, "damping", "its damping is negative in a direction: it feeds energy");
}

static const char *const locals[] = {"x", "y", "z", "vx", "vy", "vz", NULL};

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    {"stiffness", KD_FIELD_MATRIX, O(bushing.matrix[0]), 36, ALL, 0, 0, ANY, "N/m|N m/rad", .image = KD_IMAGE_STIFFNESS,
     .doc = "stiffness matrix: the diagonal or six rows, components of the rotation vector last"},
    {"damping", KD_FIELD_MATRIX, O(bushing.matrix[1]), 36, ALL, 0, 0, ANY, "N s/m|N m s/rad", .image = KD_IMAGE_STIFFNESS,
     .doc = "damping matrix: the diagonal or six rows, angular velocities last"},
    {"preload", KD_FIELD_NUMBER, O(bushing.preload), 6, ALL, 0, 0, ANY, "N|N m", .image = KD_IMAGE_WRENCH,
     .doc = "forces and moments on `to` at rest"},
    {"force", KD_FIELD_LAW, O(bushing.force), 3, ALL, 0, 0, ANY, "N", .image = KD_IMAGE_FORCE,
     .doc = "further forces on `to` along the axes of `from`, three expressions of the shifts x, y, z, their rates vx, vy, vz and paths; null: none", .locals = locals},
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    {"fx", "N", KD_PROPERTY_FORCE, 0, NULL},   {"fy", "N", KD_PROPERTY_FORCE, 1, NULL},   {"fz", "N", KD_PROPERTY_FORCE, 2, NULL},
    {"tx", "N m", KD_PROPERTY_FORCE, 3, NULL}, {"ty", "N m", KD_PROPERTY_FORCE, 4, NULL}, {"tz", "N m", KD_PROPERTY_FORCE, 5, NULL},
};
// clang-format on

const kd_force_class kd_force_bushing = {
    .element =
        {
            .kind = {"bushing",
                     "six-dimensional spring-damper between two frames, forces and moments in the axes of `from`"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .units = KD_UNITS_MIXED,
            .finish = kd_finish_two_places,
            .doubt = doubt,
            .look = {.between = KD_LOOK_POINTS},
        },
    .law = &law,
    .nchannels = 6,
    .stiff = true,
    .make = make,
    .structure = structure,
};
