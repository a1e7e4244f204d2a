// surfaces.h: what elements with two surfaces in contact share: fields of files, checks, the touch of their pair,
// readings.
#ifndef KARDAN_ELEMENT_SURFACES_H
#define KARDAN_ELEMENT_SURFACES_H

#include "element/touch.h"
#include "model/element.h"
#include "model/fields.h"
#include "system/system.h"

extern const char *const kd_words_surface[];

// Fields of the surface on one of the places; at: offset of its kd_surface_def
#define KD_SURFACE_FIELDS(place, at)                                                                                   \
    {place "_surface",                                                                                                 \
     KD_FIELD_WORD,                                                                                                    \
     (at) + offsetof(kd_surface_def, kind),                                                                            \
     1,                                                                                                                \
     ALL,                                                                                                              \
     0,                                                                                                                \
     KD_SURFACE_PLANE,                                                                                                 \
     ANY,                                                                                                              \
     "",                                                                                                               \
     .doc = "surface on `" place "`: z = 0, or about its origin and its axis z",                                       \
     .words = kd_words_surface},                                                                                       \
        {place "_size",                                                                                                \
         KD_FIELD_NUMBER,                                                                                              \
         (at) + offsetof(kd_surface_def, size),                                                                        \
         3,                                                                                                            \
         ALL,                                                                                                          \
         KD_FIELD_MAYBE | KD_FIELD_FEWER,                                                                              \
         NAN,                                                                                                          \
         NOT_NEGATIVE,                                                                                                 \
         "m",                                                                                                          \
         .doc =                                                                                                        \
             "sphere: radius, 0: a point; cylinder: radius; cone: half angle [rad], apex in the origin; ellipsoid: "   \
             "half axes; torus: radius of the ring, of its section"},                                                  \
        {place "_curve",                                                                                               \
         KD_FIELD_NAME,                                                                                                \
         (at) + offsetof(kd_surface_def, curve),                                                                       \
         1,                                                                                                            \
         ALL,                                                                                                          \
         0,                                                                                                            \
         0,                                                                                                            \
         ANY,                                                                                                          \
         "",                                                                                                           \
         .doc = "name of a spline; revolution: radius over z; swept: z over x, along y",                               \
         .refers = KD_SCHEMA_CURVE},                                                                                   \
    {                                                                                                                  \
        place "_hollow", KD_FIELD_BOOLEAN, (at) + offsetof(kd_surface_def, hollow), 1, ALL, 0, 0, ANY, "",             \
            .doc = "touched from the other side: a bowl, a hole"                                                       \
    }

// Sizes and curve of the surface on `place`; the number of the curve, -1: none
int kd_finish_surface(kd_model *m, kd_section section, int element, const char *place, const kd_surface_def *def);

// The surfaces touch between the frames of a pair. KD_ERR_MEMORY is not possible: there is room for one per element
void kd_system_touch(kd_system *s, int pair, const char *name, const kd_surface_def surface[2], int from_curve,
                     int to_curve);
// Where they do, now; NULL: the pair has no surfaces
const kd_touch_at *kd_work_touch(const kd_work *w, int pair);

// What sensors read, by numbers of KD_TOUCH_READINGS: gap, place in the axes of `from`, normal, curvatures
enum { KD_TOUCH_FIRST = 10, KD_TOUCH_COUNT = 9 };
#define KD_TOUCH_READINGS(property)                                                                                    \
    {"gap", "m", property, KD_TOUCH_FIRST, NULL}, {"x", "m", property, KD_TOUCH_FIRST + 1, NULL},                      \
        {"y", "m", property, KD_TOUCH_FIRST + 2, NULL}, {"z", "m", property, KD_TOUCH_FIRST + 3, NULL},                \
        {"nx", "", property, KD_TOUCH_FIRST + 4, NULL}, {"ny", "", property, KD_TOUCH_FIRST + 5, NULL},                \
        {"nz", "", property, KD_TOUCH_FIRST + 6, NULL}, {"curvature_min", "1/m", property, KD_TOUCH_FIRST + 7, NULL},  \
    {                                                                                                                  \
        "curvature_max", "1/m", property, KD_TOUCH_FIRST + 8, NULL                                                     \
    }
double kd_touch_reading(const kd_work *w, int pair, int number);

#endif
