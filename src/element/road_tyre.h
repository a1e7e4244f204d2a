// element/road_tyre.h: what tyres on a road z(x, y) have in common: geometry of the contact, slips that build up over a
// way, forces on the wheel, derivatives. Equations: road_tyre.c. An element describes its tyre by functions.
#ifndef KARDAN_ELEMENT_ROAD_TYRE_H
#define KARDAN_ELEMENT_ROAD_TYRE_H

#include "element/force.h"
#include "vehicle/magic_formula.h"

typedef struct kd_road_tyre {
    const void        *data;
    const kd_road_def *road;
    double             radius, damping; // of the relaxed tyre [m]; vertical [N s/m]
    double             reference;       // load F' [N]
    double             mirror;          // -1: the data are of the other side
    double             slip, low;     // velocities below which rolling fades out, below which standing is damped [m/s]
    double             settling;      // time constant of that damping [s]
    double             rolling[3];    // R_e = R - a (D atan(B delta/a) + F delta/a): B, D, F
    double             give;          // a [m]; 0: R_e = R
    double             resistance[8]; // QSY1 .. QSY8 of the rolling moment ..
    double             speed;         // .. and its reference velocity [m/s]
    // elastic load and its slope by the deflection [m] > 0
    void (*load)(const void *data, double depth, double out[2]);
    // relaxation lengths > 0 and derivatives by load and camber
    void (*relaxation)(const void *data, double Fz, double gamma, double sigma[2], double by[2][2]);
    // of slips, as of the Magic Formula
    void (*force)(const void *data, const double in[KD_MAGIC_INPUTS], kd_magic_force *out);
} kd_road_tyre;

// What sensors read, in the axes of the contact
enum {
    KD_ROAD_TYRE_LOAD,
    KD_ROAD_TYRE_FX,
    KD_ROAD_TYRE_FY,
    KD_ROAD_TYRE_MX,
    KD_ROAD_TYRE_MY,
    KD_ROAD_TYRE_MZ,
    KD_ROAD_TYRE_KAPPA,
    KD_ROAD_TYRE_ALPHA,
    KD_ROAD_TYRE_CAMBER,
    KD_ROAD_TYRE_DEPTH, // how far it is pressed in
    KD_ROAD_TYRE_TOLD
};

// The law of a load, and what describes its tyre
typedef struct kd_road_tyre_class {
    kd_load_class load; // first
    kd_road_tyre (*describe)(const kd_load *load);
} kd_road_tyre_class;

kd_eval     kd_road_tyre_eval(const kd_load *load, const double *x, kd_work *w, double *force, double *rate);
kd_eval     kd_road_tyre_jacobian(const kd_load *load, const double *x, kd_work *w, double *J);
kd_interval kd_road_tyre_bounds(const kd_load *load, const kd_interval *x, kd_work *w);
kd_interval kd_road_tyre_elevation(const kd_load *load, const kd_interval *x, kd_work *w);
double      kd_road_tyre_reading(const kd_load *load, const kd_work *w, const kd_point *x, int number);
void        kd_road_tyre_reason(const kd_load *load, const double *x, char *text, size_t size);
bool        kd_road_tyre_notice(const kd_load *load, const double *x, kd_work *w, char *text, size_t size);
int         kd_road_tyre_states(const kd_force_def *def);
void        kd_road_tyre_make(kd_load_builder *b, int force);
bool        kd_road_tyre_finish(kd_model *m, int force,
                                const kd_road_def *road); // places, road; false: an error has been written
kd_status   kd_road_tyre_take(kd_model *m, kd_road_def *road, char *why, size_t size); // reads its file

// stiffness: of the tyre, on a road; what else is there of a load class; then operations and functions of values, and with derivatives
#define KD_ROAD_TYRE_LOAD_CLASS(stiffness, further, a, b, c, d)                                                        \
    {                                                                                                                  \
        .eval = kd_road_tyre_eval, .jacobian = kd_road_tyre_jacobian, .bounds = kd_road_tyre_bounds,                   \
        .elevation = kd_road_tyre_elevation, .reason = kd_road_tyre_reason, .reading = kd_road_tyre_reading,           \
        .factor = (stiffness), further, .jets = true, .cost = {                                                        \
            .operations = (a),                                                                                         \
            .functions = (b),                                                                                          \
            .slopes = (c),                                                                                             \
            .slope_functions = (d)                                                                                     \
        }                                                                                                              \
    }

enum { KD_ROAD_TYRE_CHANNELS = 6, KD_ROAD_TYRE_STATES = 2, KD_ROAD_TYRE_READINGS = 11 };
extern const kd_readable kd_road_tyre_readings[KD_ROAD_TYRE_READINGS];

extern const char *const kd_road_locals[], *const kd_words_tyre_side[];

