// magic_tyre.c: a tyre on a road by a tyre property file (.tir). Contact, slips and moments on the wheel: road_tyre.c;
// forces of the slips: the Magic Formula (src/vehicle/magic_formula.c). docs/methods/magic-formula.md
//
// The load is F(delta) of the file: its table or its stiffness, with the table of the rim where it bottoms out.
#include <math.h>

#include "core/text.h"
#include "element/road_tyre.h"
#include "model/fields.h"
#include "model/tyre_file.h"
#include "tree/work.h"

#define P(tir, name) ((tir)->c[KD_TIR_##name])

static void load_of(const void *data, double depth, double out[2])
{
    const kd_magic_tyre_def *d = data;
    const kd_tir            *t = &d->read->tir;
    double                   f[4];
    out[0] = P(t, VERTICAL_STIFFNESS) * P(t, LCZ) * depth;
    out[1] = P(t, VERTICAL_STIFFNESS) * P(t, LCZ);
    if (d->read->deflection) {
        kd_curve_eval(d->read->deflection, depth, f);
        out[0] = P(t, LCZ) * f[0], out[1] = P(t, LCZ) * f[1];
    }
    if (d->read->bottoming) {
        kd_curve_eval(d->read->bottoming, depth, f);
        out[0] += f[0], out[1] += f[1];
    }
}

// Those that are given count, then those of the file, then the radius
static void relaxation_of(const void *data, double Fz, double gamma, double sigma[2], double by[2][2])
{
    const kd_magic_tyre_def *d = data;
    kd_magic_relaxation(&d->read->tir, Fz, gamma, sigma, by);
    for (int i = 0; i < 2; i++) {
        const double least = 0.02 * P(&d->read->tir, UNLOADED_RADIUS);
        if (isnan(d->relaxation[i]) && sigma[i] > least) continue;
        if (!isnan(d->relaxation[i]))
            sigma[i] = d->relaxation[i];
        else
            sigma[i] = kd_magic_has_relaxation(&d->read->tir, i) ? least : P(&d->read->tir, UNLOADED_RADIUS);
        by[i][0] = by[i][1] = 0.0;
    }
}

// USE_MODE: 0 load only, 1 along, 2 across, 3 both uncombined, 4 combined
static void force_of(const void *data, const double in[KD_MAGIC_INPUTS], kd_magic_force *out)
{
    const kd_magic_tyre_def *d = data;
    const int                mode = (int)fmod(P(&d->read->tir, USE_MODE), 10.0);
    kd_magic_formula(&d->read->tir, mode >= 4 ? KD_MAGIC_COMBINED : KD_MAGIC_PURE, in, out);
    const bool along = mode == 1 || mode >= 3, across = mode >= 2;
    for (int i = 0; i < KD_MAGIC_OUTPUTS; i++) {
        if (i == KD_MAGIC_FX ? along : across) continue;
        out->value[i] = 0.0;
        for (int k = 0; k < KD_MAGIC_INPUTS; k++) out->by[i][k] = 0.0;
    }
}

static kd_road_tyre tyre_of(const kd_load *load)
{
    const kd_magic_tyre_def *d = &load->def->magic;
    const kd_tir            *t = &d->read->tir;
    kd_road_tyre             r = {.data = d,
                                  .road = &d->road,
                                  .radius = P(t, UNLOADED_RADIUS),
                                  .damping = P(t, VERTICAL_DAMPING),
                                  .reference = P(t, LFZO) * P(t, FNOMIN),
                                  .slip = d->slip,
                                  .low = P(t, VXLOW),
                                  .settling = d->settling,
                                  .rolling = {P(t, BREFF), P(t, DREFF), P(t, FREFF)},
                                  .speed = P(t, LONGVL),
                                  .load = load_of,
                                  .relaxation = relaxation_of,
                                  .force = force_of};
    // a file for the other side of the car: the tyre is its image
    const kd_tir_side own = d->side == KD_TYRE_LEFT ? KD_TIR_LEFT : KD_TIR_RIGHT;
    const double      p0 = P(t, NOMPRES), p = t->given[KD_TIR_INFLPRES] && p0 > 0.0 ? P(t, INFLPRES) / p0 : 1.0;
    r.mirror = t->side == KD_TIR_ANY_SIDE || t->side == own ? 1.0 : -1.0;
    // static deflection and rolling resistance, which pressure changes
    if (P(t, VERTICAL_STIFFNESS) > 0.0) r.give = r.reference / (P(t, VERTICAL_STIFFNESS) * P(t, LCZ));
    for (int i = 0; i < 7; i++) r.resistance[i] = t->c[KD_TIR_QSY1 + i];
    r.resistance[7] = P(t, LMY) * pow(p, P(t, QSY8));
    return r;
}

