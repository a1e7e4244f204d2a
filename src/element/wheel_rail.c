// wheel_rail.c: a wheel on the axle y of `to` touches a rail along x of `from` (z up) and rolls on it with creep
// forces. Where it touches: wheel.c (a row 0 = gap); creep and flange: creep.c (a load). docs/methods/wheel-rail.md
#include "element/wheel_rail.h"

#include <math.h>
#include <string.h>

#include "core/text.h"
#include "element/constraint.h"
#include "model/fields.h"

// ---- the row: what matters of the pair of frames: d_y, d_z and the axle C e_y ---------------------------------------
static void make(kd_row_builder *b, const kd_constraint *c, int pair)
{
    // five measures of the pair; kd_row_linear makes the row, its coefficients go
    kd_system *s = b->s;
    kd_wheel  *wheel = &s->wheel[s->nwheels];
    const int  measure[KD_WHEEL_INPUTS] = {kd_row_shift(b, pair, 1), kd_row_shift(b, pair, 2),
                                           kd_row_cosine(b, pair, 0, 1), kd_row_cosine(b, pair, 1, 1),
                                           kd_row_cosine(b, pair, 2, 1)};
    double     one[KD_WHEEL_INPUTS] = {0.0};
    for (int i = 0; i < KD_WHEEL_INPUTS; i++)
        wheel->slot[i] = measure[i] < 0 ? -1 : kd_system_slot(s, KD_SLOT_MEASURE, measure[i], 0);
    kd_row *row = kd_row_linear(b, false, KD_WHEEL_INPUTS, wheel->slot, one, "contact with the rail");
    if (!row) return;
    row->wheel = wheel;
    kd_row_set(s, row);
    if (isnan(wheel->a)) {
        kd_text(b->message, b->size, "constraint '%s': wheel and rail do not meet in the middle of the track", c->name);
        b->status = KD_ERR_MODEL;
    }
    // number among the rows, unknown contact coordinate, whether creep reads multipliers
    wheel->row = s->nrows_g - 1;
    wheel->contact = wheel->unknown ? s->ns++ : -1;
    s->by_multipliers = s->by_multipliers || wheel->by_load;
    row->coefficient = NULL;
    s->nwheels++;
}

// ---- creep forces ---------------------------------------------------------------------------------------------------
// place of variable i of the load among those of the law
static int creep_place(const kd_load *load, int i)
{
    int moving = load->nvariables - load->wheel->unknown - load->wheel->by_load;
    if (i < moving) return i;
    return load->wheel->unknown && i == moving ? KD_CREEP_VARIABLES - 2 : KD_CREEP_VARIABLES - 1;
}

static void creep_variables(const kd_load *load, const double *x, const kd_work *w, double *v)
{
    memset(v, 0, KD_CREEP_VARIABLES * sizeof *v);
    v[KD_CREEP_VARIABLES - 2] = w->xi[load->wheel - w->system->wheel];
    for (int i = 0; i < load->nvariables; i++) v[creep_place(load, i)] = x[load->variable[i]];
}

// What carries a quasi-elastic wheel, at the position of the work
static const kd_wheel_spread *spread_of(const kd_load *load, const kd_work *w)
{
    return &w->spread[load->wheel - w->system->wheel];
}

static kd_eval creep_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate)
{
    double v[KD_CREEP_VARIABLES];
    (void)rate;
    creep_variables(load, x, w, v);
    kd_wheel_creep(load->wheel, v, spread_of(load, w), force, NULL);
    return KD_EVAL_OK;
}

static kd_eval creep_jacobian(const kd_load *load, const double *x, kd_work *w, double *J)
{
    // derivatives by all variables of the law; those that this load has
    double v[KD_CREEP_VARIABLES], all[6 * KD_CREEP_VARIABLES], force[6];
    creep_variables(load, x, w, v);
    kd_wheel_creep_jacobian(load->wheel, v, spread_of(load, w), force, all);
    for (int i = 0; i < load->nvariables; i++) memcpy(J + 6 * i, all + 6 * creep_place(load, i), 6 * sizeof *J);
    return KD_EVAL_OK;
}

