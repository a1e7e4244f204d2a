// vehicle/random_road.h: random roads by the spectrum of ISO 8608, with seed.  Method: docs/methods/random-road.md
#ifndef KD_VEHICLE_RANDOM_ROAD_H
#define KD_VEHICLE_RANDOM_ROAD_H

#include <kardan/base.h>

#include <stdint.h>

enum { KD_ROAD_CLASSES = 8, KD_ROAD_MAX_TRACKS = 16 }; // A to H

// z(x) on tracks beside each other, x = 0, step, .., length; periodic with the length
typedef struct kd_random_road {
    double   roughness;    // G_d(0.1/m) [m^3]
    double   waviness;     // G_d(n) = roughness (n/0.1)^-waviness
    double   least, most;  // wave numbers n [1/m], cycles per metre
    double   length, step; // [m]
    int      tracks;       // beside each other, at even distances ..
    double   width;        // .. over this width [m]
    uint64_t seed;
} kd_random_road;

double kd_road_roughness(int class); // geometric mean of a class, 0: A; twice the exponent per class: 16e-6, 64e-6, ..

int kd_random_road_points(const kd_random_road *road); // of a track; 0: numbers do not fit together
int kd_random_road_waves(const kd_random_road *road);  // that are summed up

// z: (points tracks), z[i tracks + j] at x_i on track j. KD_ERR_ARGUMENT: numbers do not fit together; KD_ERR_MEMORY
kd_status kd_random_road_make(const kd_random_road *road, double *z) KD_NODISCARD;

// Share of two tracks at distance d that is the same at wave number n, where a road looks alike in all directions:
// x K_1(x), x = 2 pi n d
double kd_road_coherence(double n, double distance);

#endif
