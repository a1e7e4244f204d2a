// truck_road.h: roads under the trucks, as inputs (u_rear, u_front) with two time derivatives. Speed 15 m/s: the front
// wheel meets the obstacle at t = 2/15 s, the rear wheel 4.5 m later at t = 13/30 s.
#ifndef KARDAN_GALLERY_TRUCK_ROAD_H
#define KARDAN_GALLERY_TRUCK_ROAD_H

#include <kardan/eom.h>

// Road A, a smooth hump: u = 1e-3 s^6 exp(-s) for s >= 0, s the time since the wheel met it; about 12 cm at s = 6 s.
kd_eval kd_truck_road_hump(double t, void *context, double *u, double *du, double *ddu);
// Road B, a short bump: u = 0.05 sin^2(pi s / 0.2) for 0 <= s <= 0.2. Only once continuously differentiable: u'' jumps
// where the bump begins and ends, and step-size control meets these four instants with rejected steps.
kd_eval kd_truck_road_bump(double t, void *context, double *u, double *du, double *ddu);

#endif
