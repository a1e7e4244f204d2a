// bench_flexible.c: flexible bodies from finite elements: frequencies of published matrices, the reduction of a rod with modes that
// kardan chooses, and the error that it expects beside the true one.
//
// The data is not part of kardan: folder "flexible" of the folder KARDAN_DATA (environment), or beside the project; rows of files
// that are not there are not measured.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_rows.h"
#include "core/pi.h"
#include "flexible.h"
#include "flexible/reduction.h"

enum { FREQUENCIES = 8, MOST = 10 };

// A published part; its interfaces are the nodes with the least and the largest coordinate along an axis
typedef struct part {
    const char *name, *stiffness, *mass, *nodes, *dofs, *mapping;
    int         axis;
    double      hertz[FREQUENCIES]; // free, by scipy
} part;

static const part PARTS[] = {
    {"C3D8",
     "abaqus/blockC3D8_STIF1.mtx",
     "abaqus/blockC3D8_MASS1.mtx",
     "abaqus/blockC3D8.inp",
     NULL,
     NULL,
     0,
     {438.775166430, 438.775166430, 555.888156627, 967.040273329, 967.040273329, 1028.046299378, 1097.338136195,
      1538.473139816}},
    {"C3D10",
     "abaqus/blockC3D10_STIF1.mtx",
     "abaqus/blockC3D10_MASS1.mtx",
     "abaqus/blockC3D10.inp",
     NULL,
     NULL,
     0,
     {451.333340552, 452.009850690, 607.870197093, 1026.459418679, 1026.741581338, 1033.259119036, 1242.649369690,
      1703.112173003}},
    {"C3D20",
     "abaqus/blockC3D20_STIF1.mtx",
     "abaqus/blockC3D20_MASS1.mtx",
     "abaqus/blockC3D20.inp",
     NULL,
     NULL,
     0,
     {449.764466414, 449.764466414, 595.756940360, 1011.616014678, 1011.616014678, 1033.231978880, 1194.520825934,
      1661.040349846}},
    {"rotor",
     "abaqus/rotorDiscTestSTIF1.mtx",
     "abaqus/rotorDiscTestMASS1.mtx",
     "abaqus/rotorDiscTest.inp",
     NULL,
     NULL,
     2,
     {1046.370132606, 1046.370132606, 1878.240901672, 2123.297029962, 2245.521147323, 2386.879289724, 2842.047262456,
      2842.047262456}},
    {"ansys",
     "ansys/rotorAnsysStiffnessMatrixSparse.txt",
     "ansys/rotorAnsysMassMatrixSparse.txt",
     "ansys/rotorAnsysNodalCoordinates.txt",
     NULL,
     "ansys/rotorAnsysMatrixDofMappingVector.txt",
     2,
     {104.637010551, 104.637010551, 187.824087005, 212.329701244, 224.552105934, 238.687912494, 284.204716530,
      284.204716530}},
    {"rod",
     "calculix/rod_free_matrices.sti.gz",
     "calculix/rod_free_matrices.mas.gz",
     "calculix/rod_mesh.inp",
     "calculix/rod_free_matrices.dof",
     NULL,
     0,
     {423.0410798, 630.0175410, 1155.083712, 1698.526385, 2234.360272, 2779.614919, 3230.419525, 3629.197744}},
};
// four lowest frequencies of the rod with rigid faces, one of them clamped, not reduced (scipy)
static const double ROD_CLAMPED[4] = {67.00110838, 100.2687412, 417.0279005, 618.2909350};

typedef struct loaded {
    kd_fe_structure s;
    kd_interface    face[2];
    int            *node[2];
    char            path[5][600];
} loaded;

static const char *path_of(char *path, size_t size, const char *name)
{
    const char *folder = getenv("KARDAN_DATA");
    if (!name) return NULL;
    snprintf(path, size, "%s/flexible/%s", folder ? folder : KD_SOURCE_DIR "/../shared", name);
    return path;
}

static double along(kd_vec3 r, int axis)
{
    return axis == 0 ? r.x : axis == 1 ? r.y : r.z;
}

