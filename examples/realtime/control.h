// control.h: the controller of the example: speed of the shaft by a PI law, torque limited.
//
//     e = wanted - speed,   torque = kp e + ki s,   s' = e while the torque is within its limits
#ifndef CONTROL_H
#define CONTROL_H

#include <math.h>

typedef struct control {
    double wanted, kp, ki, limit; // [rad/s], [N m s/rad], [N m/rad], [N m]
    double sum, time;             // integral of the error; of the last measurement
} control;

static inline control control_default(void)
{
    return (control){.wanted = 12, .kp = 20, .ki = 60, .limit = 150};
}

// The torque from a measurement at time t; measurements that were lost make the step longer
static inline double control_update(control *c, double t, double speed)
{
    double error = c->wanted - speed, torque = c->kp * error + c->ki * c->sum;
    if (fabs(torque) < c->limit) c->sum += (t - c->time) * error;
    c->time = t;
    return fmax(-c->limit, fmin(c->limit, torque));
}

#endif
