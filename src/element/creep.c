// creep.c: forces of a wheel on a rail besides the normal one: values.
#define PARTS 0
#include "element/creep_impl.h"

void kd_wheel_creep(const kd_wheel *wheel, const double x[KD_CREEP_VARIABLES], const kd_wheel_spread *spread,
                    double force[6], double energy[3])
{
    forces_of(wheel, x, spread, force, NULL, energy);
}