// What the forces between wheel and frame do beyond -lost and the flange's potential, the drive of the frame takes
// back.
static void creep_energy(const kd_load *load, const double *x, kd_work *w, kd_energies *sum)
{
    double v[KD_CREEP_VARIABLES], force[6], energy[3]; // lost, potential of the flange, its rate
    creep_variables(load, x, w, v);
    kd_wheel_creep(load->wheel, v, spread_of(load, w), force, energy);
    sum->dissipated += energy[0];
    sum->potential += energy[1];
    sum->supplied += energy[0] + energy[2];
    for (int k = 0; k < 6; k++) sum->supplied += force[k] * x[load->rate_slot[k]];
}

static const kd_load_class creep = {
    .eval = creep_eval,
    .jacobian = creep_jacobian,
    .energy = creep_energy,
    .cost = {.operations = 400, .functions = 20, .slope_functions = 20, .per_variable = 800}};

// Creep forces of a wheel: channels and variables as in wheel.h. The ground as seen from a frame that runs along the
// rail moves, and what slips is measured relative to it.
void kd_load_make_creep(kd_load_builder *b, int number)
{
    static const kd_anchor ground = {.body = -1, .R = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const kd_wheel        *wheel = &b->s->wheel[number];
    const kd_constraint   *c = &b->s->model->constraint[b->s->row_g[wheel->row].constraint];
    kd_measure             axle = {KD_MEASURE_COSINE, .dof = -1, .j = 1, .turns = -1};
    if ((c->def.rail.creep == KD_CREEP_NONE && isinf(c->def.rail.clearance)) || !kd_load_start(b, &creep, c->name, 6))
        return;
    b->load->wheel = wheel;
    b->load->stiff = true; // slow wheels are damped by the inverse of their speed
    // the pair of wheel and rail; a rail that moves needs the ground as well
    int pair = axle.pair = kd_system_pair(b->s, &c->from, &c->to), from = pair;
    if (c->from.body >= 0) from = kd_system_pair(b->s, &c->from, &ground);
    if (pair < 0 || from < 0) {
        b->status = KD_ERR_MEMORY;
        return;
    }
    // channels: shifts and turns; variables in the order of wheel.h
    for (int i = 0; i < 3; i++) kd_load_add_channel(b, kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, i));
    for (int i = 0; i < 3; i++) kd_load_add_channel(b, kd_plain_measure(b->s, pair, KD_MEASURE_TURN, i));
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, i), 0);
    for (axle.i = 0; axle.i < 3; axle.i++) kd_load_add_measured(b, kd_system_measure(b->s, &axle), 0);
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, kd_plain_measure(b->s, pair, KD_MEASURE_SHIFT, i), 1);
    for (int i = 0; i < 3; i++) kd_load_add_measured(b, kd_plain_measure(b->s, pair, KD_MEASURE_TURN, i), 1);
    if (from != pair) {
        for (int i = 0; i < 3; i++) kd_load_add_measured(b, kd_plain_measure(b->s, from, KD_MEASURE_SHIFT, i), 0);
        for (int i = 0; i < 3; i++) kd_load_add_measured(b, kd_plain_measure(b->s, from, KD_MEASURE_SHIFT, i), 1);
        for (int i = 0; i < 3; i++) kd_load_add_measured(b, kd_plain_measure(b->s, from, KD_MEASURE_TURN, i), 1);
    }
    if (wheel->unknown) kd_load_add_variable(b, kd_system_slot(b->s, KD_SLOT_CONTACT, number, 0));
    if (wheel->by_load) kd_load_add_variable(b, kd_system_slot(b->s, KD_SLOT_LAMBDA, number, 0));
}