static double stiffness(const kd_load *load)
{
    double out[2];
    load_of(&load->def->magic, 0.01 * P(&load->def->magic.read->tir, UNLOADED_RADIUS), out);
    return out[1]; // of a road
}

// Load, slips or camber beyond the ranges for which the file was made
static bool out_of_range(const kd_load *load, const double *x, kd_work *w, char *text, size_t size)
{
    static const struct {
        int           told;
        kd_tir_number least, most;
        bool          turns; // in the mirror
        const char   *word, *unit;
    } range[] = {{KD_ROAD_TYRE_LOAD, KD_TIR_FZMIN, KD_TIR_FZMAX, false, "its load", " N"},
                 {KD_ROAD_TYRE_KAPPA, KD_TIR_KPUMIN, KD_TIR_KPUMAX, false, "its longitudinal slip", ""},
                 {KD_ROAD_TYRE_ALPHA, KD_TIR_ALPMIN, KD_TIR_ALPMAX, true, "its slip angle", " rad"},
                 {KD_ROAD_TYRE_CAMBER, KD_TIR_CAMMIN, KD_TIR_CAMMAX, true, "its camber", " rad"}};
    const kd_tir *t = &load->def->magic.read->tir;
    const double  mirror = tyre_of(load).mirror, *told = w->road[load - w->system->load].told;
    double        force[KD_ROAD_TYRE_CHANNELS], rate[KD_ROAD_TYRE_STATES];
    if (kd_road_tyre_notice(load, x, w, text, size)) return true;
    // a wheel in the air has neither slip nor camber worth a word
    if (kd_road_tyre_eval(load, x, w, force, rate) != KD_EVAL_OK || !(told[KD_ROAD_TYRE_LOAD] > 0.0)) return false;
    for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
        const double value = (range[i].turns ? mirror : 1.0) * told[range[i].told];
        const double least = t->c[range[i].least], most = t->c[range[i].most];
        if (value >= least && value <= most) continue;
        kd_text(text, size, "%s is %.4g%s, beyond the range of its file, %.4g to %.4g", range[i].word, value,
                range[i].unit, least, most);
        return true;
    }
    return false;
}

static const kd_road_tyre_class law = {
    .load = KD_ROAD_TYRE_LOAD_CLASS(stiffness, .notice = out_of_range, 9000, 70, 9500, 70), .describe = tyre_of};

// ---- in models ------------------------------------------------------------------------------------------------------
static kd_status take(kd_model *m, void *def, char *why, size_t size)
{
    kd_magic_tyre_def *d = &((kd_force_def *)def)->magic;
    const kd_status status = d->read ? KD_OK : kd_model_tyre_read(m, d->path ? d->path : d->tir, &d->read, why, size);
    if (status == KD_OK) d->radius = P(&d->read->tir, UNLOADED_RADIUS);
    return status == KD_OK ? kd_road_tyre_take(m, &d->road, why, size) : status;
}

static void finish(kd_model *m, int i)
{
    (void)kd_road_tyre_finish(m, i, &m->force[i].def.magic.road);
}

// FITTYP and USE_MODE against what the file has and what is computed
static void doubt_model(kd_model *m, int i, const char *path, const kd_tir *t)
{
    static const int newer[] = {KD_TIR_PKY4, KD_TIR_PKY5, KD_TIR_PKY6, KD_TIR_PKY7,  KD_TIR_PEY5,
                                KD_TIR_RBX3, KD_TIR_RBY4, KD_TIR_PPX1, KD_TIR_QDZ10, KD_TIR_QSX4};
    bool             any = false;
    for (size_t k = 0; k < sizeof newer / sizeof *newer; k++) any = any || t->given[newer[k]];
    if (t->version == KD_TIR_61 && !any)
        kd_model_warn(m, KD_SECTION_FORCE, i, "tir",
                      "%s: FITTYP is that of 6.1, but no number that is new there (PKY4, PKY6, PEY5, ..) is given: is "
                      "it a file of 5.2 (FITTYP 6)?",
                      path);
    if (fmod(P(t, USE_MODE), 10.0) >= 5.0)
        kd_model_warn(m, KD_SECTION_FORCE, i, "tir",
                      "%s: USE_MODE %g asks for turn slip, which is not computed: forces are those of combined slip",
                      path, P(t, USE_MODE));
}

