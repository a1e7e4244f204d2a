// hybrid_truck.c: truck5 of the gallery with two actuators between axles and chassis, see hybrid.h. The equations are
// those of truck5 with a force B F added, F = -K v; sampled: F = z.
#include "core/memory.h"
#include "gallery.h"
#include "hybrid.h"
#include <math.h>
#include <string.h>

enum { NV = 9, NF = 2 };
enum { REAR, CHASSIS, PITCH, FRONT };
static const double SKY = 2e4, GROUND = 5e3;              // [N s/m]
static const double rear_axle = -2.06, front_axle = 2.44; // along the chassis [m]
static const double START = 1e-9;                         // a sample this part of a period ahead is due

struct hybrid_truck {
    kd_eom           *plain, *eom;
    const kd_eom_def *def; // of plain
    kd_state         *x;
    kd_inputs         inputs;
    double            period;
    double            B[NV * NF]; // (NV x NF) generalised forces of F
    double            K[NF * NV]; // (NF x NV) F = -K v
    double            BK[NV * NV];
};

typedef struct work {
    const hybrid_truck *truck;
    void               *plain; // work of plain
} work;

static void *make_work(void *context)
{
    const hybrid_truck *truck = context;
    work               *w = kd_alloc(sizeof *w);
    if (!w) return NULL;
    *w = (work){.truck = truck, .plain = truck->def->make_work(truck->def->context)};
    if (w->plain) return w;
    kd_free(w);
    return NULL;
}

static void free_work(void *context)
{
    work *w = context;
    if (w) w->truck->def->free_work(w->plain);
    kd_free(w);
}

// ---- the law --------------------------------------------------------------------------------------------------------

static void force(const hybrid_truck *truck, const double *v, double *F)
{
    for (int i = 0; i < NF; i++) {
        F[i] = 0;
        for (int k = 0; k < NV; k++) F[i] -= truck->K[k * NF + i] * v[k];
    }
}

static kd_eval residual(const kd_point *x, void *context, double *out)
{
    const work         *w = context;
    const hybrid_truck *truck = w->truck;
    double              F[NF];
    kd_eval             answer = truck->def->residual(x, w->plain, out);
    if (truck->period > 0)
        memcpy(F, x->z, sizeof F);
    else
        force(truck, x->v, F);
    for (int i = 0; i < NF; i++)
        for (int k = 0; k < NV; k++) out[k] -= truck->B[i * NV + k] * F[i];
    return answer;
}

static kd_eval derivative(const kd_point *x, kd_fn fn, kd_var var, kd_part part, void *context, double *out)
{
    const work         *w = context;
    const hybrid_truck *truck = w->truck;
    kd_eval             answer = truck->def->derivative(x, fn, var, part, w->plain, out);
    for (int i = 0; fn == KD_RESIDUAL && var == KD_V && truck->period == 0 && i < NV * NV; i++) out[i] += truck->BK[i];
    return answer;
}

static double next_sample(const kd_point *x, void *context)
{
    const double period = ((const work *)context)->truck->period;
    return period * (floor(x->t / period + START) + 1);
}

static kd_eval discrete(const kd_point *x, void *context, double *z_new)
{
    force(((const work *)context)->truck, x->v, z_new);
    return KD_EVAL_OK;
}

// ---- the rest is truck5's -------------------------------------------------------------------------------------------

#define FORWARD(fn)                                                                                                    \
    static kd_eval fn(const kd_point *x, void *context, double *out)                                                   \
    {                                                                                                                  \
        const work *w = context;                                                                                       \
        return w->truck->def->fn(x, w->plain, out);                                                                    \
    }
FORWARD(M)
FORWARD(g)
FORWARD(gI)
FORWARD(gII)

static void set_law(hybrid_truck *truck)
{
    const double axle[NF] = {rear_axle, front_axle};
    const int    wheel[NF] = {REAR, FRONT};
    for (int i = 0; i < NF; i++) {
        double *B = truck->B + i * NV;
        B[wheel[i]] = -1;
        B[CHASSIS] = 1;
        B[PITCH] = axle[i];
        truck->K[wheel[i] * NF + i] = -GROUND;
        truck->K[CHASSIS * NF + i] = SKY;
        truck->K[PITCH * NF + i] = SKY * axle[i];
    }
    for (int k = 0; k < NV; k++)
        for (int l = 0; l < NV; l++)
            for (int i = 0; i < NF; i++) truck->BK[l * NV + k] += truck->B[i * NV + k] * truck->K[l * NF + i];
}

static bool create_equations(hybrid_truck *truck)
{
    kd_eom_def def = *truck->def;
    def.title = "planar truck with two actuators";
    def.context = truck;
    def.residual = residual;
    def.M = M;
    def.g = g;
    def.gI = gI;
    def.gII = gII;
    def.energies = NULL;
    def.derivative = derivative;
    def.name = NULL;
    def.make_work = make_work;
    def.free_work = free_work;
    if (truck->period > 0) {
        def.dims.nz = NF;
        def.next_sample = next_sample;
        def.discrete = discrete;
        def.discrete_of_motion = true;
    }
    return kd_eom_create(&def, &truck->eom, NULL, 0) >= 0;
}

hybrid_truck *hybrid_truck_create(double period)
{
    const kd_example  *example = kd_gallery_find("truck5");
    kd_state          *start = NULL;
    kd_initial_options initial = kd_initial_options_default();
    hybrid_truck      *truck = kd_alloc(sizeof *truck);
    if (!truck || !example) goto failed;
    truck->period = period;
    set_law(truck);
    if (example->create(&truck->plain, &start, &truck->inputs) < 0) goto failed;
    truck->def = kd_eom_definition(truck->plain);
    if (!create_equations(truck) || kd_state_create(truck->eom, &truck->x) < 0) goto failed;
    memcpy(truck->x->p, start->p, (size_t)start->n * sizeof(double));
    if (kd_initial_consistent(truck->eom, &truck->inputs, &initial, truck->x, NULL, 0) < 0) goto failed;
    kd_state_destroy(start);
    return truck;
failed:
    kd_state_destroy(start);
    hybrid_truck_destroy(truck);
    return NULL;
}

void hybrid_truck_destroy(hybrid_truck *truck)
{
    if (!truck) return;
    kd_state_destroy(truck->x);
    kd_eom_destroy(truck->eom);
    kd_eom_destroy(truck->plain);
    kd_free(truck);
}

kd_eom *hybrid_truck_eom(const hybrid_truck *truck)
{
    return truck->eom;
}

kd_state *hybrid_truck_start(const hybrid_truck *truck)
{
    return truck->x;
}

kd_inputs hybrid_truck_inputs(const hybrid_truck *truck)
{
    return truck->inputs;
}
