// curve_road.c: curves that are random roads by ISO 8608: `{iso8608: C, seed: 7}`. The numbers become those of the curve.
#include <math.h>

#include "modelfile/reader.h"
#include "vehicle/random_road.h"

// What does not fit together, in a sentence
static void say_why(kd_reader *r, const kd_node *map, const kd_random_road *road)
{
    const double n = road->length / road->step;
    if (fabs(n - nearbyint(n)) >= 1e-6 * n)
        kd_reader_complain(r, map, "'length' %.6g is no multiple of 'step' %.6g", road->length, road->step);
    else if (!(road->most > road->least))
        kd_reader_complain(r, map, "'to' %.6g must be larger than 'from' %.6g", road->most, road->least);
    else if (road->most * road->step > 0.25)
        kd_reader_complain(r, map, "'step' %.6g is too long for waves of %.6g m: at most a quarter of them", road->step,
                           1.0 / road->most);
    else if (kd_random_road_waves(road) < 1)
        kd_reader_complain(r, map, "no wave between 'from' and 'to' fits into a 'length' of %.6g", road->length);
    else
        kd_reader_complain(r, map, "%.6g points are too many or too few for a road", n * road->tracks);
}

static double *even(kd_reader *r, int n, double first, double step)
{
    double *x = kd_cut_double(&r->scratch, n);
    for (int i = 0; x && i < n; i++) x[i] = first + i * step;
    if (!x) kd_reader_short_of_memory(r);
    return x;
}

bool kd_reader_curve_road(kd_reader *r, const kd_node *map, kd_curve_def *def)
{
    kd_curve_road f;
    kd_schema_default(kd_schema_of(KD_SCHEMA_CURVE_ROAD), 0, &f);
    if (!kd_reader_fields(r, kd_schema_of(KD_SCHEMA_CURVE_ROAD), 0, map, &f)) return false;
    // what the road is made of
    const kd_random_road road = {.roughness = isnan(f.roughness) ? kd_road_roughness(f.class) : f.roughness,
                                 .waviness = f.waviness,
                                 .least = f.least,
                                 .most = f.most,
                                 .length = f.length,
                                 .step = f.step,
                                 .tracks = f.width > 0.0 ? f.tracks : 1,
                                 .width = f.width,
                                 .seed = (uint64_t)f.seed};
    const int            points = kd_random_road_points(&road);
    if (points == 0) {
        say_why(r, map, &road);
        return false;
    }
    // heights of all tracks
    double *z = kd_cut_matrix(&r->scratch, points, road.tracks);
    if (!z) return kd_reader_short_of_memory(r);
    if (kd_random_road_make(&road, z) < 0) return false;
    // one track is a curve, several are a table over the width
    def->form = f.form;
    def->outside = f.outside;
    def->n = def->ny = points;
    def->x = even(r, points, 0.0, road.step);
    def->y = z;
    if (road.tracks == 1 || !def->x) return def->x != NULL;
    // tables of two arguments do not repeat: beyond their ends they hold
    if (def->outside == KD_CURVE_REPEAT && kd_node_find(map, "outside")) {
        kd_reader_complain(r, kd_node_find(map, "outside"),
                           "a road with a 'width' does not repeat: write mod(x, length) as its argument");
        return false;
    }
    if (def->outside == KD_CURVE_REPEAT) def->outside = KD_CURVE_HOLD;
    def->ny = road.tracks;
    def->y = even(r, road.tracks, -0.5 * road.width, road.width / (road.tracks - 1));
    def->z = z;
    return def->y != NULL;
}