// Both ends along the axis as interfaces
static bool find_faces(const part *p, loaded *l)
{
    const kd_fe_structure *s = &l->s;
    double                 low = INFINITY, high = -INFINITY;
    for (int i = 0; i < s->nnodes; i++) {
        low = fmin(low, along(s->at[i], p->axis));
        high = fmax(high, along(s->at[i], p->axis));
    }
    for (int f = 0; f < 2; f++) {
        kd_interface *face = &l->face[f];
        kd_vec3       sum = {0, 0, 0};
        l->node[f] = malloc((size_t)s->nnodes * sizeof *l->node[f]);
        if (!l->node[f]) return false;
        *face = (kd_interface){.name = f ? "high" : "low", .node = l->node[f]};
        for (int i = 0; i < s->nnodes; i++) {
            if (fabs(along(s->at[i], p->axis) - (f ? high : low)) > 1e-6 * (high - low)) continue;
            l->node[f][face->n++] = i;
            sum = kd_vec_add(sum, s->at[i]);
        }
        face->point = kd_vec_scale(1.0 / face->n, sum);
    }
    return true;
}

// false: the data is not there, or wrong, which message says
static bool load(const part *p, loaded *l, char *message, size_t size)
{
    memset(l, 0, sizeof *l);
    const kd_fe_structure_files files = {.stiffness = path_of(l->path[0], sizeof l->path[0], p->stiffness),
                                         .mass = path_of(l->path[1], sizeof l->path[1], p->mass),
                                         .nodes = path_of(l->path[2], sizeof l->path[2], p->nodes),
                                         .dofs = path_of(l->path[3], sizeof l->path[3], p->dofs),
                                         .mapping = path_of(l->path[4], sizeof l->path[4], p->mapping)};
    return kd_fe_structure_read(&files, &l->s, message, size) == KD_OK && find_faces(p, l);
}

static void unload(loaded *l)
{
    free(l->node[0]);
    free(l->node[1]);
    kd_fe_structure_release(&l->s);
}

// Largest relative difference of the free frequencies from the published ones
static double frequency_error(const part *p, const kd_fe_structure *s, char *message, size_t size)
{
    kd_fe_structure_facts facts;
    double                omega[FREQUENCIES], worst = 0;
    double *R = malloc((size_t)s->n * 6 * sizeof *R), *Phi = malloc((size_t)s->n * FREQUENCIES * sizeof *Phi);
    bool    good = R && Phi && kd_fe_structure_check(s, &facts, message, size) == KD_OK;
    if (good) {
        kd_fe_structure_rigid_motions(s, facts.centre, R);
        good = kd_natural_modes(&s->K, &s->M, R, 6, FREQUENCIES, omega, Phi, message, size) == KD_OK;
    }
    for (int k = 0; good && k < FREQUENCIES; k++) worst = fmax(worst, fabs(omega[k] / (2 * KD_PI) / p->hertz[k] - 1));
    free(R);
    free(Phi);
    return good ? worst : NAN;
}

// The ratio of expected and true error that is farthest from 1, over several reductions and supports
static double worst_prediction(const loaded *l, char *message, size_t size)
{
    static const int  modes[] = {2, 4, 8, 16};
    const bool        low[] = {true, false}, high[] = {false, true};
    const bool *const held[] = {NULL, low, high};
    double            exact[3][MOST], worst = 1;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (int dynamic = 0; dynamic < 2; dynamic++) {
            kd_reduction               r;
            const kd_reduction_options o = {.modes = modes[i], .dynamic = dynamic};
            if (kd_reduce(&l->s, l->face, 2, &o, &r, message, size) < 0) return NAN;
            for (int h = 0; h < 3; h++) {
                double    omega[MOST], error[MOST];
                const int wanted = modes[i] < MOST ? modes[i] : MOST;
                if (i == 0 && dynamic == 0 && kd_reduction_exact(&r, held[h], MOST, exact[h], message, size) < 0)
                    return NAN;
                if (kd_reduction_expect(&r, held[h], wanted, omega, error) < 0) return NAN;
                for (int k = 0; k < wanted; k++) {
                    const double truth = omega[k] / exact[h][k] - 1;
                    if (truth < 1e-8 || omega[k] > r.fixed[r.nmodes - 1]) continue;
                    const double ratio = error[k] / truth;
                    if (!(fabs(log(ratio)) <= fabs(log(worst)))) worst = ratio;
                }
            }
            kd_reduction_release(&r);
        }
    return worst;
}

