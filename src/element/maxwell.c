// maxwell.c: spring in series with a damper between two points, beside a parallel spring. With the distance s of the
// points, e = s - s0 and the inner state r, the length of the damper:
//
//     T = k e + ks (e - r) + preload + law,   c r' = ks (e - r),   f = -T
//
// Variables s, s', r.
#include "element/spring.h"
#include "model/fields.h"

static kd_eval maxwell_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    const kd_maxwell_def *d = &load->def->maxwell;
    double                e = x[load->variable[0]] - load->constant[0], branch = d->series * (e - x[load->variable[2]]);
    force[0] = -(d->stiffness * e + branch + d->preload + kd_law_value(load->law[0], x, w));
    rate[0] = branch / d->damping;
    return KD_EVAL_OK;
}

static kd_eval maxwell_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    const kd_maxwell_def *d = &load->def->maxwell;
    // row 0: force, row 1: r'
    kd_law_put(load, 0, 0, -d->stiffness - d->series, J);
    kd_law_put(load, 0, 2, d->series, J);
    kd_law_gradient(load, 0, load->law[0], -1.0, x, w, J);
    kd_law_put(load, 1, 0, d->series / d->damping, J);
    kd_law_put(load, 1, 2, -d->series / d->damping, J);
    return KD_EVAL_OK;
}

static void maxwell_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    const kd_maxwell_def *d = &load->def->maxwell;
    double                e = x[load->variable[0]] - load->constant[0], branch = d->series * (e - x[load->variable[2]]);
    // both springs and the preload; the law is work that is supplied
    sum->potential += 0.5 * d->stiffness * e * e + 0.5 * branch * branch / d->series + d->preload * e;
    sum->dissipated += branch * branch / d->damping;
    sum->supplied -= kd_law_value(load->law[0], x, w) * x[load->variable[1]];
}

// Without force in its branch
static void start(const kd_load *load, const double *x, kd_work *w, double *r)
{
    (void)w;
    r[0] = x[load->variable[0]] - load->constant[0];
}

static const kd_load_class law = {.eval = maxwell_eval,
                                  .jacobian = maxwell_jacobian,
                                  .energy = maxwell_energy,
                                  .start = start,
                                  .settles = true,
                                  .reading = kd_read_tension,
                                  .cost = {.operations = 9, .functions = 1, .slopes = 6, .slope_functions = 2}};

static int states(const kd_force_def *def)
{
    (void)def;
    return 1;
}

static void make(kd_load_builder *b, int force)
{
    kd_load_make_scalar(b, force, &b->s->model->force[force].def.maxwell.length);
    if (b->status == KD_OK) kd_load_add_law(b, 0, force, "law", 0, b->load->variable);
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_FORCE_PLACES,
    KD_FREE_LENGTH(maxwell),
    {"stiffness", KD_FIELD_NUMBER, O(maxwell.stiffness), 1, ALL, 0, 0, ANY, "N/m",
     .doc = "stiffness of the parallel spring"},
    {"damping", KD_FIELD_NUMBER, O(maxwell.damping), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N s/m",
     .doc = "damping of the damper in series"},
    {"series", KD_FIELD_NUMBER, O(maxwell.series), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N/m",
     .doc = "stiffness of the spring in series with the damper"},
    KD_FREE_TENSION(maxwell),
    KD_FORCE_STIFF("it does"),
};
static const kd_readable readings[] = {
    KD_LENGTH_READINGS,
};
// clang-format on

const kd_force_class kd_force_maxwell = {
    .element =
        {
            .kind = {"maxwell", "spring in series with a damper between two points, beside a parallel spring"},
            .fields = fields,
            .nfields = COUNT(fields),
            .readings = readings,
            .nreadings = COUNT(readings),
            .unit = "m",
            .finish = kd_finish_two_places,
            .doubt = kd_doubt_spring,
            .look = {.between = KD_LOOK_COIL},
        },
    .law = &law,
    .nchannels = 1,
    .stiff = true,
    .states = states,
    .measure = kd_force_length,
    .make = make,
};