static bool has_any(const kd_tir *t, int first, int last)
{
    bool any = false;
    for (int k = first; k <= last; k++) any = any || t->given[k];
    return any;
}

// Sections that a file may do without, but hardly ever does
static void doubt_sections(kd_model *m, int i, const char *path, const kd_tir *t)
{
    static const struct {
        int         first, last;
        const char *section, *meaning;
    } part[] = {
        {KD_TIR_LFZO, KD_TIR_LCZ, "SCALING_COEFFICIENTS", "all factors are 1"},
        {KD_TIR_QSX1, KD_TIR_PPMX1, "OVERTURNING_COEFFICIENTS", "there is no overturning moment"},
        {KD_TIR_QSY1, KD_TIR_QSY8, "ROLLING_COEFFICIENTS", "there is no rolling resistance"},
    };
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        if (!has_any(t, part[k].first, part[k].last))
            kd_model_warn(m, KD_SECTION_FORCE, i, "tir", "%s has no numbers of [%s]: %s", path, part[k].section,
                          part[k].meaning);
}

// What the file does not have, or what is not used of it
static void doubt(kd_model *m, int i)
{
    const kd_magic_tyre_def *d = &m->force[i].def.magic;
    const kd_tir            *t = &d->read->tir;
    for (int k = 0; k < 2; k++)
        if (isnan(d->relaxation[k]) && !kd_magic_has_relaxation(t, k))
            kd_model_warn(m, KD_SECTION_FORCE, i, "tir",
                          "%s has no relaxation length %s (%s): its radius is taken, `relaxation` gives another",
                          d->read->path, k == 0 ? "along" : "across", k == 0 ? "PTX1" : "PTY1");
    // a wrong unit shows in lengths that no tyre has
    const double radius = P(t, UNLOADED_RADIUS), load = P(t, LFZO) * P(t, FNOMIN);
    double       elastic[2];
    load_of(d, 0.5 * radius, elastic);
    if (radius < 0.02 || radius > 5.0)
        kd_model_warn(m, KD_SECTION_FORCE, i, "tir",
                      "%s: a tyre with a radius of %.3g m: are the units of [UNITS] right?", d->read->path, radius);
    else if (load < 1e3 * radius * radius || load > 2e6 * radius * radius)
        kd_model_warn(
            m, KD_SECTION_FORCE, i, "tir",
            "%s: a tyre with a radius of %.3g m and a nominal load of %.3g N: are the units of [UNITS] right?",
            d->read->path, radius, load);
    else if (elastic[0] < load || elastic[0] > 1e4 * load)
        kd_model_warn(
            m, KD_SECTION_FORCE, i, "tir",
            "%s: pressed in by half its radius the tyre carries %.3g N, at a nominal load of %.3g N: are the units of "
            "[UNITS] right?",
            d->read->path, elastic[0], load);
    doubt_model(m, i, d->read->path, t);
    doubt_sections(m, i, d->read->path, t);
    if (t->replaced_line > 0)
        kd_model_warn(m, KD_SECTION_FORCE, i, "tir", "%s:%d: a second table replaces the one before", d->read->path,
                      t->replaced_line);
}

// clang-format off
#define O(member) offsetof(kd_force_def, member)
static const kd_field fields[] = {
    KD_ROAD_TYRE_PLACES,
    {"tir", KD_FIELD_TEXT, O(magic.tir), 1, ALL, KD_FIELD_REQUIRED | KD_FIELD_FILE, 0, ANY, "",
     .second = O(magic.path), .doc = "tyre property file in the folder of the model"},
    {"side", KD_FIELD_WORD, O(magic.side), 1, ALL, 0, KD_TYRE_LEFT, ANY, "",
     .doc = "side of the vehicle: data of a tyre of the other side are mirrored", .words = kd_words_tyre_side, .image = KD_IMAGE_SIDE},
    KD_ROAD_FIELDS(magic.road),
    {"relaxation", KD_FIELD_NUMBER, O(magic.relaxation), 2, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "m",
     .doc = "relaxation lengths along and across; not given: those of the file"},
    KD_ROAD_TYRE_STANDING(magic, "VXLOW of the file"),
    KD_FORCE_STIFF("it does"),
};
// clang-format on

const kd_force_class kd_force_magic_tyre = {
    .element =
        {
            KD_ROAD_TYRE_ELEMENT("magic_tyre",
                                 "tyre on a road by a tyre property file (.tir): Magic Formula 5.2 or 6.1 with "
                                 "relaxation, down to standstill",
                                 magic.radius),
            .doubt = doubt,
        },
    KD_ROAD_TYRE_FORCE,
};
