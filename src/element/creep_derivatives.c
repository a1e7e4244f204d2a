// creep_derivatives.c: forces of a wheel on a rail besides the normal one: with derivatives.
#define PARTS KD_CREEP_VARIABLES
#include "element/creep_impl.h"

void kd_wheel_creep_jacobian(const kd_wheel *wheel, const double x[KD_CREEP_VARIABLES], const kd_wheel_spread *spread,
                             double force[6], double *J)
{
    forces_of(wheel, x, spread, force, J, NULL);
}