// What the classes of tyres on roads have in common; a file has fields, take, finish and law of its own. member: radius
#define KD_ROAD_TYRE_ELEMENT(word, sentence, member)                                                                   \
    .kind = {word, sentence}, .fields = fields, .nfields = COUNT(fields), .readings = kd_road_tyre_readings,           \
    .nreadings = KD_ROAD_TYRE_READINGS, .unit = "m", .take = take, .finish = finish,                                   \
    .look = {.wheel = KD_LOOK_DISC, .floor = KD_LOOK_WORLD_FLOOR, .radius = offsetof(kd_force_def, member)}
#define KD_ROAD_TYRE_FORCE                                                                                             \
    .law = &law.load, .nchannels = KD_ROAD_TYRE_CHANNELS, .stiff = true, .states = kd_road_tyre_states,                \
    .measure = kd_force_height, .make = kd_road_tyre_make

// Rows of fields: places, road
#define KD_ROAD_TYRE_PLACES                                                                                            \
    {"from",                                                                                                           \
     KD_FIELD_PLACE,                                                                                                   \
     offsetof(kd_force_def, from),                                                                                     \
     1,                                                                                                                \
     ALL,                                                                                                              \
     0,                                                                                                                \
     0,                                                                                                                \
     ANY,                                                                                                              \
     "",                                                                                                               \
     .image = KD_IMAGE_KEEPS_XZ,                                                                                       \
     .doc = "place that carries the road, its height along z; not given: the ground"},                                 \
    {                                                                                                                  \
        "to", KD_FIELD_PLACE, offsetof(kd_force_def, to), 1, ALL, KD_FIELD_REQUIRED, 0, ANY, "",                       \
            .image = KD_IMAGE_KEEPS_XY, .doc = "centre of the wheel; z is its axle, which points to the left"          \
    }
// the velocity below which rolling fades out, the damping of a tyre that stands; until: where the latter is 0
#define KD_ROAD_TYRE_STANDING(member, until)                                                                           \
    {"slip",                                                                                                           \
     KD_FIELD_NUMBER,                                                                                                  \
     offsetof(kd_force_def, member.slip),                                                                              \
     1,                                                                                                                \
     ALL,                                                                                                              \
     0,                                                                                                                \
     0.1,                                                                                                              \
     POSITIVE,                                                                                                         \
     "m/s",                                                                                                            \
     .doc = "velocity below which rolling fades out: the tyre becomes a spring"},                                      \
    {                                                                                                                  \
        "settling", KD_FIELD_NUMBER, offsetof(kd_force_def, member.settling), 1, ALL, 0, 0.01, NOT_NEGATIVE, "s",      \
            .doc = "time constant of the damping of a tyre that stands; falls to 0 up to " until                       \
    }
#define KD_ROAD_FIELDS(member)                                                                                         \
    {"road",                                                                                                           \
     KD_FIELD_LAW,                                                                                                     \
     offsetof(kd_force_def, member.height),                                                                            \
     1,                                                                                                                \
     ALL,                                                                                                              \
     0,                                                                                                                \
     0,                                                                                                                \
     ANY,                                                                                                              \
     "m",                                                                                                              \
     .doc = "height of the road, an expression of x, y, t and inputs; not given: 0",                                   \
     .locals = kd_road_locals,                                                                                         \
     .reads = KD_READS_TIME},                                                                                          \
        {"grip",                                                                                                       \
         KD_FIELD_LAW,                                                                                                 \
         offsetof(kd_force_def, member.friction),                                                                      \
         1,                                                                                                            \
         ALL,                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         ANY,                                                                                                          \
         "",                                                                                                           \
         .doc = "friction of the road as a factor of that of the tyre, an expression of x, y, t and inputs; not "      \
                "given: 1",                                                                                            \
         .locals = kd_road_locals,                                                                                     \
         .reads = KD_READS_TIME},                                                                                      \
        {"crg",                                                                                                        \
         KD_FIELD_TEXT,                                                                                                \
         offsetof(kd_force_def, member.crg),                                                                           \
         1,                                                                                                            \
         ALL,                                                                                                          \
         KD_FIELD_FILE,                                                                                                \
         0,                                                                                                            \
         ANY,                                                                                                          \
         "",                                                                                                           \
         .second = offsetof(kd_force_def, member.path),                                                                \
         .doc =                                                                                                        \
             "OpenCRG file in the folder of the model, whose elevation at x and y is added to `road`; needs `patch`"}, \
        {"patch",                                                                                                      \
         KD_FIELD_NUMBER,                                                                                              \
         offsetof(kd_force_def, member.patch),                                                                         \
         2,                                                                                                            \
         ALL,                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         NOT_NEGATIVE,                                                                                                 \
         "m",                                                                                                          \
         .doc = "half length and half width of the area of contact: the road is a plane through four points there; "   \
                "0: its tangent plane below the centre"},                                                              \
    {                                                                                                                  \
        "cam", KD_FIELD_NUMBER, offsetof(kd_force_def, member.cam), 3, ALL, 0, 0, NOT_NEGATIVE, "1",                   \
            .doc =                                                                                                     \
                "enveloping cams at the corners of `patch` in place of points: half length and half height in radii "  \
                "of the tyre, exponent of their shape; 0: none"                                                        \
    }

#endif