// ---- in models ------------------------------------------------------------------------------------------------------
// A profile by the name of its curve; -1: none.
static int find_profile(kd_model *m, int i, const char *field, const char *name)
{
    if (!name) return -1;
    const int curve = kd_model_find(m, KD_SECTION_CURVE, name);
    char      text[300];
    if (curve >= 0 && m->curve[curve].def.form != KD_CURVE_SPLINE) {
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, field,
                       "the curve '%s' must be a spline: the second derivative of a profile is continuous", name);
    } else if (curve < 0) {
        kd_model_say_unknown(m, KD_SECTION_CURVE, name, text, sizeof text);
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, field, "%s", text);
    }
    return curve;
}

static void finish(kd_model *m, int i)
{
    kd_constraint       *c = &m->constraint[i];
    const kd_wheel_rail *w = &c->def.rail;
    c->wheel_curve = find_profile(m, i, "wheel_profile", w->wheel_profile);
    c->rail_curve = find_profile(m, i, "rail_profile", w->rail_profile);
    // sine of the slope of the tread
    const double slope = fabs(w->conicity) / sqrt(1.0 + w->conicity * w->conicity);
    if (c->wheel_curve < 0 && c->rail_curve < 0 && !(w->tread_radius > w->rail_radius))
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "tread_radius",
                       "the hollow tread must have a larger radius than the head of the rail");
    if (c->rail_curve < 0 && !(slope < 0.9))
        kd_model_error(m, KD_SECTION_CONSTRAINT, i, "conicity", "the tread is too steep");
    if (w->elastic > 0.0 && w->contact == KD_CONTACT_UNKNOWNS)
        kd_model_error(
            m, KD_SECTION_CONSTRAINT, i, "elastic",
            "a quasi-elastic contact has no one place that could be an unknown: leave out 'contact: unknowns'");
    (void)kd_finish_constraint_places(m, i);
}

// All that the rail does to the wheel; the coordinate of the contact along the axle
static const kd_readable readings[] = {
    {"fx", "N", KD_PROPERTY_WRENCH, 0, NULL},      {"fy", "N", KD_PROPERTY_WRENCH, 1, NULL},
    {"fz", "N", KD_PROPERTY_WRENCH, 2, NULL},      {"tx", "N m", KD_PROPERTY_WRENCH, 3, NULL},
    {"ty", "N m", KD_PROPERTY_WRENCH, 4, NULL},    {"tz", "N m", KD_PROPERTY_WRENCH, 5, NULL},
    {"contact", "m", KD_PROPERTY_WRENCH, 6, NULL},
};