// The same of the transfer functions between both ends, over frequencies up to the last normal mode
static double worst_transfer(const loaded *l, char *message, size_t size)
{
    static const int modes[] = {2, 4, 8, 16};
    double           worst = 1;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (int kind = 0; kind < 3; kind++) { // without and with dynamic shapes; free modes
            enum { LOOKS = 12 };
            kd_reduction               r;
            double                     W[LOOKS], expected[LOOKS], truth[LOOKS];
            const kd_reduction_options o = {
                .modes = modes[i], .dynamic = kind == 1, .kind = kind == 2 ? KD_REDUCE_FREE : KD_REDUCE_FIXED};
            if (kd_reduce(&l->s, l->face, 2, &o, &r, message, size) < 0) return NAN;
            // as far as a band may reach with these modes
            for (int k = 0; k < LOOKS; k++) W[k] = r.fixed[r.nmodes - 1] / 1.2 * (k + 0.7) / LOOKS;
            if (kd_reduction_transfer(&r, 0, LOOKS, W, expected) < 0 ||
                kd_reduction_transfer_exact(&r, LOOKS, W, truth) < 0)
                return NAN;
            for (int k = 0; k < LOOKS; k++)
                if (truth[k] > 1e-8 && !(fabs(log(expected[k] / truth[k])) <= fabs(log(worst))))
                    worst = expected[k] / truth[k];
            kd_reduction_release(&r);
        }
    return worst;
}

// Largest relative error of the four clamped frequencies with modes that kardan chose; *shapes: how many
static double chosen_modes(const loaded *l, int *shapes, char *message, size_t size)
{
    const bool   low[] = {true, false};
    kd_reduction r;
    double       omega[400], worst = 0;
    int          count;
    if (kd_reduce(&l->s, l->face, 2, &(kd_reduction_options){.band = 2 * KD_PI * 700}, &r, message, size) < 0)
        return NAN;
    *shapes = r.n;
    if (kd_reduction_modes(&r, low, omega, NULL, &count) < 0) worst = NAN;
    for (int k = 0; k < 4 && !isnan(worst); k++) worst = fmax(worst, fabs(omega[k] / (2 * KD_PI) / ROD_CLAMPED[k] - 1));
    kd_reduction_release(&r);
    return worst;
}

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(
        argc, argv, "Flexible bodies: frequencies of published finite-element parts, reduction, expected error.",
        &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        const part *p = &PARTS[i];
        loaded      l;
        char        message[600] = "", note[60] = "";
        int         shapes = 0;
        if (!bench_wants(b, "frequency.%s", p->name) && !bench_wants(b, "prediction.%s", p->name) &&
            !bench_wants(b, "reduction.%s", p->name) && !bench_wants(b, "transfer.%s", p->name) &&
            !bench_wants(b, "realtime.%s", p->name))
            continue;
        if (!load(p, &l, message, sizeof message)) {
            bench_row(b, bench_below(1e-8), NAN, NAN, "", message, "frequency.%s", p->name);
            continue;
        }
        bench_row(b, bench_below(1e-8), NAN, frequency_error(p, &l.s, message, sizeof message), "",
                  "worst of 8 free ones, relative", "frequency.%s", p->name);
        if (strcmp(p->name, "rod") == 0) {
            const double error = chosen_modes(&l, &shapes, message, sizeof message);
            snprintf(note, sizeof note, "%d shapes for 700 Hz", shapes);
            bench_row(b, bench_below(1e-4), NAN, error, "", note, "reduction.%s", p->name);
        }
        if (!bench_quick(b) || strcmp(p->name, "rod") != 0)
            bench_row(b, bench_between(0.5, 2, true), NAN, worst_prediction(&l, message, sizeof message), "",
                      "expected over true error, worst", "prediction.%s", p->name);
        if (bench_wants(b, "transfer.%s", p->name) && (!bench_quick(b) || strcmp(p->name, "rod") != 0))
            bench_row(b, bench_between(0.5, 2, true), NAN, worst_transfer(&l, message, sizeof message), "",
                      "expected over true error of transfer functions, worst", "transfer.%s", p->name);
        if (strcmp(p->name, "rotor") == 0) flexible_rotor(b, &l.s, l.face);
        unload(&l);
    }
    flexible_spin_up(b);
    flexible_cost(b);
    flexible_steps(b);
    return bench_end(b);
}