// clang-format off
static const char *const words_side[] = {"left", "right", NULL};
static const char *const words_contact[] = {"inside", "unknowns", NULL};
static const char *const words_creep[] = {"none", "linear", "tanh", "polach", "fastsim", NULL};
static const char *const words_normal[] = {"actual", "given", NULL};
#define O(member) offsetof(kd_constraint_def, member)
static const kd_field fields[] = {
    KD_CONSTRAINT_PLACES,
    {"side", KD_FIELD_WORD, O(rail.side), 1, ALL, 0, KD_RAIL_LEFT, ANY, "",
     .doc = "wheel and rail on the side of positive y, or on the other one", .words = words_side, .image = KD_IMAGE_SIDE},
    {"radius", KD_FIELD_NUMBER, O(rail.radius), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "radius of the rolling circle"},
    {"spacing", KD_FIELD_NUMBER, O(rail.spacing), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "m",
     .doc = "distance of the rolling circle from the middle of the axle"},
    {"conicity", KD_FIELD_NUMBER, O(rail.conicity), 1, ALL, 0, 0, ANY, "",
     .doc = "slope of the tread at the rolling circle"},
    {"tread_radius", KD_FIELD_NUMBER, O(rail.tread_radius), 1, ALL, KD_FIELD_INFINITE, INFINITY, POSITIVE, "m",
     .doc = "radius of the hollow tread; not given, or 1e6 and more: a cone"},
    {"rail_radius", KD_FIELD_NUMBER, O(rail.rail_radius), 1, ALL, 0, 0.3, POSITIVE, "m",
     .doc = "radius of the head of the rail"},
    {"wheel_profile", KD_FIELD_NAME, O(rail.wheel_profile), 1, ALL, 0, 0, ANY, "",
     .doc = "curve in place of cone or arc: what the radius exceeds `radius` by, over the distance outwards from the rolling circle"},
    {"rail_profile", KD_FIELD_NAME, O(rail.rail_profile), 1, ALL, 0, 0, ANY, "",
     .doc = "curve in place of the arc: height of the rail, over the distance outwards from `spacing`"},
    {"contact", KD_FIELD_WORD, O(rail.contact), 1, ALL, 0, KD_CONTACT_INSIDE, ANY, "",
     .doc = "the point of contact is found inside of the element, or is an unknown of the equations of motion", .words = words_contact},
    {"creep", KD_FIELD_WORD, O(rail.creep), 1, ALL, 0, KD_CREEP_TANH, ANY, "",
     .doc = "law of the tangential forces: Kalker's linear one, the same saturated by tanh, Polach's, or Kalker's simplified theory on strips (FASTSIM)", .words = words_creep},
    {"normal", KD_FIELD_WORD, O(rail.normal), 1, ALL, 0, KD_LOAD_ACTUAL, ANY, "",
     .doc = "creep forces follow the actual normal force, or take `load` in its place", .words = words_normal},
    {"load", KD_FIELD_NUMBER, O(rail.load), 1, ALL, KD_FIELD_REQUIRED, 0, POSITIVE, "N",
     .doc = "wheel load at which the ellipse of contact is given or computed"},
    {"ellipse", KD_FIELD_NUMBER, O(rail.ellipse), 2, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "m",
     .doc = "half axes of the area of contact along and across the rail; not given: by Hertz"},
    {"kalker", KD_FIELD_NUMBER, O(rail.kalker), 4, ALL, KD_FIELD_MAYBE, NAN, NOT_NEGATIVE, "",
     .doc = "Kalker's coefficients C11, C22, C23, C33; not given: from his table"},
    {"shear", KD_FIELD_NUMBER, O(rail.shear), 1, ALL, 0, 8.203125e10, POSITIVE, "N/m^2",
     .doc = "modulus of shear"},
    {"poisson", KD_FIELD_NUMBER, O(rail.poisson), 1, ALL, 0, 0.28, BETWEEN(0, 0.5), "",
     .doc = "Poisson's ratio"},
    {"friction", KD_FIELD_NUMBER, O(rail.friction), 1, ALL, 0, 0.3, POSITIVE, "",
     .doc = "coefficient of friction"},
    {"moment", KD_FIELD_BOOLEAN, O(rail.moment), 1, ALL, 0, 1, ANY, "",
     .doc = "with the moment about the normal of the contact"},
    {"clearance", KD_FIELD_NUMBER, O(rail.clearance), 1, ALL, KD_FIELD_INFINITE, INFINITY, NOT_NEGATIVE, "m",
     .doc = "way of the foot of the wheel outwards at which its flange meets the rail; not given: there is no flange"},
    {"flange", KD_FIELD_NUMBER, O(rail.flange), 1, ALL, 0, 14.6e6, NOT_NEGATIVE, "N/m",
     .doc = "stiffness of flange and rail across the track"},
    {"onset", KD_FIELD_NUMBER, O(rail.onset), 1, ALL, 0, 0.0005, POSITIVE, "m",
     .doc = "way over which the stiffness of the flange sets in"},
    {"elastic", KD_FIELD_NUMBER, O(rail.elastic), 1, ALL, 0, 0, NOT_NEGATIVE, "m",
     .doc = "quasi-elastic contact: difference of overlaps over which the load is spread, about 1e-5; smooth where the place of contact jumps, with two places of contact and flanges as the profiles have them; 0: one rigid place"},
};
// clang-format on

const kd_constraint_class kd_constraint_wheel_rail = {
    .element =
        {
            .kind = {"wheel_rail", "a wheel on the axle y of `to` touches a rail along x of `from` (z up) and rolls on "
                                   "it with creep forces"},
            .fields = fields,
            .nfields = COUNT(fields),
            .unit = "N",
            .readings = readings,
            .nreadings = COUNT(readings),
            .finish = finish,
        },
    .make = make,
};
